from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ostinato.errors import DataError
from ostinato.forecast.learn.drift import Drift, DriftAlarm


def batches(losses: np.ndarray, size: int = 200) -> list[float]:
    return losses.reshape(-1, size).mean(axis=1).tolist()


@pytest.fixture
def alarm() -> DriftAlarm:
    held_out = np.random.default_rng(0).exponential(1.0, 20_000)
    return DriftAlarm.of(batches(held_out), [200] * 100)


def run(alarm: DriftAlarm, losses: np.ndarray, size: int = 200) -> list[Drift]:
    return [rung for loss in batches(losses, size) if (rung := alarm.step(loss, size))]


def test_the_expected_loss_and_its_spread_are_those_of_held_out_events(alarm: DriftAlarm) -> None:
    assert alarm.expected == pytest.approx(1.0, abs=0.05)
    assert alarm.spread == pytest.approx(1.0, abs=0.2)


def test_it_stays_quiet_while_nothing_changes(alarm: DriftAlarm) -> None:
    assert run(alarm, np.random.default_rng(1).exponential(1.0, 400_000)) == []


def test_it_says_when_the_change_began_and_how_large_it_is(alarm: DriftAlarm) -> None:
    rng = np.random.default_rng(2)
    losses = np.concatenate([rng.exponential(1.0, 10_000), rng.exponential(1.5, 10_000)])
    first, *_ = run(alarm, losses)
    assert 10_000 < first.at < 11_500
    assert abs(first.since - 10_000) <= 1_000
    assert first.excess == pytest.approx(0.5, abs=0.25)
    assert "since about event" in str(first) and alarm.last is not None


def test_it_rings_again_while_the_change_lasts(alarm: DriftAlarm) -> None:
    assert len(run(alarm, np.full(10_000, 2.0))) > 2


def test_events_that_became_easier_ring_too(alarm: DriftAlarm) -> None:
    first, *_ = run(alarm, np.full(10_000, 0.5))
    assert first.at <= 400 and first.excess == pytest.approx(-0.5, abs=0.05)


def test_what_the_model_goes_on_to_learn_is_no_drift(alarm: DriftAlarm) -> None:
    for _ in range(20):
        assert alarm.step(alarm.expected - 0.3, 200) is None or alarm.learning == 0
        alarm.record_learning(-0.3, shift=True)
    alarm.record_learning(0.0, shift=False)
    assert run(alarm, np.full(1000, alarm.expected - 0.3))


def test_a_few_held_out_events_tell_the_expected_loss_only_roughly() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        alarm = DriftAlarm.of(batches(rng.exponential(1.0, 60), 2), [2] * 30)
        assert run(alarm, rng.exponential(1.0, 12_000)) == []


def test_intervals_that_hold_too_seldom_ring(alarm: DriftAlarm) -> None:
    assert not any(alarm.step_intervals(0.8, held, 30, 100) for held in (0.8, 0.75, 0.7, 0.85) * 20)
    assert alarm.step_intervals(0.8, math.nan, 30, 100) is None and alarm.step_intervals(0.8, 0.0, 0, 100) is None
    alarm.step(1.0, 300)
    alarm.step_intervals(0.8, 0.6, 50, 300)
    alarm.step(1.0, 300)
    rung = alarm.step_intervals(0.8, 0.5, 50, 300)
    assert rung is not None and (rung.of, rung.since, rung.at) == ("coverage", 0, 600)
    assert rung.excess == pytest.approx(0.25) and "intervals hold 25.0% less often than they promise" in str(rung)


def test_a_past_that_does_harm_rings_once(alarm: DriftAlarm) -> None:
    rng = np.random.default_rng(6)
    parts = [20] * 30
    assert all(alarm.step_past(rng.normal(-0.01, 0.1, 30).tolist(), parts) is None for _ in range(200))
    rung = alarm.step_past(rng.normal(0.4, 0.1, 30).tolist(), parts)
    assert rung is not None and "what was learned before costs 0.4" in str(rung)
    assert alarm.step_past(rng.normal(0.3, 0.1, 30).tolist(), parts) is None
    assert alarm.step_past(rng.normal(0.9, 0.1, 30).tolist(), parts) is not None
    assert alarm.step_past([1.0] * 3, [1] * 3) is None, "too few to say"


def test_an_endless_loss_rings_at_once_and_stays_finite(alarm: DriftAlarm) -> None:
    rung = alarm.step(math.inf, 1)
    assert rung is not None and math.isfinite(rung.excess)
    json.dumps(alarm.to_dict(), allow_nan=False)


def test_an_empty_batch_changes_nothing(alarm: DriftAlarm) -> None:
    before = alarm.to_dict()
    assert alarm.step(math.nan, 0) is None and alarm.to_dict() == before


def test_a_saved_alarm_goes_on(alarm: DriftAlarm) -> None:
    alarm.step(3.0, 200)
    alarm.step(1.1, 50)
    again = DriftAlarm.from_dict(json.loads(json.dumps(alarm.to_dict())))
    assert again == alarm and again.last == alarm.last
    assert again.step(1.4, 200) == alarm.step(1.4, 200)


def test_neighbours_that_go_together_widen_the_spread() -> None:
    rng = np.random.default_rng(3)
    together = np.repeat(rng.exponential(1.0, 400), 50)
    assert DriftAlarm.of(batches(together), [200] * 100).spread > 3


def test_a_stream_without_chance_does_not_ring_at_rounding_errors() -> None:
    alarm = DriftAlarm.of([0.0] * 10, [100] * 10)
    assert alarm.step(1e-9, 1_000_000) is None


def test_without_held_out_events_there_is_no_alarm() -> None:
    with pytest.raises(DataError, match="held-out"):
        DriftAlarm.of([], [])
