"""How far events are apart, measured batch by batch in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.age_grid import Pace
from ostinato.forecast.symbols.event_spacing import PaceMeter

BINDING: dict[str, Any] = {"time": "ts", "type": None, "order_by": ()}
PATTERN = ForecastPattern.of("A ; B PARTITION BY k WITHIN 9 seconds")


def events(*times: int, key: int = 0) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.timestamp("s")), "type": ["A"] * len(times), "k": [key] * len(times)})


def measure(*tables: pa.Table) -> Pace:
    meter = PaceMeter(PATTERN, BINDING)
    for table in tables:
        meter.add(table)
    return meter.pace


def test_gaps_are_those_within_each_key() -> None:
    found = measure(events(0, 6, 12), events(100, 104, key=1))
    assert found.gaps == 3 and found.total == 16e9, "in nanoseconds"
    assert found.unit == pytest.approx(2e9) and found.mean == pytest.approx(16e9 / 3)


def test_order_and_batches_do_not_matter() -> None:
    times = np.cumsum(np.random.default_rng(1).integers(1, 9, 50)).tolist()
    assert measure(events(*times)) == measure(events(*times[::-1][:20]), events(*times[::-1][20:]))


def test_keys_of_several_tasks_add_up() -> None:
    one, other = events(0, 6, 12), events(100, 104, key=1)
    assert measure(one).merge(measure(other)) == measure(one, other)


def test_without_events_nothing_is_known() -> None:
    assert measure(events()) == Pace() and Pace().mean == 0
