"""Random clauses over random tables: the rows are those of the declarative twin."""

from __future__ import annotations

from collections import Counter

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings

from ostinato.errors import DataError
from ostinato.sql.runtime.clause import evaluate
from ostinato.sql.runtime.plans import Plans
from ostinato.sql.runtime.source import Source
from ostinato.sql.semantics import rows as twin
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.parse import parse
from support.generators.row_patterns import clauses, tables

pytestmark = pytest.mark.slow


def read(clause: str) -> n.MatchRecognize:
    return parse(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})").clauses[0].match


def outcome(table: pa.Table) -> tuple[object, ...]:
    """Names, types and rows; partitions may come in any order."""
    return table.schema.names, table.schema.types, Counter(map(repr, table.to_pylist()))


def check(clause: str, table: pa.Table) -> None:
    match = read(clause)
    with duckdb.connect() as connection:
        connection.register("t", table)
        try:
            expected = outcome(twin.evaluate(match, connection, "t", "t"))
        except DataError as error:
            expected = (error.reason,)
        plans = Plans({})
        plans.put(match)
        as_given = Source(connection, "t", "t", table=table)
        for source, kept in ((Source(connection, "t", "t"), None), (as_given, plans), (as_given, plans)):
            try:
                found = outcome(evaluate(match, source, plans=kept))
            except DataError as error:
                found = (error.reason,)
            assert found == expected


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(clauses(), tables())
def test_conditions_on_rows_by_place(clause: str, table: pa.Table) -> None:
    check(clause, table)


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(clauses(looks_back=True), tables())
def test_conditions_on_the_match_so_far(clause: str, table: pa.Table) -> None:
    check(clause, table)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(clauses(looks_back=True, uncommon=True), tables(7))
def test_conditions_that_only_the_engine_can_evaluate(clause: str, table: pa.Table) -> None:
    check(clause, table)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(clauses(looks_back=True, within=True), tables())
def test_within(clause: str, table: pa.Table) -> None:
    check(clause, table)
