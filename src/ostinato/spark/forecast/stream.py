"""Forecasts of a streaming DataFrame: rows are packed by bucket of keys, and pass the state of their bucket in order of
time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.spark.checkpoint import STREAM
from ostinato.spark.columns import column, spark_type
from ostinato.spark.forecast.columns import Rows
from ostinato.spark.forecast.processor import GIVEN, ForecastStreaming, StreamScorer
from ostinato.spark.forecast.task import Shipped
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.packing import BUCKET, PACKED, SPLIT, Pack, Unpack, bucket_column
from ostinato.spark.patterns.stream import need_timestamp, watermarked
from ostinato.spark.session import need_rocksdb

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.forecast.model import ForecastModel

_ONLY = "forecast"  # all buckets are of one split


def score_stream(
    model: ForecastModel, rows: Rows, added: pa.Schema, within: tuple[int, ...], buckets: int
) -> DataFrame:
    """In append mode. The frame's watermark says how long a row may come after later ones; without one, not at all."""
    from pyspark.sql import functions as f

    need_rocksdb(rows.frame.sparkSession)
    need_timestamp(rows.schema, rows.time)
    frame, behind = watermarked(rows.frame, rows.time, None)
    keys = rows.pattern.partition_by
    number = f.pmod(f.xxhash64(*map(column, keys)), f.lit(buckets)).cast("int") if keys else f.lit(0)
    packed = map_in_arrow(frame.withColumn(bucket_column(0), number), Pack((_ONLY,), rows.schema, STREAM), PACKED)
    output = pa.schema([*rows.schema, *added])
    streaming = ForecastStreaming(
        Shipped.of(model, rows.settings), model.fingerprint, rows.schema, output, buckets, behind, within
    )
    given = packed.groupBy(SPLIT, BUCKET).transformWithStateInPandas(
        StreamScorer(streaming), GIVEN, outputMode="append", timeMode="EventTime"
    )
    return given.mapInArrow(Unpack(output), spark_type(output))
