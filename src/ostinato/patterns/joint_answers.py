"""Answers of several queries as one: a column names the query of each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ostinato.core.arrow_casts import cast_column
from ostinato.errors import OstinatoError

QUERY = "query"


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
