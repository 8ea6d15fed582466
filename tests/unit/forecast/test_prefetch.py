"""Learning names the kernels that it runs before the first of them has run, so that they are compiled side by side."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from ostinato.core.jit.mode import INTERPRETED
from ostinato.forecast.kernels import prefetch
from ostinato.forecast.symbols import exact_runs
from support.kernel_calls import note_calls

EVENTS = [{"ts": place, "type": "AB"[place % 2], "v": place * 7 % 5} for place in range(240)]


@pytest.mark.skipif(INTERPRETED, reason="there are none")
@pytest.mark.parametrize(
    "text", ["A AS x ; B AS y WITHIN 4 EVENTS", "A AS x ; B AS y FILTER x.v < y.v WITHIN 9 seconds"]
)
def test_few_kernels_are_met_unexpectedly(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    named: set[Any] = set()
    for place in (prefetch, exact_runs):
        monkeypatch.setattr(place, "prefetch", lambda *each: named.update(each))
    ost.Forecaster(text, horizon=8).fit(EVENTS)  # all kernels are known now
    called = note_calls("ostinato.forecast", monkeypatch)
    ost.Forecaster(text, horizon=8).fit(EVENTS)
    assert len(called) > 20
    assert {each.__name__ for each in called - named} <= {"follow_one", "follow_ages", "walk"}, "which take no time"
