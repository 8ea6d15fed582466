from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ostinato.errors import DataError
from ostinato.forecast.learn.ground_truth import Truth
from ostinato.forecast.score.scores import (
    Decisions,
    Distances,
    ForecastOutcomes,
    count_outcomes,
    count_outcomes_by_band,
    distance_bands,
    interval_scores,
    probability_within,
)


def ints(*values: int) -> Any:
    return np.array(values, np.int32)


def seen(*pairs: tuple[float, int]) -> ForecastOutcomes:
    """Events as (probability, happened)."""
    said = np.array([pair[0] for pair in pairs], float)
    happened = np.array([pair[1] for pair in pairs], float)
    return ForecastOutcomes(said, happened, 1 - happened)


def intervals(*bounds: tuple[int, int]) -> Any:
    return SimpleNamespace(earliest=ints(*(low for low, _ in bounds)), latest=ints(*(high for _, high in bounds)))


def test_outcomes_are_counted_per_state_and_what_is_not_known_is_left_out() -> None:
    states = ints(0, 0, 1, 1, 1)
    truth = Truth(ints(2, 3, 1, 0, 0), ints(9, 9, 9, 9, 1))
    found = count_outcomes(np.array([0.3, 0.6]), states, truth, 2, np.ones((1, 3)))
    assert found.probability.tolist() == [0.3, 0.6]
    assert found.positives.tolist() == [1, 1] and found.negatives.tolist() == [1, 1]
    assert found.total == 4 and found.rate == 0.5


def test_nothing_is_known_beyond_the_longest_key() -> None:
    found = count_outcomes(np.array([0.5]), ints(0, 0), Truth(ints(1, 0), ints(1, 2)), 4)
    assert found.total == 0 and math.isnan(found.rate)
    assert math.isnan(found.auc()) and math.isnan(found.brier()) and math.isnan(found.reliability().error)


def test_auc() -> None:
    assert seen((0.9, 1), (0.1, 0)).auc() == 1
    assert seen((0.1, 1), (0.9, 0)).auc() == 0
    assert seen((0.5, 1), (0.5, 0)).auc() == 0.5
    assert seen((0.8, 1), (0.6, 0), (0.4, 1), (0.2, 0)).auc() == 0.75
    assert math.isnan(seen((0.8, 1)).auc())


def test_brier() -> None:
    assert seen((1.0, 1), (0.0, 0)).brier() == 0
    assert seen((0.5, 1), (0.5, 0)).brier() == 0.25


def test_decisions() -> None:
    told = seen((0.9, 1), (0.5, 1), (0.6, 0), (0.4, 1), (0.1, 0)).decisions(0.5)
    assert told == Decisions(hits=2, false_alarms=1, misses=1, silences=1)
    assert told.precision == told.recall == told.f1 == pytest.approx(2 / 3)
    assert told.mcc == pytest.approx((2 * 1 - 1 * 1) / math.sqrt(3 * 3 * 2 * 2))
    never = seen((0.1, 1), (0.1, 0)).decisions(0.5)
    assert math.isnan(never.precision) and never.recall == 0 and math.isnan(never.mcc)


def test_reliability_in_bins_of_equal_width() -> None:
    curve = seen((0.1, 0), (0.2, 1), (0.7, 1), (1.0, 1)).reliability(2, "width")
    assert curve.predicted == pytest.approx([0.15, 0.85]) and curve.observed == pytest.approx([0.5, 1.0])
    assert curve.events.tolist() == [2, 2]
    assert curve.error == pytest.approx((0.35 + 0.15) / 2)


def test_quantile_bins_hold_equally_many_events_and_never_part_equal_ones() -> None:
    curve = seen((0.01, 0), (0.02, 0), (0.03, 1), (0.9, 1)).reliability(2, "quantile")
    assert curve.events.tolist() == [2, 2] and curve.predicted == pytest.approx([0.015, 0.465])
    curve = seen((0.1, 0), (0.1, 0), (0.1, 1), (0.9, 1)).reliability(4, "quantile")
    assert sorted(curve.events.tolist()) == [1, 3]


