"""Rows of a DataFrame as the events that rules read, and derived events as rows again.

Times become whole ticks as rules.runtime.times has them. A row without a time, or that ends before it begins, stops
the job: the check is a part of the label, which every query filters by, so that no row gets around it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.rules.relational.kinds import Attributes
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.operators import MAX_TICK
from ostinato.rules.relational.sql_names import ColumnNames
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.ingest import LABEL, IncomingColumns, TermMatcher
from ostinato.rules.runtime.pattern_stream import PatternStream
from ostinato.rules.runtime.periods import Periods
from ostinato.rules.runtime.times import MICRO
from ostinato.spark.columns import arrow_schema, column, spark_type
from ostinato.spark.failures import raised_text
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.rules.task import DOCUMENT_SCHEMA, PERIODS, DocumentTask, EmbeddedPatternTask, PeriodTask, TermTask

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_EPOCH, _TICK = "TIMESTAMP_NTZ'1970-01-01 00:00:00'", "INTERVAL '0.000001' SECOND"


def read_events(frame: DataFrame, columns: IncomingColumns) -> DataFrame:
    """The columns that IncomingColumns.read gives: #label, begin, end, and the attributes."""
    if columns.document is not None:
        times = columns.times
        read = dict.fromkeys([times.begin, times.end, *([columns.type] if columns.type else []), columns.document])
        kept = frame.select(*map(column, read))
        return map_in_arrow(kept, DocumentTask(columns, arrow_schema(kept.schema)), spark_type(DOCUMENT_SCHEMA))
    begin, end = _ticks(frame, columns, columns.times.begin), _ticks(frame, columns, columns.times.end)
    attributes = [column(name).alias(place) for name, place in columns.attributes.columns.items()]
    return frame.select(label_column(frame, columns).alias(LABEL), begin.alias("begin"), end.alias("end"), *attributes)


def _ticks(frame: DataFrame, columns: IncomingColumns, name: str) -> Column:
    from pyspark.sql import functions as f

    per_second, value = columns.times.ticks_per_second, column(name)
    kind = frame.schema[name].dataType.typeName()
    if kind == "date":
        return f.unix_date(value).cast("long") * f.lit(86_400 * per_second)
    if kind == "timestamp":
        return f.unix_micros(value)
    if kind == "timestamp_ntz":
        return f.expr(f"({_quote(name)} - {_EPOCH}) DIV {_TICK}")
    if kind in ("float", "double", "decimal"):
        # As numpy multiplies: a float of four bytes stays one.
        values = value.cast("double") if kind == "decimal" else value
        return f.rint(values * f.lit(MICRO).cast("float" if kind == "float" else "double")).cast("long")
    return value.cast("long") * f.lit(MICRO)


def label_column(frame: DataFrame, columns: IncomingColumns) -> Column:
    """The label of a row that is no document, where its times can be used; else what is wrong with them."""
    from pyspark.sql import functions as f

    times = columns.times
    label = column(columns.type).cast("string") if columns.type is not None else f.lit(columns.label)
    tests: list[tuple[Column, Column]] = []
    for name in dict.fromkeys((times.begin, times.end)):
        value, kind = column(name), frame.schema[name].dataType.typeName()
        absent = [(value.isNull(), "NULL")]
        if kind in ("float", "double"):
            absent.append((f.isnan(value), "NaN"))
        for test, what in absent:
            why = f"`{name}` is {what}, but the order of events needs its value"
            tests.append((test, raised_text(why, fix="drop or fill the rows where it is missing")))
        if not pa.types.is_temporal(times.type):
            far = f.abs(value.cast("double")) >= f.lit(MAX_TICK / MICRO)
            beyond = ", beyond what times of rules can be (they count seconds)"
            tests.append((far, raised_text(f"`{name}` is ", value, beyond, fix="give seconds, or timestamps")))
    if not times.points:
        early, begins, ends = "the event ends before it begins", column(times.begin), column(times.end)
        reason = (f"{early}: `{times.begin}` is ", begins, f", `{times.end}` ", ends)
        sides = (times.begin, times.end)
        if pa.types.is_temporal(times.type) and len({frame.schema[name].dataType for name in sides}) == 1:
            begin, end = map(column, sides)  # as they are: to count their ticks takes longer than all the rest
        else:
            begin, end = (_ticks(frame, columns, name) for name in sides)
        tests.append((begin > end, raised_text(*reason, fix="correct or drop the row")))
    checked = label
    for test, message in reversed(tests):
        checked = f.when(test, f.raise_error(message).cast("string")).otherwise(checked)
    return checked


def _quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


# Matching terms -------------------------------------------------------------------------------------------------------


def match_terms(stream: DataFrame, found: MatchPlan, attributes: Attributes, names: ColumnNames) -> DataFrame:
    """What the matcher of terms finds in a stream."""
    schema = TermMatcher(found, attributes, names).schema  # names all columns, before the names travel
    return map_in_arrow(stream, TermTask(found, attributes, names), spark_type(schema))


def pattern_matches(events: DataFrame, pattern: PatternStream) -> DataFrame:
    """The matches of a CEL pattern: the order of all events matters to it, so one task reads them."""
    types = {"begin": pa.int64(), "end": pa.int64()}
    types |= {pattern.attributes.columns[name]: kind for name, kind in pattern.attributes.types.items()}
    plain = replace(pattern)  # without what it has compiled
    return map_in_arrow(events.repartition(1), EmbeddedPatternTask(plain), spark_type(pa.schema(types)))


def periodic_times(events: DataFrame, periods: Periods) -> DataFrame:
    """The times of a periodic timer over all events."""
    from pyspark.sql import functions as f

    ends = events.agg(f.min("end").alias("first"), f.max("end").alias("last"))
    return map_in_arrow(ends, PeriodTask(periods), spark_type(PERIODS))


# Answers --------------------------------------------------------------------------------------------------------------


def to_answer(derived: DataFrame, bound: BoundProgram) -> DataFrame:
    """Derived events with ticks, as users see them; NULL where `derived`, of some rules only, has not the column."""
    from pyspark.sql import functions as f

    shown: list[Column] = []
    for field in spark_type(bound.answer_schema).fields:
        value = column(field.name) if field.name in derived.columns else f.lit(None)
        value = _time(field.name, bound) if field.name in ("begin", "end") else value
        shown.append(value.cast(field.dataType).alias(field.name))
    return derived.select(*shown)


def _time(name: str, bound: BoundProgram) -> Column:
    from pyspark.sql import functions as f

    times = bound.columns.times
    kind = times.answer_type(whole=bound.whole_seconds)
    if pa.types.is_temporal(kind):
        per_tick = MICRO // times.ticks_per_second
        if kind.tz is not None:
            return f.timestamp_micros(column(name) * f.lit(per_tick))
        return f.expr(f"{_EPOCH} + {_quote(name)} * {per_tick} * {_TICK}")
    if pa.types.is_integer(kind):
        return f.expr(f"{_quote(name)} DIV {MICRO}")
    return column(name).cast("double") / f.lit(float(MICRO))
