"""Which queries an event wakes."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.patterns.live.wake_index import moved_states


@pytest.mark.parametrize(
    ("text", "awake"),
    [
        ("A ; B", set()),
        ("A : B", {1}),
        ("A ; NOT B ; C", set()),
        ("ANY ; B", {0}),
        ("A", set()),
        ("SELECT STRICT * WHERE A ; B", {1}),
    ],
)
def test_an_event_of_another_type_changes_only_what_does_not_wait(text: str, awake: set[int]) -> None:
    compiled = ost.cel(text)._compiled
    holding = frozenset(condition for condition in compiled.conditions if condition.relation is None)
    moved, _ = moved_states(compiled, holding)
    assert (moved if awake == {0} else {min(state, 1) for state in moved}) >= awake
    assert bool(moved) == bool(awake)


def test_an_event_that_only_begins_matches() -> None:
    compiled = ost.cel("A ; B ; A")._compiled
    first, second = (frozenset(each for each in compiled.conditions if each.relation == name) for name in ("A", "B"))
    assert 0 in moved_states(compiled, first)[0] and len(moved_states(compiled, first)[0]) > 1
    assert 0 not in moved_states(compiled, second)[0]
    assert moved_states(ost.cel("A")._compiled, first) == ({0}, True)


def test_an_event_may_end_matches_that_it_is_compared_with() -> None:
    query = ost.cel("A AS x ; (NOT B AS n FILTER n.v > x.v) ; C AS y FILTER x.k = y.k WITHIN 9 seconds")
    values = [("A", 1, 0), ("B", 5, 0), ("C", 0, 0), ("A", 4, 1), ("B", 3, 0), ("C", 0, 1)]
    events = [{"ts": ts, "type": kind, "v": v, "k": k} for ts, (kind, v, k) in enumerate(values)]
    live = ost.engine({"query": query})
    assert [match["positions"] for event in events for match in live.push(event)] == [[3, 5]]


def reads(query: str, *events: dict[str, object]) -> list[int]:
    """How many events a query has read after each."""
    live = ost.engine({"query": ost.cel(query), "other": ost.cel("Z ; Z")})
    live.push({"ts": 0, "type": "Q", "v": 0, "s": ""})
    counted = []
    for ts, event in enumerate(events, 1):
        live.push({"ts": ts} | event)
        counted.append(live.stats().queries["query"].events)
    return counted


def test_only_events_that_can_change_a_query_are_read() -> None:
    a, b, c = ({"type": kind, "v": 5, "s": "x"} for kind in "ABC")
    assert reads("A ; B", b, c, a, c, b) == [1, 1, 2, 2, 3]  # without a window, it does not fall asleep again
    assert reads("A ; B WITHIN 2 EVENTS", b, a, c, c, b, b) == [0, 1, 1, 1, 1, 1]
    assert reads("A AS x ; B FILTER x[v > 5]", a, a | {"v": 6}, b) == [0, 1, 2]
    assert reads("A AS x ; B FILTER x[s = 'y' OR s = 'z']", a, a | {"s": "z"}) == [0, 1]
    assert reads("A AS x ; B FILTER x[v + 1 > 6 AND s LIKE 'x%']", a, a | {"v": 7, "s": "q"}, a | {"v": 7}) == [0, 0, 1]
