"""Funnels over a batch DataFrame: the rows of each key to one task, which follows them as without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.events import DEFAULT_TYPE
from ostinato.core.options import check_column_name, check_column_names
from ostinato.errors import OstinatoError
from ostinato.patterns.funnel.funnel import Funnel
from ostinato.patterns.funnel.result import FunnelResult, steps_table
from ostinato.patterns.kernels.funnel import follow_steps
from ostinato.spark.columns import arrow_schema, column, spark_type, tie_breakers, time_column
from ostinato.spark.frames import check_names, map_in_arrow
from ostinato.spark.shipping import NeededKernels, ship

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class FunnelTask:
    """What runs over a partition of a DataFrame, which holds all rows of its keys."""

    funnel: Funnel
    binding: dict[str, Any]
    schema: pa.Schema

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.keys(pa.Table.from_batches(list(batches), self.schema)).to_batches()

    def keys(self, rows: pa.Table) -> pa.Table:
        return self.funnel.follow(rows, **self.binding).drop_columns(["positions"])  # rows have none on Spark


def follow_funnel(
    funnel: Funnel,
    frame: DataFrame,
    /,
    *,
    time: str | None = None,
    type: str | None = None,
    order_by: Sequence[str] = (),
) -> FunnelResult:
    """The answer, of which nothing is computed before it is asked for."""
    if frame.isStreaming:
        raise OstinatoError("a funnel is of all events of a key, and this DataFrame streams", fix="read it as a batch")
    check_names(frame)
    check_column_name("time", time)
    time, kind = time_column(time, frame.schema), check_column_name("type", type) or DEFAULT_TYPE
    order_by = check_column_names("order_by", order_by)
    read = {kind, *funnel.columns()}
    schema = arrow_schema(frame.schema, {time, *order_by, *read})
    binding = {"time": time, "type": type, "order_by": tie_breakers([read], schema, order_by, time)}
    task = FunnelTask(funnel, binding, schema)
    output = spark_type(task.keys(schema.empty_table()).schema)
    ship(frame.sparkSession, NeededKernels(("core",), (follow_steps,)))
    rows = frame.select(*map(column, schema.names))
    rows = rows.repartition(*map(column, funnel.by)) if funnel.by else rows.repartition(1)
    keys = map_in_arrow(rows, task, output)
    names = tuple(step.text for step in funnel.steps)
    return FunnelResult(names, keys, lambda: _count_steps(names, keys))


def _count_steps(names: Sequence[str], keys: DataFrame) -> pa.Table:
    from pyspark.sql import functions as f

    first = keys.select(f.when(f.col("reached") > 0, f.lit(0.0)).alias("seconds"), f.lit(0).alias("step")).dropna()
    later = keys.select(f.posexplode("seconds").alias("step", "seconds"))
    taken = first.unionByName(later.select("seconds", (f.col("step") + 1).alias("step")))
    length = f.col("seconds")
    found = taken.groupBy("step").agg(f.count(length), f.percentile(length, 0.5), f.avg(length)).collect()
    by_step = {row[0]: tuple(row)[1:] for row in found}
    rows = [by_step.get(step, (0, None, None)) for step in range(len(names))]
    return steps_table(names, [row[0] for row in rows], [(None, None), *(row[1:] for row in rows[1:])])
