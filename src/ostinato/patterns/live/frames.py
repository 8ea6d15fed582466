"""Where events stand, for all queries at once: in which partition, and where along which window.

Queries with the same PARTITION BY share their keys, and those with the same window its bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.clock import Clock
from ostinato.core.columns.keys import KeyTable
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int32, int64, void
from ostinato.core.window_bounds import lower_bound_function, lower_bounds, whole_reach
from ostinato.patterns.kernels import live_layout, protocol
from ostinato.patterns.runtime.bound_query import BoundQuery

TIME, PLACE = "time", "place"
_FEW_WINDOWS = 8  # whose bounds are worked out for all events of a batch, which is faster than one by one
Ruler = str | int  # TIME, PLACE, or the number of the key frame in which events are counted


@kernel(void(view(int32), array(int64), array(int64)))
def _count_keys(keys: Int32, counts: Int64, out: Int64) -> None:
    """out[i] is how many events of its key there have been, with this one."""
    for row in range(out.size):
        counts[keys[row]] += 1
        out[row] = counts[keys[row]]


@dataclass(eq=False)
class KeyFrame:
    """The partitions by some columns. Where equalities tie events, NULL and NaN are in none."""

    columns: tuple[str, ...]
    tied: bool
    table: KeyTable = field(default_factory=KeyTable)
    counts: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))  # per key: its events so far

    def encode(self, rows: pa.Table) -> Int32:
        keys = self.table.encode([rows[name] for name in self.columns], self.columns)
        if self.tied:
            column = rows[self.columns[0]]
            lost = np.asarray(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False), bool)
            if lost.any():
                keys = np.where(lost, -1, keys).astype(np.int32)
        return keys

    def encode_one(self, values: tuple[Any, ...], fields: Sequence[pa.Field]) -> int:
        if self.tied and (values[0] is None or values[0] != values[0]):
            return -1
        return self.table.id_of(values, fields)

    def count(self, keys: Int32) -> Int64:
        self.make_room()
        counted = np.empty(len(keys), np.int64)
        _count_keys(keys, self.counts, counted)
        return counted

    def count_one(self, key: int) -> int:
        self.make_room()
        self.counts[key] += 1
        return int(self.counts[key])

    def make_room(self) -> None:
        """For the counts of all keys."""
        if (more := self.table.size - len(self.counts)) > 0:
            self.counts = np.concatenate([self.counts, np.zeros(max(more, len(self.counts)), np.int64)])

    def keep(self, kept: Int64) -> None:
        """Forget all keys but these, which are numbered anew."""
        self.make_room()
        self.table, self.counts = KeyTable.from_table(self.table.to_table().take(kept)), self.counts[kept]


@dataclass(frozen=True)
class Placed:
    """Where some events stand, frame by frame."""

    keys: Int32
    ticks: Int64
    lows: Int64  # of the first few windows


class Frames:
    """The frames of all queries."""

    def __init__(self, schema: pa.Schema, clock: Clock | None) -> None:
        self.schema, self.clock = schema, clock
        self.read = 0  # events placed so far
        self.keys: list[KeyFrame] = []
        self.rulers: list[Ruler] = []
        self._lows: list[tuple[int, float]] = []  # a place among rulers, and how far back a window reaches
        self._last: list[int | None] = []  # per ruler: where the last event stands, or what time has reached

    def reaches(self) -> tuple[Int64, Float64]:
        """How far back each window reaches: in ticks, or where it is -1, in nanoseconds."""
        reaches = [self._reach(ruler, amount) for ruler, amount in self._lows]
        return np.array(reaches, np.int64), np.array([amount for _, amount in self._lows], np.float64)

    def _reach(self, ruler: int, amount: float) -> int:
        if self.rulers[ruler] == PLACE:
            return int(amount) - 1
        assert self.clock is not None
        reach = whole_reach(self.clock, amount)
        return -1 if reach is None else reach

    def lowest(self, number: int) -> int:
        """The lower bound of the last event, in one frame; -1: where no such bound is."""
        if number < 0:
            return protocol.FOREVER
        ruler, amount = self._lows[number]
        last = self._last[ruler]
        return protocol.FOREVER if last is None else self._low(ruler, amount, last)

    def advance(self, tick: int) -> bool:
        """Time has reached a tick; returns whether bounds along time have moved since the last event."""
        if TIME not in self.rulers:
            return False
        ruler = self.rulers.index(TIME)
        last = self._last[ruler]
        self._last[ruler] = tick if last is None else max(tick, last)
        return last is None or tick > last

    def restart(self, read: int) -> None:
        """Go on where so many events have been placed; keys are new, and bounds are not known."""
        self.read, self._last = read, [None] * len(self.rulers)
        for frame in self.keys:
            frame.table, frame.counts = KeyTable(), np.zeros(0, np.int64)

    def continue_to(self, later: Frames, rows: pa.Table) -> None:
        """Begin so that after these rows events stand where they do in `later`, with the same keys."""
        self.read = later.read - len(rows)
        for frame in self.keys:
            other = later.key_frame(frame.columns, tied=frame.tied)
            frame.table = other.table
            keys = frame.encode(rows)
            other.make_room()
            frame.counts = other.counts - np.bincount(keys[keys >= 0], minlength=len(other.counts))

    def key_frame(self, columns: tuple[str, ...], *, tied: bool) -> KeyFrame:
        for frame in self.keys:
            if (frame.columns, frame.tied) == (columns, tied):
                return frame
        self.keys.append(KeyFrame(columns, tied))
        return self.keys[-1]

    def of(self, stream: BoundQuery) -> tuple[int, int, int, int]:
        """The frames of a query: of keys, ticks, lower bounds, and of bounds below which all its matches have expired,
        whatever their keys; -1 for none."""
        key = -1
        if stream.key_columns:
            key = self.keys.index(self.key_frame(stream.key_columns, tied=stream.ties is not None))
        window = stream.compiled.query.window
        if stream.window == protocol.NO_WINDOW or window is None:
            return key, -1, -1, -1
        if stream.window == protocol.EVENT_WINDOW:
            ruler = self._ruler(PLACE if key < 0 else key)
            return key, ruler, -1, self._low_frame(ruler, stream.width) if key < 0 else -1
        ruler = self._ruler(PLACE if stream.ruler is None else TIME)
        low = self._low_frame(ruler, stream.event_width if stream.ruler is None else window.amount)
        return key, ruler, low, low

    def watched(self, stream: BoundQuery, *, expires: bool) -> tuple[int, int, int, int]:
        """Those of a query that has an engine of its own; whose matches `expire` with its window."""
        window = stream.compiled.query.window
        if not expires or window is None:
            return live_layout.APART, -1, -1, -1
        ruler = self._ruler(PLACE if stream.ruler is None else TIME)
        low = self._low_frame(ruler, stream.event_width if stream.ruler is None else window.amount)
        return live_layout.APART, ruler, low, low

    def _low_frame(self, ruler: int, amount: float) -> int:
        if (ruler, amount) not in self._lows:
            self._lows.append((ruler, amount))
        return self._lows.index((ruler, amount))

    def _ruler(self, ruler: Ruler) -> int:
        if ruler not in self.rulers:
            self.rulers.append(ruler)
            self._last.append(None)
        return self.rulers.index(ruler)

    def _low(self, ruler: int, amount: float, tick: int) -> int:
        if self.rulers[ruler] == PLACE:
            return tick - int(amount) + 1
        assert self.clock is not None
        return lower_bound_function(self.clock, amount)(tick)

    def place(self, rows: pa.Table) -> Placed:
        """Where rows stand, which come next in the stream."""
        count = len(rows)
        keys = np.empty((len(self.keys), count), np.int32)
        for number, frame in enumerate(self.keys):
            keys[number] = frame.encode(rows)
        ticks = np.empty((len(self.rulers), count), np.int64)
        for number, ruler in enumerate(self.rulers):
            if ruler == PLACE:
                ticks[number] = np.arange(self.read, self.read + count)
            elif ruler == TIME:
                assert self.clock is not None
                ticks[number] = self.clock.ticks(rows[self.clock.column])
            else:
                assert isinstance(ruler, int)
                ticks[number] = self.keys[ruler].count(keys[ruler])
        few = self._lows[:_FEW_WINDOWS]
        lows = np.empty((len(few), count), np.int64)
        for number, (ruler, amount) in enumerate(few):
            if self.rulers[ruler] == PLACE:
                lows[number] = ticks[ruler] - (int(amount) - 1)
            else:
                assert self.clock is not None
                lows[number] = lower_bounds(self.clock, ticks[ruler], amount)
        self.read += count
        if count:
            self._last = ticks[:, -1].tolist()
        return Placed(keys, ticks, lows)

    def place_one(self, values: Mapping[str, Any], tick: int, out: Placed) -> None:
        """Where one event stands, which comes next in the stream; written to the first column of `out`."""
        for number, frame in enumerate(self.keys):
            fields = [self.schema.field(name) for name in frame.columns]
            out.keys[number, 0] = frame.encode_one(tuple([values[name] for name in frame.columns]), fields)
        for number, ruler in enumerate(self.rulers):
            out.ticks[number, 0] = (
                self.read
                if ruler == PLACE
                else tick
                if ruler == TIME
                else self.keys[int(ruler)].count_one(int(out.keys[int(ruler), 0]))
            )
        self._last = out.ticks[:, 0].tolist()
        self.read += 1
