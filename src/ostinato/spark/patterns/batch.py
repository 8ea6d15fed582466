"""Detection over a batch DataFrame: rows to the tasks that need them, one pass of the engine per task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.core.clock import Clock
from ostinato.spark.columns import column
from ostinato.spark.frames import map_in_arrow, shuffle_partitions
from ostinato.spark.patterns import time_ranges as ranges
from ostinato.spark.patterns.plan import DetectionPlan
from ostinato.spark.patterns.task import UNIT, PatternTask, Unit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def detect_batch(plan: DetectionPlan, *, parallel: int | None = None) -> DataFrame:
    """The matches of all queries. A stream without a key is cut into `parallel` ranges of time."""
    wanted = plan.relevant_rows(plan.queries)
    # A row without a time is kept: it is an error, which the task raises.
    timeless = column(plan.binding.time or "").isNull()
    frame = plan.frame if wanted is None else plan.frame.filter(wanted | timeless)
    units, places = _units(plan, frame, parallel)
    task = PatternTask(units, plan.output)
    keys = tuple(plan.groups)
    if len(units) == 1:
        frame = frame.repartition(*map(column, keys[0])) if keys[0] else frame.repartition(1)
    else:
        from pyspark.sql import functions as f

        frame = frame.withColumn(UNIT, f.explode(places))
        if not any(keys):
            frame = frame.repartitionById(len(units), column(UNIT))
        else:
            frame = frame.repartition(column(UNIT), *_spread(plan, units))
    return map_in_arrow(frame, task, plan.output_type)


def _units(plan: DetectionPlan, frame: DataFrame, parallel: int | None) -> tuple[dict[int, Unit], Column]:
    """The units to run, and for each row the numbers of the units that read it."""
    from pyspark.sql import functions as f

    assert plan.binding.time is not None
    clock = Clock.of(plan.schema, plan.binding.time)
    units: dict[int, Unit] = {}
    places: list[Column] = []
    for keys, queries in plan.groups.items():
        first = len(units)
        count = parallel if parallel is not None else 1 if keys else shuffle_partitions(frame)
        if count > 1 and all(ranges.may_split(query.compiled, clock) for query in queries):
            cut = ranges.find_ranges(frame, [query.compiled for query in queries], clock, count)
            units |= {first + number: Unit(queries, part.begin, plan.order_by) for number, part in enumerate(cut)}
            places.append(ranges.range_numbers(cut, clock, first))
        else:
            units[first] = Unit(queries, None, plan.order_by)
            places.append(f.array(f.lit(first)))
    return units, f.concat(*places)


def _spread(plan: DetectionPlan, units: dict[int, Unit]) -> list[Column]:
    """A number that tells keys apart, for the units of those queries that have some."""
    from pyspark.sql import functions as f

    spread = f.lit(0).cast("long")
    for keys, queries in plan.groups.items():
        if keys:
            own = [number for number, unit in units.items() if unit.queries == queries]
            spread = f.when(column(UNIT).isin(own), f.xxhash64(*map(column, keys))).otherwise(spread)
    return [spread]
