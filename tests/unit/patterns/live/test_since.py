"""The past that an added query is given: it must be what the stream has read."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from ostinato.patterns.live.engine import LiveEngine

PAIR = ost.cel("O ; P")


def event(ts: int, kind: str, **attributes: Any) -> dict[str, Any]:
    return {"ts": ts, "type": kind} | attributes


def begun(**options: Any) -> LiveEngine:
    live = ost.engine({"a": PAIR}, **options)
    live.push([event(1, "O"), event(3, "O")])
    return live


@pytest.mark.parametrize(
    ("since", "reason"),
    [
        ([event(1, "O"), event(99, "O")], "row 1: an event in `since` is newer than what the stream has read"),
        ([event(3, "O"), event(2, "O")], "row 1: an event in `since` is older than the one before it"),
        ([event(0, "O"), event(1, "O"), event(3, "O")], "has read 2 events, `since` has 3"),
        ([event(2, "O")], "row 0: an event in `since` has another `ts` than the one that the stream has read"),
    ],
)
def test_what_cannot_be_the_past_is_refused_and_changes_nothing(since: list[Any], reason: str) -> None:
    live = begun()
    with pytest.raises(ost.DataError) as caught:
        live.add("s", PAIR, since=since)
    assert reason in str(caught.value) and "the last events that were pushed" in str(caught.value)
    assert live.queries == ["a"]
    found = [(match["start"], match["positions"]) for match in live.push(event(4, "P"))]
    assert sorted(found) == [(1, [0, 2]), (3, [1, 2])]


def test_a_past_that_is_refused_before_any_event_leaves_no_trace() -> None:
    live = ost.engine({"a": PAIR})
    with pytest.raises(ost.DataError, match="older than the one before it"):
        live.add("s", PAIR, since=[event(3, "O"), event(2, "O")])
    live.push([event(1, "O")])
    assert [match["positions"] for match in live.push(event(4, "P"))] == [[0, 1]]


def test_events_that_wait_are_read_by_a_query_that_comes_meanwhile() -> None:
    live = begun(lateness=2)  # the event at 1 was read, that at 3 waits
    live.add("s", PAIR)
    live.add("all", PAIR, since=[event(1, "O")])
    live.push(event(4, "P"))
    found = [(match["query"], match["start"], match["positions"]) for match in live.flush()]
    assert sorted(found) == [
        ("a", 1, [0, 2]), ("a", 3, [1, 2]), ("all", 1, [0, 2]), ("all", 3, [1, 2]), ("s", 3, [1, 2]),
    ]  # fmt: skip
    late = begun(lateness=2)
    with pytest.raises(ost.DataError, match="newer than what the stream has read"):
        late.add("all", PAIR, since=[event(3, "O")])
