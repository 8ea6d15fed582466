"""The engine answers as the standard's definition does, on random clauses and tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

import ostinato as ost
from ostinato.sql.runtime.answer import answer
from ostinato.sql.runtime.source import Source
from ostinato.sql.semantics import rows as declared
from ostinato.sql.syntax import nodes as n
from support.generators.sql import clauses, tables

pytestmark = pytest.mark.slow

SCHEMA = pa.schema([("g", pa.string()), ("ts", pa.int64()), ("v", pa.int64()), ("w", pa.int64())])


def evaluate(match: n.MatchRecognize, source: Source) -> pa.Table:
    return declared.evaluate(match, source.connection, source.text, source.alias, source.joined)


def outcome(query: Any, table: pa.Table, engine: Any = None) -> Any:
    """The rows in any order of partitions, or the error."""
    try:
        found = query.detect({"t": table}) if engine is None else answer(query.query, {"t": table}, engine)
    except ost.DataError as error:
        return type(error)
    return found.schema, sorted(map(repr, zip(*(column.to_pylist() for column in found.columns), strict=True)))


@settings(max_examples=60)
@given(clauses(of_match=False), tables())
def test_conditions_on_rows(text: str, data: list[dict[str, Any]]) -> None:
    table, query = pa.Table.from_pylist(data, SCHEMA), ost.sql(text)
    assert outcome(query, table) == outcome(query, table, evaluate)


@settings(max_examples=60)
@given(clauses(), tables())
def test_conditions_on_the_match_so_far(text: str, data: list[dict[str, Any]]) -> None:
    table, query = pa.Table.from_pylist(data, SCHEMA), ost.sql(text)
    assert outcome(query, table) == outcome(query, table, evaluate)
