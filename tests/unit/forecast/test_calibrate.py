from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ostinato.forecast.baselines import mean_rate
from ostinato.forecast.calibrate import Adaptive, Calibration, calibrate
from ostinato.forecast.intervals import forecasts
from ostinato.forecast.scores import interval_scores
from ostinato.forecast.truth import Truth

HORIZON = 100


def stream(rate: float, events: int = 60_000, seed: int = 0) -> Truth:
    return Truth.of(np.random.default_rng(seed).random(events) < rate)


def one_state(truth: Truth) -> np.ndarray:
    return np.zeros(len(truth), np.int32)


@pytest.mark.parametrize("promised", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("believed", [0.05, 0.1, 0.2])
def test_intervals_of_a_wrong_model_cover_what_they_promise(promised: float, believed: float) -> None:
    """The model takes completions for half, or twice, as frequent as they are."""
    table, held_out, fresh = mean_rate(believed, HORIZON), stream(0.1), stream(0.1, seed=1)
    found = calibrate(table, one_state(held_out), held_out, promised)
    assert found.enough and found.coverage >= promised
    made = forecasts(table, found.nominal)
    covered = interval_scores(made, one_state(fresh), fresh, HORIZON, promised).coverage
    assert covered > promised - 0.05
    # A model that thinks too little of itself is not made to emit what it holds for less than was promised.
    assert found.nominal == promised if believed < 0.1 else covered < promised + 0.05
    assert covered > promised - 0.015
    if believed == 0.2:
        assert found.uncalibrated < promised < found.nominal


def test_a_few_completions_are_not_enough_for_a_promise() -> None:
    truth = Truth.of(np.array([0, 0, 1, 0, 0, 1, 0, 0], np.bool_))
    found = calibrate(mean_rate(0.3, HORIZON), one_state(truth), truth, 0.9)
    assert not found.enough and found.nominal == 0.9
    assert "2 held-out completions, too few to promise so much" in str(found)


def test_no_interval_can_be_made_where_completions_are_rare() -> None:
    truth = stream(0.01)
    found = calibrate(mean_rate(0.01, 5), one_state(truth), truth, 0.9)
    assert not found.enough and math.isnan(found.uncalibrated)
    assert "no threshold makes intervals that cover enough" in str(found)


def test_it_says_what_it_found() -> None:
    text = str(Calibration(0.9, 0.95, 0.9031, 0.85, 1234, True))
    assert text == "threshold 0.9, made with 0.950: 90.3% of intervals held (1,234 held-out completions)"


def test_only_states_that_occurred_matter() -> None:
    truth = stream(0.1)
    table = np.concatenate([mean_rate(0.9, HORIZON), mean_rate(0.1, HORIZON), np.zeros((1, HORIZON), np.float32)])
    states = np.ones(len(truth), np.int32)
    assert calibrate(table, states, truth, 0.8) == calibrate(table[1:2].copy(), states * 0, truth, 0.8)


def test_the_promise_is_kept_while_the_stream_changes() -> None:
    """A model of frequent completions, which then become rarer and rarer."""
    rng = np.random.default_rng(0)
    table = mean_rate(0.2, HORIZON)
    adaptive = Adaptive(promised=0.8, nominal=0.8)
    ends = np.array([forecasts(table, nominal).latest[0] for nominal in np.linspace(0, 1, 1001)])
    held = []
    for step in range(20_000):
        wait = rng.geometric(0.2 if step < 5_000 else 0.1)
        covered = wait <= ends[int(adaptive.nominal * 1000)]
        held.append(covered)
        adaptive.step(covered)
    assert np.mean(held) == pytest.approx(0.8, abs=0.01)
    assert np.mean(held[8_000:]) == pytest.approx(0.8, abs=0.02)
    assert adaptive.nominal > 0.9 and adaptive.steps == 20_000


def test_a_step_by_the_share_of_a_batch() -> None:
    adaptive = Adaptive(promised=0.9, nominal=0.9, rate=0.1)
    assert adaptive.step(0.9) == pytest.approx(0.9)
    assert adaptive.step(0.7) == pytest.approx(0.92)
    assert adaptive.step(True) == pytest.approx(0.91)


def test_the_threshold_stays_one_that_makes_forecasts() -> None:
    adaptive = Adaptive(promised=0.9, nominal=0.9, rate=0.5)
    assert all(adaptive.step(False) < 1 for _ in range(5))
    assert all(adaptive.step(True) >= 0 for _ in range(100))


def test_a_saved_state_goes_on() -> None:
    adaptive = Adaptive(promised=0.9, nominal=0.93)
    adaptive.step(False)
    assert Adaptive.from_dict(json.loads(json.dumps(adaptive.to_dict()))) == adaptive
