"""What queries keep: as much as their partial matches need, and little once those have expired."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.live import shared_queries
from ostinato.patterns.live.engine import LiveEngine

MANY = 4000


def filled(queries: int = 3) -> LiveEngine:
    """Partial matches of many keys."""
    query = ost.cel("A ; B ; C PARTITION BY id WITHIN 60 seconds")
    live = ost.engine({f"q{number}": query for number in range(queries)})
    live.push(pa.table({"ts": np.zeros(MANY, np.int64), "type": ["A"] * MANY, "id": np.arange(MANY)}))
    return live


def size(live: LiveEngine) -> int:
    return sum(stats.bytes for stats in live.stats().queries.values()) // len(live.queries)


def test_what_has_expired_is_given_back_when_time_passes() -> None:
    live = filled()
    assert size(live) > 100 * MANY
    live.advance(1000)
    assert size(live) < 100_000
    live.push([{"ts": 2000 + place, "type": kind, "id": 7} for place, kind in enumerate("ABC")])
    assert [stats.matches for stats in live.stats().queries.values()] == [1, 1, 1]


@pytest.mark.parametrize("single", [False, True])
def test_what_has_expired_is_given_back_while_other_events_come(monkeypatch: pytest.MonkeyPatch, single: bool) -> None:
    monkeypatch.setattr(shared_queries, "_EVENTS", 50)
    live = filled()
    for number in range(51):
        event = {"ts": 1000 + number, "type": "other", "id": number}
        live.push(event if single else pa.Table.from_pylist([event]))
    assert size(live) < 100_000


def test_keys_that_live_are_kept_when_others_expire() -> None:
    live = filled()
    live.push([{"ts": 50, "type": "A", "id": 7}])
    live.advance(100)
    assert size(live) < 100_000
    live.push([{"ts": 101, "type": kind, "id": 7} for kind in "BC"])
    assert live.stats().queries["q0"].matches == 1
