"""A query and the MATCH_RECOGNIZE that `explain` shows for it find the same."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.to_sql.text import sql_text
from support.generators.cel_streams import Row, streams, table


def sql_of(text: str) -> str | None:
    return sql_text(parse(text))


@st.composite
def cel_texts(draw: st.DrawFn) -> str:
    """Sequences of events, loops and alternatives, mostly right after each other, with conditions on many of them."""
    names: list[str] = []
    link = draw(st.sampled_from([" : ", " : ", " -> ", " ; "]))

    def event() -> str:
        names.append(f"x{len(names)}")
        text = f"{draw(st.sampled_from(['A', 'B', 'C', 'A', 'B', 'ANY']))} AS {names[-1]}"
        tests = draw(st.lists(test(names[-1]), max_size=1)) if draw(st.integers(0, 2)) == 0 else []
        return f"({text} FILTER {' AND '.join(tests)})" if tests else text

    def test(own: str) -> st.SearchStrategy[str]:
        other = st.sampled_from(names) if draw(st.booleans()) else st.just(own)
        return st.one_of(
            st.sampled_from([
                f"{own}.v > 0", f"{own}.v <= 0", f"{own}.s = 'a'", f"{own}.v IN (1, NULL, 2)", f"NOT {own}.v = 1",
                f"({own}.v IS NULL OR {own}.s != 'b')", f"{own}.v BETWEEN -1 AND 1",
            ]),
            other.map(lambda name: f"{own}.v >= {name}.v"),
            other.map(lambda name: f"({name}.k = {own}.k OR {own}.s < {name}.s)"),
        )  # fmt: skip

    def part() -> str:
        kinds = (
            ["event", "event", "or"] if link == " -> " else ["event", "event", "loop", "times", "maybe", "or", "rise"]
        )
        kind = draw(st.sampled_from(kinds))
        if kind == "loop":
            return f"({event()}){draw(st.sampled_from([':+', ':*', ':{2,}', '+']))}"
        if kind == "times":
            return f"({event()} : {event()}){draw(st.sampled_from([':{2}', ':{1,2}']))}"
        if kind == "maybe":
            return f"({event()})?"
        if kind == "or":
            return f"({event()} OR {event()})"
        if kind == "rise":
            names.append(f"x{len(names)}")
            relation, own = draw(st.sampled_from(["A", "ANY"])), names[-1]
            return f"({relation} AS {own} FILTER prev({own}.v) IS NULL OR {own}.v > prev({own}.v)):+"
        return event()

    formula = link.join(part() for _ in range(draw(st.integers(1, 4))))
    if draw(st.integers(0, 2)) == 0:
        formula = f"{formula} FILTER {draw(test(draw(st.sampled_from(names))))}"
    strategy = draw(st.sampled_from(["ALL", "ALL", "ALL", "STRICT", "NXT", "LAST", "MAX"]))
    after = draw(
        st.sampled_from(["", "", "", " CONSUME BY PARTITION", " CONSUME BY ANY", " AFTER MATCH SKIP TO NEXT ROW"])
    )
    keys = draw(st.sampled_from(["", "", " PARTITION BY k"]))
    window = draw(st.sampled_from(["", "", " WITHIN 3 EVENTS", " WITHIN 2 seconds", " WITHIN 1.5 seconds"]))
    shown = draw(st.sampled_from(["*", "*", f"x0.v AS a, {names[-1]}.k AS b", f"x0.ts, last({names[-1]}.s) AS `end`"]))
    return f"SELECT {strategy} {shown} WHERE {formula}{keys}{window}{after}"


def with_timestamps(rows: list[Row]) -> pa.Table:
    found = table(rows)
    times = pc.multiply(found["ts"], 10**6).cast(pa.timestamp("us"))
    return found.set_column(found.schema.get_field_index("ts"), "ts", times)


@settings(max_examples=200)
@given(cel_texts(), streams(max_size=12))
def test_both_find_the_same(text: str, rows: list[Row]) -> None:
    try:
        query = ost.cel(text)
    except QueryError:
        return
    if (sql := sql_of(text)) is None:
        return
    events = with_timestamps(rows)
    found, same = query.detect(events), ost.sql(sql).detect(events)
    keys = [name for name in found.column_names if name != "positions"]
    one, other = (Counter(map(str, each.select(keys).to_pylist())) for each in (found, same))
    assert one == other, sql


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("A AS x : B AS y FILTER y.v > x.v", ["PATTERN (X Y)", "Y AS type = 'B' AND v > X.v"]),
        ("A : (B AS b FILTER b.v > 3):+ : C", ["PATTERN (A B+ C)", "B AS type = 'B' AND v > 3"]),
        (
            "(ANY AS a FILTER a.k = 'x'):* : ANY AS b FILTER b.k = 'y'",
            ["PATTERN (A* B)", "A AS k = 'x'", "B AS k = 'y'"],
        ),
        ("A AS a -> (B AS b FILTER b.v > a.v)", ["(A NO_B* B)", "NO_B AS (type = 'B' AND v > A.v) IS NOT TRUE"]),
        ("(A OR B) -> C PARTITION BY k", ["PARTITION BY k ORDER BY ts", "PATTERN ((A | B) NO_C* C)"]),
        ("SELECT STRICT * WHERE A ; B+ ; C", ["SKIP TO NEXT ROW PATTERN (A B+ C)"]),
        ("SELECT NXT * WHERE A : (B OR C) CONSUME BY PARTITION", ["SKIP PAST LAST ROW PATTERN (A (B | C))"]),
        ("A : B : C? : D AFTER MATCH SKIP TO NEXT ROW", ["SKIP TO NEXT ROW PATTERN (A B C? D)"]),
        ("A : B WITHIN 10 minutes", ["B AS type = 'B' AND ts <= FIRST(ts) + INTERVAL '600' SECOND"]),
        (
            "SELECT a.v, last(b.v) AS `last` WHERE A AS a : (B AS b):+ : C",
            ['SELECT v, "last" FROM events', 'MEASURES A.v AS v, LAST(B.v) AS "last"'],
        ),
        ("A:{2,3} : B WITHIN 3 EVENTS", ["PATTERN (A{2,3} B)", "B AS type = 'B' AND count(*) <= 3"]),
        ("`order` AS `end` : ANY AS b FILTER b.`my value` = `end`.`select`", ['"my value" = END_."select"']),
        (
            "(A AS u FILTER prev(u.v) IS NULL OR u.v > prev(u.v)):+ : B",
            ["PATTERN (U+ B)", "OR v > LAST(U.v, 1))"],
        ),
    ],
)
def test_what_sql_finds_in_the_same_way(text: str, lines: list[str]) -> None:
    sql = sql_of(text)
    assert sql is not None
    assert all(line in sql for line in lines), sql


@pytest.mark.parametrize(
    "text",
    [
        "A ; B",  # each B after each A
        "A : B:+",  # some matches are the beginning of others
        "ANY:+ : B",
        "A : (ANY AS b FILTER b.v > 0):+ : ANY AS c FILTER c.v > 1",  # an event may be both
        "A : B:+ : C CONSUME BY ANY PARTITION BY k",  # forgets what others have begun
        "A -> B CONSUME BY PARTITION",  # with A A B, two matches
        "SELECT MAX * WHERE A -> B",
        "A -> (B : C)",
        "A : B:+ -> C",  # a B may be one of the loop, or passed over
        "A AND B",
        "A ; NOT B ; C",
        "A : B LIMIT 3",
        "SELECT x WHERE A AS x : B",  # a whole event
        "SELECT y.v WHERE A AS x : B AS y",  # each y once, though here it could not be otherwise
        "SELECT x.v WHERE (A AS x):+ : B",  # a list
        "SELECT x.v + 1 AS v WHERE A AS x : B",
        "SELECT x.k WHERE A AS x : B PARTITION BY k",  # SQL shows k already
        "SELECT x.v AS v, y.v AS w WHERE A AS x OR A AS y",  # two rows for one event
        "A AS x : B AS x",
        "A AS x : B AS y FILTER y.v > x.v + 1",
        "A AS x : B AS y FILTER y.v > 1.5",
        "A AS x FILTER (x.v > 1) = (x.v > 2)",
        "A AS x FILTER x.t > '2026-01-01'",
        "(B AS b FILTER count(b) < 3):+ : C",
        "A : B WITHIN 5 ON v",
        "A -> B WITHIN 4 EVENTS WITH TIMEOUT ROWS",
        "A:{70}",
    ],
)
def test_what_sql_finds_in_another_way(text: str) -> None:
    assert sql_of(text) is None


def test_explain_shows_it() -> None:
    assert "-- in SQL, with the same matches" in ost.cel("A : B").explain()
    assert "in SQL" not in ost.cel("A ; B").explain()
