"""Where a document's bytes come from: memory, a path or an open file, decompressed where they are compressed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ostinato.documents.compressed import LONGEST_MARK, DecompressingReader, detect_compression
from ostinato.documents.readers import ByteReader, FileReader, HeadedReader, MemoryReader, read_head
from ostinato.errors import DataError

ByteSource = Any  # bytes, bytearray, memoryview, an array of uint8, a path, or a file that is open for reading bytes


def open_source(source: ByteSource, name: str | None) -> tuple[ByteReader, str | None]:
    """A reader of bytes as they are, unpacked if they are compressed, and what to call them."""
    reader, name = _open(source, name)
    whole = reader
    if isinstance(reader, MemoryReader):
        head = reader.head(LONGEST_MARK)
    else:
        head = read_head(reader, LONGEST_MARK)
        whole = HeadedReader(head, reader)
    try:
        kind = detect_compression(head, name)
    except DataError:
        reader.close()
        raise
    return (whole if kind is None else DecompressingReader(whole, kind, name)), name


def _open(source: ByteSource, name: str | None) -> tuple[ByteReader, str | None]:
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        try:
            return FileReader(open(path, "rb", buffering=0), name or path, owned=True), name or path
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            fix = "a document itself is given as bytes" if isinstance(path, str) and "<" in path else None
            raise DataError(f"cannot be read: {reason}", source=name or str(path)[:200], fix=fix) from error
    if isinstance(source, np.ndarray):
        if source.dtype != np.uint8 or source.ndim != 1:
            raise DataError("an array of bytes must be flat and of type uint8", source=name)
        return MemoryReader(source), name
    if isinstance(source, bytes | bytearray | memoryview):
        return MemoryReader(np.frombuffer(source, np.uint8)), name
    if callable(getattr(source, "read", None)):
        return FileReader(source, name or _name_of(source), owned=False), name or _name_of(source)
    raise DataError(
        f"a document cannot be read from {type(source).__name__}",
        source=name,
        fix="give bytes, a path, or a file that is open for reading bytes; many documents as an Arrow column",
    )


def _name_of(file: Any) -> str | None:
    name = getattr(file, "name", None)
    return name if isinstance(name, str) else None
