"""Periodic timers: aligned to the epoch, from the first event to the last, with the clock, and bounded."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

import ostinato as ost
from ostinato import RuleEngine
from ostinato.errors import LimitError, QueryError

PER_WINDOW = """DETECT d { n { count(all 1) } }
ON and { event w: timer:tumbling [10 sec], while w: collect event e: a {{ }} } END"""
EVERY = "DETECT d { } ON event p: timer:every [10 sec] END"
QUIET = "DETECT q { } ON and { event w: timer:tumbling [10 sec], while w: not a {{ }} } END"


def at(*times: Any) -> list[dict[str, Any]]:
    return [{"ts": time, "type": "a"} for time in times]


def spans(table: Any) -> list[tuple[Any, Any]]:
    return [(row["begin"], row["end"]) for row in table.to_pylist()]


def live(text: str, events: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    engine = ost.rules(text).engine()
    found = []
    for event in events:
        found += spans(engine.push([event]))
        engine = RuleEngine.restore(engine.snapshot())
    return [*found, *spans(engine.flush())]


def test_windows_share_no_instant() -> None:
    events = at(3.0, 9.999999, 10.0, 29.5)
    found = ost.rules(PER_WINDOW).detect(events)
    assert [(row["begin"], row["end"], row["n"]) for row in found.to_pylist()] == [
        (0, 9.999999, 2),
        (10, 19.999999, 1),
        (20, 29.999999, 1),
    ]
    assert live(PER_WINDOW, events) == spans(found)


def test_before_the_epoch() -> None:
    assert spans(ost.rules(EVERY).detect(at(-12, -3))) == [(-10, -10), (0, 0)]


def test_from_the_first_event_to_the_last() -> None:
    events = at(13, 41)
    for text, wanted in ((EVERY, [20, 30, 40, 50]), (QUIET, [29.999999, 39.999999])):
        found = spans(ost.rules(text).detect(events))
        assert [end for _, end in found] == wanted
        assert live(text, events) == found
        assert spans(ost.rules(text).detect(events[:0])) == live(text, []) == []


def test_events_that_no_rule_reads_count() -> None:
    events = [*at(3), {"ts": 27, "type": "other"}]
    found = spans(ost.rules(QUIET).detect(events))
    assert found == live(QUIET, events) == [(10, 19.999999), (20, 29.999999)]


def test_a_clock_without_events() -> None:
    """Only what `advance` says lets time go on; before the first event there is no stream."""
    engine = ost.rules(EVERY).engine()
    engine.push([])
    engine.push(at(5)[:0] or [{"ts": None, "type": None}][:0])
    assert engine.due() is None
    assert spans(engine.push(at(25))) == []
    assert engine.due() == 25
    assert spans(engine.advance(to=29)) == []
    assert engine.due() == 30
    assert spans(engine.advance(to=50)) == [(30, 30), (40, 40), (50, 50)]
    assert spans(engine.flush()) == [(60, 60)]


def test_late_events_in_the_lateness() -> None:
    engine = ost.rules(EVERY).engine(lateness=20)
    engine.push(at(25))
    engine.push(at(12))
    assert spans(engine.flush()) == [(20, 20), (30, 30)]


def test_wider_columns_and_new_rules_go_on() -> None:
    engine = ost.rules(EVERY).engine()
    found = spans(engine.push(at(5)))
    found += spans(engine.push([{"ts": 15, "type": "a", "v": 1}, {"ts": 16, "type": "a", "v": 2.5}]))
    engine.deploy("more", QUIET)
    found += spans(engine.push(at(35.5)))
    assert [end for _, end in found] == [10, 19.999999, 20, 29.999999, 30]  # what waited is not seen by new rules


def test_timestamps() -> None:
    rows = at(datetime(2026, 1, 1, 0, 7))
    hourly = ost.rules("DETECT d { } ON event w: timer:tumbling [1 hour] END")
    end = datetime(2026, 1, 1, 0, 59, 59, 999999)
    assert spans(hourly.detect(rows)) == [(datetime(2026, 1, 1), end)]


def test_a_gap_of_years_is_refused_and_can_be_allowed() -> None:
    events = at(0, 10**6)
    with pytest.raises(LimitError, match="100,001 times at once"):
        ost.rules(EVERY).detect(events, limits=ost.RuleLimits(periods=1_000))
    engine = ost.rules(EVERY).engine(limits=ost.RuleLimits(periods=1_000))
    with pytest.raises(LimitError, match="RuleLimits"):
        engine.push(events)
    assert len(ost.rules(EVERY).detect(events)) == 100_001


@pytest.mark.parametrize(
    ("timer", "reason", "fix"),
    [
        ("tumbling [event j, 5 min]", "takes how long each time is", "timer:tumbling [5 min]"),
        ("every [0, 5]", "takes how long each time is", "timer:every [5 min]"),
        ("every [0 min]", "needs a time until it does", "timer:every [5 min]"),
        ("extend [5 min]", "takes an event and a time", "timer:extend [event j, 5 min]"),
        ("absolute [5 min]", "takes when it begins", "timer:absolute [0, 60]"),
        ("tumblin [5 min]", "unknown timer", "tumbling"),
    ],
)
def test_refused(timer: str, reason: str, fix: str) -> None:
    with pytest.raises(QueryError, match=reason) as caught:
        ost.rules(f"DETECT d {{ }} ON event w: timer:{timer} END")
    assert fix in str(caught.value.fix)
    assert caught.value.span is not None


def test_finer_than_the_clock() -> None:
    with pytest.raises(QueryError, match="finer than the times"):
        ost.rules("DETECT d { } ON event w: timer:every [5 ns] END").detect(at(1))
