"""What format a document has."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.documents.formats import guess_format
from ostinato.errors import DataError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b" \n<a/>", "xml"),
        (b"\xef\xbb\xbf<a/>", "xml"),
        ("<a/>".encode("utf-16"), "xml"),
        (b'{"a":1}', "json"),
        (b'{"a":1}\n', "json"),
        (b'{\n"a":1}', "json"),
        (b'[{"a":1},\n{"a":2}]', "json"),
        (b'{"a":1}\n{"a":2}', "jsonl"),
        (b'\n{"a":1}\r\n\r\n{"a"', "jsonl"),
        (b"1\n2", "jsonl"),
        (b'"x"', "json"),
        (b"[" * 100_000 + b"\n[", "json"),
    ],
)
def test_guess_by_content(text: bytes, expected: str, tmp_path: Path) -> None:
    assert guess_format(text) == expected
    path = tmp_path / "some.data"
    path.write_bytes(text)
    assert guess_format(path) == guess_format(str(path)) == expected


def test_guess_by_extension() -> None:
    names = {"a.xml": "xml", "a.XML": "xml", "b/a.json": "json", "a.jsonl": "jsonl", "a.ndjson": "jsonl"}
    assert {name: guess_format(name) for name in names} == names


@pytest.mark.parametrize("text", [b"", b" ", b"PAR1", b"\x00", b"company,price"])
def test_neither(text: bytes) -> None:
    with pytest.raises(DataError, match="the document"):
        guess_format(text)
