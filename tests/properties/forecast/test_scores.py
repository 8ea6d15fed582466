"""Scores over states equal their definitions over events."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.forecast.learn.ground_truth import Truth, waits
from ostinato.forecast.score.scores import Binning, ForecastOutcomes, count_outcomes, interval_scores

said = st.sampled_from([0.0, 0.05, 0.1, 0.3, 0.5, 0.7, 0.95, 1.0])
pairs = st.lists(st.tuples(said, st.booleans()), min_size=1, max_size=30)
marks = st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.integers(0, 3)), max_size=40)


def seen(events: list[tuple[float, bool]]) -> ForecastOutcomes:
    happened = np.array([event[1] for event in events], float)
    return ForecastOutcomes(np.array([event[0] for event in events]), happened, 1 - happened)


def same(found: float, expected: float | None) -> bool:
    return math.isnan(found) if expected is None else found == pytest.approx(expected)


@given(marks)
def test_waits_by_looking_ahead(events: list[tuple[int, bool, int]]) -> None:
    wait, later, _ = waits(np.array([e[1] for e in events], np.bool_), np.array([e[0] for e in events], np.int32))
    for place, (key, _, _) in enumerate(events):
        ahead = [completes for other, completes, _ in events[place + 1 :] if other == key]
        assert later[place] == len(ahead)
        assert wait[place] == (ahead.index(True) + 1 if True in ahead else 0)


@given(pairs)
def test_auc_over_all_pairs(events: list[tuple[float, bool]]) -> None:
    hits = [p for p, happened in events if happened]
    others = [p for p, happened in events if not happened]
    wins = sum((hit > other) + (hit == other) / 2 for hit in hits for other in others)
    assert same(seen(events).auc(), wins / (len(hits) * len(others)) if hits and others else None)


@given(pairs)
def test_brier_over_events(events: list[tuple[float, bool]]) -> None:
    assert same(seen(events).brier(), sum((p - happened) ** 2 for p, happened in events) / len(events))


@given(pairs, said)
def test_decisions_over_events(events: list[tuple[float, bool]], threshold: float) -> None:
    told = seen(events).decisions(threshold)
    both = sum(p >= threshold and happened for p, happened in events)
    spoken = sum(p >= threshold for p, _ in events)
    happened = sum(h for _, h in events)
    assert same(told.precision, both / spoken if spoken else None)
    assert same(told.recall, both / happened if happened else None)
    assert same(told.f1, 2 * both / (spoken + happened) if spoken + happened else None)
    varies = 0 < spoken < len(events) and 0 < happened < len(events)
    correlation = np.corrcoef([p >= threshold for p, _ in events], [h for _, h in events])[0, 1] if varies else None
    assert same(told.mcc, correlation)


@given(pairs, st.integers(1, 8), st.sampled_from(["quantile", "width"]))
def test_calibration_error_over_events(events: list[tuple[float, bool]], bins: int, by: Binning) -> None:
    ranked = sorted(p for p, _ in events)
    parts: dict[int, list[tuple[float, bool]]] = {}
    for p, happened in events:
        rank = (ranked.index(p) + ranked.count(p) / 2) / len(ranked)
        place = min(bins - 1, int((rank if by == "quantile" else p) * bins))
        parts.setdefault(place, []).append((p, happened))
    error = sum(abs(sum(p for p, _ in part) - sum(h for _, h in part)) for part in parts.values()) / len(events)
    assert same(seen(events).reliability(bins, by).error, error)


@given(marks, st.integers(1, 6))
def test_outcomes_over_events(events: list[tuple[int, bool, int]], within: int) -> None:
    truth, states = stream(events)
    found = count_outcomes(np.array([0.1, 0.2, 0.3, 0.4]), states, truth, within, np.ones((99, within + 1)))
    labels = [
        (state, 0 < wait <= within)
        for state, wait, later in zip(states, truth.wait, truth.later, strict=True)
        if 0 < wait <= within or later >= within
    ]
    assert sorted(set(np.round(found.probability * 10))) == sorted({state + 1 for state, _ in labels})
    for probability, hit, missed in zip(found.probability, found.positives, found.negatives, strict=True):
        mine = [label for state, label in labels if state + 1 == round(probability * 10)]
        assert (hit, missed) == (sum(mine), len(mine) - sum(mine))


@given(marks, st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=4, max_size=4))
def test_coverage_over_events(events: list[tuple[int, bool, int]], bounds: list[tuple[int, int]]) -> None:
    truth, states = stream(events)
    earliest = np.array([low for low, _ in bounds], np.int32)
    latest = np.array([low + wide if low else 0 for low, wide in bounds], np.int32)
    made: Any = SimpleNamespace(earliest=earliest, latest=latest)
    found = interval_scores(made, states, truth, 8, 0.8, np.ones((99, 9)))
    decided, spreads, penalties = [], [], []
    for state, wait, later in zip(states, truth.wait.tolist(), truth.later.tolist(), strict=True):
        low, high = int(earliest[state]), int(latest[state])
        if not low:
            continue
        spreads.append(high - low)
        if wait or later >= high:
            decided.append(low <= wait <= high)
        if 0 < wait <= 8 or later >= 8:
            ahead = wait if 0 < wait <= 8 else 9
            penalties.append(high - low + 10 * (max(low - ahead, 0) + max(ahead - high, 0)))
    assert same(found.coverage, sum(decided) / len(decided) if decided else None)
    assert same(found.spread, sum(spreads) / len(spreads) if spreads else None)
    assert same(found.score, sum(penalties) / len(penalties) if penalties else None)
    assert same(found.no_forecast, 1 - len(spreads) / len(events) if events else None)


@given(marks, st.integers(1, 8))
def test_weights_of_known_events_add_up_to_all_of_them(events: list[tuple[int, bool, int]], within: int) -> None:
    truth, states = stream(events)
    found = count_outcomes(np.full(4, 0.5), states, truth, within)
    told = truth.weights(within)[truth.strata, within] > 0
    assert found.total == pytest.approx(np.count_nonzero(told))


def stream(events: list[tuple[int, bool, int]]) -> tuple[Truth, Any]:
    keys, completes, states = zip(*events, strict=True) if events else ((), (), ())
    truth = Truth.of(np.array(completes, np.bool_), np.array(keys, np.int32))
    return truth, np.array(states, np.int32)
