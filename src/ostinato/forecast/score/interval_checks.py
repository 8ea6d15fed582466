"""Intervals of a predictor, in events and in seconds, checked on events that it has not learned from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.arrow import read_only
from ostinato.forecast.chain.completion_times import seconds_ahead
from ostinato.forecast.chain.intervals import forecasts
from ostinato.forecast.chain.predictor import Predictor
from ostinato.forecast.learn.ground_truth import Truth, seconds_until
from ostinato.forecast.score.calibrate import Ends, Evidence, gather_evidence, levels
from ostinato.forecast.symbols.reader import SymbolBatch

_OFF = 1e-6  # of its length a span may be off: clocks are read as floating-point seconds


@dataclass(frozen=True, eq=False)
class IntervalChecks:
    """What held-out events say about intervals in events and, where the time is known, in seconds."""

    events: Evidence
    seconds: Evidence | None = None

    def merge_later(self, later: IntervalChecks, decay: float) -> IntervalChecks:
        """With what later events say, this weighing `decay` times as much."""
        seconds = later.seconds
        if self.seconds is not None and seconds is not None:
            seconds = self.seconds.merge_later(seconds, decay)
        return IntervalChecks(self.events.merge_later(later.events, decay), seconds)

    def to_dict(self) -> dict[str, Any]:
        return {
            "events": self.events.to_dict(),
            "seconds": None if self.seconds is None else self.seconds.to_dict(),
        }

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> IntervalChecks:
        seconds = state["seconds"]
        return cls(Evidence.from_dict(state["events"]), None if seconds is None else Evidence.from_dict(seconds))


@dataclass(frozen=True, eq=False)
class LevelIntervals:
    """The intervals [level, place] of the states that occurred, for each level of the promise."""

    places: Int32  # of each event's state among those that occurred
    earliest: Ends
    latest: Ends
    earliest_seconds: Float64 | None  # NaN: none
    latest_seconds: Float64 | None

    @classmethod
    def of(cls, predictor: Predictor, states: Int32) -> LevelIntervals:
        occurred = np.bincount(states, minlength=len(predictor.waiting)) > 0
        used = np.flatnonzero(occurred)
        places = (np.cumsum(occurred, dtype=np.int32) - 1)[states]
        waiting = np.ascontiguousarray(predictor.waiting[used])
        nominals = levels(predictor.settings.threshold)
        made = [forecasts(waiting, nominal) for nominal in nominals]
        begin, end = np.stack([each.earliest for each in made]), np.stack([each.latest for each in made])
        times = predictor.completion_times
        if times is None:
            return cls(places, begin, end, None, None)
        times = replace(times, mass=np.ascontiguousarray(times.mass[used]))
        spans = [seconds_ahead(times, made[0].probability, nominal) for nominal in nominals]
        first, last = np.stack([each.earliest for each in spans]), np.stack([each.latest for each in spans])
        return cls(places, begin, end, first, last)

    def hit_levels(self, ahead: Float64) -> Int64 | None:
        """Bit l: the next completion, so many seconds `ahead` of the event, fell into its span of level l."""
        from ostinato.forecast.kernels.ground_truth import hit_levels

        if self.earliest_seconds is None or self.latest_seconds is None:
            return None
        found = np.empty(len(ahead), np.int64)
        spans = read_only(self.earliest_seconds), read_only(self.latest_seconds)
        hit_levels(*spans, read_only(self.places), read_only(ahead), _OFF, found)
        return found


def check_holdout_intervals(predictor: Predictor, read: SymbolBatch, completes: Bools, cut: int) -> IntervalChecks:
    """What the events from `cut` on say about the intervals of a predictor that has not learned from them."""
    states = predictor.states(read)[cut:]
    truth = Truth.of(completes, read.keys).part(cut, len(completes))
    intervals = LevelIntervals.of(predictor, states)
    hits = None
    if read.seconds is not None:
        hits = intervals.hit_levels(seconds_until(completes, read.keys, read.seconds)[cut:])
    return check_intervals(predictor, intervals, truth, hits)


def check_intervals(
    predictor: Predictor, intervals: LevelIntervals, truth: Truth, hits: Int64 | None
) -> IntervalChecks:
    """What the events with these intervals say about them; `hits` has the `hit_levels` of each event."""
    promised, horizon = predictor.settings.threshold, predictor.settings.horizon
    places, latest = intervals.places, intervals.latest
    events = gather_evidence(promised, intervals.earliest, latest, places, truth, horizon)
    if hits is None or intervals.latest_seconds is None:
        return IntervalChecks(events)
    # A completion beyond the horizon is none, so it takes the whole horizon to see a span fail.
    ends = np.where(np.isnan(intervals.latest_seconds), 0, horizon).astype(np.int32)
    return IntervalChecks(events, gather_evidence(promised, np.zeros_like(ends), ends, places, truth, horizon, hits))
