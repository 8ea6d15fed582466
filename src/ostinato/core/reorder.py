"""Puts events in event-time order: each waits until nothing earlier can come; what comes after that is late."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.clock import Clock
from ostinato.core.events import StreamColumns, time_order
from ostinato.core.tick_span import tick_span
from ostinato.core.window_bounds import lower_bound_function

_MOST_WAITING = 1 << 12  # rows of batches that wait as single ones
Positions = Int64 | range  # of rows, ascending; those of a whole stream are not written out


def at_places(positions: Positions, places: Int64) -> Int64:
    """Some of the positions."""
    if not isinstance(positions, range):
        return positions[places]
    return places + positions.start if positions.start else places


def write_out(positions: Positions) -> Int64:
    return np.arange(positions.start, positions.stop) if isinstance(positions, range) else positions


class ReleasedRows(NamedTuple):
    """Rows that may be processed now, in order of arrival; `order` sorts them by time (None: they are sorted)."""

    rows: pa.Table
    positions: Positions
    order: Int64 | None
    # In order of time, where each is in the stream, if not all of its events are given; else they come in a row.
    places: Int64 | None = None

    def pick(self, chosen: Int64, first_place: int) -> ReleasedRows:
        """Those at some places in the order of time, the first of which is at `first_place` of the stream."""
        places = first_place + chosen
        if len(chosen) == len(self.rows):
            return self._replace(places=places)
        if self.order is None:
            return ReleasedRows(self.rows.take(pa.array(chosen)), at_places(self.positions, chosen), None, places)
        as_come = np.sort(self.order[chosen])
        order = np.searchsorted(as_come, self.order[chosen])
        return ReleasedRows(self.rows.take(pa.array(as_come)), at_places(self.positions, as_come), order, places)


@dataclass(frozen=True, slots=True, order=True)
class SingleRow:
    """A row as Python values, as far as they matter: `event` is what its reader made of it."""

    tick: int
    position: int
    values: dict[str, Any] = field(compare=False)
    event: Any = field(compare=False)


class ReorderBuffer:
    """`lateness` is in nanoseconds of event time; with None, events wait until `advance` says that time has passed.

    Without a time column rows pass through as they come. With no lateness they do so too, batch by batch, unless
    `ties_wait`: then those of one time wait for each other, so that `order_by` decides among all of them.
    """

    def __init__(
        self,
        clock: Clock | None,
        binding: StreamColumns,
        schema: pa.Schema,
        lateness: int | None,
        *,
        ties_wait: bool = False,
    ) -> None:
        self.clock, self.binding, self.lateness = clock, binding, lateness
        self.at_once = lateness == 0 and not ties_wait
        self._rows: pa.Table = schema.empty_table()
        self._none = self._rows
        self._positions: Int64 = np.zeros(0, np.int64)
        self._single: list[SingleRow] = []  # a heap of those that came one at a time, and are not in Arrow yet
        self._bound = lower_bound_function(clock, lateness) if clock is not None and lateness else int
        self.watermark = np.iinfo(np.int64).min  # no event before this tick is expected any more

    @property
    def rows(self) -> pa.Table:
        """Those that wait, in order of arrival."""
        self._settle()
        return self._rows

    @property
    def positions(self) -> Int64:
        self._settle()
        return self._positions

    def load(self, rows: pa.Table, positions: Int64) -> None:
        """Let these wait, and no others."""
        self._single = []
        self._rows, self._positions, self._none = rows, positions, rows.slice(0, 0)

    def mark(self) -> Callable[[], None]:
        """A way back to what waits now, and to the time that has been reached."""
        state = self._rows, self._positions, list(self._single), self.watermark

        def go_back() -> None:
            self._rows, self._positions, self._single, self.watermark = state

        return go_back

    def load_single(self, rows: Iterable[SingleRow]) -> None:
        """Let these wait, and no others."""
        self.load(self._rows.slice(0, 0), self._positions[:0])
        self._single = sorted(rows)

    def _settle(self) -> None:
        """Put single rows to the others."""
        if not self._single:
            return
        single, self._single = sorted(self._single, key=lambda row: row.position), []
        schema = self._rows.schema
        columns = {
            name: pa.array([row.values.get(name) for row in single], schema.field(name).type) for name in schema.names
        }
        rows = pa.concat_tables([self._rows, pa.table(columns, schema=schema)])
        positions = np.concatenate([self._positions, np.array([row.position for row in single], np.int64)])
        order = np.argsort(positions, kind="stable")
        self._rows, self._positions = rows.take(pa.array(order)), positions[order]

    @property
    def holds_rows(self) -> bool:
        """Whether some row waits."""
        return bool(self._single or len(self._positions))

    @property
    def waiting(self) -> int:
        """How many rows wait in Arrow."""
        return len(self._positions)

    def take_over(self, see: Callable[[dict[str, Any], int], SingleRow | None]) -> bool:
        """Let the rows of earlier batches wait as single ones, if there are few and `see` can read all of them."""
        if not self.waiting:
            return True
        if self.waiting > _MOST_WAITING:
            return False
        rows = zip(self.rows.to_pylist(), self.positions.tolist(), strict=True)
        seen = [see(row, position) for row, position in rows]
        plain = [row for row in seen if row is not None]
        if len(plain) == len(seen):
            self.load_single(plain)
        return len(plain) == len(seen)

    def next_tick(self) -> int | None:
        """The first tick that releases a row which waits; None if there is none."""
        if self.clock is None or not len(self.positions):
            return None
        first = int(self.clock.ticks(self.rows[self.clock.column]).min())
        return first + bool(self.binding.order_by)  # which puts those of one time in order

    def push_one(self, row: SingleRow) -> list[SingleRow]:
        """Take a row that is not late; returns the rows that may be processed now, in order."""
        if self.clock is None:
            return [row]
        if self.lateness is not None:
            self.watermark = max(self.watermark, self._bound(row.tick))
        if self.at_once:
            return [row]
        heappush(self._single, row)
        released: list[SingleRow] = []
        while self._single and self._single[0].tick <= self.watermark:
            released.append(heappop(self._single))
        return released

    def count_late(self, rows: pa.Table) -> int:
        """How many of these rows would be late."""
        if self.clock is None:
            return 0
        return int((self.clock.ticks(rows[self.clock.column]) < self.watermark).sum())

    def push(self, rows: pa.Table, positions: Positions) -> tuple[ReleasedRows, pa.Table]:
        """Take a batch; returns the rows that may be processed now, and those that came too late."""
        late = self._none
        if self.clock is None:
            return ReleasedRows(rows, positions, None), late
        ticks = self.clock.ticks(rows[self.clock.column])
        least, newest, in_order = tick_span(ticks)
        if in_order and least >= self.watermark and self.at_once and not self.binding.order_by:
            self.watermark = max(self.watermark, newest)
            return ReleasedRows(rows, positions, None), late
        if least < self.watermark:
            on_time = ticks >= self.watermark
            late = rows.filter(pa.array(~on_time))
            rows, positions, ticks = rows.filter(pa.array(on_time)), write_out(positions)[on_time], ticks[on_time]
        if len(ticks) and self.lateness is not None:
            self.watermark = max(self.watermark, self._bound(newest))
        return self._release(rows, positions, ticks), late

    def advance(self, tick: int) -> ReleasedRows:
        """Time has reached `tick`: nothing earlier is expected."""
        self.watermark = max(self.watermark, tick)
        return self._release(self.rows.slice(0, 0), self.positions[:0], self.positions[:0])

    def flush(self) -> ReleasedRows:
        self.watermark = np.iinfo(np.int64).max
        rows, positions = self.rows, self.positions
        self.load(rows.slice(0, 0), positions[:0])
        return ReleasedRows(rows, positions, time_order(rows, self.binding))

    def _release(self, rows: pa.Table, positions: Positions, ticks: Int64) -> ReleasedRows:
        """Those of the rows that wait, and of these further ones, that may be processed now."""
        if len(self.positions):
            rows = pa.concat_tables([self.rows, rows]).combine_chunks()
            positions = np.concatenate([self.positions, write_out(positions)])
            if self.clock is not None:
                ticks = self.clock.ticks(rows[self.clock.column])
        if self.at_once or self.clock is None:
            return ReleasedRows(rows, positions, time_order(rows, self.binding, ticks))
        positions = write_out(positions)
        # With order_by, events of the same time wait for each other: they are sorted, not taken as they come.
        side: Literal["left", "right"] = "left" if self.binding.order_by else "right"
        if tick_span(ticks)[2]:
            count = int(np.searchsorted(ticks, self.watermark, side=side))
            waiting, left = rows.slice(count), positions[count:].copy()
            if len(waiting) < count:  # a copy, which does not hold what was released in memory
                waiting = waiting.take(pa.array(np.arange(len(waiting))))
            self.load(waiting, left)
            rows, positions, ticks = rows.slice(0, count), positions[:count], ticks[:count]
        else:
            ripe = ticks < self.watermark if side == "left" else ticks <= self.watermark
            self.load(rows.filter(pa.array(~ripe)).combine_chunks(), positions[~ripe])
            rows, positions, ticks = rows.filter(pa.array(ripe)), positions[ripe], ticks[ripe]
        return ReleasedRows(rows, positions, time_order(rows, self.binding, ticks))
