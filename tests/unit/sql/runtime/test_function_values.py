"""Functions over several rows of the match: DuckDB is called for many at once, and only what is asked for fails."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.sql.kernels.layout import Search
from ostinato.sql.runtime.function_values import FunctionValues


def detect(condition: str, table: pa.Table, pattern: str = "A B+") -> list[tuple[Any, ...]]:
    query = ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES FIRST(ts) AS since, LAST(ts) AS till"
        f" PATTERN ({pattern}) DEFINE B AS {condition})"
    )
    found = [tuple(row.values()) for row in query.detect(table).to_pylist()]
    engine = query.engine()
    live = []
    for place in range(len(table)):
        live += engine.push(table.slice(place, 1)).to_pylist()
        engine = ost.SqlEngine.restore(engine.snapshot())
    assert [tuple(row.values()) for row in (*live, *engine.flush().to_pylist())] == found
    return found


def texts(*values: str | None) -> pa.Table:
    return pa.table({"ts": np.arange(len(values)), "s": pa.array(values, pa.string())})


def test_texts_of_two_rows() -> None:
    table = texts("a", "b", None, "ab", "abc", "b", "abcd", "a")
    assert detect("s LIKE A.s || '%'", table) == [(3, 4)]
    assert detect("length(s || A.s) > 2", table) == [(3, 7)]
    assert detect("coalesce(s || A.s, 'ba') = 'ba'", table) == [(0, 2)]


def test_duckdb_is_called_for_many_rows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    find = FunctionValues.find

    def count_and_find(values: FunctionValues, search: Search) -> None:
        calls.append(0)
        find(values, search)

    monkeypatch.setattr(FunctionValues, "find", count_and_find)
    names = [f"name {number * 7919 % 1000}" for number in range(5000)]
    query = ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A B+)"
        " DEFINE B AS levenshtein(s, A.s) < 4)"
    )
    found = query.detect(texts(*names)).column("n").to_pylist()
    assert sum(found) > 4000 and len(calls) < 100


def test_values_that_cannot_be_used_fail_where_they_are_asked_for() -> None:
    condition = "CAST(A.s || s AS INTEGER) > 11"
    assert detect(condition, texts("1", "2", "1"), "A B") == [(0, 1)]
    # The guess that 'x' comes next is wrong.
    assert detect(condition, texts("1", "2", "x", "y"), "^ A B") == [(0, 1)]
    with pytest.raises(ost.DataError, match="Could not convert string 'xy' to INT32") as raised:
        detect(condition, texts("1", "2", "x", "y"), "A B")
    assert "the condition of B" in str(raised.value)


def test_what_a_condition_does_not_depend_on_may_fail() -> None:
    condition = "A.s = 'x' OR CASE WHEN A.s <> 'z' THEN CAST(A.s || s AS INTEGER) END > 11"
    assert detect(condition, texts("x", "y"), "A B") == [(0, 1)]
    assert detect(condition, texts("z", "y"), "A B") == []


def test_distinct_values_are_counted() -> None:
    table = texts("a", "b", "a", None, "b", "c", "a", "a", "d", "e", "f")
    assert detect("count(DISTINCT B.s) < 3", table) == [(0, 4), (5, 8), (9, 10)]
    assert detect("count(DISTINCT B.s) FILTER (WHERE B.s > 'a') < 2", table) == [(0, 4), (5, 8), (9, 10)]
    floats = pa.table({"ts": np.arange(5), "x": [0.0, -0.0, float("nan"), float("nan"), 1.0]})
    assert detect("count(DISTINCT x) <= 2", floats) == [(0, 3)]


def test_distinct_values_of_a_long_match_take_little_time() -> None:
    table = pa.table({"ts": np.arange(200_000), "v": np.arange(200_000) % 7})
    query = ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES count(*) AS n PATTERN (A+)"
        " DEFINE A AS count(DISTINCT A.v) < 8)"
    )
    assert query.detect(table).to_pylist() == [{"n": 200_000}]


def test_dates_floats_and_functions_that_differ_each_time() -> None:
    hours = np.array([0, 1, 36, 60]) * np.timedelta64(3600 * 10**6, "us")
    table = pa.table({"ts": np.arange(4), "d": np.datetime64("2026-01-31", "us") + hours, "x": [1.26, 2.5, 3.0, -1.0]})
    assert detect("date_diff('month', A.d, d) < 1", table, "A B+") == [(0, 1), (2, 3)]
    assert detect("epoch(d - A.d) < 129600.5", table) == [(0, 2)]
    assert detect("round(x * A.x, 1) <= 3.8", table) == [(0, 3)]
    assert detect("least(x, A.x) = A.x AND random() < 2", table) == [(0, 2)]


def test_functions_that_are_nested_deeply_are_left_to_duckdb() -> None:
    nested = "upper(" * 60 + "s || A.s" + ")" * 60
    assert detect(f"{nested} = 'BA'", texts("a", "b")) == [(0, 1)]
    assert detect("upper(" * 60 + "s" + ")" * 60 + " = 'B'", texts("a", "b")) == [(0, 1)]
