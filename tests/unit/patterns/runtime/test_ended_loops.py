"""Conditions of an event on all events of a loop before it."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine

EVENTS = [("A", 1), ("A", 3), ("B", 2), ("A", 5), ("B", 4), ("C", 9)]


def found(query: str) -> list[list[int]]:
    rows = [{"ts": ts, "type": kind, "v": v} for ts, (kind, v) in enumerate(EVENTS)]
    whole = ost.cel(query).detect(rows)["positions"].to_pylist()
    engine, each = ost.cel(query).engine(), []
    for row in rows:
        each += engine.push([row])["positions"].to_pylist()
        engine = Engine.restore(engine.snapshot())
    assert sorted(each) == sorted(whole)
    assert ost.cel(query).count(rows) == len(whole)
    return sorted(whole)


@pytest.mark.parametrize(
    ("query", "want"),
    [
        ("(A AS x)+ ; B AS y FILTER y.v > avg(x.v)", [[0, 1, 3, 4], [0, 1, 4], [0, 2], [0, 3, 4], [0, 4], [1, 4]]),
        ("(A AS x)+ ; B FILTER count(x) >= 3", [[0, 1, 3, 4]]),
        ("(A AS x)+ ; B AS y FILTER y.v > last(x.v)", [[0, 1, 4], [0, 2], [0, 4], [1, 4]]),
        ("(A AS x)+ -> B AS y FILTER y.v > max(x.v)", [[0, 2]]),  # the next B, and then the condition
        ("(A AS x)+ -> (B AS y FILTER y.v > max(x.v))", [[0, 1, 4], [0, 2], [1, 4]]),  # the next B that fits
        ("((A AS x)+ ; B AS y FILTER y.v > max(x.v))+", [[0, 1, 4], [0, 2], [0, 4], [1, 4]]),
        ("(A AS x)+ ; B ; C AS z FILTER z.v = sum(x.v)", [[0, 1, 3, 4, 5]]),
        ("SELECT NXT * WHERE (A AS x)+ ; B AS y FILTER y.v > avg(x.v)", [[0, 1, 3, 4], [0, 2]]),
        ("(A AS x){2} ; B FILTER first(x.v) = 1 WITHIN 5 EVENTS", [[0, 1, 2], [0, 1, 4], [0, 3, 4]]),
    ],
)
def test_matches(query: str, want: list[list[int]]) -> None:
    assert found(query) == want


def test_a_window_with_partitions() -> None:
    rows = [{"ts": n, "type": t, "v": v, "k": k} for n, (t, v, k) in enumerate([("A", 1, 1), ("A", 9, 2), ("B", 5, 1)])]
    query = ost.cel("(A AS x)+ ; B AS y FILTER y.v > max(x.v) PARTITION BY k WITHIN 5 seconds")
    assert query.detect(rows)["positions"].to_pylist() == [[0, 2]]
