"""How one query reads a table of which only the columns are known: what it is given, and what comes out."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.errors import DataError, OstinatoError, did_you_mean
from ostinato.events import DEFAULT_TIME, DEFAULT_TYPE, Binding, kinds
from ostinato.plan.columns import columns_read
from ostinato.plan.nodes import Language, Query
from ostinato.runtime.engine import Engine
from ostinato.runtime.limits import Limits
from ostinato.spark.ranges import always_shows
from ostinato.spark.task import Reading, compiled

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Checked:
    """A query that fits its table. `split` are the attributes whose values can be read apart from each other."""

    reading: Reading
    binding: Binding
    split: tuple[str, ...]


def check(
    name: str,
    text: str,
    table: StructType,
    *,
    time: str | None = None,
    type: str | None = None,
    order_by: Sequence[str] = (),
    events: bool = True,
    limits: Limits | None = None,
    language: Language = "cel",
) -> Checked:
    """Names and kinds are looked at here; raises before any row is read."""
    time = time_column(time, table)
    query, kind = compiled(text, language).query, type or DEFAULT_TYPE
    wanted = _columns(query, table.names, {time, kind, *order_by}, events=events)
    schema = arrow_schema(table, wanted)
    read = {kind, *(columns_read(query) or ())}
    binding = {"time": time, "type": type, "order_by": ties(read, schema, order_by, time)}
    reading = Reading(name, text, binding, events, limits or Limits(), tuple(schema.names), pa.schema([]), language)
    engine = reading.engine()
    try:
        answer = engine.push(schema.empty_table()).schema
    except OstinatoError:
        # Where all columns are at hand, the message can name the one that was meant.
        reading.engine().push(names_only(table.names, schema).empty_table())
        raise
    if query.items is None:
        answer = answer.remove(answer.get_field_index("positions"))
    return Checked(replace(reading, answer=answer), engine.stream.binding, _split_by(engine))


def time_column(time: str | None, table: StructType) -> str:
    """The column of the time, which must be there."""
    time = time or DEFAULT_TIME
    if time not in table.names:
        raise DataError(
            f"the rows of a Spark DataFrame have no order, and there is no time column `{time}`",
            fix=did_you_mean(time, table.names) or "name the column to order them by: time=…",
        )
    return time


def arrow_schema(table: StructType, wanted: set[str] | None = None) -> pa.Schema:
    """The wanted columns (None: all) as Arrow has them."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_schema
    from pyspark.sql.types import StructType

    fields: list[pa.Field] = []
    for field in table.fields:
        if wanted is None or field.name in wanted:
            try:
                fields += to_arrow_schema(StructType([field]), timezone="UTC")
            except (PySparkException, TypeError):
                raise DataError(
                    f"`{field.name}` is of type {field.dataType.simpleString()}, which cannot be handed to Python",
                    fix="cast it, or leave it out with frame.drop(…)",
                ) from None
    return pa.schema(fields)


def spark_type(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)


def _split_by(engine: Engine) -> tuple[str, ...]:
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


def _columns(query: Query, names: Sequence[str], told: set[str], *, events: bool) -> set[str]:
    """The columns that a query reads; all of them where it gives whole rows."""
    read = None if events and query.items is None else columns_read(query)
    return set(names) if read is None else read | told


def ties(read: Collection[str], schema: pa.Schema, order_by: Sequence[str], time: str) -> tuple[str, ...]:
    """What puts events of equal time in order, which Spark gives in any: all columns together make it one order again.

    Those that a query reads come first, so that it does not matter to the answer which others are at hand.
    """
    of_kind = kinds(schema)
    for name in order_by:
        if of_kind.get(name) in ("nested", "binary"):
            raise DataError(f"cannot order by `{name}`: it is {schema.field(name).type}", fix="order by plain columns")
    plain = [name for name, kind in of_kind.items() if kind not in ("nested", "binary", "null")]
    found = dict.fromkeys((*order_by, *(name for name in plain if name in read), *plain))
    return tuple(name for name in found if name != time)


def names_only(names: Sequence[str], known: pa.Schema) -> pa.Schema:
    """A schema of all columns of a table, those that are not known as bytes."""
    return pa.schema([known.field(name) if name in known.names else pa.field(name, pa.binary()) for name in names])
