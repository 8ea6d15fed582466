"""A stream without a key in parallel: ranges of time, each with enough of what came before to be exact at its start.

patterns/runtime/locality.py says which queries allow that, and how much a range reads before its own rows.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ostinato.core.clock import Clock
from ostinato.core.window_bounds import lower_bounds
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.runtime.locality import may_split_ranges, windows_back
from ostinato.spark.columns import column

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_FINER = 16  # pieces per range: how finely the rows before a range are counted


@dataclass(frozen=True)
class TimeRange:
    """Ticks: rows from `reach` on are read, matches from `begin` on are given, up to `end`. None: no bound."""

    reach: int | None
    begin: int | None
    end: int | None


def may_split(compiled: CompiledPattern, clock: Clock) -> bool:
    """Whether ranges of time can be matched by themselves, and Spark can count the ticks of the column."""
    return may_split_ranges(compiled) and _TICKS.get(str(clock.type).split("[")[0]) is not None


def tick_column(clock: Clock) -> Column:
    """The ticks of the time column, as Spark computes them."""
    return _TICKS[str(clock.type).split("[")[0]](column(clock.column), clock)


def _timestamp(time: Column, clock: Clock) -> Column:
    from pyspark.sql import functions as f

    if clock.type.tz is not None:
        return f.unix_micros(time)
    epoch = f.lit("1970-01-01").cast("timestamp_ntz")
    return f.timestamp_diff("MICROSECOND", epoch, time)


def _date(time: Column, clock: Clock) -> Column:
    from pyspark.sql import functions as f

    return f.unix_date(time).cast("long")


def _integer(time: Column, clock: Clock) -> Column:
    return time.cast("long")


_TICKS = {"timestamp": _timestamp, "date32": _date} | dict.fromkeys(("int8", "int16", "int32", "int64"), _integer)


def find_ranges(frame: DataFrame, queries: Sequence[CompiledPattern], clock: Clock, count: int) -> list[TimeRange]:
    """About `count` ranges of equally many rows. Runs a small job: quantiles of the time column, and row counts."""
    from pyspark.sql import functions as f

    ticks = frame.select(tick_column(clock).alias("t"))
    shares = [place / (count * _FINER) for place in range(1, count * _FINER)]
    quantiles = ticks.select(f.percentile_approx("t", shares, 50 * count * _FINER)).first()
    cuts: list[int] = sorted(set(quantiles[0])) if quantiles is not None and quantiles[0] else []
    sizes = _sizes(ticks, cuts) if any(_counts_events(query) for query in queries) else {}
    return make_ranges(cuts, sizes, queries, clock, count)


def make_ranges(
    cuts: list[int], sizes: dict[int, int], queries: Sequence[CompiledPattern], clock: Clock, count: int
) -> list[TimeRange]:
    """Ranges that begin at some of the cuts. `sizes` are the numbers of rows up to each cut, from the one before."""
    step = max(1, (len(cuts) + 1) // count)
    begins = cuts[step - 1 :: step][: count - 1]
    edges: list[int | None] = [None, *begins, None]
    ranges = [TimeRange(None, None, edges[1])]
    for begin, end in pairwise(edges[1:]):
        assert begin is not None
        reach = [_reach(query, clock, cuts, sizes, begin) for query in queries]
        ranges.append(TimeRange(None if None in reach else min(r for r in reach if r is not None), begin, end))
    return ranges


def _counts_events(query: CompiledPattern) -> bool:
    return query.query.window is not None and query.query.window.kind == "events"


def _sizes(ticks: DataFrame, cuts: list[int]) -> dict[int, int]:
    """How many rows lie in each piece; piece p ends at cut number p."""
    from pyspark.sql import functions as f

    after = [(f.col("t") >= f.lit(cut)).cast("int") for cut in cuts]
    piece = reduce(operator.add, after, f.lit(0))
    return {row[0]: row[1] for row in ticks.groupBy(piece.alias("p")).count().collect()}


def _reach(query: CompiledPattern, clock: Clock, cuts: list[int], sizes: dict[int, int], begin: int) -> int | None:
    """How far back a range must read; None: to the start of the stream."""
    window = query.query.window
    assert window is not None
    windows = windows_back(query)
    if window.kind == "time":
        for _ in range(windows):
            begin = int(lower_bounds(clock, np.array([begin]), window.amount)[0])
        return begin
    # Over whole pieces, until they hold enough rows.
    place, rows = cuts.index(begin), 0
    while place >= 0 and rows < windows * (int(window.amount) - 1):
        rows += sizes.get(place, 0)
        place -= 1
    return cuts[place] if place >= 0 else None


def range_numbers(ranges: list[TimeRange], clock: Clock, first: int) -> Column:
    """The numbers of the ranges that read a row, counted from `first`. All read a row without a time, and say so."""
    from pyspark.sql import functions as f

    tick = tick_column(clock)
    tests = []
    for number, part in enumerate(ranges, first):
        inside = f.lit(True)
        if part.reach is not None:
            inside &= tick >= f.lit(part.reach)
        if part.end is not None:
            inside &= tick < f.lit(part.end)
        tests.append(f.when(inside | tick.isNull(), f.lit(number)))
    return f.array_compact(f.array(*tests))
