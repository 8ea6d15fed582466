"""Checks one query against the columns of a DataFrame: what it reads, what its matches hold, what partitions it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.events import DEFAULT_TYPE, StreamColumns
from ostinato.errors import OstinatoError
from ostinato.patterns.limits import Limits
from ostinato.patterns.plan.required_columns import required_columns
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.locality import shows_events
from ostinato.patterns.syntax.nodes import Language, Query
from ostinato.spark.columns import arrow_schema, placeholder_schema, tie_breakers, time_column
from ostinato.spark.patterns.shipped_query import ShippedQuery, compile_cached

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class CheckedQuery:
    """A query that fits its table, the columns that it reads, and the kernels that it may run.

    The rows of each value of `partition_by` can be read apart from the others.
    """

    query: ShippedQuery
    binding: StreamColumns
    partition_by: tuple[str, ...]
    reads: frozenset[str]
    kernels: tuple[Any, ...]


def check_query(
    name: str,
    text: str,
    table: StructType,
    *,
    time: str | None = None,
    type: str | None = None,
    order_by: Sequence[str] = (),
    events: bool = True,
    identity: bool = False,
    limits: Limits | None = None,
    language: Language = "cel",
) -> CheckedQuery:
    """Raises before any row is read where names or kinds of columns do not fit."""
    time = time_column(time, table)
    query, kind = compile_cached(text, language).query, type or DEFAULT_TYPE
    wanted = _columns_needed(query, table.names, {time, kind, *order_by}, events=events)
    schema = arrow_schema(table, wanted)
    read = {kind, *(required_columns(query) or ())}
    binding = {"time": time, "type": type, "order_by": tie_breakers([read], schema, order_by, time)}
    columns, unknown = tuple(schema.names), pa.schema([])
    told = tuple(order_by) if identity else None
    shipped = ShippedQuery(name, text, binding, events, limits or Limits(), columns, unknown, language, told)
    engine = shipped.engine()
    try:
        answer = engine.push(schema.empty_table()).schema
    except OstinatoError:
        # With all columns in view, the message can name the one that was meant.
        shipped.engine().push(placeholder_schema(table.names, schema).empty_table())
        raise
    if query.items is None:
        answer = answer.remove(answer.get_field_index("positions"))
    found = replace(shipped, answer=answer)
    return CheckedQuery(found, engine.stream.binding, _partition_by(engine), frozenset(read), engine.kernels)


def _partition_by(engine: Engine) -> tuple[str, ...]:
    """The attributes whose values can be read apart from each other, in different tasks; () where none can."""
    compiled, query = engine.compiled, engine.compiled.query
    if not shows_events(compiled):
        return ()
    if query.partition_by:
        return query.partition_by if query.consume != "ANY" else ()
    counts = query.window is not None and query.window.kind == "events"
    # Partitions that only stand for an equality filter must not hide the events between, where those matter.
    apart = not compiled.contiguous and not counts and query.consume == "NONE" and query.limit is None
    apart &= query.skip is None
    return engine.stream.key_columns if apart else ()


def _columns_needed(query: Query, names: Sequence[str], named: set[str], *, events: bool) -> set[str]:
    """The columns that a query reads; all of them where it gives whole rows."""
    read = None if events and query.items is None else required_columns(query)
    return set(names) if read is None else read | named
