"""Reads CSV and JSON lines block by block: every block ends with a line, so each can be read, and fail, on its own.

A first pass finds column types that fit the whole file, so that a value late in the file never contradicts rows that
were already handed out.
"""

from __future__ import annotations

import gzip
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import DataError, Message, Option
from ostinato.files.source import BadRow, Piece

BLOCK = 1 << 22  # bytes read at a time
LONGEST_ROW = 1 << 26  # bytes; it is held in memory
_FINEST = ("s", "ms", "us", "ns")
_FORCED = {"number": pa.float64(), "string": pa.string(), "boolean": pa.bool_(), "timestamp": pa.timestamp("us")}


WHOLE = pa.decimal128(38, 0)  # for whole numbers beyond 64 bits: as floats, different ones would become equal


class Block(NamedTuple):
    """Whole rows. Unreadable ones are blank lines in `data` and listed in `bad`."""

    data: bytes
    first_line: int
    bytes_read: int
    bad: list[BadRow]


class UnreadableRow(NamedTuple):
    """A row that cannot be read: its bytes from `start` to `end`, and where the reason lies."""

    start: int
    at: int
    end: int
    reason: str


class TextSource(ABC):
    """What CSV and JSON lines have in common.

    `kinds` says what some columns must hold, whatever their values look like; `scanned` is called with the number of
    further bytes that were scanned for types. `forgiving`: bad rows are left out, even if no others remain.
    """

    # Types are found once per version of a file: it is often opened twice, to check a query and then to run it.
    _scanned: dict[tuple[type, Path, int, int], pa.Schema] = {}  # noqa: RUF012

    def __init__(
        self, path: Path, kinds: Mapping[str, str], scanned: Callable[[int], None], *, forgiving: bool
    ) -> None:
        self.path, self.kinds, self.scanned, self.forgiving = path, kinds, scanned, forgiving
        self.types = pa.schema([])  # of the wanted columns

    @abstractmethod
    def begin(self, head: bytes) -> None:
        """Look at the start of the file."""

    @abstractmethod
    def scan(self, block: Block, columns: list[str] | None) -> pa.Schema:
        """The types that the rows of a block suggest; bad rows suggest nothing."""

    @abstractmethod
    def widen(self, left: pa.DataType, right: pa.DataType) -> pa.DataType:
        """The type that holds values of both."""

    @abstractmethod
    def read(self, block: Block, schema: pa.Schema) -> tuple[pa.Table, list[BadRow]]:
        """The rows of a block, and the bad ones."""

    @abstractmethod
    def split(self, data: bytes, *, last: bool) -> tuple[int, list[UnreadableRow]]:
        """Where the last complete row ends, and the unreadable rows before that. 0: more bytes are needed.

        `last`: nothing follows.
        """

    def schema(self, columns: list[str] | None) -> pa.Schema:
        with self._bytes() as (file, _):
            head = self._take(file, 0)
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise DataError("the file is UTF-16, not UTF-8", source=str(self.path), fix="convert it, with iconv say")
        self.begin(head)
        state = self.path.stat()
        key = (type(self), self.path.resolve(), state.st_size, state.st_mtime_ns)
        found = self._scanned.get(key)
        if found is None:
            found, done = pa.schema([]), 0
            for block in self.blocks():
                with self._name_the_file(block):
                    found = self._merge(found, self.scan(block, columns))
                self.scanned(block.bytes_read - done)
                done = block.bytes_read
            if columns is None:
                self._scanned[key] = found
        if not found.names and columns is None and not self.forgiving:
            self._explain_nothing()
        fields = [self._force_kind(field) for field in found if columns is None or field.name in columns]
        self.types = pa.schema(fields)
        return self.types

    def _merge(self, left: pa.Schema, right: pa.Schema) -> pa.Schema:
        types = {field.name: field.type for field in left}
        for field in right:
            types[field.name] = self.widen(types[field.name], field.type) if field.name in types else field.type
        return pa.schema(list(types.items()))

    def _force_kind(self, field: pa.Field) -> pa.Field:
        wanted, kind = self.kinds.get(field.name), field.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if wanted is None or (wanted == "number" and number):
            return field
        if wanted == "timestamp" and pa.types.is_timestamp(kind):
            return field
        return pa.field(field.name, _FORCED.get(wanted, kind))

    def _explain_nothing(self) -> None:
        """Raise DataError for a file without a single readable row: it has no columns."""
        for block in self.blocks():
            _, bad = self._read(block, pa.schema([]))
            if bad:
                raise bad_row_error(bad[0])

    def _read(self, block: Block, schema: pa.Schema) -> tuple[pa.Table, list[BadRow]]:
        with self._name_the_file(block):
            rows, bad = self.read(block, schema)
        return rows, sorted([*block.bad, *bad], key=lambda row: row.line)

    def pieces(self, schema: pa.Schema, batch_rows: int) -> Iterator[Piece]:
        mine = pa.schema([field for field in self.types if field.name in schema.names])
        for block in self.blocks():
            rows, bad = self._read(block, mine)
            for start in range(0, max(rows.num_rows, 1), batch_rows):
                part = rows.slice(start, min(batch_rows, rows.num_rows - start))
                yield Piece(part, bad if start == 0 else [], block.bytes_read)

    def blocks(self) -> Iterator[Block]:
        with self._bytes() as (file, position):
            line, rest = 1, b""
            while True:
                fresh = self._take(file, line - 1)
                data = rest + fresh
                end, spoilt = self.split(data, last=not fresh)
                if end:
                    yield self.blank_out(data[:end], line, position(), spoilt)
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

    def blank_out(self, data: bytes, first_line: int, bytes_read: int, spoilt: list[UnreadableRow]) -> Block:
        """The block with unreadable rows blanked out; all other lines keep their numbers."""
        if not spoilt:
            return Block(data, first_line, bytes_read, [])
        breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
        parts: list[bytes] = []
        bad: list[BadRow] = []
        done = 0
        for row, line in zip(spoilt, np.searchsorted(breaks, [row.at for row in spoilt]).tolist(), strict=True):
            parts += [data[done : row.start], b"\n" * data.count(b"\n", row.start, row.end)]
            done = row.end
            first, last = data.rfind(b"\n", 0, row.at) + 1, int(breaks[line]) if line < len(breaks) else len(data)
            text = data[first:last].decode("utf-8", "replace").removesuffix("\r")
            bad.append(BadRow(str(self.path), first_line + line, text, row.reason))
        return Block(b"".join([*parts, data[done:]]), first_line, bytes_read, bad)

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
    def _name_the_file(self, block: Block) -> Iterator[None]:
        try:
            yield
        except pa.ArrowInvalid as error:
            raise self._cut(block.first_line, error) from error

    def _cut(self, line: int, error: Exception) -> DataError:
        fix = "copy the file again; it may be cut short, or of another format"
        return DataError(f"cannot be read after line {line}: {error}", source=str(self.path), fix=fix)


