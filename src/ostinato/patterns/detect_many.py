"""Several queries over the same data: one answer with a column that names the query of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ostinato.core.arrow_casts import cast_column
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
                raise OstinatoError(f"the answer of {name!r} has a column `{QUERY}` already", fix="rename it with AS")
            known = fields.setdefault(field.name, field)
            if known.type != field.type:
                raise OstinatoError(
                    f"`{field.name}` is {field.type} in the answer of {name!r} and {known.type} in another",
                    fix="give one of them another name with AS",
                )
    return pa.schema(list(fields.values()))


def fit_to_schema(name: str, matches: pa.Table, schema: pa.Schema) -> pa.Table:
    """Matches of the query `name` with the columns of `schema`, NULL where its answer has none."""
    columns: Sequence[Any] = [
        pa.array([name] * len(matches), field.type)
        if field.name == QUERY and QUERY not in matches.column_names
        else cast_column(matches, field)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
