"""The forecast of each state: whether a match completes, when most likely, and in which interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Float32, Int32
from ostinato.core.arrow import read_only


@dataclass(frozen=True, eq=False)
class Forecasts:
    """Per state, in events ahead; what lies beyond the horizon has the probability 1 - `probability`."""

    probability: Float32  # that a match completes within the horizon
    point: Int32  # the likeliest wait; 0: none is possible within the horizon
    earliest: Int32  # the shortest interval that is likely enough, of several the earliest; 0: there is none
    latest: Int32
    mass: Float32  # the probability of that interval, never below the threshold; 0: there is none


def forecasts(waiting: Float32, threshold: float, within: int | None = None) -> Forecasts:
    """From waiting times [states, horizon], as far as `within` events ahead."""
    from ostinato.forecast.kernels.waiting import summarise

    states, horizon = waiting.shape
    within = horizon if within is None else min(within, horizon)
    probability, mass = np.empty(states, np.float32), np.empty(states, np.float32)
    point, earliest, latest = (np.empty(states, np.int32) for _ in range(3))
    sums = np.empty(within + 1)
    rows = read_only(np.ascontiguousarray(waiting))
    summarise(rows, within, least_mass(threshold), sums, probability, point, earliest, latest, mass)
    return Forecasts(probability, point, earliest, latest, mass)


def least_mass(threshold: float) -> float:
    """The least sum that is not below the threshold even when it is stored as a float32, rounded down."""
    least = np.float32(threshold)
    if float(least) < threshold:
        least = np.nextafter(least, np.float32(np.inf))
    return float(max(least, np.finfo(np.float32).tiny))  # an impossible wait is never forecast, whatever the threshold