def test_bands_part_the_distance_equally() -> None:
    assert distance_bands(ints(1, 2, 3, 4, -1), 2).tolist() == [0, 0, 1, 1, -1]
    assert distance_bands(ints(1, 2, 3), 2).tolist() == [0, 0, 1]
    assert distance_bands(ints(1), 2).tolist() == [0]
    assert distance_bands(ints(-1), 2).tolist() == [-1]


def test_bands_know_their_distances() -> None:
    distances = Distances(ints(1, 2, 3, 4, -1), ints(3, 0, 4, 1))
    assert distances.longest == 4 and distances.bands(2).tolist() == [1, 0, -1, 0]
    assert distances.bounds(2) == [(1, 2), (3, 4)] and distances.bounds(4) == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_scores_by_distance() -> None:
    truth = Truth(ints(1, 0, 0, 1, 1), ints(5, 5, 5, 5, 5))
    bands = np.array([0, 0, 1, 1, -1], np.int8)
    probability = np.array([0.9, 0.1])
    near, far = count_outcomes_by_band(probability, ints(0, 1, 0, 1, 0), truth, 2, bands, 2)
    assert near.auc() == 1 and far.auc() == 0
    assert near.total + far.total == 4


def test_intervals_count_once_the_data_decide_them() -> None:
    states = ints(0, 0, 0, 0, 0, 1)
    #            held, late, early, never came, not known, no forecast
    truth = Truth(ints(3, 5, 1, 0, 0, 2), ints(9, 9, 9, 4, 3, 9))
    found = interval_scores(intervals((2, 4), (0, 0)), states, truth, 6, 0.5, np.ones((1, 7)))
    assert found.known == 4 and found.coverage == 0.25
    assert found.spread == 2
    assert found.no_forecast == pytest.approx(1 / 6)
    # Held 2; late and early by one 2 + 4 each; of the others the wait within the horizon is not known.
    assert found.score == pytest.approx((2 + 6 + 6) / 3)


def test_intervals_longer_than_keys_are_not_judged_by_hits_alone() -> None:
    """Every interval that the data can show to hold, but not to fail, is left out; so is a completion in it."""
    rng = np.random.default_rng(2)
    keys = np.repeat(np.arange(30_000, dtype=np.int32), rng.integers(4, 11, 30_000))
    truth = Truth.of(rng.random(len(keys)) < 0.1, keys)
    states = rng.integers(0, 2, len(keys)).astype(np.int32)
    found = interval_scores(intervals((1, 15), (1, 4)), states, truth, 20, 0.5)
    assert found.coverage == pytest.approx(1 - 0.9**4, abs=0.02)
    assert math.isnan(interval_scores(intervals((1, 15), (1, 15)), states, truth, 20, 0.5).coverage)


def test_a_completion_beyond_the_horizon_counts_as_just_beyond_it() -> None:
    truth = Truth(ints(50, 0), ints(60, 60))
    found = interval_scores(intervals((2, 4)), ints(0, 0), truth, 6, 0.8, np.ones((1, 7)))
    assert found.coverage == 0 and found.score == pytest.approx(2 + 2 / 0.2 * 3)


def test_without_intervals_there_is_no_coverage() -> None:
    found = interval_scores(intervals((0, 0)), ints(0, 0), Truth(ints(1, 2), ints(3, 3)), 5, 0.5)
    assert math.isnan(found.coverage) and math.isnan(found.spread) and found.no_forecast == 1


def test_a_probability_never_exceeds_one() -> None:
    table = np.array([[0.3, 0.3, 0.41], [0.0, 0.5, 0.1]], np.float32)
    assert probability_within(table, 2) == pytest.approx([0.6, 0.5]) and probability_within(table, 3).tolist() == [
        1.0,
        pytest.approx(0.6),
    ]


def test_forecasts_of_other_events_are_refused() -> None:
    with pytest.raises(DataError, match="1 forecasts cannot be scored against 2 events"):
        count_outcomes(np.array([0.5]), ints(0), Truth(ints(1, 2), ints(3, 3)), 2)
