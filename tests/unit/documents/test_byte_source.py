"""Bytes of a document from memory, paths and open files, compressed or not."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.documents.byte_source import open_source
from ostinato.documents.readers import read_head
from ostinato.errors import DataError
from support.xml_tokens import xml

DOCUMENT = b"<a>" + 10_000 * b"x" + b"</a>"


def content(source: Any) -> bytes:
    reader, _ = open_source(source, None)
    try:
        return read_head(reader, 1 << 20)
    finally:
        reader.close()


def test_every_kind_of_source(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_bytes(DOCUMENT)
    sources = [DOCUMENT, bytearray(DOCUMENT), memoryview(DOCUMENT), np.frombuffer(DOCUMENT, np.uint8), path, str(path)]
    assert {content(source) for source in sources} == {DOCUMENT}
    with open(path, "rb") as file:
        assert open_source(file, None)[1] == str(path) and open_source(path, "mine")[1] == "mine"
        file.seek(0)
        assert content(file) == DOCUMENT and not file.closed


def test_files_that_give_more_than_was_asked_for() -> None:
    class Generous:
        def __init__(self) -> None:
            self.pieces = [DOCUMENT, b""]

        def read(self, size: int) -> bytes:
            return self.pieces.pop(0)

    assert content(Generous()) == DOCUMENT


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lambda data: pa.compress(data, "zstd", asbytes=True)]
)
def test_compressed(compress: Callable[[bytes], bytes]) -> None:
    packed = compress(DOCUMENT)
    assert content(packed) == content(io.BytesIO(packed)) == DOCUMENT


def test_compressed_otherwise() -> None:
    for mark, what in ((b"\xfd7zXZ", "an xz file"), (b"PK\x03\x04", "a zip archive")):
        with pytest.raises(DataError, match=f"is {what}\nfix: unpack it"):
            content(mark)
    with pytest.raises(DataError, match="cannot be unpacked"):
        content(gzip.compress(DOCUMENT)[:-20] + bytes(20))


def test_sources_that_cannot_be_read(tmp_path: Path) -> None:
    for source, reason in (
        (tmp_path / "none.xml", r"none\.xml: cannot be read: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
        ("<a/>", "a document itself is given as bytes"),
        (io.StringIO("<a/>"), 'gives text, not bytes\nfix: open it with mode "rb"'),
        (np.zeros(3), "flat and of type uint8"),
        (5, "cannot be read from int"),
    ):
        with pytest.raises(DataError, match=reason):
            xml(source)
