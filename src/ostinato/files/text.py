"""CSV and JSON lines, block by block: every block ends with a line, so each can be read, and go wrong, by itself.

The types of columns are those that fit the whole file: a first pass over it finds them, so that a value late in the
file never contradicts what was handed out before.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa

from ostinato.errors import DataError
from ostinato.files.source import BadRow, Piece

BLOCK = 1 << 22  # bytes read at a time
_FINEST = ("s", "ms", "us", "ns")
_FORCED = {"number": pa.float64(), "string": pa.string(), "boolean": pa.bool_(), "timestamp": pa.timestamp("us")}


class Block(NamedTuple):
    data: bytes
    first_line: int
    bytes_read: int


class TextSource:
    """What CSV and JSON lines have in common. `kinds` says what some columns must be, whatever they look like."""

    # Types are found once per version of a file: it is often opened twice, to check a query and then to run it.
    _scanned: dict[tuple[type, Path, int, int], pa.Schema] = {}  # noqa: RUF012

    def __init__(self, path: Path, kinds: Mapping[str, str]) -> None:
        self.path, self.kinds = path, kinds
        self.types = pa.schema([])  # of the columns asked for

    # A format says how to find the types of a block, how to widen them, and how to read it.

    def begin(self) -> None:
        """Look at the start of the file."""

    def scan(self, block: Block, columns: list[str] | None) -> pa.Schema:
        raise NotImplementedError

    def widen(self, left: pa.DataType, right: pa.DataType) -> pa.DataType:
        raise NotImplementedError

    def read(self, block: Block, schema: pa.Schema) -> tuple[pa.Table, list[BadRow]]:
        raise NotImplementedError

    def split(self, data: bytes) -> int:
        """Where the last whole line of a block ends."""
        return data.rfind(b"\n") + 1

    def schema(self, columns: list[str] | None) -> pa.Schema:
        self.begin()
        state = self.path.stat()
        key = (type(self), self.path.resolve(), state.st_size, state.st_mtime_ns)
        found = self._scanned.get(key)
        if found is None:
            found = reduce(self._merge, (self.scan(block, columns) for block in self.blocks()), pa.schema([]))
            if columns is None:
                self._scanned[key] = found
        if not found.names:
            self._explain_nothing(columns)
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
        return (
            field
            if wanted == "timestamp" and pa.types.is_timestamp(kind)
            else pa.field(field.name, _FORCED.get(wanted, kind))
        )

    def _explain_nothing(self, columns: list[str] | None) -> None:
        """A file without one readable row has no columns; say why."""
        for block in self.blocks():
            _, bad = self.read(block, pa.schema([]))
            if bad and columns is None:
                raise as_error(bad[0])

    def pieces(self, schema: pa.Schema, batch_rows: int) -> Iterator[Piece]:
        mine = pa.schema([field for field in self.types if field.name in schema.names])
        for block in self.blocks():
            rows, bad = self.read(block, mine)
            for start in range(0, max(rows.num_rows, 1), batch_rows):
                yield Piece(rows.slice(start, batch_rows), bad if start == 0 else [], block.bytes_read)

    def blocks(self) -> Iterator[Block]:
        with self.path.open("rb") as raw:
            file = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if self.path.suffix.lower() == ".gz" else raw
            line, rest = 1, b""
            while True:
                try:
                    fresh = file.read(BLOCK)
                except (OSError, EOFError, zlib.error) as error:
                    raise DataError(
                        f"cannot be read after line {line - 1}: {error}",
                        source=str(self.path),
                        fix="copy the file again; it may be cut short",
                    ) from error
                data = rest + fresh
                end = self.split(data) if fresh else len(data)
                if end:
                    yield Block(data[:end], line, raw.tell())
                    line += data.count(b"\n", 0, end)
                if not fresh:
                    return
                rest = data[end:]


def as_error(bad: BadRow) -> DataError:
    text = bad.text if len(bad.text) <= 120 else bad.text[:117] + "..."
    return DataError(
        f"{bad.reason}: {text}",
        source=f"{bad.file}, line {bad.line}",
        fix="correct the line, or leave such lines out with on_error='skip'",
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
        if len(values) == 1:
            return [0]
    half = len(values) // 2
    return unfit(values[:half], fits) + [half + place for place in unfit(values[half:], fits)]


def last_line_outside_quotes(data: bytes) -> int:
    """The end of the last line that is not inside a quoted field; of the last line, where quotes do not pair up."""
    if b'"' not in data:
        return data.rfind(b"\n") + 1
    raw = np.frombuffer(data, np.uint8)
    lines = np.flatnonzero(raw == ord("\n"))
    outside = lines[np.searchsorted(np.flatnonzero(raw == ord('"')), lines) % 2 == 0]
    return int(outside[-1]) + 1 if len(outside) else data.rfind(b"\n") + 1
