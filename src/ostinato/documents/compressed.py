"""Compressed documents: recognised by their first bytes, whatever they are called; decompressed while they are read."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.documents.readers import ByteReader
from ostinato.errors import DataError

EXTENSIONS = (".gz", ".bz2", ".zst")
LONGEST_MARK = 4
_KINDS = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}  # neither XML nor JSON begins so
_OTHERS = {b"\xfd7zX": "an xz file", b"PK\x03\x04": "a zip archive"}
_ALL_MARKS = (*_KINDS, *_OTHERS)


def detect_compression(head: bytes, source: str | None) -> str | None:
    """How a document that begins so is compressed, as Arrow calls it; None if it is not."""
    if not head.startswith(_ALL_MARKS):
        return None
    for mark, what in _OTHERS.items():
        if head.startswith(mark):
            raise DataError(f"is {what}", source=source, fix=f"unpack it; {', '.join(EXTENSIONS)} are read as they are")
    return next((kind for mark, kind in _KINDS.items() if head.startswith(mark)), None)


class DecompressingReader:
    """What is in a compressed document; how much that is, is not known before its end."""

    size: int | None = None

    def __init__(self, packed: ByteReader, kind: str, source: str | None) -> None:
        self._packed, self._source = packed, source
        self._stream = pa.CompressedInputStream(pa.PythonFile(_PythonFile(packed), "r"), kind)

    def into(self, room: NDArray[np.uint8]) -> int:
        try:
            return int(self._stream.readinto(room.data))
        except OSError as error:
            fix = "copy the file again; it may be cut short"
            raise DataError(f"cannot be unpacked: {error}", source=self._source, fix=fix) from error

    def close(self) -> None:
        self._packed.close()


class _PythonFile(io.RawIOBase):
    """A reader as a file of Python."""

    def __init__(self, reader: ByteReader) -> None:
        self._reader = reader

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        return self._reader.into(np.frombuffer(room, np.uint8))
