"""Forecasts in short: probability, point, interval."""

from __future__ import annotations

import numpy as np

from ostinato.forecast.chain.intervals import forecasts


def test_each_state_gets_its_shortest_interval() -> None:
    waiting = np.array(
        [
            [0.125, 0.5, 0.25, 0.0, 0.125],  # one event is enough
            [0.25, 0.125, 0.25, 0.125, 0.0],  # of two intervals of three events the earliest
            [0.125, 0.0, 0.0, 0.0, 0.25],  # not enough within the horizon
            [0.0, 0.0, 0.0, 0.0, 0.0],
        ],
        np.float32,
    )
    found = forecasts(waiting, 0.5)
    assert found.probability.tolist() == [1.0, 0.75, 0.375, 0.0]
    assert found.point.tolist() == [2, 1, 5, 0]
    assert found.earliest.tolist() == [2, 1, 0, 0]
    assert found.latest.tolist() == [2, 3, 0, 0]
    assert found.mass.tolist() == [0.5, 0.625, 0.0, 0.0]


def test_within_looks_no_further() -> None:
    found = forecasts(np.array([[0.125, 0.25, 0.5, 0.125]], np.float32), 0.375, within=2)
    assert found.probability.tolist() == [0.375]
    assert (found.point[0], found.earliest[0], found.latest[0]) == (2, 1, 2)
    assert forecasts(np.array([[0.125, 0.25]], np.float32), 0.1, within=9).point.tolist() == [2]


def test_no_interval_is_stored_with_less_than_the_threshold() -> None:
    threshold = 0.9  # is no float32: the nearest is below it
    waiting = np.array([[0.9, 0.05], [0.5, 0.4]], np.float32)
    found = forecasts(waiting, threshold)
    assert found.latest.tolist() == [2, 0]
    assert all(float(mass) >= threshold for mass in found.mass[found.latest > 0])


def test_with_a_threshold_of_0_a_forecast_is_still_of_something_possible() -> None:
    found = forecasts(np.array([[0.0, 0.25, 0.5], [0.0, 0.0, 0.0]], np.float32), 0.0)
    assert found.earliest.tolist() == found.latest.tolist() == [2, 0]
