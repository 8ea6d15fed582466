"""Intervals that cover what they promise: thresholds checked on events that were not learned from.

The model's own probabilities are only as good as the model. If intervals cover less than they promise, they are made
with a higher threshold (nominal). Never with a lower one: the promise might then hold on average, while the intervals
of some states would hold far less often. The calibration error of probabilities is a score: see scores.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.arrow import read_only
from ostinato.forecast.learn.ground_truth import Truth

_STEPS = 32  # from the promise to certainty
_DECIDED = 0.5  # of the intervals must be decided by the data
NEVER = 2.0  # a threshold that nothing reaches
_HIGHEST = 0.999  # nothing is certain: at 1 there may be no interval at all
_MEMORY = 1000.0  # completions; what older ones said is forgotten as newer ones come

BY_EVENTS: Int64 = read_only(np.empty(0, np.int64))  # stands for: the intervals count events

Ends = npt.NDArray[np.int32]


def levels(promised: float) -> list[float]:
    """The thresholds that intervals may be made with."""
    return [min(promised + (1 - promised) * step / _STEPS, _HIGHEST) for step in range(_STEPS + 1)]


@dataclass(frozen=True)
class Calibration:
    """The nominal threshold whose intervals covered what is promised, on held-out events."""

    promised: float
    nominal: float
    coverage: float  # of intervals with the nominal threshold
    uncalibrated: float  # coverage of intervals with the promised threshold itself; NaN: it makes none
    completions: int  # in the held-out events: what all this rests on
    enough: bool  # False: no threshold kept the promise for sure; the nominal one is the promised, or NEVER
    possible: bool = True  # False: no held-out event had an interval, since none was so likely within the horizon

    def __str__(self) -> str:
        if not self.enough:
            few = not self.completions or _required_share(self.promised, self.completions) > 1
            reason = "too few to promise so much" if few else "and no threshold makes intervals that cover enough"
            if not self.possible and not few:
                reason = (
                    "and after none of the events a completion within the horizon was so likely; "
                    "a longer horizon or a lower threshold would give intervals"
                )
            made = "; no interval is given" if self.nominal == NEVER else ""
            found = f"{self.completions:,} held-out completions, {reason}{made}"
            return f"threshold {self.promised:g}, not calibrated: {found}"
        return (
            f"threshold {self.promised:g}, made with {self.nominal:.3f}: {self.coverage:.1%} of intervals held "
            f"({self.completions:,} held-out completions)"
        )


@dataclass(frozen=True, eq=False)
class Evidence:
    """How intervals made with each of `levels` did on held-out events: additive, so that later events add to it.

    All levels are checked, whichever is in use, so that a level that gives no interval at all can be left again.
    """

    promised: float
    made: float  # events with an interval at the lowest level, the promise
    known: Float64  # per level, the weight of intervals that the data decide
    covered: Float64  # and of those that held
    completions: float

    def calibration(self) -> Calibration:
        """The least nominal threshold whose intervals keep the promise.

        Split conformal prediction: to cover a new completion with probability `promised`, ⌈(n + 1) promised⌉ of n must
        have been covered. Neighbouring events wait for the same completion, so n is the number of completions.
        """
        coverage = np.divide(self.covered, self.known, out=np.full(len(self.known), np.nan), where=self.known > 0)
        count = round(self.completions)
        needed = _required_share(self.promised, count)
        keeps = np.flatnonzero(coverage >= needed)
        own = float(coverage[0])
        if len(keeps):
            level = int(keeps[0])
            nominal = levels(self.promised)[level]
            return Calibration(self.promised, nominal, float(coverage[level]), own, count, enough=True)
        # With too few completions, or keys too short to decide, the model is believed. Where the data contradict it,
        # there is no forecast.
        decided = needed <= 1 and self.known[0] >= _DECIDED * self.made
        nominal = NEVER if decided and own < self.promised else self.promised
        return Calibration(self.promised, nominal, own, own, count, enough=False, possible=self.made > 0)

    def merge_later(self, later: Evidence, decay: float) -> Evidence:
        """Together with later evidence; of this, what is left after decay, and at most what memory has room for."""
        room = max(_MEMORY - later.completions, 0.0)
        share = min(decay, room / self.completions) if self.completions else 0.0
        return replace(
            later,
            made=later.made + share * self.made,
            known=later.known + share * self.known,
            covered=later.covered + share * self.covered,
            completions=later.completions + share * self.completions,
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "promised": self.promised,
            "made": self.made,
            "known": self.known.tolist(),
            "covered": self.covered.tolist(),
            "completions": self.completions,
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Evidence:
        known, covered = (np.array(state[name], np.float64) for name in ("known", "covered"))
        return cls(state["promised"], state["made"], known, covered, state["completions"])


def gather_evidence(
    promised: float, earliest: Ends, latest: Ends, states: Int32, truth: Truth, horizon: int, hits: Int64 = BY_EVENTS
) -> Evidence:
    """How the intervals [level, state] (0: none) did on events; `states` has the state of each event.

    Where intervals do not count events, `hits` has a bit per event and level: whether the interval held.
    """
    from ostinato.forecast.kernels.ground_truth import level_sums

    known, covered = np.zeros(len(latest)), np.zeros(len(latest))
    events = truth.to_scored_events(states, truth.weights(horizon))
    level_sums(events, read_only(earliest), read_only(latest), read_only(hits), known, covered)
    some = latest[0][states] > 0
    made = truth.times[some].sum() if len(truth.times) else np.count_nonzero(some)
    return Evidence(promised, float(made), known, covered, float(truth.completions))


def _required_share(threshold: float, count: int) -> float:
    """The share of held-out completions that must have been covered."""
    return math.ceil((count + 1) * threshold - 1e-9) / max(count, 1)
