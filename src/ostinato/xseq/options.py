"""The options of an XSeq query's verbs, as types: what to read, and how."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypedDict

from ostinato.core.arrays import UInt8
from ostinato.core.frames import TableLike
from ostinato.documents.formats import Format
from ostinato.files.reader import OnError
from ostinato.xseq.limits import XSeqLimits


class ByteStream(Protocol):
    """An open binary file, or anything that reads like one."""

    def read(self, size: int, /) -> bytes | None: ...


# A document (path, bytes, text, open file), a folder or list of files, or a column or table of documents.
DocumentSource = (
    str | bytes | bytearray | memoryview | UInt8 | os.PathLike[str] | ByteStream | Sequence[object] | TableLike
)


class DocumentOptions(TypedDict, total=False):
    """How a document is read."""

    format: Format | None
    on_error: OnError
    doctype: Literal["refuse", "skip"]
    encoding: str | None
    namespaces: Mapping[str, str] | None
    root: str
    record: str
    limits: XSeqLimits | None


class ReadOptions(DocumentOptions, total=False):
    """How documents are read in this process."""

    column: str | None
    name: str | None
    chunk_size: int
    threads: int | None


class FrameOptions(DocumentOptions, total=False):
    """How the documents of a Spark DataFrame are read: see `ostinato.spark.xseq.detect_xseq`."""

    column: str | None
    files: bool
    keep: str | Sequence[str] | None
