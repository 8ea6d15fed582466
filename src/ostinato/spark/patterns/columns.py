"""How one query reads a table of which only the columns are known: what it is given, and what comes out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.core.events import DEFAULT_TYPE, StreamColumns
from ostinato.errors import OstinatoError
from ostinato.patterns.limits import Limits
from ostinato.patterns.plan.required_columns import required_columns
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.syntax.nodes import Language, Query
from ostinato.spark.columns import arrow_schema, names_only, ties, time_column
from ostinato.spark.patterns.task import Reading, compiled
from ostinato.spark.patterns.time_ranges import always_shows

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Checked:
    """A query that fits its table. `split` are the attributes whose values can be read apart from each other."""

    reading: Reading
    binding: StreamColumns
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
    read = {kind, *(required_columns(query) or ())}
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
    read = None if events and query.items is None else required_columns(query)
    return set(names) if read is None else read | told
