"""From queries and a DataFrame to what the workers need: checked before any job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError, OstinatoError, did_you_mean
from ostinato.events import DEFAULT_TIME, DEFAULT_TYPE, Binding, kinds
from ostinato.many import joint_schema
from ostinato.plan.columns import columns_read
from ostinato.plan.nodes import Query
from ostinato.runtime.engine import Engine
from ostinato.runtime.limits import Limits
from ostinato.spark.prefilter import column
from ostinato.spark.ranges import always_shows
from ostinato.spark.task import Reading, compiled

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Source:
    """A DataFrame cut down to the columns that the queries read.

    `readings` are grouped by the attributes that split the stream for them: () where nothing does.
    """

    frame: DataFrame
    binding: Binding
    groups: Mapping[tuple[str, ...], tuple[Reading, ...]]
    output: pa.Schema

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(reading for group in self.groups.values() for reading in group)

    @property
    def output_type(self) -> StructType:
        return spark_type(self.output)


def source(
    texts: Mapping[str, str],
    frame: DataFrame,
    *,
    time: str | None = None,
    type: str | None = None,
    order_by: Sequence[str] = (),
    events: bool = True,
    limits: Limits | None = None,
    named: bool = False,
) -> Source:
    """Check the queries against the frame's columns. `named`: a column says which query a match belongs to."""
    time = time or DEFAULT_TIME
    if time not in frame.columns:
        raise DataError(
            f"the rows of a Spark DataFrame have no order, and there is no time column `{time}`",
            fix=did_you_mean(time, frame.columns) or "name the column to order them by: time=…",
        )
    _check_names(frame)
    ties = (order_by,) if isinstance(order_by, str) else tuple(order_by)
    queries = {name: compiled(text).query for name, text in texts.items()}
    columns = {
        name: _columns(query, frame.columns, {time, type or DEFAULT_TYPE, *ties}, events=events)
        for name, query in queries.items()
    }
    whole = frame
    frame = frame.select(*(column(name) for name in frame.columns if any(name in own for own in columns.values())))
    schema = arrow_schema(frame)
    groups: dict[tuple[str, ...], tuple[Reading, ...]] = {}
    for name, text in texts.items():
        own = pa.schema([field for field in schema if field.name in columns[name]])
        binding = {"time": time, "type": type, "order_by": _ties(queries[name], own, ties, time, type or DEFAULT_TYPE)}
        reading = Reading(name, text, binding, events, limits or Limits(), tuple(own.names), pa.schema([]))
        engine = reading.engine()
        try:
            answer = engine.push(own.empty_table()).schema
        except OstinatoError:
            # Where all columns are at hand, the message can name the one that was meant.
            reading.engine().push(_names_only(whole, schema).empty_table())
            raise
        if queries[name].items is None:
            answer = answer.remove(answer.get_field_index("positions"))
        split = split_by(engine)
        groups[split] = (*groups.get(split, ()), replace(reading, answer=answer))
        bound = engine.stream.binding
    answers = {reading.name: reading.answer for group in groups.values() for reading in group}
    output = joint_schema(answers) if named else next(iter(answers.values()))
    return Source(frame, bound, groups, output)


def split_by(engine: Engine) -> tuple[str, ...]:
    """The attributes whose values can be read apart from each other, in different tasks; () where none can."""
    compiled, query = engine.compiled, engine.compiled.query
    if not always_shows(compiled):
        return ()
    if query.partition_by:
        return query.partition_by if query.consume != "ANY" else ()
    counts = query.window is not None and query.window.kind == "events"
    # Partitions that only stand for an equality filter must not hide the events between, where those matter.
    apart = not compiled.contiguous and not counts and query.consume == "NONE"
    return engine.stream.key_columns if apart else ()


def spark_type(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def arrow_schema(frame: DataFrame) -> pa.Schema:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    try:
        return to_arrow_schema(frame.schema, timezone="UTC")
    except (PySparkException, TypeError):
        for field in frame.schema.fields:
            try:
                to_arrow_schema(StructType([field]), timezone="UTC")
            except (PySparkException, TypeError):
                raise DataError(
                    f"`{field.name}` is of type {field.dataType.simpleString()}, which cannot be handed to Python",
                    fix="cast it, or leave it out with frame.drop(…)",
                ) from None
        raise


def _check_names(frame: DataFrame) -> None:
    """No two columns may go by one name; Spark takes no notice of case unless it is told to."""
    names = frame.columns
    if frame.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
        names = [name.lower() for name in names]
    for place, name in enumerate(names):
        if name in names[:place]:
            twice = {frame.columns[names.index(name)], frame.columns[place]}
            raise DataError(
                f"two columns are named {' and '.join(f'`{name}`' for name in sorted(twice))}",
                fix="rename or drop one of them",
            )


def _columns(query: Query, names: Sequence[str], told: set[str], *, events: bool) -> set[str]:
    """The columns that a query reads; all of them where it gives whole rows."""
    read = None if events and query.items is None else columns_read(query)
    return set(names) if read is None else read | told


def _ties(
    query: Query, schema: pa.Schema, order_by: tuple[str, ...], time: str, type: str
) -> tuple[str, ...]:
    """What puts events of equal time in order, which Spark gives in any: all columns together make it one order again.

    Those that the query reads come first, so that it does not matter to the answer which others are at hand.
    """
    plain = [name for name, kind in kinds(schema).items() if kind not in ("nested", "binary", "null")]
    read = {type, *(columns_read(query) or ())}
    found = dict.fromkeys((*order_by, *(name for name in plain if name in read), *plain))
    return tuple(name for name in found if name != time)


def _names_only(frame: DataFrame, known: pa.Schema) -> pa.Schema:
    """A schema of all columns of a frame, those that are not known as bytes."""
    return pa.schema(
        [known.field(name) if name in known.names else pa.field(name, pa.binary()) for name in frame.columns]
    )
