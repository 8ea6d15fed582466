"""Forecasts of a streaming DataFrame: rows are packed by bucket of keys, pass the state of their bucket in the order of
time, and are unpacked again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.columns import column, spark_type
from ostinato.spark.forecast.columns import EventFrame
from ostinato.spark.forecast.processor import OUTPUT, ForecastProcessor, ScoringPlan
from ostinato.spark.forecast.task import ShippedModel
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.packing import BUCKET, PACKED, SPLIT, Pack, Unpack, hash_column
from ostinato.spark.session import use_rocksdb
from ostinato.spark.watermark import add_watermark, check_timestamp

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.forecast.model import ForecastModel

_ONLY = "forecast"  # all buckets are of one split


def score_stream(
    model: ForecastModel, events: EventFrame, added: pa.Schema, within: tuple[int, ...], buckets: Buckets
) -> DataFrame:
    """In append mode. The frame's watermark says how far a row may lag behind later ones; without one, not at all."""
    from pyspark.sql import functions as f

    use_rocksdb(events.frame.sparkSession)
    check_timestamp(events.schema, events.time)
    frame, behind = add_watermark(events.frame, events.time, None)
    keys = events.pattern.partition_by
    number = f.xxhash64(*map(column, keys)) if keys else f.lit(0).cast("long")
    pack = Pack((_ONLY,), events.schema, buckets, HEADER)
    packed = map_in_arrow(frame.withColumn(hash_column(0), number), pack, PACKED)
    output = pa.schema([*events.schema, *added])
    shipped = ShippedModel.of(model, events.settings)
    plan = ScoringPlan(shipped, model.fingerprint, events.schema, output, buckets, behind, within)
    found = packed.groupBy(SPLIT, BUCKET).transformWithStateInPandas(
        ForecastProcessor(plan), OUTPUT, outputMode="append", timeMode="EventTime"
    )
    return found.mapInArrow(Unpack(output), spark_type(output))
