"""Events from a pipe, as they come: JSON lines, CSV and Arrow's stream format. Parquet begins with its end."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from ostinato.errors import DataError
from ostinato.files.reader import EventReader, OnError, open_events
from ostinato.files.source import BadRow

_BLOCK = 1 << 20  # bytes at a time, where so many are there
STANDARD_INPUT = "standard input"


def sniff_format(start: bytes) -> str:
    """The format of a stream, as the extension of a file, by its first bytes."""
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return "arrow"
    return "jsonl" if start.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"{" else "csv"


class LiveEvents:
    """Iterate, once, for tables of what has come so far. The types are those of the first lines, or `kinds`.

    Lines are read as those of a file: a block of them is one for a moment. Columns that came once stay. Files of Arrow
    and Parquet are read to their end.
    """

    def __init__(self, stream: Any, kinds: Mapping[str, str], on_error: OnError, form: str | None = None) -> None:
        self._stream, self._kinds, self._on_error = stream, kinds, on_error
        self._start: bytes = stream.read1(_BLOCK)
        self.form = form or sniff_format(self._start)
        self.rows_read = self.bad_count = 0
        self.bad_rows: list[BadRow] = []
        self._seen: dict[str, pa.DataType] = {}

    def __iter__(self) -> Iterator[pa.Table]:
        for rows in self._tables():
            if rows.num_rows:
                self.rows_read += rows.num_rows
                yield self._with_missing(rows)

    def _with_missing(self, rows: pa.Table) -> pa.Table:
        """With NULL in the columns that earlier rows had and these do not."""
        for name, kind in self._seen.items():
            if name not in rows.column_names:
                rows = rows.append_column(name, pa.nulls(len(rows), kind))
        for field in rows.schema:
            self._seen.setdefault(field.name, field.type)
        return rows

    def _tables(self) -> Iterator[pa.Table]:
        if self.form == "arrow" and not self._start.startswith(b"ARROW1"):
            yield from map(_table, ipc.open_stream(_Prefixed(self._start, self._stream)))
            return
        if self.form in ("arrow", "parquet"):
            whole = pa.BufferReader(self._start + self._stream.read())
            yield ipc.open_file(whole).read_all() if self.form == "arrow" else pq.read_table(whole)
            return
        with tempfile.TemporaryDirectory(prefix="ostinato-") as folder:
            file, header, before = Path(folder) / f"{STANDARD_INPUT}.{self.form}", b"", 0
            for lines in self._lines():
                if self.form == "csv" and not header:
                    header, _, lines = lines.partition(b"\n")
                    header += b"\n"
                file.write_bytes(header + lines)
                try:
                    reader = open_events(file, kinds=self._kinds, on_error=self._on_error)
                    yield from self._of_file(reader, before)
                except DataError as error:
                    raise error.replace(source=_of_stream(error.source, file, before)) from None
                before += lines.count(b"\n")

    def _of_file(self, reader: EventReader, before: int) -> Iterator[pa.Table]:
        """The rows of a block; `before` lines came before it, without the header."""
        yield from reader
        self.bad_count += reader.bad_count
        self.bad_rows += [replace(bad, file=STANDARD_INPUT, line=bad.line + before) for bad in reader.bad_rows]

    def _lines(self) -> Iterator[bytes]:
        """Whole lines, as many as have come."""
        rest, block = b"", self._start
        while block:
            lines, end, more = block.rpartition(b"\n")
            if end:
                yield rest + lines + end
                rest = more
            else:
                rest += block
            block = self._stream.read1(_BLOCK)
        if rest.strip():
            yield rest + b"\n"


def _of_stream(source: str | None, file: Path, before: int) -> str | None:
    """A place in the file of a block, as one in the stream."""
    if source is None or not source.startswith(str(file)):
        return source
    place = source.removeprefix(str(file))
    line = place.removeprefix(", line ")
    return f"{STANDARD_INPUT}, line {int(line) + before}" if line.isdecimal() else f"{STANDARD_INPUT}{place}"


def _table(batch: pa.RecordBatch) -> pa.Table:
    return pa.Table.from_batches([batch])


class _Prefixed:
    """A stream and what was read of it before, for Arrow."""

    closed = False

    def __init__(self, start: bytes, stream: Any) -> None:
        self._start, self._stream = start, stream

    def read(self, size: int = -1) -> bytes:
        if size < 0:
            found, self._start = self._start, b""
            return found + bytes(self._stream.read())
        found, self._start = self._start[:size], self._start[size:]
        if len(found) < size:
            found += self._stream.read(size - len(found))
        return found

    def close(self) -> None:
        """Others own it."""
