"""The list of aggregate functions is DuckDB's."""

from __future__ import annotations

import duckdb

from ostinato.sql.syntax.aggregates import AGGREGATES


def test_all_aggregates_of_the_engine_are_known() -> None:
    query = "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type = 'aggregate'"
    found = {name for (name,) in duckdb.execute(query).fetchall() if name.isidentifier()}
    assert found - AGGREGATES == {"first", "last"}  # which navigate here
