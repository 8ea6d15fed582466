"""Several queries over the same data: one answer with a column that names the query of each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.events import to_arrow
from ostinato.core.options import bad_option
from ostinato.patterns.joint_answers import fit_to_schema, joint_schema
from ostinato.patterns.live.open import open_engine
from ostinato.patterns.query import PatternQuery

_FEW = 4  # queries: with fewer, each for itself on all cores is as fast
_SHARED_OPTIONS = {"time", "type", "order_by", "events", "identity", "limits", "threads"}


def detect_many(queries: Mapping[str, PatternQuery], data: Any, /, **options: Any) -> Any:
    _check(queries)
    if is_spark_frame(data):
        return spark_backend().detect(queries, data, **options)
    table = to_arrow(data)
    together = len(queries) >= _FEW and table.num_columns and options.keys() <= _SHARED_OPTIONS
    shared = _detect_together(queries, table, **options) if together else {}
    found = {
        name: shared[name] if name in shared else query.detect(table, **options) for name, query in queries.items()
    }
    schema = joint_schema({name: answer.schema for name, answer in found.items()})
    return pa.concat_tables([fit_to_schema(name, answer, schema) for name, answer in found.items()])


def _detect_together(
    queries: Mapping[str, PatternQuery], table: pa.Table, *, threads: int | None = None, **options: Any
) -> dict[str, pa.Table]:
    """The answers of queries that can run together, if there are a few."""
    settings = {
        "time": None,
        "type": None,
        "order_by": (),
        "events": False,
        "identity": False,
        "limits": None,
    } | options
    live = open_engine(queries, lateness=0, on_late="count", schema=table.schema, **settings)
    for name in live.queries:
        if name not in live.numbers:
            live.remove(name)
    if len(live.queries) < _FEW:
        return {}
    schemas, found = live.schemas(), live.push(table)
    for error in live.errors.values():
        raise error
    return {name: schema.empty_table() for name, schema in schemas.items()} | found.tables


def _check(queries: Any) -> None:
    if not isinstance(queries, Mapping) or not queries:
        raise bad_option("queries", queries, "a dict of at least one query by name")
    for name, query in queries.items():
        if not isinstance(name, str) or not isinstance(query, PatternQuery):
            raise bad_option("queries", {name: query}, "names and what ostinato.cel(…) or ostinato.srem(…) returns")
