"""Documents to query: one, the files of folders, standard input, and the rows of a column of tables."""

from __future__ import annotations

import io
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from ostinato.documents.byte_source import open_source
from ostinato.documents.columns import column_documents, holds_json
from ostinato.documents.formats import EXTENSIONS, Format
from ostinato.errors import DataError, did_you_mean
from ostinato.files.reader import EventReader, OnError, expand_path, open_events

STDIN = "-"
_ROWS = 1 << 10  # of a table that are read at a time: each may hold a large document

ReadListener = Callable[[int], None]  # called with how many more bytes were read


def _ignore(size: int) -> None:
    """Nobody asked how much was read."""


@dataclass(frozen=True)
class Document:
    """One document: what errors call it, what the answer calls it, where its bytes are, its format if that is known."""

    name: str | None
    label: str | int | None
    source: Any
    format: Format | None = None
    on_read: ReadListener | None = None  # of the bytes of its file

    def open(self) -> AbstractContextManager[Any]:
        """Its bytes, or a file of them; whoever opened a file closes it."""
        if self.on_read is None or not isinstance(self.source, str | os.PathLike):
            return nullcontext(self.source)
        try:
            return CountingFile(open(self.source, "rb", buffering=0), self.on_read)
        except OSError as error:
            raise DataError(f"cannot be read: {error.strerror}", source=self.name) from error


class Documents(ABC):
    """Some documents, in order."""

    labels: str | None = None  # the column of the answer that says which one a row is from, if there is one
    size: int | None = None  # bytes, where that is known
    small: bool = False  # there may be very many, of a few rows each

    @abstractmethod
    def __call__(self, on_read: ReadListener | None = None) -> Iterator[Document]: ...

    @property
    def bad_rows(self) -> list[str]:
        """The rows of tables that were left out as they could not be read, documents and all."""
        return []


class SingleDocument(Documents):
    """A document by itself."""

    def __init__(self, source: Any, format: Format | None, name: str | None) -> None:
        is_file = format is None and callable(getattr(source, "read", None))
        self.document = Document(name, None, PeekableFile(source, name) if is_file else source, format)

    def __call__(self, on_read: ReadListener | None = None) -> Iterator[Document]:
        yield self.document


class DocumentFiles(Documents):
    """Each file is a document; a file alone has no label, unless `listed` says that there might have been more."""

    def __init__(self, inputs: Sequence[str | os.PathLike[str]], *, listed: bool = False) -> None:
        given = [os.fspath(each) for each in inputs]
        if given.count(STDIN) > 1:
            raise DataError("standard input can be read only once", fix=f"give one `{STDIN}`")
        self.paths = [
            path
            for each in given
            for path in ([each] if each == STDIN else map(str, expand_path(Path(each), EXTENSIONS, "documents")))
        ]
        alone = not listed and len(given) == 1 and (given[0] == STDIN or Path(given[0]).is_file())
        self.labels = None if alone else "document"
        self.size = None if STDIN in self.paths else sum(Path(path).stat().st_size for path in self.paths)

    def __call__(self, on_read: ReadListener | None = None) -> Iterator[Document]:
        for path in self.paths:
            if path == STDIN:
                piped = PeekableFile(CountingFile(sys.stdin.buffer, on_read or _ignore), "standard input")
                yield Document("standard input", path, piped)
            else:
                yield Document(path, path, path, on_read=on_read)


class DocumentRows(Documents):
    """Each row of a column of table files is a document; a row without one is left out."""

    labels = "row"
    small = True

    def __init__(self, inputs: Sequence[str | os.PathLike[str]], column: str, on_error: OnError) -> None:
        self.column = column
        self.reader: EventReader = open_events(list(inputs), columns=[column], batch_rows=_ROWS, on_error=on_error)
        if column not in self.reader.schema.names:
            names = open_events(list(inputs)).schema.names
            source = ", ".join(map(str, inputs))
            raise DataError(
                f"there is no column `{column}`", source=source, fix=did_you_mean(column, names), option="column"
            )
        self.size = self.reader.bytes_total

    def __call__(self, on_read: ReadListener | None = None) -> Iterator[Document]:
        done = read = 0
        for table in self.reader:
            yield from _of_column(table[self.column], done)
            done += table.num_rows
            (on_read or _ignore)(self.reader.bytes_read - read)
            read = self.reader.bytes_read

    @property
    def bad_rows(self) -> list[str]:
        return [f"{bad.file}: line {bad.line}: {bad.reason}" for bad in self.reader.bad_rows]


class DocumentColumn(Documents):
    """Each row of an Arrow column is a document; a row without one is left out."""

    labels = "row"
    small = True

    def __init__(self, column: pa.Array | pa.ChunkedArray) -> None:
        self.column = column

    def __call__(self, on_read: ReadListener | None = None) -> Iterator[Document]:
        return _of_column(self.column, 0)


def _of_column(column: pa.Array | pa.ChunkedArray, done: int) -> Iterator[Document]:
    format: Format | None = "json" if holds_json(column.type) else None
    for row, data in column_documents(column):
        yield Document(f"row {done + row}", done + row, data, format)


class CountingFile(io.RawIOBase):
    """A file that tells how much of it is read."""

    def __init__(self, file: BinaryIO | io.RawIOBase, on_read: ReadListener) -> None:
        self._file, self._on_read = file, on_read
        # as much as a pipe has now: more may come much later
        self._into: Any = getattr(file, "readinto1", None) or file.readinto  # type: ignore[union-attr]

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        count = self._into(room) or 0
        self._on_read(count)
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class PeekableFile(io.RawIOBase):
    """An open file that can be looked into before it is read: what was read of it is given once more after `again`.

    It is not closed with this one, as it was not opened here.
    """

    def __init__(self, file: Any, name: str | None) -> None:
        self._reader, self.name = open_source(file, name)
        self._seen, self._left = bytearray(), memoryview(b"")
        self._looking = True

    def rewind(self) -> None:
        self._looking, self._left = False, memoryview(bytes(self._seen))

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if self._left:
            count = min(len(room), len(self._left))
            room[:count] = self._left[:count]
            self._left = self._left[count:]
            return count
        count = self._reader.into(np.frombuffer(room, np.uint8))
        if self._looking:
            self._seen += room[:count]
        return count
