"""Detection over a streaming DataFrame: pack rows by bucket of keys, run them through kept engines, unpack matches."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError
from ostinato.spark.frames import Source, arrow_schema
from ostinato.spark.packing import BUCKET, LATEST, PACKED, SPLIT, Pack, Unpack, bucket_column
from ostinato.spark.prefilter import column, prefilter
from ostinato.spark.processor import COUNTS, GIVEN, Detector, Streaming

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ostinato.spark.task import Reading

BUCKETS = 64


def detect_stream(source: Source, *, lateness: int, buckets: int) -> DataFrame:
    """The matches of all queries, in append mode. `lateness` is in nanoseconds; a checkpoint fixes `buckets`."""
    from pyspark.sql import functions as f

    schema = arrow_schema(source.frame)
    time = source.binding.time
    assert time is not None
    if not pa.types.is_timestamp(schema.field(time).type):
        raise DataError(
            f"a stream needs a timestamp to advance by, and `{time}` is {schema.field(time).type}",
            fix="cast it: frame.withColumn(…, timestamp_seconds(…)) or to_timestamp(…)",
        )
    splits = {json.dumps(keys): readings for keys, readings in source.groups.items()}
    frame = source.frame
    for place, (keys, readings) in enumerate(source.groups.items()):
        frame = frame.withColumn(bucket_column(place), _bucket(source, keys, readings, buckets))
    packed = frame.mapInArrow(Pack(tuple(splits), schema, time), PACKED)
    # The rows that tell the time are not needed any further. Only a filter that reads `latest` leaves them alone until
    # the watermark has seen them.
    waiting = packed.withWatermark(LATEST, f"{-(-lateness // 1000)} microseconds").filter(column(LATEST).isNull())
    streaming = Streaming(splits, schema, source.output, buckets)
    given = waiting.groupBy(SPLIT, BUCKET).transformWithStateInPandas(
        Detector(streaming), GIVEN, outputMode="append", timeMode="EventTime"
    )
    counts = [
        f.sum(f.when(f.col("query") == reading.name, f.col(name))).alias(f"{reading.name}.{name}")
        for reading in source.readings
        for name in COUNTS
    ]
    return given.observe("ostinato", *counts).mapInArrow(Unpack(source.output), source.output_type)


def _bucket(source: Source, keys: tuple[str, ...], readings: tuple[Reading, ...], buckets: int) -> Column:
    """The bucket of a row's key; NULL for a row that cannot matter."""
    from pyspark.sql import functions as f

    number = f.pmod(f.xxhash64(*map(column, keys)), f.lit(buckets)).cast("int") if keys else f.lit(0)
    tests = [prefilter(reading.compiled, source.binding, source.frame.schema) for reading in readings]
    known = [test for test in tests if test is not None]
    if len(known) < len(tests):
        return number
    relevant = known[0]
    for test in known[1:]:
        relevant = relevant | test
    return f.when(relevant, number)
