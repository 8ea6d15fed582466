"""WITH TIMEOUT ROWS: what did not become a match in time, and how far it got."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine

Found = list[tuple[list[int], int | None]]


def stream(letters: str, **columns: list[Any]) -> list[dict[str, Any]]:
    """One letter and one second each; a dot is a second without an event."""
    rows = [{"ts": ts, "type": letter} for ts, letter in enumerate(letters) if letter != "."]
    return [row | {name: values[at] for name, values in columns.items()} for at, row in enumerate(rows)]


def found(query: str, letters: str, **columns: list[Any]) -> Found:
    """Positions, and the part in which they stopped."""
    compiled, rows = ost.cel(f"{query} WITH TIMEOUT ROWS"), stream(letters, **columns)
    whole = read(compiled.detect(rows))
    engine, each = compiled.engine(), []
    for row in rows:
        each += read(engine.push([row]))
        engine = Engine.restore(engine.snapshot())
    each += read(engine.flush())
    assert sorted(each, key=str) == sorted(whole, key=str)
    assert compiled.count(rows) == len(whole)
    return whole


def read(table: Any) -> Found:
    return list(zip(table["positions"].to_pylist(), table["reached"].to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("A ; B ; C WITHIN 4 seconds", "ABX.....ABC", [([0, 1], 2), ([3, 4, 5], None)]),
        ("A ; B ; C WITHIN 4 seconds", "AXX.....", [([0], 1)]),
        ("A ; B WITHIN 4 seconds", "A...B", [([0, 1], None)]),  # exactly at the end of the window
        ("A ; B WITHIN 4 seconds", "A....B", [([0], 1)]),
        ("A ; B ; C WITHIN 9 seconds", "ABCB", [([0, 1, 2], None), ([0, 3], 2)]),  # B at 3 began another one
        ("A -> B -> C WITHIN 9 seconds", "ABCB", [([0, 1, 2], None)]),
        ("A -> B WITHIN 9 seconds", "AAB", [([0, 2], None), ([1, 2], None)]),
        ("A ; NOT D ; B WITHIN 9 seconds", "ADAX", [([2], 1)]),  # D has ended the first
        ("A : B WITHIN 9 seconds", "AXA", [([2], 1)]),  # so has X
        ("A : B ; C WITHIN 9 seconds", "ABX", [([0, 1], 2)]),
        ("A+ ; B WITHIN 9 seconds", "AA", [([0, 1], 1), ([1], 1)]),
        ("SELECT NXT * WHERE A+ ; B WITHIN 9 seconds", "AA", [([0, 1], 1)]),
        ("A{3} WITHIN 9 seconds", "AA", [([0, 1], 1), ([1], 1)]),
        ("A ; B? ; C WITHIN 9 seconds", "AB", [([0, 1], 2)]),
        ("A ; B? WITHIN 9 seconds", "A", [([0], None)]),  # which is a match already
        ("A->+ UNTIL D ; B WITHIN 9 seconds", "ADA", [([0], 1), ([2], 1)]),  # the loop has ended, B may come
        ("(A ; B) OR (C ; D ; E) WITHIN 9 seconds", "CDA", [([0, 1], 2), ([2], 1)]),
        ("A ; B ; NOT C WITHIN 4 seconds", "ABX.....A", [([0, 1], None), ([3], 1)]),
        ("SELECT STRICT * WHERE A ; B WITHIN 9 seconds", "AXA", [([2], 1)]),
        ("NOT D FOR 3 seconds ; A ; B WITHIN 9 seconds", "DA....A", [([2], 1)]),
    ],
)
def test_rows(query: str, letters: str, want: Found) -> None:
    assert sorted(found(query, letters), key=str) == sorted(want, key=str)


def test_what_is_not_bound_is_null() -> None:
    query = "SELECT x.v AS x, y.v AS y, count(z) AS z WHERE A AS x ; B AS y ; C AS z WITHIN 3 seconds WITH TIMEOUT ROWS"
    assert ost.cel(query).detect(stream("AB", v=[5, 6])).to_pylist() == [{"x": 5, "y": 6, "z": 0, "reached": 2}]
    assert ost.cel(query).detect(stream("A", v=[5])).to_pylist() == [{"x": 5, "y": None, "z": 0, "reached": 1}]


def test_a_row_that_looks_like_a_match_is_another_row() -> None:
    query = "SELECT x.v WHERE A AS x ; B ; C WITHIN 9 seconds WITH TIMEOUT ROWS"
    rows = ost.cel(query).detect(stream("ABCB", v=[1, 2, 3, 4])).to_pylist()
    assert rows == [{"v": 1, "reached": None}, {"v": 1, "reached": 2}]


def test_conditions_compare_events() -> None:
    query = "(A AS x ; B AS y ; C AS z) FILTER x.v = y.v AND y.v = z.v WITHIN 9 seconds"
    assert found(query, "ABABC", v=[1, 1, 2, 3, 1]) == [([0, 1, 4], None), ([2], 1)]


def test_what_can_no_longer_become_a_match_is_not_given() -> None:
    assert found("A AS x ; (B AS y FILTER x.v > 1) WITHIN 9 seconds", "AA", v=[1, 2]) == [([1], 1)]


def test_partitions_wait_by_themselves() -> None:
    assert found("A ; NOT D ; B WITHIN 9 seconds PARTITION BY k", "AAD", k=[1, 2, 1]) == [([1], 1)]


def test_rows_come_when_their_window_has_passed() -> None:
    engine = ost.cel("A ; B ; C WITHIN 5 seconds WITH TIMEOUT ROWS").engine()
    assert read(engine.push(stream("AB"))) == []
    assert engine.due() == 6
    assert read(engine.advance(to=5)) == []
    assert read(engine.advance(to=6)) == [([0, 1], 2)]
    assert engine.stats().waiting == 0


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("A ; B", "needs a time"),
        ("A ; B WITHIN 5 EVENTS", "needs a time"),
        ("A ; B WITHIN 5 s LIMIT 3", "LIMIT cannot go"),
        ("A ; B WITHIN 5 s CONSUME BY ANY", "CONSUME BY ANY cannot go"),
        ("A ; B WITHIN 5 s AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP cannot go"),
        ("(A AND B) ; C WITHIN 5 s", "AND cannot go"),
        ("PERMUTE(A, B) ; C WITHIN 5 s", "PERMUTE cannot go"),
        ("A ; NOT (B ; C) ; D WITHIN 5 s", "NOT of several events"),
        ("A ; NOT B FOR 2 s ; D WITHIN 5 s", "NOT … FOR between"),
        ("A : NOT B ; D WITHIN 5 s", "NOT after `:` between"),
        ("A AS x ; B AS y OR B AS y ; A AS x WITHIN 5 s", "stands in two places"),
        ("SELECT x.v AS reached WHERE A AS x ; B WITHIN 5 s", "column `reached`"),
        ("A ; B WITHIN 5 s PARTITION BY reached", "column `reached`"),
        ("(A AS x)+ ; B AS y FILTER y.v > avg(x.v) WITHIN 5 s", "all events of a loop"),
        ("(A AS x ; (NOT B AS n FILTER n.v = x.v) ; C)+ ; D WITHIN 5 s", "events of a loop"),
    ],
)
def test_what_cannot_go_with_it(query: str, reason: str) -> None:
    with pytest.raises(ost.QueryError, match=reason) as caught:
        ost.cel(f"{query} WITH TIMEOUT ROWS")
    assert caught.value.fix


def test_it_cannot_be_forecast() -> None:
    with pytest.raises(ost.QueryError, match="WITH TIMEOUT ROWS"):
        ost.Forecaster("A ; B WITHIN 5 s WITH TIMEOUT ROWS")
