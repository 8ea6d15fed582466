"""CSV and JSON lines, block by block: every block ends with a line, so each can be read, and go wrong, by itself.

The types of columns are those that fit the whole file: a first pass over it finds them, so that a value late in the
file never contradicts what was handed out before.
"""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa

from ostinato.errors import DataError
from ostinato.files.source import BadRow, Piece

BLOCK = 1 << 22  # bytes read at a time
LONGEST_ROW = 1 << 26  # bytes; it is held in memory
_FINEST = ("s", "ms", "us", "ns")
_FORCED = {"number": pa.float64(), "string": pa.string(), "boolean": pa.bool_(), "timestamp": pa.timestamp("us")}


class Block(NamedTuple):
    data: bytes
    first_line: int
    bytes_read: int


class TextSource(ABC):
    """What CSV and JSON lines have in common. `kinds` says what some columns must be, whatever they look like."""

    # Types are found once per version of a file: it is often opened twice, to check a query and then to run it.
    _scanned: dict[tuple[type, Path, int, int], pa.Schema] = {}  # noqa: RUF012

    def __init__(self, path: Path, kinds: Mapping[str, str]) -> None:
        self.path, self.kinds = path, kinds
        self.types = pa.schema([])  # of the columns asked for

    @abstractmethod
    def begin(self, head: bytes) -> None:
        """Look at the start of the file."""

    @abstractmethod
    def scan(self, block: Block, columns: list[str] | None) -> pa.Schema:
        """The types that the rows of a block suggest; bad rows suggest nothing."""

    @abstractmethod
    def widen(self, left: pa.DataType, right: pa.DataType) -> pa.DataType:
        """The type for values of two types."""

    @abstractmethod
    def read(self, block: Block, schema: pa.Schema) -> tuple[pa.Table, list[BadRow]]:
        """The rows of a block, and the bad ones."""

    def split(self, data: bytes) -> int:
        """Where the last whole line of a block ends."""
        return data.rfind(b"\n") + 1

    def schema(self, columns: list[str] | None) -> pa.Schema:
        with self._bytes() as (file, _):
            self.begin(self._take(file, 0))
        state = self.path.stat()
        key = (type(self), self.path.resolve(), state.st_size, state.st_mtime_ns)
        found = self._scanned.get(key)
        if found is None:
            found = pa.schema([])
            for block in self.blocks():
                with self._telling(block):
                    found = self._merge(found, self.scan(block, columns))
            if columns is None:
                self._scanned[key] = found
        if not found.names and columns is None:
            self._explain_nothing()
        fields = [self._forced(field) for field in found if columns is None or field.name in columns]
        self.types = pa.schema(fields)
        return self.types

    def _merge(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        types = {field.name: field.type for field in left}
        for field in right:
            types[field.name] = self.widen(types[field.name], field.type) if field.name in types else field.type
        return pa.schema(list(types.items()))

    def _forced(self, field: pa.Field) -> pa.Field:
        wanted, kind = self.kinds.get(field.name), field.type
        if wanted is None or (wanted == "number" and (pa.types.is_integer(kind) or pa.types.is_floating(kind))):
            return field
        if wanted == "timestamp" and pa.types.is_timestamp(kind):
            return field
        return pa.field(field.name, _FORCED.get(wanted, kind))

    def _explain_nothing(self) -> None:
        """A file without one readable row has no columns; say why."""
        for block in self.blocks():
            _, bad = self.read(block, pa.schema([]))
            if bad:
                raise as_error(bad[0])

    def pieces(self, schema: pa.Schema, batch_rows: int) -> Iterator[Piece]:
        mine = pa.schema([field for field in self.types if field.name in schema.names])
        for block in self.blocks():
            with self._telling(block):
                rows, bad = self.read(block, mine)
            for start in range(0, max(rows.num_rows, 1), batch_rows):
                yield Piece(rows.slice(start, batch_rows), bad if start == 0 else [], block.bytes_read)

    def blocks(self) -> Iterator[Block]:
        with self._bytes() as (file, position):
            line, rest = 1, b""
            while True:
                fresh = self._take(file, line - 1)
                data = rest + fresh
                end = self.split(data) if fresh else len(data)
                if end:
                    yield Block(data[:end], line, position())
                    line += data.count(b"\n", 0, end)
                elif len(data) > LONGEST_ROW:
                    raise DataError(
                        f"line {line} does not end within {LONGEST_ROW:,} bytes",
                        source=str(self.path),
                        fix="check that the file has one row per line",
                    )
                if not fresh:
                    return
                rest = data[end:]

    @contextmanager
    def _bytes(self) -> Iterator[tuple[BinaryIO, Callable[[], int]]]:
        """The file, decompressed, and how many of its own bytes were read."""
        with self.path.open("rb") as raw:
            yield cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if self.path.suffix.lower() == ".gz" else raw, raw.tell

    def _take(self, file: BinaryIO, line: int) -> bytes:
        try:
            return file.read(BLOCK)
        except (OSError, EOFError, zlib.error) as error:
            raise self._cut(line, error) from error

    @contextmanager
    def _telling(self, block: Block) -> Iterator[None]:
        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._cut(block.first_line, error) from error

    def _cut(self, line: int, error: Exception) -> DataError:
        fix = "copy the file again; it may be cut short, or of another format"
        return DataError(f"cannot be read after line {line}: {error}", source=str(self.path), fix=fix)


def as_error(bad: BadRow) -> DataError:
    text = bad.text if len(bad.text) <= 120 else bad.text[:117] + "..."
    return DataError(
        f"{bad.reason}: {text}",
        source=f"{bad.file}, line {bad.line}",
        fix="correct the line, or leave such lines out: on_error='skip', or --on-error skip",
    )


def finer(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """Of two timestamp types the one that holds both."""
    return pa.timestamp(max(left.unit, right.unit, key=_FINEST.index), left.tz)


def unfit(values: Any, fits: Callable[[Any], object]) -> list[int]:
    """Places of values that do not fit, found by halving: quick where nearly all do."""
    try:
        fits(values)
        return []
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if len(values) < 2:
            return [0]
    half = len(values) // 2
    return unfit(values[:half], fits) + [half + place for place in unfit(values[half:], fits)]


def last_line_outside_quotes(data: bytes) -> int:
    """The end of the last line that is not inside a quoted field; 0 where there is none, so that more is read.

    Quotes that do not pair up would make that the whole file: at some point the last line has to do.
    """
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    raw = np.frombuffer(data, np.uint8)
    lines = np.flatnonzero(raw == ord("\n"))
    outside = lines[np.searchsorted(np.flatnonzero(raw == ord('"')), lines) % 2 == 0]
    if len(outside):
        return int(outside[-1]) + 1
    return data.rfind(b"\n") + 1 if len(data) > LONGEST_ROW else 0
