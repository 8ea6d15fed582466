"""What format a document has: by its name, or by how it begins."""

from __future__ import annotations

import json
import os
from typing import Literal

import numpy as np
import numpy.typing as npt

from ostinato.documents import compressed
from ostinato.documents.byte_source import ByteSource, open_source
from ostinato.documents.encoding import to_utf8
from ostinato.documents.readers import ByteReader
from ostinato.errors import DataError, Message, Option

Format = Literal["xml", "json", "jsonl"]

_EXTENSIONS: dict[str, Format] = {".xml": "xml", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
EXTENSIONS = tuple(plain + more for plain in _EXTENSIONS for more in ("", *compressed.EXTENSIONS))
_HEAD = 1 << 20  # bytes that are looked at to tell JSON from JSON lines
_BLANKS = b" \t\r\n"


def guess_format(source: ByteSource, name: str | None = None) -> Format:
    """Whether a document is XML, JSON or JSON lines: by its extension if it is a file, else by how it begins.

    `name` is what errors call it. Of an open file as much is read as it takes.
    """
    if isinstance(source, str | os.PathLike):
        found = _by_name(os.fspath(source))
        if found is not None:
            return found
    elif isinstance(source, np.ndarray) and (found := _by_first_byte(source)) is not None:
        return found
    raw, name = open_source(source, name)
    try:
        return _by_head(to_utf8(raw, None, name), name)
    finally:
        raw.close()


def _by_name(path: str) -> Format | None:
    name, extension = os.path.splitext(path.lower())
    return _EXTENSIONS.get(os.path.splitext(name)[1] if extension in compressed.EXTENSIONS else extension)


def _by_first_byte(document: npt.NDArray[np.uint8]) -> Format | None:
    """What most documents of columns are seen to be at once: these may be many."""
    first = document[0] if document.size else 0
    if first == ord("<"):
        return "xml"
    one_line = first in (ord("{"), ord("[")) and document.size <= _HEAD and not (document[:-1] == ord("\n")).any()
    return "json" if one_line else None


def _by_head(reader: ByteReader, name: str | None) -> Format:
    """By how a document begins: no more of it is read than needed, as more of a pipe may come much later."""
    head, room = b"", np.empty(min(_HEAD, (reader.size or _HEAD) + 1), np.uint8)
    while len(head) < _HEAD and (got := reader.into(room)):
        head = (head + room[:got].tobytes()).lstrip(_BLANKS)
        if head.startswith(b"<"):
            return "xml"
        if head.partition(b"\n")[2].strip(_BLANKS):
            break
    if not head:
        raise DataError("the document is empty", source=name, fix="leave it out, or look at what wrote it")
    if head[:1] not in b'{["-0123456789tfn':
        reason = f"the document begins with {head[:8]!r}, which neither XML nor JSON does"
        raise DataError(
            reason,
            source=name,
            fix=Message("if it is JSON, give the format to see what is wrong with it: ", Option("format", "json")),
        )
    line, _, rest = head.partition(b"\n")
    return "jsonl" if rest.strip(_BLANKS) and _is_json(line) else "json"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
