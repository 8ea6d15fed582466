"""Puts events in event-time order: each waits until nothing earlier can come; what comes after that is late."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.clock import Clock
from ostinato.core.events import StreamColumns, time_order
from ostinato.core.window_bounds import lower_bounds


@dataclass(frozen=True)
class ReleasedRows:
    """Rows that may be processed now, in order of arrival; `order` sorts them by time (None: they are sorted)."""

    rows: pa.Table
    positions: Int64
    order: Int64 | None


class ReorderBuffer:
    """`lateness` is in nanoseconds of event time; with None, events wait until `advance` says that time has passed.

    Without a time column rows pass through as they come.
    """

    def __init__(self, clock: Clock | None, binding: StreamColumns, schema: pa.Schema, lateness: int | None) -> None:
        self.clock, self.binding, self.lateness = clock, binding, lateness
        self.rows: pa.Table = schema.empty_table()
        self.positions: Int64 = np.zeros(0, np.int64)
        self.watermark = np.iinfo(np.int64).min  # no event before this tick is expected any more

    def count_late(self, rows: pa.Table) -> int:
        """How many of these rows would be late."""
        if self.clock is None:
            return 0
        return int((self.clock.ticks(rows[self.clock.column]) < self.watermark).sum())

    def push(self, rows: pa.Table, positions: Int64) -> tuple[ReleasedRows, pa.Table]:
        """Take a batch; returns the rows that may be processed now, and those that came too late."""
        late = rows.slice(0, 0)
        if self.clock is None:
            return ReleasedRows(rows, positions, None), late
        ticks = self.clock.ticks(rows[self.clock.column])
        on_time = ticks >= self.watermark
        if not on_time.all():
            late = rows.filter(pa.array(~on_time))
            rows, positions, ticks = rows.filter(pa.array(on_time)), positions[on_time], ticks[on_time]
        if len(ticks) and self.lateness is not None:
            newest = ticks.max(keepdims=True)
            bound = int(lower_bounds(self.clock, newest, self.lateness)[0]) if self.lateness else int(newest[0])
            self.watermark = max(self.watermark, bound)
        return self._release(rows, positions), late

    def advance(self, tick: int) -> ReleasedRows:
        """Time has reached `tick`: nothing earlier is expected."""
        self.watermark = max(self.watermark, tick)
        return self._release(self.rows.slice(0, 0), self.positions[:0])

    def flush(self) -> ReleasedRows:
        self.watermark = np.iinfo(np.int64).max
        rows, positions = self.rows, self.positions
        self.rows, self.positions = rows.slice(0, 0), positions[:0]
        return ReleasedRows(rows, positions, time_order(rows, self.binding))

    def _release(self, rows: pa.Table, positions: Int64) -> ReleasedRows:
        if len(self.positions):
            rows = pa.concat_tables([self.rows, rows])
            positions = np.concatenate([self.positions, positions])
        if self.lateness != 0 and self.clock is not None:
            ticks = self.clock.ticks(rows[self.clock.column])
            # With order_by, events of the same time wait for each other: they are sorted, not taken as they come.
            ripe = ticks < self.watermark if self.binding.order_by else ticks <= self.watermark
            self.rows, self.positions = rows.filter(pa.array(~ripe)).combine_chunks(), positions[~ripe]
            rows, positions = rows.filter(pa.array(ripe)), positions[ripe]
        return ReleasedRows(rows, positions, time_order(rows, self.binding))
