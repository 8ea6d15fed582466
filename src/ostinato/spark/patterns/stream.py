"""Detection over a streaming DataFrame: pack rows by bucket of keys, run them through kept engines, unpack matches.

What a window holds is decided by the engine, as everywhere (core/window_bounds.py).
"""

from __future__ import annotations

import json
import operator
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import OstinatoError
from ostinato.patterns.runtime.identity import END, KNOWN
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.columns import column, hashed_column, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.packing import BUCKET, LATE, PACKED, SPLIT, Pack, Unpack, hash_column
from ostinato.spark.patterns.engines import StreamSettings
from ostinato.spark.patterns.plan import DetectionPlan
from ostinato.spark.patterns.processor import COUNTS, OUTPUT_COLUMNS, QUERIES, ROW_COUNTS, STOPPED, Detector
from ostinato.spark.patterns.wake_buckets import WakeBuckets
from ostinato.spark.session import use_rocksdb
from ostinato.spark.watermark import add_watermark, carry_watermark, check_timestamp, is_carried

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ostinato.core.options import OnLate
    from ostinato.spark.patterns.shipped_query import ShippedQuery


_FEW = 8  # queries that are counted each for itself


def detect_stream(
    plan: DetectionPlan, *, lateness: int | None, on_late: OnLate, buckets: Buckets, metrics: str
) -> DataFrame:
    """The matches of all queries, in append mode. `lateness` is in nanoseconds; a checkpoint fixes `buckets`."""
    from pyspark.sql import functions as f

    use_rocksdb(plan.frame.sparkSession)
    schema = plan.schema
    time = plan.binding.time
    assert time is not None
    check_timestamp(schema, time)
    splits = {json.dumps(keys): queries for keys, queries in plan.groups.items()}
    # Time goes on with every row, so the watermark comes before the filter; Spark would put the filter first, were it
    # not that it looks at the time too. A row without a time is kept: it is an error, which the engine raises.
    carried, carries = is_carried(plan.frame, time), plan.carries_time
    frame, behind = add_watermark(plan.frame, time, lateness, beyond=int(carries))
    for place, (keys, queries) in enumerate(plan.groups.items()):
        frame = frame.withColumn(hash_column(place), _hash(plan, keys, queries))
    wanted = [column(hash_column(place)).isNotNull() for place in range(len(splits))]
    frame = frame.filter(reduce(operator.or_, wanted, column(time).isNull()))
    packed = map_in_arrow(frame, WakeBuckets(Pack(tuple(splits), schema, buckets, HEADER)), PACKED)
    # All queries of a bucket are in one state, so that a bucket can be woken whatever its queries are split by.
    packed = packed.withColumnRenamed(SPLIT, QUERIES)
    packed = packed.withColumn(SPLIT, f.when(f.col(QUERIES) == HEADER, HEADER).otherwise(""))
    output = plan.output
    if on_late == "collect":
        if LATE in output.names:
            raise OstinatoError(f"the answer has a column `{LATE}` already", fix="rename it with AS")
        output = output.append(pa.field(LATE, pa.struct(list(schema))))
    settings = StreamSettings(
        splits, schema, plan.order_by, output, buckets, behind, on_late, isolated=plan.named, carries=carries,
        carried=carried,
    )  # fmt: skip
    given = packed.groupBy(SPLIT, BUCKET).transformWithStateInPandas(
        Detector(settings, plan.columns), OUTPUT_COLUMNS, outputMode="append", timeMode="EventTime"
    )
    found = given.observe(metrics, *_counts(plan)).mapInArrow(Unpack(output), spark_type(output))
    return carry_watermark(found, KNOWN if KNOWN in output.names else END) if carries else found


def _counts(plan: DetectionPlan) -> list[Column]:
    """What Spark adds up in each micro-batch. It plans and compiles each sum anew, so there cannot be many."""
    from pyspark.sql import functions as f

    def of(query: ShippedQuery, name: str) -> Column:
        return f.when(f.col("query") == query.name, f.col(name))

    if len(plan.queries) > _FEW:
        firsts = f.col("query").isin([queries[0].name for queries in plan.groups.values()])  # rows count once
        totals = [f.sum(f.when(firsts, f.col(name))).alias(name) for name in ROW_COUNTS]
        totals += [f.sum(name).alias(name) for name in COUNTS if name not in ROW_COUNTS]
        return [*totals, f.max(f.concat("query", f.lit(": "), STOPPED)).alias(STOPPED)]  # NULL where none is
    counts = [f.sum(of(query, name)).alias(f"{query.name}.{name}") for query in plan.queries for name in COUNTS]
    return counts + [f.max(of(query, STOPPED)).alias(f"{query.name}.{STOPPED}") for query in plan.queries]


def _hash(plan: DetectionPlan, keys: tuple[str, ...], queries: tuple[ShippedQuery, ...]) -> Column:
    """The hash of a row's key; NULL for a row that cannot matter."""
    from pyspark.sql import functions as f

    number = f.xxhash64(*(hashed_column(name, plan.schema) for name in keys)) if keys else f.lit(0).cast("long")
    wanted = plan.relevant_rows(queries)
    return number if wanted is None else f.when(wanted | column(plan.binding.time or "").isNull(), number)
