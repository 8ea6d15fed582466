"""Expressions in whole queries: durations, nested fields, regular expressions, CASE and CAST; also between events."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import DataError, QueryError

START = datetime(2026, 1, 1)
KINDS = [pa.int64(), pa.float64(), pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("ns", "UTC"), pa.duration("s")]


def positions(query: str, table: pa.Table) -> list[list[int]]:
    found: list[list[int]] = ost.cel(query).detect(table)["positions"].to_pylist()
    return found


def stream(kind: pa.DataType, *seconds: int) -> pa.Table:
    """A, then Bs, at these times in a column of that type."""
    times = pa.array(seconds, pa.int64())
    times = times.cast(pa.timestamp("s")).cast(kind) if pa.types.is_timestamp(kind) else times.cast(kind)
    return pa.table({"at": times, "type": ["A"] + ["B"] * (len(seconds) - 1), "n": range(len(seconds))})


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("y.at - x.at < 5 minutes", [[0, 1]]),
        ("y.at - x.at = 300 s", [[0, 2]]),
        ("abs(x.at - y.at) BETWEEN 4 minutes AND 5 min", [[0, 1], [0, 2]]),
        ("x.at + 5 minutes < y.at", [[0, 3]]),
        ("y.at - 1 hour > x.at", []),
        ("y.at - x.at + 1 minute > 5.5 minutes", [[0, 2], [0, 3]]),
        ("y.at - x.at < 5 minutes OR y.at - x.at > 5 minutes", [[0, 1], [0, 3]]),
        ("y.at - x.at IN (299.9 s, 5 minutes)", [[0, 2]]),
        ("NOT y.at - x.at < 240000000001 ns", [[0, 2], [0, 3]]),
    ],
)
def test_durations_between_events(kind: pa.DataType, condition: str, expected: list[list[int]]) -> None:
    query = f"A AS x ; B AS y FILTER {condition}"
    assert positions(query, stream(kind, 10, 250, 310, 600)) == expected


def test_a_duration_beside_times_and_numbers_in_one_condition() -> None:
    table = stream(pa.timestamp("us"), 0, 3, 5)
    query = "A AS x ; B AS y FILTER y.at - x.at >= 2 s OR y.n - x.n >= 2 s"
    assert positions(query, table) == [[0, 1], [0, 2]]
    assert positions(query.replace("OR", "AND"), table) == [[0, 2]]


def test_durations_of_one_event() -> None:
    spans = [timedelta(minutes=4), timedelta(minutes=6), None]
    table = pa.table({"took": pa.array(spans, pa.duration("ms")), "begin": [START] * 3, "s": [240, 360, 0]})
    assert positions("T AS x FILTER x.took < 5 minutes", table) == [[0]]
    assert positions("T AS x FILTER x.begin + x.took > x.begin + 5 minutes", table) == [[1]]
    assert positions("T AS x FILTER x.s >= 4 min AND x.s - 2 min < 3 min", table) == [[0]]


def test_a_duration_in_a_not_at_the_end() -> None:
    rows = [{"ts": n, "type": kind} for n, kind in enumerate("AAB")]
    query = "A AS x ; (NOT B AS y FILTER y.ts - x.ts < 2 seconds) WITHIN 5 seconds"
    assert ost.cel(query).detect(rows)["positions"].to_pylist() == [[0]]


# Nested fields --------------------------------------------------------------------------------------------------------

NESTED = pa.struct({"v": pa.int8(), "at": pa.timestamp("us", "Asia/Tokyo"), "p": pa.struct({"name": pa.string()})})


def nested(*values: Any) -> pa.Table:
    return pa.table({"type": ["A"] + ["B"] * (len(values) - 1), "s": pa.array(values, NESTED)})


ROWS = nested({"v": 1, "at": START, "p": {"name": "a"}}, None, {"v": 2, "p": None}, {"v": 3, "p": {"name": "a"}})


def test_fields_in_conditions() -> None:
    assert positions("ANY AS x FILTER x.s.v > 1", ROWS) == [[2], [3]]
    assert positions("ANY AS x FILTER x.s.p.name IS NULL", ROWS) == [[1], [2]]
    assert positions("A AS x ; B AS y FILTER x.s.p.name = y.s.p.name AND x.s.v < y.s.v", ROWS) == [[0, 3]]
    assert positions("ANY AS x FILTER x.s IS NULL", ROWS) == [[1]]


def test_fields_in_select() -> None:
    query = "SELECT x.s.v, x.s.at, y.s.p.name AS name, x.s.p, y.s.v + 1 AS next WHERE A AS x ; B AS y FILTER y.s.v > 2"
    answer = ost.cel(query).detect(ROWS)
    assert answer.schema.field("v").type == pa.int8()  # fields keep their types, as columns do
    assert answer.schema.field("at").type == NESTED.field("at").type
    (row,) = answer.to_pylist()
    assert row.pop("at").astimezone(UTC) == START.replace(tzinfo=UTC)
    assert row == {"v": 1, "name": "a", "p": {"name": "a"}, "next": 4}


def test_fields_of_events_under_a_plus() -> None:
    items = "y.s.v, sum(y.s.v), first(y).s.v, last(y.s.p.name), count(y.s.p.name), max(y.s.v)"
    assert ost.cel(f"SELECT MAX {items} WHERE A ; (B AS y)+").detect(ROWS).to_pylist()[-1] == {
        "v": [None, 2, 3], "sum_v": 5, "first_v": None, "last_name": "a", "count_name": 1, "max_v": 3
    }  # fmt: skip
    with pytest.raises(QueryError, match=r"`y.s.v` is a list of values"):
        ost.cel("SELECT y.s.v + 1 AS w WHERE (B AS y)+")


def test_fields_of_an_srem_register() -> None:
    found = ost.srem("[type = 'A'] -> r . true* . [n > r.s.v]").detect(ROWS.append_column("n", [[0, 0, 2, 0]]))
    assert found["positions"].to_pylist() == [[0, 2]]


def test_an_attribute_beside_an_aggregate_of_it() -> None:
    answer = ost.cel("SELECT x.s.v + sum(x.s.v) AS c, x.s.v * count(x) AS d WHERE A AS x").detect(ROWS)
    assert answer.to_pylist() == [{"c": 2, "d": 1}]


# Regular expressions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())], ids=str
)
def test_regular_expressions(kind: pa.DataType) -> None:
    table = pa.table({"s": pa.array(["abb", "xab", None, "ab\n"], kind)})
    assert positions("T AS x FILTER x.s RLIKE '^ab+$'", table) == [[0]]
    assert positions("T AS x FILTER x.s NOT RLIKE 'b.?$'", table) == [[3]]
    assert positions("T AS x FILTER x.s rlike 'a'", table) == [[0], [1], [3]]
    assert positions("T AS x ; T AS y FILTER (x.s RLIKE '^x') = (y.s RLIKE '^x')", table) == [[0, 3]]
    assert ost.srem("[s RLIKE '^a'] . [s RLIKE '^x']").detect(table)["positions"].to_pylist() == [[0, 1]]


def test_regular_expressions_take_linear_time() -> None:
    table = pa.table({"s": ["a" * 50_000 + "!"]})
    assert positions("T AS x FILTER x.s RLIKE '^(a|a)*(a*)*$'", table) == []


# CASE and CAST --------------------------------------------------------------------------------------------------------

TEXTS = pa.table({"type": ["A", "B", "A", "A"], "s": ["12", "x", None, " 7"], "v": [1, 2, 3, 4]})


def test_cast_is_tried_on_events_of_its_type() -> None:
    assert positions("A AS x FILTER CAST(x.s AS int) > 7", TEXTS) == [[0]]
    coded = TEXTS.set_column(1, "s", TEXTS["s"].dictionary_encode())
    assert positions("A AS x FILTER CAST(x.s AS int) > 7", coded) == [[0]]
    assert positions("A AS x ; B FILTER CAST(x.s AS int) > 7", TEXTS) == [[0, 1]]
    for query in ("ANY AS x FILTER CAST(x.s AS int) > 7", "(A AS x OR B AS x) FILTER CAST(x.s AS int) > 7"):
        with pytest.raises(DataError, match="row 1: 'x' cannot be cast to int") as caught:
            positions(query, TEXTS)
        assert caught.value.row == 1
        assert "TRY_CAST" in (caught.value.fix or "")


@pytest.mark.parametrize(
    ("item", "formula", "reason"),
    [
        ("CAST(x.s AS int)", "ANY AS x", "row 1: 'x' cannot be cast to int"),
        ("1 + CAST(upper(y.s) AS int)", "A AS x ; ANY AS y", "row 1: 'X' cannot be cast to int"),
        ("CAST(concat(x.s, y.s) AS int)", "A AS x ; B AS y", "row 1: '12x' cannot be cast to int"),
        ("CAST(concat(y.s, x.s) AS int)", "A AS x ; B AS y", "row 1: 'x12' cannot be cast to int"),
        ("sum(CAST(x.s AS int))", "(ANY AS x):+", "row 1: 'x' cannot be cast to int"),
        ("CAST(first(x.s) AS int)", "(ANY AS x):{2}", "row 1: 'x' cannot be cast to int"),
        ("CAST(last(x).s AS int)", "(ANY AS x):{2}", "row 1: 'x' cannot be cast to int"),
        ("CAST(concat(max(x.s), '!') AS int)", "(ANY AS x):{3}", "row 2: 'x!' cannot be cast to int"),
    ],
)
def test_the_row_of_a_cast_that_fails_in_select(item: str, formula: str, reason: str) -> None:
    with pytest.raises(DataError) as caught:
        ost.cel(f"SELECT {item} AS n WHERE {formula}").detect(TEXTS)
    assert str(caught.value).startswith(reason)
    live = ost.cel(f"SELECT {item} AS n WHERE {formula}").engine()
    with pytest.raises(DataError) as pushed:
        for row in range(len(TEXTS)):
            live.push(TEXTS.slice(row, 1))
    assert str(pushed.value) == str(caught.value)


def test_the_row_of_a_cast_that_fails_counts_from_the_first_batch() -> None:
    live = ost.cel("A AS x ; B AS y FILTER CAST(y.s AS int) = 1").engine()
    live.push(TEXTS.slice(0, 1))
    with pytest.raises(DataError, match="row 1: 'x'"):
        live.push(TEXTS.slice(1))


def test_casts_between_events() -> None:
    query = "A AS x ; ANY AS y FILTER TRY_CAST(x.s AS int) > TRY_CAST(y.s AS int)"
    assert positions(query, TEXTS) == [[0, 3]]
    with pytest.raises(QueryError, match="CAST cannot stand in a comparison between events") as caught:
        ost.cel("A AS x ; B AS y FILTER CAST(x.s AS int) > y.v")
    assert "TRY_CAST" in (caught.value.fix or "")


def test_cases() -> None:
    case = "CASE WHEN x.s RLIKE '^ *[0-9]+$' THEN CAST(x.s AS int) WHEN x.s IS NULL THEN -1 ELSE x.v END"
    answer = ost.cel(f"SELECT {case} AS n WHERE ANY AS x").detect(TEXTS)
    assert answer["n"].to_pylist() == [12, 2, -1, 7]
    assert positions(f"ANY AS x FILTER {case} > 5", TEXTS) == [[0], [3]]
    assert positions("A AS x ; ANY AS y FILTER CASE WHEN x.v > 2 THEN x.v END < y.v", TEXTS) == [[2, 3]]
    answer = ost.cel("SELECT CASE WHEN x.v > y.v THEN x.s ELSE y.s END AS s WHERE A AS x : A AS y").detect(TEXTS)
    assert answer["s"].to_pylist() == [" 7"]
    with pytest.raises(QueryError, match="CASE cannot combine attributes of different events"):
        ost.cel("A AS x ; B AS y FILTER CASE WHEN x.v > y.v THEN TRUE END")


def test_count_distinct() -> None:
    table = pa.table({"type": ["A"] * 5 + ["B"], "v": [0.0, -0.0, 1.0, None, 1.0, 9.0], "s": list("aabbcc")})
    answer = ost.cel(
        "SELECT NXT count(DISTINCT x.v), count(DISTINCT x.s), count(DISTINCT x.v > 0) AS p WHERE (A AS x)+ ; B"
    )
    assert answer.detect(table).to_pylist() == [{"count_distinct_v": 2, "count_distinct_s": 3, "p": 2}]
    unbound = ost.cel("SELECT count(DISTINCT x.v) WHERE B OR (A AS x)+ ; B").detect(table.slice(5))
    assert unbound.to_pylist() == [{"count_distinct_v": 0}]


# Groups ---------------------------------------------------------------------------------------------------------------


def groups(query: str, letters: str = "ABABC") -> list[dict[str, Any]]:
    rows = [{"ts": n, "type": letter, "v": n} for n, letter in enumerate(letters)]
    found: list[dict[str, Any]] = ost.cel(query).detect(rows).to_pylist()
    return sorted(found, key=repr)


def test_groups() -> None:
    aggregates = "g.v, count(g), first(g).v, last(g.v), sum(g.v)"
    assert groups(f"SELECT MAX {aggregates} WHERE (A ; B)+ AS g ; C") == [
        {"v": [0, 1, 2, 3], "count_g": 4, "first_v": 0, "last_v": 3, "sum_v": 6}
    ]
    assert groups("SELECT g WHERE (A OR C) AS g : B", "CAB") == [{"g": [{"ts": 1, "type": "A", "v": 1}]}]
    assert groups("SELECT x.v, g.v AS w WHERE (A AS x : B) AS g") == [{"v": 0, "w": [0, 1]}, {"v": 2, "w": [2, 3]}]
    assert groups("SELECT g.v, h.v WHERE ((A : B) AS g : A) AS h") == [{"g_v": [0, 1], "h_v": [0, 1, 2]}]
    assert groups("SELECT g.v WHERE (A : B : C) AS g OR (B : A) AS g") == [{"v": [1, 2]}, {"v": [2, 3, 4]}]
    assert groups("SELECT count(g) WHERE C OR A+ AS g : C") == [{"count_g": 0}]


def test_what_a_group_shows_is_given_once() -> None:
    assert groups("SELECT g.v WHERE (A AS x OR A AS y) AS g") == [{"v": [0]}, {"v": [2]}]
    # The event that the NOT reads is kept apart from the others of the group, but not shown apart.
    query = "SELECT g.v WHERE ((A AS x ; A) OR (A ; A AS x)) AS g ; (NOT C AS z FILTER z.v > x.v + 2) WITHIN 3 seconds"
    assert groups(query, "AABC") == [{"v": [0, 1]}]
    assert groups(query, "AAABC") == [{"v": [0, 1]}, {"v": [0, 2]}, {"v": [1, 2]}]


def test_groups_with_conditions_between_events() -> None:
    query = "SELECT g.v WHERE (A AS x ; B AS y) AS g ; C AS z FILTER y.v - x.v < 2 AND z.v > x.v"
    assert groups(query) == [{"v": [0, 1]}, {"v": [2, 3]}]
    query = "SELECT NXT g.v WHERE (A AS x ; (B AS y FILTER y.v > x.v)+) AS g ; C"
    assert groups(query) == [{"v": [0, 1, 3]}]


def test_case_of_earlier_rounds_is_several_conditions() -> None:
    with pytest.raises(QueryError, match="CASE cannot be applied to what comes of earlier rounds") as caught:
        ost.cel("(A AS x FILTER CASE WHEN prev(x.v) > 1 THEN 1 END = 1)+")
    assert caught.value.fix == "write one condition for each branch, joined by OR"
