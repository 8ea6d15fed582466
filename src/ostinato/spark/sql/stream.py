"""A clause over a streaming DataFrame: rows go to buckets by their partitions, and wait there, in an engine that Spark
keeps as state, until the watermark has passed them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.core.options import OnLate
from ostinato.errors import OstinatoError, QueryError
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.columns import column, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.packing import BUCKET, PACKED, SPLIT, Pack, Unpack, hash_column
from ostinato.spark.session import use_rocksdb
from ostinato.spark.sql.plan import BoundInput
from ostinato.spark.sql.processor import COUNTS, GIVEN, ClauseDetector, ClauseStreaming
from ostinato.spark.watermark import add_watermark, check_timestamp
from ostinato.sql.limits import SqlLimits
from ostinato.sql.plan.streamable import check_streamable
from ostinato.sql.runtime.input import column_of
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
    if on_late == "collect":
        fix = "count them, or let a query without SQL collect them"
        raise OstinatoError("MATCH_RECOGNIZE over a stream does not give late rows", fix=fix, option="on_late")
    use_rocksdb(frame.sparkSession)
    schema = bound.schema
    if not match.order_by:
        reason = "the rows of a Spark DataFrame have no order, and the clause has no ORDER BY"
        raise QueryError(reason, text=query.text, span=match.span, fix="add ORDER BY with the column of the time")
    time = _column(query, match.order_by[0], bound)
    keys = [_column(query, key, bound) for key in match.partition_by]
    check_timestamp(schema, time)
    frame, behind = add_watermark(frame, time, lateness)
    number = f.xxhash64(*map(column, keys)) if keys else f.lit(0).cast("long")
    pack = Pack(("0",), schema, buckets, HEADER)
    packed = map_in_arrow(frame.withColumn(hash_column(0), number), pack, PACKED)
    streaming = ClauseStreaming(query.text, limits, on_late, schema, bound.answer, buckets, time, behind)
    given = packed.groupBy(SPLIT, BUCKET).transformWithStateInPandas(
        ClauseDetector(streaming), GIVEN, outputMode="append", timeMode="EventTime"
    )
    counts = [f.sum(name).alias(name) for name in COUNTS]
    output = bound.answer.schema
    return given.observe(metrics, *counts).mapInArrow(Unpack(output), spark_type(output))


def _column(query: n.Query, key: n.Key, bound: BoundInput) -> str:
    """The column that a key is: Spark tells time and partitions by columns."""
    name = column_of(key, bound.schema.names, bound.clause.alias)
    if name is None:
        fix = "compute it before: FROM (SELECT *, … AS k FROM …) MATCH_RECOGNIZE (…)"
        raise QueryError("over a stream of Spark this must be a column", text=query.text, span=key.span, fix=fix)
    return name
