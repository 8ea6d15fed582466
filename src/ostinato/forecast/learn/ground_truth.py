"""What really happened: at each event, how many events later the next match of its key completed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64, UInt8
from ostinato.core.arrow import read_only
from ostinato.errors import DataError

if TYPE_CHECKING:
    from ostinato.forecast.kernels.ground_truth import ScoredEvents

ONE_KEY: Int32 = read_only(np.empty(0, np.int32))  # stands for: all events have the same key
ONCE: Int64 = read_only(np.empty(0, np.int64))  # stands for: each is one event
ALIKE: UInt8 = read_only(np.empty(0, np.uint8))  # stands for: all are of one stratum

_SHARE, _MANY = 1 / 20, 200  # the data decide as far ahead as this share of events, or so many, are known
# Strata by how many events of the key came before: each number by itself, then four to an octave.
_BOUNDS: Int64 = np.concatenate([np.arange(1, 33), (32 * 2 ** (np.arange(1, 100) / 4)).astype(np.int64)])


def completions(after: Int32, completes: Bools, symbols: Int32, keys: Int32 | None, states: Int32) -> Bools:
    """Whether each event completes a match, by the tables of an automaton or product.

    `states` has the state of each key and is updated.
    """
    from ostinato.forecast.kernels.ground_truth import mark_completions

    out = np.empty(len(symbols), np.bool_)
    tables = read_only(after), read_only(completes)
    done = mark_completions(*tables, read_only(symbols), _flat(keys), states, out)
    if done < len(symbols):
        raise DataError(f"symbol {symbols[done]} is impossible here: the pattern rules it out", row=done)
    return out


def waits(completes: Bools, keys: Int32 | None) -> tuple[Int32, Int32, Int32]:
    """Per event: how many events of its key until the next completion (0: none seen), and how many it has after it;
    and how many each key has in all."""
    from ostinato.forecast.kernels.ground_truth import count_waits

    distinct = _distinct(keys)
    seen, last = np.zeros(distinct, np.int32), np.full(distinct, -1, np.int32)
    wait, later = np.empty(len(completes), np.int32), np.empty(len(completes), np.int32)
    count_waits(read_only(completes), _flat(keys), seen, last, wait, later)
    return wait, later, seen


def seconds_until(completes: Bools, keys: Int32 | None, seconds: Float64) -> Float64:
    """Per event the seconds until the next completion of its key; NaN where none is seen."""
    from ostinato.forecast.kernels.ground_truth import count_seconds

    found = np.empty(len(completes))
    last = np.full(_distinct(keys), np.nan)
    count_seconds(read_only(completes), _flat(keys), read_only(seconds), last, found)
    return found


@dataclass(frozen=True, eq=False)
class Truth:
    """What came of each event, as far as the data show.

    If an event has no completion after it, and fewer than k events, nobody knows whether a match completes within k. It
    is left out. But among the last events of a key, those with a completion soon after are known and the others are
    not, so leaving out alone would favour completions: with short keys, by far. Therefore events that are known also
    count for similar ones that are not, by the inverse of the probability of being known (Robins and Rotnitzky; the
    estimator is that of Kaplan and Meier for the ends of keys). If no key ends early, all weigh 1.

    Only events as far from the beginning of their key are similar: an event near the beginning has another state, and
    more events after it, than one near the end. Strata in which no event is followed so far are left out entirely. The
    rest is unbiased if the length of a key does not depend on what is still to come in it.
    """

    wait: Int32
    later: Int32
    times: Int64 = field(default_factory=lambda: ONCE)  # how many events each stands for
    strata: UInt8 = field(default_factory=lambda: ALIKE)  # by the number of events of the key before it

    @classmethod
    def of(cls, completes: Bools, keys: Int32 | None = None, before: Int32 | None = None) -> Truth:
        """Of events in order; `before` says how many each key had before them."""
        wait, later, length = waits(completes, keys)
        if before is not None:
            length = length + before[: len(length)]
        place = (length[0] if keys is None else length[keys]) - 1 - later if len(later) else later
        return cls(wait, later, strata=np.searchsorted(_BOUNDS, place, side="right").astype(np.uint8))

    def part(self, begin: int, end: int) -> Truth:
        """Some events in a row; what comes after them is still known."""
        some = slice(begin, end)  # what is empty stays so
        return Truth(self.wait[some], self.later[some], self.times[some], self.strata[some])

    def __len__(self) -> int:
        return len(self.wait)

    @property
    def events(self) -> int:
        return int(self.times.sum()) if len(self.times) else len(self)

    def to_scored_events(self, states: Int32, weights: Float64) -> ScoredEvents:
        """As kernels take it, with the states that the forecasts of the events are for."""
        from ostinato.forecast.kernels.ground_truth import ScoredEvents

        return ScoredEvents(
            wait=self.wait, later=self.later, times=self.times, strata=self.strata, states=states, weights=weights
        )

    def weights(self, horizon: int) -> Float64:
        """Per stratum, for k = 0 … horizon, what an event counts that is known k events ahead.

        0: too few events are followed so far ahead. A few that count for all others would decide by chance alone.
        """
        from ostinato.forecast.kernels.ground_truth import SeenEvents, count_ends

        shape = (int(self.strata.max(initial=0)) + 1, horizon + 2)
        completed, ended = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        events = SeenEvents(wait=self.wait, later=self.later, times=self.times, strata=self.strata)
        count_ends(events, completed, ended)
        # A completion k events ahead is seen before the key may end there.
        number = (completed + ended).sum(axis=1, keepdims=True)
        ended_before = np.cumsum(ended, axis=1) - ended
        could_end = number - np.cumsum(completed, axis=1) - ended_before
        goes_on = np.cumprod(1 - ended / np.maximum(could_end, 1), axis=1)[:, :horizon]
        known: Float64 = np.concatenate([np.ones_like(number, np.float64), goes_on], axis=1)
        left = np.concatenate([number, (could_end - ended)[:, :horizon]], axis=1)
        tell = (known >= _SHARE) | (left >= _MANY)
        found = np.zeros_like(known)
        np.divide(1.0, known, out=found, where=np.logical_and.accumulate(tell, axis=1))
        return found

    @property
    def completions(self) -> int:
        """Completions after some event. Neighbouring events share them, so there is no more evidence than these."""
        just_before = self.wait == 1
        return int(self.times[just_before].sum() if len(self.times) else np.count_nonzero(just_before))


def _distinct(keys: Int32 | None) -> int:
    return 1 if keys is None else int(keys.max(initial=-1)) + 1


def _flat(keys: Int32 | None) -> Int32:
    return ONE_KEY if keys is None else read_only(keys)
