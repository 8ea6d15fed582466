"""The rows of clauses over larger tables, and what bounds their evaluation."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from ostinato.errors import DataError, LimitError, QueryError
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.clause import evaluate
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax.parse import parse


def rows(clause: str, table: pa.Table, limits: SqlLimits | None = None) -> list[tuple[Any, ...]]:
    match = parse(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})").clauses[0].match
    with duckdb.connect() as connection:
        connection.register("t", table)
        found = evaluate(match, Source(connection, "t", "t"), limits)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def numbers(count: int, **columns: Any) -> pa.Table:
    return pa.table({"ts": np.arange(count), **columns})


def test_equal_rows_take_time_in_proportion_to_their_number() -> None:
    table = numbers(1_000_000)
    assert rows("ORDER BY ts MEASURES COUNT(B.*) AS n PATTERN (A+ B+)", table) == [(1,)]
    assert rows("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+ B+ C) DEFINE C AS ts < 0", table) == []


def test_ambiguous_repetitions_do_too() -> None:
    table = numbers(100_000)
    pattern = "PATTERN ((A | B | A B | (A B?)*)+ C) DEFINE C AS ts < 0"
    assert rows(f"ORDER BY ts MEASURES COUNT(*) AS n {pattern}", table) == []


def test_conditions_on_the_match_that_always_fail_are_tried_once_from_each_state() -> None:
    # Without a memory of what failed, each way to divide the rows between A and B would be tried.
    table = numbers(30)
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN ((A | B)+ C) DEFINE C AS COUNT(*) > 100"
    assert rows(clause, table, SqlLimits(steps=1_000_000)) == []


@pytest.mark.parametrize(
    "condition",
    ["CLASSIFIER(U) = 'Q'", "CLASSIFIER(A) = 'Q'", "PREV(CLASSIFIER()) = 'Q'", "LAST(CLASSIFIER(U), 1) = 'Q'",
     "NEXT(CLASSIFIER(A)) = 'Q'", "FIRST(CLASSIFIER(U), 2) = 'Q'", "PREV(LAST(CLASSIFIER(A), 1), 2) = 'Q'"],
)  # fmt: skip
def test_conditions_on_the_names_of_rows_are_too(condition: str) -> None:
    clause = f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN ((A | B)+ C) SUBSET U = (A, B) DEFINE C AS {condition}"
    assert rows(clause, numbers(100), SqlLimits(steps=200_000)) == []


def test_the_limits_hold_where_names_of_rows_are_read_at_once() -> None:
    # What is asked of DuckDB may depend on the names of all rows, so nothing can be remembered.
    condition = "C AS string_agg(CLASSIFIER(), '') = 'Q'"
    clause = f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN ((A | B)+ C) DEFINE {condition}"
    with pytest.raises(LimitError, match="the condition of C"):
        rows(clause, numbers(40), SqlLimits(steps=300))
    with pytest.raises(LimitError, match="longer than the limit, most of it for the condition of C"):
        rows(clause, numbers(40), SqlLimits(seconds=0.5))


def test_the_limit_on_seconds_names_the_variable_that_is_expensive() -> None:
    table = numbers(60, x=2.0 ** -np.arange(60))
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN ((A | B)+ C) DEFINE A AS SUM(A.x) > 0, C AS SUM(A.x) < 0"
    with pytest.raises(LimitError, match="longer than the limit, most of it for the condition of C"):
        rows(clause, table, SqlLimits(seconds=0.5))


def test_too_many_sets_of_states_are_computed_row_by_row() -> None:
    # Read backwards, the automaton would have to remember which of the last 18 rows are B: 2 ** 18 sets.
    random = np.random.default_rng(3)
    is_b = random.random(60_000) < 0.5
    clause = """PARTITION BY ts // 20000 AS part ORDER BY ts MEASURES FIRST(ts) AS t AFTER MATCH SKIP TO NEXT ROW
        PATTERN (A X{18} B) DEFINE B AS b"""
    found = rows(clause.replace(" AS part", ""), numbers(is_b.size, b=is_b))
    expected = [t for t in range(is_b.size) if t % 20_000 + 19 < 20_000 and is_b[t + 19]]
    assert sorted(t for *_, t in found) == expected


def test_a_pattern_that_is_too_large_is_refused() -> None:
    with pytest.raises(QueryError, match="too large"):
        rows("ORDER BY ts MEASURES COUNT(*) AS n PATTERN ((A B){1,1000000})", numbers(3))


@pytest.mark.slow
def test_the_limit_names_the_variable_that_is_expensive() -> None:
    # The sum differs for almost every way to divide the rows, so nothing can be remembered.
    table = numbers(60, x=2.0 ** -np.arange(60))
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN ((A | B)+ C) DEFINE A AS SUM(A.x) > 0, C AS SUM(A.x) < 0"
    with pytest.raises(LimitError, match="the condition of C") as raised:
        rows(clause, table, SqlLimits(steps=100_000))
    assert raised.value.limit == "steps"


def test_long_matches_get_more_frames() -> None:
    table = numbers(50_000)
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS ts >= FIRST(ts)"
    assert rows(clause, table) == [(50_000,)]


def test_the_rows_of_all_matches_are_bounded() -> None:
    clause = "ORDER BY ts MEASURES COUNT(*) AS n AFTER MATCH SKIP TO NEXT ROW PATTERN (A+)"
    with pytest.raises(LimitError, match="the matches have too many rows"):
        rows(clause, numbers(10_000), SqlLimits(rows=1_000_000))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("LAST(x, 1) IS NULL", 1),
        ("coalesce(FIRST(B.x), 2.0) > 1", 4),
        ("FIRST(PREV(x)) IS NULL", 4),
        ("LAST(B.x, 1) IS NOT DISTINCT FROM NULL", 4),
    ],
)
def test_what_no_row_has_is_null_inside_the_expression(condition: str, expected: int) -> None:
    table = numbers(4, x=[1.0, 2.0, 3.0, 2.0])
    clause = f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+ | B) DEFINE A AS {condition}"
    assert rows(clause, table)[0] == (expected,)


def test_a_value_out_of_range_is_an_error_where_the_condition_depends_on_it() -> None:
    table = numbers(3, x=pa.array([100, 100, 100], pa.int8()))
    clause = "ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A B) DEFINE B AS {} x + A.x > 0"
    with pytest.raises(DataError, match="the condition of B is out of range"):
        rows(clause.format(""), table)
    assert rows(clause.format("ts > 0 OR"), table) == [(2,)]


@pytest.mark.parametrize("sign", [1, -1])
def test_sums_of_measures_are_as_wide_as_those_of_duckdb(sign: int) -> None:
    table = numbers(3, x=np.array([7, 7, 1]) * sign * 10**18)
    measures = "ORDER BY ts MEASURES sum(x) AS s, avg(x) AS mean, count(*) AS n PATTERN (A+)"
    assert rows(measures, table) == [(sign * 15 * 10**18, sign * 5e18, 3)]
    running = rows(measures.replace(" PATTERN", " ALL ROWS PER MATCH PATTERN"), table)
    assert [row[1] for row in running] == [sign * total * 10**18 for total in (7, 14, 15)]


@pytest.mark.parametrize("condition", ["sum(A.x) > 0", "avg(A.x) > 0", "sum(A.x) < 0"])
def test_a_running_sum_that_does_not_fit_is_an_error(condition: str) -> None:
    table = numbers(3, x=np.array([7, 7, 1]) * (-1 if "<" in condition else 1) * 10**18)
    with pytest.raises(DataError, match="the condition of A is out of range"):
        rows(f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN (A+) DEFINE A AS {condition}", table)


@pytest.mark.parametrize(
    "condition", ["v.a > X.v.a", "X.v.a < 2", "Y.v.b.c > FIRST(X.v).b.c", "v.a > X.v.a + 0 * PREV(v.a)"]
)
def test_fields_of_structs_are_read_at_other_rows(condition: str) -> None:
    table = numbers(3, v=[{"a": a, "b": {"c": a}} for a in (1, 2, 0)])
    clause = f"ORDER BY ts MEASURES COUNT(*) AS n PATTERN (X Y) DEFINE Y AS {condition}"
    assert rows(clause, table) == [(2,)]


def test_a_pattern_may_have_no_variables() -> None:
    assert rows("ORDER BY ts MEASURES COUNT(*) AS n PATTERN (^)", numbers(3)) == [(0,)]
    assert rows("ORDER BY ts MEASURES COUNT(*) AS n PATTERN ($)", numbers(3)) == []
