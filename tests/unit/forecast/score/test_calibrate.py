from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ostinato.forecast.chain.intervals import forecasts
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.score.baselines import mean_rate
from ostinato.forecast.score.calibrate import NEVER, Calibration, Evidence, gather_evidence, levels
from ostinato.forecast.score.scores import interval_scores

HORIZON = 100


def stream(rate: float, events: int = 60_000, seed: int = 0) -> Truth:
    return Truth.of(np.random.default_rng(seed).random(events) < rate)


def one_state(truth: Truth) -> np.ndarray:
    return np.zeros(len(truth), np.int32)


def evidence(table: np.ndarray, truth: Truth, promised: float, states: np.ndarray | None = None) -> Evidence:
    made = [forecasts(table, nominal) for nominal in levels(promised)]
    earliest, latest = (np.stack([getattr(each, name) for each in made]) for name in ("earliest", "latest"))
    return gather_evidence(
        promised, earliest, latest, one_state(truth) if states is None else states, truth, table.shape[1]
    )


def calibrate(table: np.ndarray, states: np.ndarray, truth: Truth, promised: float) -> Calibration:
    return evidence(table, truth, promised, states).calibration()


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
    assert "after none of the events a completion within the horizon was so likely; a longer horizon" in str(found)


def test_it_says_what_it_found() -> None:
    text = str(Calibration(0.9, 0.95, 0.9031, 0.85, 1234, True))
    assert text == "threshold 0.9, made with 0.950: 90.3% of intervals held (1,234 held-out completions)"


def test_only_states_that_occurred_matter() -> None:
    truth = stream(0.1)
    table = np.concatenate([mean_rate(0.9, HORIZON), mean_rate(0.1, HORIZON), np.zeros((1, HORIZON), np.float32)])
    states = np.ones(len(truth), np.int32)
    assert calibrate(table, states, truth, 0.8) == calibrate(table[1:2].copy(), states * 0, truth, 0.8)


def test_a_level_that_makes_no_interval_is_left_again() -> None:
    """Completions become rarer than believed, so that no interval keeps the promise, then as frequent as before."""
    table = mean_rate(0.1, 30)
    rare, usual = (evidence(table, stream(rate, 4000, seed=3), 0.9) for rate in (0.04, 0.1))
    assert usual.calibration().enough
    after = usual.merge_later(rare, 0.5)
    assert after.calibration().nominal == NEVER
    for _ in range(5):
        after = after.merge_later(usual, 0.5)
    assert after.calibration().enough and after.calibration().nominal < 0.97


def test_what_was_long_ago_is_forgotten() -> None:
    table = mean_rate(0.1, HORIZON)
    many, few = evidence(table, stream(0.1), 0.8), evidence(table, stream(0.05, 5000, seed=4), 0.8)
    both = many.merge_later(few, 1.0)
    assert both.completions == pytest.approx(1000) and few.completions > 200
    for _ in range(5):
        both = both.merge_later(few, 1.0)
    assert both.calibration().coverage == pytest.approx(few.calibration().coverage, abs=0.05)
    assert few.merge_later(many, 1.0).completions == many.completions  # more than is remembered


def test_a_saved_state_goes_on() -> None:
    found = evidence(mean_rate(0.1, HORIZON), stream(0.1), 0.8)
    again = Evidence.from_dict(json.loads(json.dumps(found.to_dict())))
    assert again.calibration() == found.calibration() and again.to_dict() == found.to_dict()
