"""Several queries over the same data: one answer with a column that says whose match each row is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.options import bad_option
from ostinato.errors import OstinatoError
from ostinato.patterns.query import PatternQuery

QUERY = "query"


def detect_many(queries: Mapping[str, PatternQuery], data: Any, /, **options: Any) -> Any:
    _check(queries)
    if is_spark_frame(data):
        return spark_backend().detect(queries, data, **options)
    found = {name: query.detect(data, **options) for name, query in queries.items()}
    schema = joint_schema({name: table.schema for name, table in found.items()})
    return pa.concat_tables([fit_to_schema(name, table, schema) for name, table in found.items()])


def _check(queries: Any) -> None:
    if not isinstance(queries, Mapping) or not queries:
        raise bad_option("queries", queries, "a dict of at least one query by name")
    for name, query in queries.items():
        if not isinstance(name, str) or not isinstance(query, PatternQuery):
            raise bad_option("queries", {name: query}, "names and what ostinato.cel(…) or ostinato.srem(…) returns")


def joint_schema(answers: Mapping[str, pa.Schema]) -> pa.Schema:
    """The columns of all answers together, after QUERY; a column that two answers share must be of one type."""
    fields = {QUERY: pa.field(QUERY, pa.string())}
    for name, answer in answers.items():
        for field in answer:
            if field.name == QUERY:
                raise OstinatoError(f"the answer of {name!r} has a column `{QUERY}` already\nfix: rename it with AS")
            known = fields.setdefault(field.name, field)
            if known.type != field.type:
                raise OstinatoError(
                    f"`{field.name}` is {field.type} in the answer of {name!r} and {known.type} in another\n"
                    "fix: give one of them another name with AS"
                )
    return pa.schema(list(fields.values()))


def fit_to_schema(name: str, matches: pa.Table, schema: pa.Schema) -> pa.Table:
    """Matches of the query `name` with the columns of `schema`, NULL where its answer has none."""
    columns: Sequence[Any] = [
        _retyped(matches[field.name], field.type)
        if field.name in matches.column_names
        else pa.array([name] * len(matches), field.type)
        if field.name == QUERY
        else pa.nulls(len(matches), field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)


def _retyped(values: Any, kind: pa.DataType) -> Any:
    """`values.cast(kind)`, part by part, with NULL for fields that only `kind` has.

    Arrow's own cast of a list makes columns of NULLs inside it too short.
    """
    if values.type == kind:
        return values
    if isinstance(values, pa.ChunkedArray):
        return pa.chunked_array([_retyped(chunk, kind) for chunk in values.chunks], kind)
    if pa.types.is_struct(kind) and pa.types.is_struct(values.type):
        known = {field.name for field in values.type}
        parts = [
            _retyped(values.field(field.name), field.type) if field.name in known else pa.nulls(len(values), field.type)
            for field in kind
        ]
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    if pa.types.is_list(kind) and pa.types.is_list(values.type):
        items = _retyped(values.values, kind.value_type)
        return pa.Array.from_buffers(kind, len(values), values.buffers()[:2], offset=values.offset, children=[items])
    return values.cast(kind)
