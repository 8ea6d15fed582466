"""Output limits: exact in time, the same whatever the batches, kept in snapshots, and forgotten in time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

import ostinato as ost
from ostinato import RuleEngine
from ostinato.rules.runtime import rate_limits

RULE = """DETECT d {{ k {{ var K }}, v {{ var V }} }} {}
          ON event e: a {{{{ optional k {{{{ var K }}}}, v {{{{ var V }}}} }}}} END"""


def rows(*given: tuple[Any, Any, Any]) -> list[dict[str, Any]]:
    return [{"ts": ts, "type": "a", "k": k, "v": v} for ts, k, v in given]


def shown(limit: str, events: list[dict[str, Any]]) -> list[tuple[Any, Any, Any]]:
    rules = ost.rules(RULE.format(limit))
    whole = [(row["end"], row["k"], row["v"]) for row in rules.detect(events).to_pylist()]
    engine, live = rules.engine(), []
    for event in events:
        live += engine.push([event]).to_pylist()
        engine = RuleEngine.restore(engine.snapshot())
    live += engine.flush().to_pylist()
    assert [(row["end"], row["k"], row["v"]) for row in live] == whole
    assert engine.stats().derived == len(whole)
    return whole


def test_so_long_after_what_was_shown() -> None:
    """What was not shown does not count, and exactly so long after is late enough."""
    events = rows((0, "x", 1), (9, "x", 2), (10, "x", 3), (15, "x", 4), (20, "x", 5))
    assert shown("at most 1 per 10 sec", events) == [(0, "x", 1), (10, "x", 3), (20, "x", 5)]
    assert shown("at most 2 per 10 sec", events) == [(0, "x", 1), (9, "x", 2), (10, "x", 3), (20, "x", 5)]


def test_each_key_by_itself_and_none_is_one() -> None:
    events = rows((0, "x", 1), (1, "y", 2), (2, None, 3), (3, "x", 4), (4, None, 5), (12, None, 6))
    assert shown("at most 1 per 10 sec per var K", events) == [(0, "x", 1), (1, "y", 2), (2, None, 3), (12, None, 6)]


def test_of_events_that_end_together_the_least_values_are_shown() -> None:
    events = rows((5, "x", 10), (5, "x", 9), (5, None, 1))
    assert shown("at most 1 per 1 sec per var K", events) == [(5, "x", 9), (5, None, 1)]
    assert shown("at most 2 per 1 sec", events) == [(5, "x", 9), (5, "x", 10)]


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), 0.5, True, b"x"])
def test_keys_of_any_type(value: Any) -> None:
    start = datetime(2026, 1, 1)
    events = rows(*((start + timedelta(seconds=second), value, 1) for second in (0, 5, 12)))
    found = shown("at most 1 per 10 sec per var K", events)
    assert [end for end, _, _ in found] == [start, start + timedelta(seconds=12)]


def test_keys_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate_limits, "_MANY", 8)
    engine = ost.rules(RULE.format("at most 1 per 10 sec per var K")).engine()
    for second in range(200):
        engine.push(rows((second, f"k{second}", 1)))
    assert engine._limiter is not None
    assert len(engine._limiter.shown) < 60


def test_deployed_with_a_limit() -> None:
    engine = ost.rules("DETECT o { } ON event e: z {{ }} END").engine()
    engine.push(rows((0, "x", 1)))
    engine.deploy("few", RULE.format("at most 1 per 10 sec"))
    found = [engine.push(rows((second, "x", 1))) for second in range(1, 25)]
    assert [row["end"] for table in [*found, engine.flush()] for row in table.to_pylist()] == [1, 11, 21]
