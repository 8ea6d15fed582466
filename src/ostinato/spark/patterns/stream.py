"""Detection over a streaming DataFrame: pack rows by bucket of keys, run them through kept engines, unpack matches."""

from __future__ import annotations

import json
import operator
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError, Message, Option, OstinatoError
from ostinato.spark.checkpoint import STREAM
from ostinato.spark.columns import column, quoted, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.packing import BUCKET, PACKED, SPLIT, Pack, Unpack, bucket_column
from ostinato.spark.patterns.processor import COUNTS, GIVEN, LATE, Detector, Streaming
from ostinato.spark.patterns.source import Source
from ostinato.spark.session import need_rocksdb

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from ostinato.core.options import OnLate
    from ostinato.spark.patterns.task import Reading


def detect_stream(source: Source, *, lateness: int | None, on_late: OnLate, buckets: int, metrics: str) -> DataFrame:
    """The matches of all queries, in append mode. `lateness` is in nanoseconds; a checkpoint fixes `buckets`."""
    from pyspark.sql import functions as f

    need_rocksdb(source.frame.sparkSession)
    schema = source.schema
    time = source.binding.time
    assert time is not None
    need_timestamp(schema, time)
    splits = {json.dumps(keys): readings for keys, readings in source.groups.items()}
    # Time goes on with every row, so the watermark comes before the filter; Spark would put the filter first, were it
    # not that it looks at the time too. A row without a time is kept: it is an error to be told.
    frame, behind = watermarked(source.frame, time, lateness)
    for place, (keys, readings) in enumerate(source.groups.items()):
        frame = frame.withColumn(bucket_column(place), _bucket(source, keys, readings, buckets))
    wanted = [column(bucket_column(place)).isNotNull() for place in range(len(splits))]
    frame = frame.filter(reduce(operator.or_, wanted, column(time).isNull()))
    packed = map_in_arrow(frame, Pack(tuple(splits), schema, STREAM), PACKED)
    output = source.output
    if on_late == "collect":
        if LATE in output.names:
            raise OstinatoError(f"the answer has a column `{LATE}` already", fix="rename it with AS")
        output = output.append(pa.field(LATE, pa.struct(list(schema))))
    streaming = Streaming(splits, schema, output, buckets, behind, on_late)
    given = packed.groupBy(SPLIT, BUCKET).transformWithStateInPandas(
        Detector(streaming), GIVEN, outputMode="append", timeMode="EventTime"
    )
    counts = [
        f.sum(f.when(f.col("query") == reading.name, f.col(name))).alias(f"{reading.name}.{name}")
        for reading in source.readings
        for name in COUNTS
    ]
    return given.observe(metrics, *counts).mapInArrow(Unpack(output), spark_type(output))


def need_timestamp(schema: pa.Schema, time: str) -> None:
    kind = schema.field(time).type
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        raise DataError(
            f"a stream needs a timestamp to advance by, and `{time}` is {kind}",
            fix="cast it to a timestamp with a zone: timestamp_seconds(…), or .cast('timestamp')",
        )


def watermarked(frame: DataFrame, time: str, lateness: int | None) -> tuple[DataFrame, int | None]:
    """With a watermark: the frame's own, if it has one, else one of `lateness`; and how many milliseconds that is.

    None where the watermark is the frame's own: it may be the least of several, of sources that were joined.
    """
    own = [field.name for field in frame.schema.fields if "spark.watermarkDelayMs" in field.metadata]
    if not own:
        behind = -(-(lateness or 0) // 1_000_000)
        return frame.withWatermark(quoted(time), f"{behind} milliseconds"), behind
    if own != [time]:
        raise OstinatoError(
            f"the time is `{time}`, but the watermark of the stream is on `{own[0]}`",
            fix=Message(Option("time", own[0]), ", or leave the watermark to ", Option("lateness")),
        )
    if lateness is not None:
        raise OstinatoError(
            f"`{time}` has a watermark already, and lateness is another one",
            fix=Message("leave out ", Option("lateness", None)),
            option="lateness",
        )
    return frame, None


def _bucket(source: Source, keys: tuple[str, ...], readings: tuple[Reading, ...], buckets: int) -> Column:
    """The bucket of a row's key; NULL for a row that cannot matter."""
    from pyspark.sql import functions as f

    number = f.pmod(f.xxhash64(*map(column, keys)), f.lit(buckets)).cast("int") if keys else f.lit(0)
    wanted = source.relevant_to(readings)
    return number if wanted is None else f.when(wanted | column(source.binding.time or "").isNull(), number)