def bad_row_error(bad: BadRow) -> DataError:
    text = bad.text if len(bad.text) <= 120 else bad.text[:117] + "..."
    return DataError(
        f"{bad.reason}: {text}",
        source=f"{bad.file}, line {bad.line}",
        fix=Message("correct the line, or leave such lines out: ", Option("on_error", "skip")),
    )


def too_large_for_floats(column: pa.ChunkedArray) -> bool:
    """Whether a column taken for floats has values whose last digits a float cannot hold."""
    if not pa.types.is_floating(column.type):
        return False
    bounds = pc.min_max(column).as_py()
    return any(bound is not None and abs(bound) >= 2.0**53 for bound in bounds.values())


def finer_timestamp(left: pa.DataType, right: pa.DataType) -> pa.DataType:
    """The one of two timestamp types that holds the values of both."""
    return pa.timestamp(max(left.unit, right.unit, key=_FINEST.index), left.tz or right.tz)


def find_unfit(values: Any, fits: Callable[[Any], object]) -> list[int]:
    """Places of values that do not fit, found by halving: fast where nearly all fit."""
    try:
        fits(values)
        return []
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if len(values) < 2:
            return [0]
    half = len(values) // 2
    return find_unfit(values[:half], fits) + [half + place for place in find_unfit(values[half:], fits)]


def find_undecodable(data: bytes, ends: Iterable[int]) -> list[UnreadableRow]:
    """The rows with bytes that are not UTF-8; `ends` are the ends of all rows."""
    if data.isascii():
        return []
    try:
        data.decode()
        return []
    except UnicodeDecodeError:
        found: list[UnreadableRow] = []
    start = 0
    for end in ends:
        try:
            data[start:end].decode()
        except UnicodeDecodeError as error:
            found.append(UnreadableRow(start, start + error.start, end, "text that is not UTF-8"))
        start = end
    return found
