"""The matches of a batch DataFrame that become known in some time, from the rows alone that can matter to them.

The bounds are on the time column itself, so that Spark leaves out files and partitions.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.core.clock import Clock
from ostinato.errors import OstinatoError
from ostinato.patterns.runtime.identity import END, KNOWN
from ostinato.patterns.runtime.increments import Period, check_increments, events_back, first_tick
from ostinato.spark.columns import column
from ostinato.spark.patterns.plan import DetectionPlan

if TYPE_CHECKING:
    from pyspark.sql import Column


def read_period(plan: DetectionPlan, since: Any, until: Any) -> tuple[DetectionPlan, Column]:
    """The plan over the rows that can matter, and a test for the matches of the period. Where windows count events, a
    small job finds out how far back they reach."""
    from pyspark.sql import functions as f

    clock = Clock.of(plan.schema, plan.binding.time or "")
    period, time = Period.of(clock, since, until), column(clock.column)
    for query in plan.queries:
        try:
            check_increments(query.compiled)
        except OstinatoError as error:
            raise error.replace(reason=f"{query.name}: {error.reason}") if plan.named else error from None
    known = f.coalesce(*(column(name) for name in (KNOWN, END) if name in plan.output.names))
    rows, matches = f.lit(True), f.lit(True)
    if period.until is not None:
        until_time = _literal(clock, period.until)
        rows, matches = rows & (time <= until_time), matches & (known <= until_time)
    if period.since is not None:
        reaches = [_reach(plan, query.compiled, clock, period.since) for query in plan.queries]
        matches &= known > _literal(clock, period.since)
        if None not in reaches:
            rows &= time >= _literal(clock, min(reach for reach in reaches if reach is not None))
    return replace(plan, frame=plan.frame.filter(rows)), matches


def _reach(plan: DetectionPlan, compiled: Any, clock: Clock, since: int) -> int | None:
    """The first tick that can matter; None: all may."""
    back = events_back(compiled)
    if back is None:
        return first_tick(compiled, clock, since)
    if back == 0:
        return since
    from pyspark.sql import functions as f

    time = column(clock.column)
    last = plan.frame.filter(time <= _literal(clock, since)).select(time.alias("t")).orderBy(f.desc("t")).limit(back)
    found = last.agg(f.min("t").alias("t"), f.count("*").alias("n")).toArrow()
    if found["n"][0].as_py() < back:
        return None
    return int(clock.ticks(found["t"].cast(clock.type))[0])


def _literal(clock: Clock, tick: int) -> Column:
    """A tick as a value of the time column."""
    from pyspark.sql import functions as f

    value = clock.values(np.array([tick]))[0].as_py()
    if pa.types.is_timestamp(clock.type):
        return f.timestamp_micros(f.lit(tick)) if clock.type.tz else f.lit(str(value)).cast("timestamp_ntz")
    return f.lit(value)
