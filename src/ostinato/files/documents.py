"""Documents to query: files, the files of folders, standard input, and the rows of a column of tables."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from ostinato.errors import DataError, did_you_mean
from ostinato.files.reader import OnError, Reader, expand, open_events
from ostinato.tree.columns import documents

STDIN = "-"
EXTENSIONS = (".xml", ".json", ".jsonl", ".ndjson")  # of documents in a folder
_HEAD = 1 << 20  # bytes that are looked at to tell what a document is
_ROWS = 1 << 10  # of a table that are read at a time: each may hold a large document


@dataclass(frozen=True)
class Document:
    """One document: what errors call it, what the answer calls it, what tells its format, and how to get its bytes."""

    name: str
    label: str | int
    start: str | bytes  # its path, or its first bytes
    open: Callable[[], AbstractContextManager[Any]]


class Files:
    """Each file is a document."""

    labels = "document"

    def __init__(self, inputs: Sequence[str]) -> None:
        if inputs.count(STDIN) > 1:
            raise DataError("standard input can be read only once", fix=f"give one `{STDIN}`")
        self.paths = [
            path
            for each in inputs
            for path in ([each] if each == STDIN else map(str, expand(Path(each), EXTENSIONS, "documents")))
        ]
        plain = len(inputs) == 1 and (inputs[0] == STDIN or Path(inputs[0]).is_file())
        self.single = plain and len(self.paths) == 1
        piped = STDIN in self.paths
        self.size = None if piped else sum(Path(path).stat().st_size for path in self.paths)

    def __call__(self, heard: Callable[[int], None]) -> Iterator[Document]:
        """The documents; `heard` is told how many bytes more were read."""
        for path in self.paths:
            if path == STDIN:
                head = sys.stdin.buffer.read(_HEAD)
                piped = Counted(_Joined(head, sys.stdin.buffer), heard)
                yield Document("standard input", path, head, partial(nullcontext, piped))
            else:
                yield Document(path, path, path, partial(_opened, path, heard))


def _opened(path: str, heard: Callable[[int], None]) -> Counted:
    try:
        return Counted(open(path, "rb", buffering=0), heard)
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", source=path) from error


class Rows:
    """Each row of a column of tables is a document; a row without one is left out."""

    labels = "row"
    single = False

    def __init__(self, inputs: Sequence[str], column: str, on_error: OnError) -> None:
        self.column = column
        self.reader: Reader = open_events(list(inputs), columns=[column], batch_rows=_ROWS, on_error=on_error)
        if column not in self.reader.schema.names:
            names = open_events(list(inputs)).schema.names
            raise DataError(f"there is no column `{column}`", source=", ".join(inputs), fix=did_you_mean(column, names))
        self.size: int | None = self.reader.bytes_total

    def __call__(self, heard: Callable[[int], None]) -> Iterator[Document]:
        done = read = 0
        for table in self.reader:
            for row, data in documents(table[self.column]):
                yield Document(f"row {done + row}", done + row, data[:_HEAD].tobytes(), partial(nullcontext, data))
            done += table.num_rows
            heard(self.reader.bytes_read - read)
            read = self.reader.bytes_read


class Counted(io.RawIOBase):
    """A file that tells how much of it is read."""

    def __init__(self, file: BinaryIO | io.RawIOBase, heard: Callable[[int], None]) -> None:
        self._file, self._heard = file, heard

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        count = self._file.readinto(room) or 0  # type: ignore[union-attr]
        self._heard(count)
        return count

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Joined(io.RawIOBase):
    """Bytes that were read already, and the rest of their file."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        if not self._head:
            data = self._rest.read1(len(room)) if hasattr(self._rest, "read1") else self._rest.read(len(room))
            room[: len(data)] = data
            return len(data)
        count = min(len(room), len(self._head))
        room[:count] = self._head[:count]
        self._head = self._head[count:]
        return count
