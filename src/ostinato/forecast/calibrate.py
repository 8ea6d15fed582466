"""Intervals that cover what they promise: a threshold found on held-out events, and its correction under drift.

The model's own probabilities are only as good as the model. Where intervals cover less than they promise, they are made
with a higher threshold (nominal). Never with a lower one: that could hold on average while the intervals of some states
would hold far less than was promised.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass

import numpy as np

from ostinato.forecast.intervals import forecasts
from ostinato.forecast.scores import Float32, IntervalScores, interval_scores
from ostinato.forecast.truth import Truth
from ostinato.kernels.protocol import Int32

_COARSE = 20
_HALVINGS = 6
_JUDGED = 0.5  # of the intervals must be decided by the data
NEVER = 2.0  # a threshold that nothing reaches
_HIGHEST = 0.999  # nothing is certain: at 1 there may be no forecast at all, and so nothing to learn from


@dataclass(frozen=True)
class Calibration:
    """The nominal threshold whose intervals covered what is promised, on held-out events."""

    promised: float
    nominal: float
    coverage: float  # of intervals with the nominal threshold
    uncalibrated: float  # coverage of intervals with the promised threshold itself; NaN: it makes none
    completions: int  # in the held-out events: what all this rests on
    enough: bool  # False: no threshold kept the promise for sure; the nominal one is the promised, or NEVER

    def __str__(self) -> str:
        if not self.enough:
            few = not self.completions or _needed(self.promised, self.completions) > 1
            reason = "too few to promise so much" if few else "and no threshold makes intervals that cover enough"
            made = "; no interval is given" if self.nominal == NEVER else ""
            told = f"{self.completions:,} held-out completions, {reason}{made}"
            return f"threshold {self.promised:g}, not calibrated: {told}"
        return (
            f"threshold {self.promised:g}, made with {self.nominal:.3f}: {self.coverage:.1%} of intervals held "
            f"({self.completions:,} held-out completions)"
        )


def calibrate(waiting: Float32, states: Int32, truth: Truth, threshold: float) -> Calibration:
    """The least nominal threshold whose intervals keep the promise on held-out events.

    Split conformal prediction: to cover a new completion with probability `threshold`, ⌈(n + 1) threshold⌉ of n must
    have been covered. Neighbouring events wait for the same completion, so n is the number of completions.
    """
    # Forecasts are needed only for the states that occurred.
    used = np.flatnonzero(np.bincount(states, minlength=len(waiting)))
    place = np.zeros(len(waiting), np.int32)
    place[used] = np.arange(len(used))
    table, rows = np.ascontiguousarray(waiting[used]), place[states]
    horizon = waiting.shape[1]
    weights = truth.weights(horizon)

    def scored(nominal: float) -> IntervalScores:
        return interval_scores(forecasts(table, nominal), rows, truth, horizon, threshold, weights)

    count = truth.completions
    needed = _needed(threshold, count)
    own = scored(threshold)

    def keeps(nominal: float) -> bool:
        return scored(nominal).coverage >= needed  # false for NaN: no intervals cover nothing

    low, high = threshold, None
    for step in range(_COARSE + 1):
        nominal = min(threshold + (1 - threshold) * step / _COARSE, _HIGHEST)
        if keeps(nominal):
            high = nominal
            break
        low = nominal
    if high is None:
        # Too few to judge by, or keys too short for it: the model is believed. Where they say that it must not be,
        # there is no forecast.
        judged = needed <= 1 and own.known >= _JUDGED * (1 - own.no_forecast) * truth.events
        nominal = NEVER if judged and own.coverage < threshold else threshold
        return Calibration(threshold, nominal, own.coverage, own.coverage, count, enough=False)
    for _ in range(_HALVINGS if high > threshold else 0):
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return Calibration(threshold, high, scored(high).coverage, own.coverage, count, enough=True)


def _needed(threshold: float, count: int) -> float:
    """The share of held-out completions that must have been covered."""
    return math.ceil((count + 1) * threshold - 1e-9) / max(count, 1)


@dataclass
class Adaptive:
    """The nominal threshold, corrected as outcomes come in (adaptive conformal inference, Gibbs and Candès 2021).

    Each miss raises it, each hit lowers it a little, so that over a long time the promise is kept even when the stream
    is no longer the one that was learned.
    """

    promised: float
    nominal: float
    rate: float = 0.005
    steps: int = 0

    def step(self, covered: float) -> float:
        """The next nominal threshold, after an interval that held (1) or did not (0), or some of which a share did."""
        self.nominal = min(max(self.nominal + self.rate * (self.promised - covered), self.promised), _HIGHEST)
        self.steps += 1
        return self.nominal

    def to_dict(self) -> dict[str, float]:
        return asdict(self)

    @classmethod
    def from_dict(cls, state: Mapping[str, float]) -> Adaptive:
        return cls(state["promised"], state["nominal"], state["rate"], int(state["steps"]))
