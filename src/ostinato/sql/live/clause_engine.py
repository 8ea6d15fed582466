"""A clause over rows that come in order, batch by batch: each row is read once, and a match goes out as soon as no row
to come can change it.

The search for the next match of a partition stands still at the end of its rows, in the middle of what it tries, and
goes on there when there are more. It tries what is preferred first, so a match is final when it is found.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.clock import Clock
from ostinato.sql.kernels.layout import DEPTH, FOUND, START, Search
from ostinato.sql.limits import SqlLimits
from ostinato.sql.live.bound_clause import BoundClause
from ostinato.sql.live.found_matches import FoundMatches, last_reads, show, show_unmatched
from ostinato.sql.live.kept_rows import KeptRows
from ostinato.sql.live.partitions import Moved, Partitions, stretches
from ostinato.sql.live.row_codes import RowCodes
from ostinato.sql.live.search_step import NEVER, SearchStep
from ostinato.sql.runtime.matches import Matches

_ONE = np.ones(1, np.int64)
_MANY = 4096  # rows that are kept beyond need before they are put away


class ClauseEngine:
    def __init__(self, bound: BoundClause, clock: Clock | None, limits: SqlLimits) -> None:
        """`clock` is that of the first key of ORDER BY."""
        self.bound, self.clock, self.limits = bound, clock, limits
        self.codes = RowCodes(bound)
        self.step = SearchStep(bound, self.codes, limits)
        self.partitions: Partitions = self.step.partitions
        self.waiting = FoundMatches.none()  # matches whose measures read rows that are not here yet
        self.deadlines: list[tuple[int, int]] = []  # a heap of when matches that are sought are over; the partition
        self.queued: dict[int, int] = {}  # by partition, what of it came last into the heap, if it is there yet
        self.output = self._nothing()

    def _nothing(self) -> pa.Table:
        schema = self.bound.prepare(self.bound.schema.empty_table()).select(self.bound.kept)
        self.kept = KeptRows(schema)
        return show(self.bound, self.kept, self.partitions, FoundMatches.none())

    def push(self, rows: pa.Table, parts: Int64, count: int, now: int) -> pa.Table:
        """Read rows, side by side those of a partition, in order; `parts` are their partitions, of which there are
        `count`. `now` is the time: no row before it is going to come."""
        touched, counts = _runs(parts)
        self._append(rows, touched, counts, count)
        if self.deadlines and self.deadlines[0][0] <= now:
            known = set(touched.tolist())
            late = [part for part in self._overdue(now) if part not in known]
            touched = np.concatenate([touched, np.array(late, np.int64)])
        return self._go_on(touched, now, False)

    def flush(self) -> pa.Table:
        """The last row has come."""
        return self._go_on(np.arange(self.partitions.count), NEVER, True)

    def _append(self, rows: pa.Table, touched: Int64, counts: Int64, count: int) -> None:
        partitions = self.partitions
        known = partitions.count
        if partitions.add(count):
            self.step.refresh()
        new = touched[touched >= known]
        if (moved := partitions.make_room(touched, counts)) is not None:
            self._relocate(moved)
        partitions["begun"][new] = partitions["base"][new]
        first = self.kept.append(rows.select(self.bound.kept))
        places = stretches(partitions["last"][touched], counts)
        partitions.of_rows["row_ids"][places] = np.arange(first, first + len(rows))
        if self.clock is not None and (deadlines := self.bound.deadlines(rows)) is not None:
            partitions.of_rows["deadlines"][places] = ticks_up(deadlines, self.clock)
        self._write_columns(rows, places)
        partitions["last"][touched] += counts
        partitions.kept += len(rows)

    def _write_columns(self, rows: pa.Table, places: Int64) -> None:
        """What programs read of rows, where these are columns of the input."""
        if self.codes.direct and len(rows):
            for name, values in self.codes.read(rows).items():
                self.partitions.of_rows[name][..., places] = values

    def read_columns(self, places: Int64) -> None:
        """Write them for rows that are kept."""
        self._write_columns(self.kept.take(self.partitions.of_rows["row_ids"][places]), places)

    def _overdue(self, now: int) -> Iterator[int]:
        """Partitions in which a match that is sought is over."""
        found: dict[int, None] = {}
        while self.deadlines and self.deadlines[0][0] <= now:
            tick, part = heapq.heappop(self.deadlines)
            found[part] = None
            if self.queued.get(part) == tick:
                del self.queued[part]
        return iter(found)

    def due(self) -> int | None:
        """The next time at which something is over."""
        return self.deadlines[0][0] if self.deadlines else None

    def _go_on(self, touched: Int64, now: int, closed: bool) -> pa.Table:
        if not touched.size:
            return self.output
        self._evaluate(touched, closed)
        found = self.step.run(touched, now, closed, self._rows_of)
        if not closed and self.bound.match.within is not None:
            self._set_deadlines(touched)
        tables = [self.output, *self._show_matches(touched, found, closed)]
        self._forget(touched)
        return pa.concat_tables(tables) if len(tables) > 1 else self.output

    def _evaluate(self, touched: Int64, closed: bool) -> None:
        """Conditions on rows that look at no row which is not here yet."""
        partitions, bound = self.partitions, self.bound
        ready, last = partitions["ready"][touched], partitions["last"][touched]
        now_ready = last if closed else np.maximum(last - bound.ahead, ready)
        more = now_ready > ready
        if not more.any():
            return
        parts, ready, last, now_ready = touched[more], ready[more], last[more], now_ready[more]
        if self.codes.direct and self.step.code_rows(parts, ready, now_ready):
            partitions["ready"][parts] = now_ready
            return
        first = np.maximum(ready - bound.back, partitions["needed"][parts])
        bounds = np.concatenate([[0], np.cumsum(last - first)])
        table = self.kept.take(partitions.of_rows["row_ids"][stretches(first, last - first)])
        # Also of rows that are not ready: rows before them may read their columns (NEXT(FIRST(A.x))).
        evaluated = stretches(bounds[:-1] + ready - first, last - ready)
        remap = self.codes.evaluate(bound.ordered(table, bounds), evaluated)
        if remap is not None:
            self.step.renumber(remap)
        self.step.write(stretches(ready, last - ready))
        partitions["ready"][parts] = now_ready

    def _show_matches(self, touched: Int64, found: Matches, closed: bool) -> Iterator[pa.Table]:
        """The rows of matches that are final, and of rows that are in none."""
        partitions, unmatched = self.partitions, self.bound.match.rows == "ALL ROWS WITH UNMATCHED"
        if found.count or (self.waiting.count and self.bound.looking_on):
            parts = self.step.parts_of(touched, found.starts)
            new = FoundMatches(
                parts, found.starts, found.lengths, found.numbers, last_reads(self.bound, found), found.path
            )
            matches = self.waiting + new
            final = (matches.reads < partitions["last"][matches.parts]) | closed
            self.waiting = matches.pick(np.flatnonzero(~final))
            if final.any():
                yield self._conform(show(self.bound, self.kept, partitions, matches.pick(np.flatnonzero(final))))
        if unmatched:
            places = self._find_unmatched(touched, found)
            if places.size:
                yield self._conform(show_unmatched(self.bound, self.kept, partitions, places))

    def _conform(self, table: pa.Table) -> pa.Table:
        return table if table.schema.equals(self.output.schema) else table.cast(self.output.schema)

    def _find_unmatched(self, touched: Int64, found: Matches) -> Int64:
        """Rows at which no match begins any more, and which are in none."""
        partitions = self.partitions
        parts = self.step.parts_of(touched, found.starts)
        starts, shown = partitions.attempts[touched, START], partitions["shown"][touched]
        counts = starts - shown
        places = stretches(shown, counts)
        inside = places < np.repeat(partitions["covered"][touched], counts)
        offsets = np.zeros(partitions.count, np.int64)
        offsets[touched] = np.cumsum(counts) - counts - shown
        for part, start, length in zip(
            parts.tolist(), found.starts.tolist(), np.maximum(found.lengths, 1).tolist(), strict=True
        ):
            at = offsets[part] + start
            inside[at : at + min(length, int(partitions.attempts[part, START]) - start)] = True
        np.maximum.at(partitions["covered"], parts, found.starts + np.maximum(found.lengths, 1))
        partitions["shown"][touched] = starts
        return places[~inside]

    def _forget(self, touched: Int64) -> None:
        """What no match can read any more."""
        partitions, back = self.partitions, self.bound.back
        needed = partitions.attempts[touched, START].copy()
        if self.waiting.count:
            first = np.full(partitions.count, np.iinfo(np.int64).max)
            np.minimum.at(first, self.waiting.parts, self.waiting.starts)
            needed = np.minimum(needed, first[touched])
        partitions.need(touched, np.maximum(needed - back, partitions["needed"][touched]))
        if self.kept.size > 2 * partitions.kept + _MANY:
            self.shrink()

    def shrink(self) -> None:
        """Keep rows that are needed, and no others."""
        partitions = self.partitions
        needed, last = partitions["needed"][: partitions.count], partitions["last"][: partitions.count]
        places = stretches(needed, last - needed)
        self.kept.shrink(partitions.of_rows["row_ids"][places])
        partitions.of_rows["row_ids"][places] = np.arange(places.size)
        self.step.forget_texts(places)

    def _set_deadlines(self, touched: Int64) -> None:
        partitions = self.partitions
        pending = touched[partitions.attempts[touched, DEPTH] >= 0]
        due = partitions.of_rows["deadlines"][partitions.attempts[pending, START]]
        for tick, part in zip(due.tolist(), pending.tolist(), strict=True):
            if self.queued.get(part) != tick:
                self.queued[part] = tick
                heapq.heappush(self.deadlines, (tick, part))

    def _relocate(self, moved: Moved) -> None:
        self.waiting.shift(moved.delta)
        self.step.relocate(moved)

    def _rows_of(self, search: Search, part: int) -> tuple[pa.Table, int]:
        """The rows of the match that is sought, and those around them; and how many come before it."""
        partitions = self.partitions
        start = int(partitions.attempts[part, START])
        first = max(start - self.bound.back, int(partitions["needed"][part]))
        places = np.arange(first, int(partitions["last"][part]))
        return self.kept.take(partitions.of_rows["row_ids"][places]), start - first

    @property
    def matches(self) -> int:
        return int(self.partitions.attempts[: self.partitions.count, FOUND].sum())


def _runs(parts: Int64) -> tuple[Int64, Int64]:
    """Of numbers side by side: each once, and how many there are of it."""
    if parts.size == 1:
        return parts, _ONE
    starts = np.flatnonzero(np.diff(parts, prepend=-1))
    return parts[starts].astype(np.int64), np.diff(np.append(starts, parts.size))


def ticks_up(times: pa.ChunkedArray, clock: Clock) -> Int64:
    """Times of another type as ticks of a clock, the later one between two; NULL is never."""
    other = Clock("", times.type)
    valid = np.asarray(times.is_valid().to_numpy(), np.bool_)
    found = np.full(len(times), NEVER, np.int64)
    ticks = other.ticks(times.filter(pa.array(valid)))
    if clock.kind == "float" or other.kind == "float":
        values = Clock("", times.type, attribute=True).measure(ticks)
        found[valid] = [clock.tick(value, up=True) for value in values.tolist()]
        return found
    assert clock.step is not None and other.step is not None
    ratio = other.step / clock.step
    if ratio == 1:
        found[valid] = ticks
    elif ratio.numerator == 1:
        found[valid] = -(-ticks // ratio.denominator)
    else:
        found[valid] = [-(-tick * ratio.numerator // ratio.denominator) for tick in ticks.tolist()]
    return found
