"""The rows that matches may still refer to: the current batch, and earlier rows that partial matches hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.reorder import Positions, written_out

_BLANK = pa.schema([pa.field("#blank", pa.null())])
_FEW = 4096  # with fewer rows, looking for unneeded ones does not pay
_MANY_CHUNKS = 32  # with more chunks than this, looking rows up costs more than copying them together


class History:
    """Rows by position. `kept` are few and sorted; the current batch is looked up directly when its rows are numbered
    one after the other, as they are unless events were reordered across batches."""

    def __init__(self, schema: pa.Schema) -> None:
        # A table without columns forgets how many rows it has.
        self.schema = schema if schema.names else _BLANK
        self._kept_positions: Int64 = np.zeros(0, np.int64)
        self._kept: pa.Table = self.schema.empty_table()
        self._rows: list[tuple[Any, ...]] = []  # that came one at a time, and are not in Arrow yet
        self._row_positions: list[int] = []
        self.batch_positions: Positions = np.zeros(0, np.int64)
        self.batch: pa.Table = self.schema.empty_table()
        self.next_prune = _FEW

    def add(self, position: int, row: tuple[Any, ...]) -> None:
        """Keep one row, between batches."""
        self._rows.append(row)
        self._row_positions.append(position)

    def _settle(self) -> None:
        """Put single rows to the others."""
        places = np.array(self._row_positions, np.int64)
        order = np.argsort(places)  # events that waited for earlier ones are not in order of arrival
        rows, positions = [self._rows[place] for place in order.tolist()], places[order]
        self._rows, self._row_positions = [], []
        columns: list[pa.Array] = []
        if self.schema is not _BLANK:
            values = zip(zip(*rows, strict=True), self.schema.types, strict=True)
            columns = [pa.array(column, kind) for column, kind in values]
        self.open(pa.table(columns, schema=self.schema) if columns else _BLANK.empty_table(), positions)
        self.close()

    @property
    def kept_positions(self) -> Int64:
        if self._rows:
            self._settle()
        return self._kept_positions

    @property
    def kept(self) -> pa.Table:
        if self._rows:
            self._settle()
        return self._kept

    def load(self, kept: pa.Table, positions: Int64) -> None:
        """Rows that were kept elsewhere."""
        self._kept, self._kept_positions = kept, positions

    def migrate_schema(self, schema: pa.Schema) -> None:
        """The same rows with other types, between batches."""
        kept = self.kept
        self.schema = schema if schema.names else _BLANK
        self._kept, self.batch = kept.cast(self.schema), self.schema.empty_table()

    def open(self, batch: pa.Table, positions: Positions) -> None:
        """Make a batch available; `positions` are ascending."""
        if self._rows:
            self._settle()
        if self.schema is _BLANK:
            batch = pa.table([pa.nulls(len(positions))], schema=_BLANK)
        self.batch, self.batch_positions = batch.select(self.schema.names).combine_chunks(), positions

    def close(self) -> None:
        """Keep the batch's rows."""
        before, added = self.kept_positions, written_out(self.batch_positions)
        in_order = not len(before) or not len(added) or before[-1] < added[0]
        kept, positions = pa.concat_tables([self.kept, self.batch]), np.concatenate([before, added])
        if not in_order:
            order = np.argsort(positions, kind="stable")
            kept, positions = kept.take(pa.array(order)), positions[order]
        self.open(self.schema.empty_table(), np.zeros(0, np.int64))
        self.load(kept.combine_chunks() if kept.column(0).num_chunks > _MANY_CHUNKS else kept, positions)

    @property
    def crowded(self) -> bool:
        """Whether twice as many rows are kept as were needed last."""
        return len(self._kept_positions) + len(self._rows) >= self.next_prune

    def keep(self, live: Int64) -> None:
        """Forget all rows but those at the `live` positions."""
        needed = np.zeros(len(self.kept_positions), np.bool_)
        needed[_find(self.kept_positions, live)] = True
        self.load(self.kept.filter(pa.array(needed)).combine_chunks(), self.kept_positions[needed])
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
