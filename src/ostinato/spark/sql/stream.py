"""A clause over a streaming DataFrame: rows go to buckets by their partitions, and wait there, in an engine that Spark
keeps as state, until the watermark has passed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.errors import QueryError
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.columns import arrow_schema, column, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.packing import BUCKET, PACKED, SPLIT, Pack, Unpack, hash_column
from ostinato.spark.session import use_rocksdb
from ostinato.spark.sql.keys import TIME, with_partition_keys, with_time
from ostinato.spark.sql.plan import BoundInput
from ostinato.spark.sql.processor import COUNTS, GIVEN, ClauseDetector, ClauseStreaming
from ostinato.spark.watermark import add_watermark, watermark_column
from ostinato.sql.limits import SqlLimits
from ostinato.sql.plan.streamable import check_streamable
from ostinato.sql.syntax import nodes as n

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_of_stream(
    bound: BoundInput,
    frame: DataFrame,
    *,
    query: n.Query,
    limits: SqlLimits,
    lateness: int | None,
    on_late: OnLate,
    buckets: Buckets,
    metrics: str,
) -> DataFrame:
    """What the clause shows, in append mode. `lateness` is in nanoseconds; a checkpoint fixes `buckets`."""
    from pyspark.sql import functions as f

    match = check_streamable(query).match
    use_rocksdb(frame.sparkSession)
    if not match.order_by:
        reason = "the rows of a Spark DataFrame have no order, and the clause has no ORDER BY"
        raise QueryError(reason, text=query.text, span=match.span, fix="add ORDER BY with the column of the time")
    own = watermark_column(frame)
    frame, time = with_time(bound, frame, match.order_by[0])
    schema = arrow_schema(frame.schema)
    check_time(query, match.order_by[0], schema.field(time).type)
    if own is not None and time == TIME:
        reason = f"the time is computed, but the watermark of the stream is on `{own}`"
        fix = f"order by `{own}`, or leave the watermark to lateness"
        raise QueryError(reason, text=query.text, span=match.order_by[0].span, fix=fix)
    frame, behind = add_watermark(frame, time, lateness)
    frame, keys = with_partition_keys(bound, frame)
    number = f.xxhash64(*map(column, keys)) if keys else f.lit(0).cast("long")
    pack = Pack(("0",), schema, buckets, HEADER)
    packed = map_in_arrow(frame.withColumn(hash_column(0), number), pack, PACKED)
    streaming = ClauseStreaming(query.text, limits, on_late, schema, bound, buckets, time, behind)
    output = streaming.output
    given = packed.groupBy(SPLIT, BUCKET).transformWithStateInPandas(
        ClauseDetector(streaming), GIVEN, outputMode="append", timeMode="EventTime"
    )
    counts = [f.sum(name).alias(name) for name in COUNTS]
    return given.observe(metrics, *counts).mapInArrow(Unpack(output), spark_type(output))


def check_time(query: n.Query, key: n.Key, kind: pa.DataType) -> None:
    """Spark keeps time by timestamps alone."""
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        reason = f"a stream needs a timestamp to advance by, and this is {kind}"
        fix = "make it one with a zone: ORDER BY CAST(… AS TIMESTAMPTZ), or ORDER BY to_timestamp(…) of seconds"
        raise QueryError(reason, text=query.text, span=key.span, fix=fix)
