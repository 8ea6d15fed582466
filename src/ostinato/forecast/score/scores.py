"""How good forecasts were: scores of "a match completes within w events" and of intervals.

All events in one state got the same forecast, so the outcomes of each state are counted once, in one pass over the
events, and the scores are sums over states.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Float32, Float64, Int32
from ostinato.core.arrow import read_only
from ostinato.errors import DataError
from ostinato.forecast.learn.ground_truth import Truth

if TYPE_CHECKING:
    from ostinato.forecast.chain.intervals import Forecasts

Bands = npt.NDArray[np.int8]
Binning = Literal["quantile", "width"]

BINS = 15
_ALL: Bands = read_only(np.empty(0, np.int8))


@dataclass(frozen=True, eq=False)
class ForecastOutcomes:
    """Groups of events with the same forecast: the probability they were given, and what came of them."""

    probability: Float64
    positives: Float64  # the weight of events after which it happened
    negatives: Float64

    @property
    def total(self) -> float:
        return float(self.positives.sum() + self.negatives.sum())

    @property
    def rate(self) -> float:
        return _ratio(self.positives.sum(), self.total)

    def auc(self) -> float:
        """The probability that an event after which it happened was given more than one after which it did not.

        Equal probabilities count half. NaN unless both kinds of event were seen.
        """
        _, group = np.unique(self.probability, return_inverse=True)
        hit = np.bincount(group, self.positives)
        missed = np.bincount(group, self.negatives)
        below = np.cumsum(missed) - missed / 2
        return _ratio(float(hit @ below), float(hit.sum() * missed.sum()))

    def brier(self) -> float:
        """The mean squared difference between the probability and what happened (1 or 0)."""
        off = self.positives @ (1 - self.probability) ** 2 + self.negatives @ self.probability**2
        return _ratio(float(off), self.total)

    def decisions(self, threshold: float) -> Decisions:
        """If a completion is predicted from a probability of `threshold` on."""
        said = self.probability >= threshold
        hits, alarms = float(self.positives[said].sum()), float(self.negatives[said].sum())
        return Decisions(hits, alarms, float(self.positives.sum()) - hits, float(self.negatives.sum()) - alarms)

    def reliability(self, bins: int = BINS, by: Binning = "quantile") -> Reliability:
        """Events in bins of their probability: as many in each ("quantile") or as wide each ("width").

        Events of the same probability stay together, so there may be fewer quantile bins, and of unequal size.
        """
        value, group = np.unique(self.probability, return_inverse=True)
        hit = np.bincount(group, self.positives)
        weight = hit + np.bincount(group, self.negatives)
        ranks = (np.cumsum(weight) - weight / 2) / max(weight.sum(), 1e-300)
        place = ranks if by == "quantile" else value
        number = np.minimum((place * bins).astype(np.int64), bins - 1)
        events = np.bincount(number, weight, bins).astype(np.float64)
        some = events > 0
        predicted = np.bincount(number, weight * value, bins)[some] / events[some]
        observed = np.bincount(number, hit, bins)[some] / events[some]
        return Reliability(predicted, observed, events[some], by)


@dataclass(frozen=True)
class Decisions:
    """Weights of events by what was predicted and what happened."""

    hits: float
    false_alarms: float
    misses: float
    silences: float

    @property
    def precision(self) -> float:
        return _ratio(self.hits, self.hits + self.false_alarms)

    @property
    def recall(self) -> float:
        return _ratio(self.hits, self.hits + self.misses)

    @property
    def f1(self) -> float:
        return _ratio(2 * self.hits, 2 * self.hits + self.false_alarms + self.misses)

    @property
    def mcc(self) -> float:
        """Matthews's correlation between what was predicted and what happened."""
        said, happened = self.hits + self.false_alarms, self.hits + self.misses
        unsaid, other = self.misses + self.silences, self.false_alarms + self.silences
        scale = math.sqrt(said) * math.sqrt(happened) * math.sqrt(unsaid) * math.sqrt(other)
        return _ratio(self.hits * self.silences - self.false_alarms * self.misses, scale)


@dataclass(frozen=True, eq=False)
class Reliability:
    """Per bin: the mean probability, the share of events after which it happened, and the weight of its events."""

    predicted: Float64
    observed: Float64
    events: Float64
    by: Binning

    @property
    def error(self) -> float:
        """The expected calibration error: how far observed lies from predicted, on average over events."""
        return _ratio(float(self.events @ np.abs(self.observed - self.predicted)), float(self.events.sum()))


