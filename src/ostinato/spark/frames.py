"""From queries and a DataFrame to what the workers need: checked before any job starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError, did_you_mean
from ostinato.events import DEFAULT_TIME, DEFAULT_TYPE, Binding, kinds
from ostinato.many import joint_schema
from ostinato.plan.columns import columns_read
from ostinato.plan.nodes import Query
from ostinato.runtime.engine import Engine
from ostinato.runtime.limits import Limits
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
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.output)


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
    ties = (order_by,) if isinstance(order_by, str) else tuple(order_by)
    told = {name for name in (type or DEFAULT_TYPE, *ties) if name in frame.columns or name != DEFAULT_TYPE}
    queries = {name: compiled(text).query for name, text in texts.items()}
    wanted = _columns(queries.values(), frame.columns, events=events)
    kept = [name for name in frame.columns if name in wanted | told | {time}]
    frame = frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in kept))
    schema = arrow_schema(frame)
    plain = [name for name, kind in kinds(schema).items() if kind not in ("nested", "binary", "null")]
    # Spark gives equal times in any order; all columns together make it one order again.
    ties = (*ties, *(name for name in plain if name not in (*ties, time)))
    binding = {"time": time, "type": type, "order_by": ties}
    groups: dict[tuple[str, ...], tuple[Reading, ...]] = {}
    for name, text in texts.items():
        reading = Reading(name, text, binding, events, limits or Limits(), pa.schema([]))
        engine = reading.engine()
        answer = engine.push(schema.empty_table()).schema
        if queries[name].items is None:
            answer = answer.remove(answer.get_field_index("positions"))
        split = split_by(engine)
        groups[split] = (*groups.get(split, ()), Reading(name, text, binding, events, reading.limits, answer))
        bound = engine.stream.binding
    answers = {reading.name: reading.answer for group in groups.values() for reading in group}
    output = joint_schema(answers) if named else next(iter(answers.values()))
    return Source(frame, bound, groups, output)


def split_by(engine: Engine) -> tuple[str, ...]:
    """The attributes whose values can be read apart from each other, in different tasks; () where none can."""
    compiled, query = engine.compiled, engine.compiled.query
    if query.partition_by:
        return query.partition_by if query.consume != "ANY" else ()
    counts = query.window is not None and query.window.kind == "events"
    # Partitions that only stand for an equality filter must not hide the events between, where those matter.
    apart = not compiled.contiguous and not counts and query.consume == "NONE"
    return engine.stream.key_columns if apart else ()


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


def _columns(queries: Iterable[Query], names: Sequence[str], *, events: bool) -> set[str]:
    """The columns that some query reads; all of them where one gives whole rows."""
    found: set[str] = set()
    for query in queries:
        read = None if events and query.items is None else columns_read(query)
        if read is None:
            return set(names)
        found |= read
    return found
