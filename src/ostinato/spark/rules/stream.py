"""Rules over a streaming DataFrame: each event goes to the rules that read it, hashed by their key, and waits there,
in an engine that Spark keeps as state, until the watermark has passed its end."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError, OstinatoError
from ostinato.rules.algebra.partition import RuleUnit
from ostinato.rules.incremental.options import RuleOptions
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.ingest import LABEL
from ostinato.rules.runtime.required_columns import RequiredColumns
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.columns import arrow_schema, column, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.packing import BUCKET, LATE, PACKED, SPLIT, Pack, Unpack, hash_column
from ostinato.spark.rules.columns import label_column
from ostinato.spark.rules.placement import key_hash, plan_units, row_hash, unit_program
from ostinato.spark.rules.processor import COUNTS, FIRST, GIVEN, HASH_OF_ROW, RuleDetector, RuleStreaming
from ostinato.spark.session import use_rocksdb
from ostinato.spark.watermark import add_watermark, is_carried

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.rules.program import RuleProgram


def detect_stream(
    program: RuleProgram,
    bound: BoundProgram,
    frame: DataFrame,
    options: RuleOptions,
    tables: Mapping[str, DataFrame],
    *,
    lateness: int | None,
    buckets: Buckets,
    metrics: str,
) -> DataFrame:
    """The derived events, in append mode. `lateness` is in nanoseconds; a checkpoint fixes `buckets`."""
    from pyspark.sql import functions as f

    use_rocksdb(frame.sparkSession)
    schema = arrow_schema(frame.schema)
    times = bound.columns.times
    for name in dict.fromkeys((times.end, times.begin)):
        if not pa.types.is_timestamp(schema.field(name).type) or schema.field(name).type.tz is None:
            raise DataError(
                f"a stream needs timestamps to advance by, and `{name}` is {schema.field(name).type}",
                fix="cast it to a timestamp with a zone: timestamp_seconds(…), or .cast('timestamp')",
            )
    units = plan_units(program, bound, streams=True)
    carried = is_carried(frame, times.end)
    frame, behind = add_watermark(frame, times.end, lateness)
    if bound.columns.document is None:
        frame = frame.withColumn(LABEL, label_column(frame, bound.columns))
    for place, unit in enumerate(units):
        frame = frame.withColumn(hash_column(place), key_hash(bound, unit))
    wanted = [column(hash_column(place)).isNotNull() for place in range(len(units))]
    first = f.coalesce(*(f.when(test, f.lit(place)) for place, test in enumerate(wanted)))
    # The test of the time keeps Spark from filtering before the watermark: time goes on with every row.
    frame = frame.filter(reduce(operator.or_, wanted, column(times.end).isNull())).withColumn(FIRST, first)
    splits = tuple(str(place) for place in range(len(units)))
    pack = Pack(splits, schema.append(pa.field(FIRST, pa.int32())), buckets, HEADER)
    output = bound.answer_schema
    if options.on_late == "collect":
        if LATE in output.names:
            raise OstinatoError(f"the answer has a column `{LATE}` already", fix="give the element another label")
        output = output.append(pa.field(LATE, pa.struct(list(schema))))
    texts = [unit_program(program, unit, options.columns, schema).text for unit in units]
    given = tuple(_given_rows(unit, bound, tables) for unit in units)
    reads = tuple(name for name in RequiredColumns.of(bound.sql.plan).shapes if name in schema.names)
    streaming = RuleStreaming(
        program.text, tuple(texts), options, schema, output, reads, buckets, behind, carried, given,
        tuple(unit.keys for unit in units),
    )  # fmt: skip
    found = (
        map_in_arrow(frame, pack, PACKED)
        .groupBy(SPLIT, BUCKET)
        .transformWithStateInPandas(RuleDetector(streaming), GIVEN, outputMode="append", timeMode="EventTime")
    )
    counts = [f.sum(name).alias(name) for name in COUNTS]
    return found.observe(metrics, *counts).mapInArrow(Unpack(output), spark_type(output))


def _given_rows(unit: RuleUnit, bound: BoundProgram, tables: Mapping[str, DataFrame]) -> Mapping[str, pa.Table]:
    """The rows that are given beside the stream, each with the hash of its key."""
    given = bound.sql.plan_types.given
    return {
        label: rows.withColumn(HASH_OF_ROW, row_hash(unit, label, given[label].types)).toArrow()
        for label, rows in tables.items()
        if unit.labels is None or label in unit.labels
    }
