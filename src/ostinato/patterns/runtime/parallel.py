"""A whole stream on several cores: ranges of it where a window bounds what a match can reach back to, else groups of
keys. The rows are those of one core; so is their order, unless a query compares events with each other."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.events import to_arrow
from ostinato.core.reorder import ReleasedRows
from ostinato.core.threads import cuts, run_pieces
from ostinato.core.window_bounds import lower_bounds
from ostinato.patterns.runtime.count import SLICE, count_table
from ostinato.patterns.runtime.event_shards import deal
from ostinato.patterns.runtime.grouped import AGAIN
from ostinato.patterns.runtime.increments import Period, check_increments, events_back, first_tick
from ostinato.patterns.runtime.locality import may_split_keys, may_split_ranges, windows_back
from ostinato.patterns.runtime.matcher_factory import build_matcher
from ostinato.patterns.runtime.tallies import must_list, tally_for

if TYPE_CHECKING:
    from ostinato.patterns.runtime.engine import Engine

LEAST = 1 << 17  # rows per thread: with fewer, binding a query once more costs more than it gains


def detect_table(make_engine: Callable[[], Engine], data: Any, threads: int) -> pa.Table:
    """What `engine.run_batch(data)` gives."""
    engine = make_engine()
    table = to_arrow(data, pieces=threads)
    count = min(threads, len(table) // LEAST)
    rows, order = engine.order_rows(table, pieces=max(1, count))
    if count > 1 and (ranges := _split(engine, rows, order, count)) is not None:
        engines = [engine, *(engine.twin() for _ in range(count - 1))]
        tables = run_pieces(lambda number: _detect_range(engines[number], ranges, number), count)
        engine.options.limits.check_matches(sum(map(len, tables)))
        return pa.concat_tables(tables)
    if count > 1 and may_split_keys(engine.compiled):
        engine.group_keys(count)
    return engine.finish_batch(ReleasedRows(rows, range(len(rows)), order))


def detect_period(engine: Engine, data: Any, since: Any, until: Any) -> pa.Table:
    """Those matches that are known after `since` and up to `until`. The engine tells matches apart."""
    check_increments(engine.compiled)
    rows, order = engine.order_rows(to_arrow(data))
    clock = engine.stream.clock
    period = Period.of(clock, since, until)
    assert clock is not None
    ticks = clock.ticks(rows[clock.column])
    ticks = ticks if order is None else ticks[order]
    begin, end = 0, len(ticks)
    if period.until is not None:
        end = int(np.searchsorted(ticks, period.until, side="right"))
    if period.since is not None:
        back = events_back(engine.compiled)
        if back is None:
            begin = int(np.searchsorted(ticks, first_tick(engine.compiled, clock, period.since)))
        else:
            begin = max(0, int(np.searchsorted(ticks, period.since, side="right")) - back)
    found = engine.finish_batch(rows_between(rows, order, min(begin, end), end))
    return found.filter(period.contains(clock, found))


def count_rows(make_engine: Callable[[], Engine], data: Any, threads: int) -> int:
    """How many rows `detect_table` gives."""
    engine = make_engine()
    table = to_arrow(data, pieces=threads)
    count = min(threads, len(table) // LEAST)
    by_keys = may_split_keys(engine.compiled) and not must_list(engine.compiled)
    if count < 2 or not (by_keys or may_split_ranges(engine.compiled)):
        return count_table(engine, table)
    rows, order = engine.order_rows(table, pieces=count)
    if (ranges := _split(engine, rows, order, count)) is not None:
        return sum(run_pieces(lambda number: _count_range(make_engine, ranges, number), count))
    return _count_by_keys(engine, rows, order, count) if by_keys else count_table(make_engine(), table)


def _count_range(make_engine: Callable[[], Engine], ranges: _Ranges, number: int) -> int:
    whole = count_table(make_engine(), ranges.table(ranges.reach[number], ranges.ends[number + 1]))
    return whole - count_table(make_engine(), ranges.table(ranges.reach[number], ranges.ends[number]))


def _count_by_keys(engine: Engine, rows: pa.Table, order: Int64 | None, count: int) -> int:
    """Each core counts the matches of a group of keys."""
    engine.stream.cores = count
    dealt = deal(engine.stream.events(rows, range(len(rows)), order), count)

    def count_group(number: int) -> int:
        own = copy(engine)
        own.matcher = build_matcher(engine.compiled, engine.stream, engine.options.limits)
        tally, (_, events) = tally_for(own), dealt.group(number)
        for begin in range(0, len(events.codes), SLICE):
            tally.read(events.part(begin, min(begin + SLICE, len(events.codes))))
        return tally.total()

    return sum(run_pieces(count_group, count))


def _detect_range(engine: Engine, ranges: _Ranges, number: int) -> pa.Table:
    reach = ranges.reach[number]
    return engine.finish_range(ranges.released(reach, ranges.ends[number + 1]), ranges.ends[number] - reach)


def _split(engine: Engine, rows: pa.Table, order: Int64 | None, count: int) -> _Ranges | None:
    """Ranges, unless what is read twice costs more than other cores save."""
    counted = engine.stream.ruler is None and engine.identity is not None
    if not may_split_ranges(engine.compiled) or counted:  # matches that look alike may lie in two ranges
        return None
    ranges = _Ranges(engine, rows, order, count)
    again = sum(begin - reach for begin, reach in zip(ranges.ends, ranges.reach, strict=False))
    return ranges if AGAIN * again < len(rows) else None


def rows_between(rows: pa.Table, order: Int64 | None, start: int, stop: int) -> ReleasedRows:
    """The rows from one place of the stream to another."""
    if order is None:
        return ReleasedRows(rows.slice(start, stop - start), range(start, stop), None)
    picked = order[start:stop]
    given = np.sort(picked)
    return ReleasedRows(rows.take(pa.array(given)), given, np.searchsorted(given, picked))


class _Ranges:
    """Ranges of the stream in its order, of equally many rows."""

    def __init__(self, engine: Engine, rows: pa.Table, order: Int64 | None, count: int) -> None:
        self.rows, self.order = rows, order
        self.ends = cuts(len(rows), count)
        self.reach = [self._back(engine, begin) for begin in self.ends[:-1]]  # the first row that a range reads

    def _back(self, engine: Engine, begin: int) -> int:
        compiled = engine.compiled
        window, clock = compiled.query.window, engine.stream.ruler
        assert window is not None
        for _ in range(windows_back(compiled) if begin else 0):
            if clock is None:
                begin -= int(window.amount) - 1
            else:
                low = lower_bounds(clock, clock.ticks(self._time(engine, begin, begin + 1)), window.amount)[0]
                begin = self._first_from(engine, int(low), begin)
        return max(0, begin)

    def _time(self, engine: Engine, start: int, stop: int) -> pa.ChunkedArray:
        clock = engine.stream.ruler
        assert clock is not None
        return self.table(start, stop)[clock.column]

    def _first_from(self, engine: Engine, low: int, high: int) -> int:
        """The first place whose tick is not below `low`, before the place `high`."""
        clock = engine.stream.ruler
        assert clock is not None
        least = 0
        while least < high:
            middle = (least + high) // 2
            if int(clock.ticks(self._time(engine, middle, middle + 1))[0]) < low:
                least = middle + 1
            else:
                high = middle
        return least

    def released(self, start: int, stop: int) -> ReleasedRows:
        """The rows from one place of the stream to another."""
        return rows_between(self.rows, self.order, start, stop)

    def table(self, start: int, stop: int) -> pa.Table:
        """The same rows in the order of the stream."""
        if self.order is None:
            return self.rows.slice(start, stop - start)
        return self.rows.take(pa.array(self.order[start:stop]))
