"""The rows that matches may still refer to: the current batch, and earlier rows that partial matches hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.reorder import Positions, write_out
from ostinato.core.tick_span import tick_span

# Columns added to kept rows where matches wait: the time as a pulse of the clock, and the place in the stream.
TIME, PLACE = "#time", "#place"
_BLANK = pa.schema([pa.field("#blank", pa.null())])
_NONE: Int64 = np.zeros(0, np.int64)
_FEW = 1 << 13  # with fewer rows, looking for unneeded ones does not pay
_FEW_CELLS = 1 << 9  # of a column, that become Python values together
_MANY_CHUNKS = 32  # with more chunks than this, looking rows up costs more than copying them together


class History:
    """Rows by position. `kept` are few and sorted; the current batch is looked up directly when its rows are numbered
    one after the other, as they are unless events were reordered across batches."""

    def __init__(self, schema: pa.Schema) -> None:
        # A table without columns forgets how many rows it has.
        self.schema = schema if schema.names else _BLANK
        self._kept_positions: Int64 = np.zeros(0, np.int64)
        self._kept: pa.Table = self.schema.empty_table()
        # That came one at a time, and are not in Arrow yet; replaced, not changed but by `add`: copies share them.
        self._rows: dict[int, tuple[Any, ...]] = {}
        self._parts: list[tuple[pa.Table, Positions]] = []  # batches, of all columns, that are not among `kept` yet
        self._part_rows = 0
        self.batch_positions: Positions = _NONE
        self._batch: pa.Table | None = None  # with all columns
        self._selected: pa.Table | None = None
        self.next_prune = _FEW

    def add(self, position: int, row: tuple[Any, ...]) -> None:
        """Keep one row, between batches."""
        self._rows[position] = row

    def _settle_rows(self) -> None:
        """Make a batch of single rows."""
        ordered = sorted(self._rows)  # events that waited for earlier ones are not in order of arrival
        rows, positions = [self._rows[position] for position in ordered], np.array(ordered, np.int64)
        self._rows = {}
        columns: list[pa.Array] = []
        if self.schema is not _BLANK:
            values = zip(zip(*rows, strict=True), self.schema.types, strict=True)
            columns = [pa.array(column, kind) for column, kind in values]
        self._parts.append((pa.table(columns, schema=self.schema) if columns else _BLANK.empty_table(), positions))
        self._part_rows += len(positions)

    def _settle(self) -> None:
        """Put batches to the rows that were kept before."""
        if self._rows:
            self._settle_rows()
        if not self._parts:
            return
        parts, self._parts, self._part_rows = self._parts, [], 0
        kept = self._concat(parts)
        positions = np.concatenate([self._kept_positions, *(write_out(places) for _, places in parts)])
        if not tick_span(positions)[2]:
            order = np.argsort(positions, kind="stable")
            kept, positions = kept.take(pa.array(order)), positions[order]
        self.load(kept, positions)

    def _concat(self, parts: Sequence[tuple[pa.Table, Positions]]) -> pa.Table:
        """What was kept before, and what is kept of these batches."""
        if self.schema is _BLANK:
            return self._select(self._kept, len(self._kept_positions) + sum(len(places) for _, places in parts))
        columns: list[pa.ChunkedArray | pa.Array] = []
        for name in self.schema.names:
            chunks = self._kept.column(name).chunks
            for rows, _ in parts:
                chunks += rows.column(name).chunks
            many = len(chunks) > _MANY_CHUNKS and not pa.types.is_dictionary(chunks[0].type)
            columns.append(pa.concat_arrays(chunks) if many else pa.chunked_array(chunks, self.schema.field(name).type))
        kept = pa.table(columns, schema=self.schema)
        return kept.combine_chunks() if kept.column(0).num_chunks > _MANY_CHUNKS else kept

    def _select(self, rows: pa.Table, count: int) -> pa.Table:
        """What is kept of so many rows."""
        return pa.table([pa.nulls(count)], schema=_BLANK) if self.schema is _BLANK else rows.select(self.schema.names)

    @property
    def kept_positions(self) -> Int64:
        self._settle()
        return self._kept_positions

    @property
    def kept(self) -> pa.Table:
        self._settle()
        return self._kept

    @property
    def batch(self) -> pa.Table:
        """What would be kept of the current batch."""
        if self._selected is None:
            rows = self.schema.empty_table() if self._batch is None else self._batch
            self._selected = self._select(rows, len(self.batch_positions)).combine_chunks()
        return self._selected

    def load(self, kept: pa.Table, positions: Int64) -> None:
        """Rows that were kept elsewhere."""
        self._kept, self._kept_positions = kept, positions

    def load_only(self, kept: pa.Table, positions: Int64) -> None:
        """Keep these rows, and no others."""
        self._rows, self._parts, self._part_rows = {}, [], 0
        self.next_prune = _FEW
        self.drop()
        self.load(kept, positions)

    def migrate_schema(self, schema: pa.Schema) -> None:
        """The same rows with other types, between batches."""
        kept = self.kept
        self.schema = schema if schema.names else _BLANK
        self._kept, self._batch, self._selected = kept.cast(self.schema), None, None

    @property
    def names(self) -> list[str]:
        """The columns that are kept."""
        return [] if self.schema is _BLANK else list(self.schema.names)

    def widen(self, schema: pa.Schema) -> None:
        """Keep these columns, too, between batches; rows kept so far have NULL there."""
        more = [field for field in schema if field.name not in self.schema.names and schema is not _BLANK]
        if not more:
            return
        kept, positions = self.kept, self.kept_positions
        columns = {name: kept[name] for name in self.names} | {f.name: pa.nulls(len(kept), f.type) for f in more}
        self.schema = pa.schema([*(self.schema if self.schema is not _BLANK else ()), *more])
        self.drop()
        self.load(pa.table(columns, schema=self.schema), positions)

    def replace(self, rows: pa.Table, positions: Int64) -> None:
        """Keep these rows, between batches, also in place of those that are kept of them."""
        others = ~np.isin(self.kept_positions, positions)
        self.load(self.kept.filter(pa.array(others)), self._kept_positions[others])
        self._parts.append((rows, positions))
        self._part_rows += len(positions)

    def frozen(self) -> History:
        """The rows as they are now, whatever is forgotten later."""
        if len(self._parts) > _MANY_CHUNKS:
            self._settle()
        other = copy(self)
        other._parts = list(self._parts)
        return other

    def open(self, batch: pa.Table, positions: Positions) -> None:
        """Make a batch available; `positions` are ascending."""
        if self._rows:
            self._settle_rows()
        self._batch, self._selected, self.batch_positions = batch, None, positions

    def close(self) -> None:
        """Keep the batch's rows."""
        if self._batch is not None and len(self.batch_positions):
            self._parts.append((self._batch, self.batch_positions))
            self._part_rows += len(self.batch_positions)
        self.drop()

    def drop(self) -> None:
        """Forget the batch's rows, which no match holds."""
        self._batch, self._selected, self.batch_positions = None, None, _NONE

    @property
    def keeps_rows(self) -> bool:
        """Whether there are any, but for the current batch."""
        return bool(self._rows or self._parts or len(self._kept_positions))

    @property
    def crowded(self) -> bool:
        """Whether twice as many rows are kept as were needed last."""
        return len(self._kept_positions) + self._part_rows + len(self._rows) >= self.next_prune

    def keep(self, live: Int64) -> None:
        """Forget all rows but those at the `live` positions."""
        if not len(live):
            self.load_only(self.schema.empty_table(), _NONE)
            return
        if self._rows:
            self._settle_rows()
        if self._parts:  # mostly nothing of a batch is needed
            live = np.sort(live)
            first, last = np.searchsorted(live, [_ends(positions) for _, positions in self._parts]).T
            self._parts = [part for part, needed in zip(self._parts, first < last, strict=True) if needed]
            self._part_rows = sum(len(positions) for _, positions in self._parts)
        kept, positions = self.kept, self.kept_positions
        needed = np.zeros(len(positions), np.bool_)
        needed[_find(positions, live)] = True
        places = np.flatnonzero(needed)
        self.load(kept.take(pa.array(places)).combine_chunks(), positions[places])
        self.next_prune = max(_FEW, 2 * len(self.kept_positions))

    def rows(self, positions: Int64, columns: list[str]) -> pa.Table:
        """The rows at some positions, in that order."""
        if not len(self.kept_positions):
            return self.batch.select(columns).take(pa.array(_places(self.batch_positions, positions)))
        kept = np.minimum(np.searchsorted(self.kept_positions, positions), len(self.kept_positions) - 1)
        is_kept = self.kept_positions[kept] == positions
        index = kept
        if len(self.batch_positions):
            index = np.where(is_kept, kept, len(self.kept_positions) + _find(self.batch_positions, positions))
        both = pa.concat_tables([self.kept.select(columns), self.batch.select(columns)])
        return both.take(pa.array(index))

    def numbers(self, positions: Int64, column: str) -> Int64:
        """The whole numbers of the rows at some positions."""
        found: Int64
        if len(self.kept_positions) or not len(self.batch_positions):
            found = self.rows(positions, [column])[column].to_numpy()
        else:  # much less work, where there are few positions at a time
            found = self.batch[column].chunk(0).to_numpy()[_places(self.batch_positions, positions)]
        return found

    def values(self, positions: Iterable[int], column: str) -> list[Any]:
        """The values of a column at some positions. Where there are few, that costs less than to look up rows."""
        rows, place = self._rows, self.schema.get_field_index(column)
        found: list[Any] = []
        known: dict[int, Sequence[Any]] = {}  # the column of tables that were met
        run, first = range(0), 0  # positions in one table, and that of its first row if all were in a row
        cells: Sequence[Any] = ()
        for position in positions:
            row = rows.get(position)
            if row is not None:
                found.append(row[place])
                continue
            if position not in run:
                table, first, run = self._locate(position)
                if (number := id(table)) not in known:
                    known[number] = _cells(table.column(column))
                cells = known[number]
            cell = cells[position - first]
            found.append(cell.as_py() if isinstance(cell, pa.Scalar) else cell)
        return found

    def _locate(self, position: int) -> tuple[pa.Table, int, range]:
        """The table of a row, how far its position is from its place there, and the positions of which that holds."""
        for table, positions in ((self._batch, self.batch_positions), *reversed(self._parts)):
            if table is None or not len(positions) or not positions[0] <= position <= positions[-1]:
                continue
            first, end = _ends(positions)
            if end - first == len(positions):
                return table, first, range(first, end)
            assert not isinstance(positions, range)
            at = int(positions.searchsorted(position))
            if positions[at] == position:
                return table, position - at, range(position, position + 1)
        at = int(self._kept_positions.searchsorted(position))
        return self._kept, position - at, range(position, position + 1)


def _cells(column: pa.ChunkedArray) -> Sequence[Any]:
    """A column, as Python values where that costs little."""
    cells: Sequence[Any] = column.to_pylist() if len(column) <= _FEW_CELLS else column
    return cells


def _ends(positions: Positions) -> tuple[int, int]:
    """The first position of a batch, and the one after its last."""
    return int(positions[0]), int(positions[-1]) + 1


def _find(ascending: Positions, wanted: Int64) -> Int64:
    """Indices of `wanted` in `ascending`; where a value is absent the result is within bounds but meaningless."""
    return np.clip(_places(ascending, wanted), 0, max(0, len(ascending) - 1))


def _places(ascending: Positions, wanted: Int64) -> Int64:
    """Indices of `wanted`, all of which are in `ascending`."""
    if not len(ascending):
        return np.zeros(len(wanted), np.int64)
    if ascending[-1] - ascending[0] + 1 == len(ascending):
        return wanted - ascending[0] if ascending[0] else wanted
    return np.searchsorted(ascending, wanted)