@dataclass(frozen=True)
class IntervalScores:
    """Scores of intervals; NaN where the data decide none.

    Winkler's score is least for intervals with as much beyond either end. Shortest intervals lean to the side where
    completions are likelier, so it compares models, not ways to choose an interval.
    """

    coverage: float  # share of intervals that the next completion fell into
    spread: float  # mean of latest - earliest
    score: float  # Winkler's interval score: spread plus 2 / (1 - threshold) per event of a miss; less is better
    known: float  # weight of the intervals that the data decide
    no_forecast: float  # share of events with no interval


def probability_within(waiting: Float32, within: int) -> Float64:
    """Per state, the probability of a completion within so many events."""
    found: Float64 = np.minimum(waiting[:, :within].sum(axis=1, dtype=np.float64), 1.0)
    return found


def count_outcomes(
    probability: Float64, states: Int32, truth: Truth, within: int, weights: Float64 | None = None
) -> ForecastOutcomes:
    """What came of the events in each state, given the probability per state of a completion within so many events.

    `weights` are those of the truth for at least that many events, where they are known already.
    """
    return count_outcomes_by_band(probability, states, truth, within, None, 1, weights)[0]


def count_outcomes_by_band(
    probability: Float64,
    states: Int32,
    truth: Truth,
    within: int,
    bands: Bands | None,
    count: int,
    weights: Float64 | None = None,
) -> list[ForecastOutcomes]:
    """The same for events of each band 0 … count - 1 (-1: of none)."""
    from ostinato.forecast.kernels.ground_truth import tally

    _check_lengths(states, truth)
    weights = truth.weights(within) if weights is None else weights
    positives, negatives = np.zeros((len(probability), count)), np.zeros((len(probability), count))
    within_bands = _ALL if bands is None else read_only(bands)
    tally(truth.to_scored_events(states, weights), within_bands, within, positives, negatives)
    found = []
    for band in range(count):
        some = np.flatnonzero(positives[:, band] + negatives[:, band])
        chosen = probability[some].astype(np.float64)
        found.append(ForecastOutcomes(chosen, positives[some, band], negatives[some, band]))
    return found


def distance_bands(distance: Int32, count: int) -> Bands:
    """Per state its band of the distance to a completion, in equal parts of the longest: 0 is the nearest; -1: none.

    With two bands, 0 is the near half: distances up to half of the longest, rounded up.
    """
    longest = int(distance.max(initial=0))
    return np.where(distance > 0, (distance - 1) * count // max(longest, 1), -1).astype(np.int8)


@dataclass(frozen=True, eq=False)
class Distances:
    """At least how many events it is from each event to a completion, whatever comes."""

    fewest: Int32  # per state of the pattern; -1: none completes any more
    states: Int32  # per event

    @property
    def longest(self) -> int:
        return int(self.fewest.max(initial=0))

    def bands(self, count: int) -> Bands:
        """Per event."""
        found: Bands = distance_bands(self.fewest, count)[self.states]
        return found

    def bounds(self, count: int) -> list[tuple[int, int]]:
        """The shortest and the longest distance of each band."""
        every = np.arange(1, self.longest + 1, dtype=np.int32)
        parts = distance_bands(every, count)
        return [(int(every[parts == band].min()), int(every[parts == band].max())) for band in range(count)]


def interval_scores(
    forecasts: Forecasts, states: Int32, truth: Truth, horizon: int, threshold: float, weights: Float64 | None = None
) -> IntervalScores:
    """How the intervals of the events' states did, where `threshold` is the probability they promise.

    An interval counts if the data decide it: the next completion was seen, or the key went on beyond the interval
    without one. It does not count if hardly any key goes on so long: then it could be seen to hold but not to fail.
    Winkler's score needs the completion itself; one beyond the horizon counts as one just beyond it.
    """
    from ostinato.forecast.kernels import ground_truth as kernels

    _check_lengths(states, truth)
    weights = truth.weights(horizon) if weights is None else weights
    sums = np.zeros(kernels.SUMS)
    intervals = read_only(forecasts.earliest), read_only(forecasts.latest)
    price = 2 / max(1 - threshold, 1e-9)
    kernels.interval_sums(truth.to_scored_events(states, weights), *intervals, price, sums)
    made, known = float(sums[kernels.FORECASTS]), float(sums[kernels.KNOWN])
    return IntervalScores(
        coverage=_ratio(sums[kernels.COVERED], known),
        spread=_ratio(sums[kernels.WIDTH], made),
        score=_ratio(sums[kernels.PENALTY], sums[kernels.PENALISED]),
        known=known,
        no_forecast=1 - _ratio(made, truth.events),
    )


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else math.nan


def _check_lengths(states: Int32, truth: Truth) -> None:
    if len(states) != len(truth):
        raise DataError(f"{len(states):,} forecasts cannot be scored against {len(truth):,} events")
