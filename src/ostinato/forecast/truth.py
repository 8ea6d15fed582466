"""What really happened: at each event, how many events later the next match of its key completed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ostinato.errors import DataError
from ostinato.kernels.arrays import read_only
from ostinato.kernels.protocol import Bools, Floats, Int32, Int64

ONE_KEY: Int32 = read_only(np.empty(0, np.int32))  # stands for: all events have the same key
ONCE: Int64 = read_only(np.empty(0, np.int64))  # stands for: each is one event

_SHARE, _MANY = 1 / 20, 200  # so far ahead as this share of events can be known, or so many are, the data tell


def completions(after: Int32, completes: Bools, symbols: Int32, keys: Int32 | None, states: Int32) -> Bools:
    """Whether each event completes a match, by the tables of an automaton or product.

    `states` has the state that each key stands in and is brought up to date.
    """
    from ostinato.kernels.forecast_truth import mark_completions

    out = np.empty(len(symbols), np.bool_)
    tables = read_only(after), read_only(completes)
    done = mark_completions(*tables, read_only(symbols), _flat(keys), states, out)
    if done < len(symbols):
        raise DataError(f"symbol {symbols[done]} cannot come here: the pattern rules it out", row=done)
    return out


def waits(completes: Bools, keys: Int32 | None) -> tuple[Int32, Int32]:
    """Per event: how many events of its key until the next completion (0: none seen), and how many it has after it."""
    from ostinato.kernels.forecast_truth import count_waits

    distinct = 1 if keys is None else int(keys.max(initial=-1)) + 1
    seen, last = np.zeros(distinct, np.int32), np.full(distinct, -1, np.int32)
    wait, later = np.empty(len(completes), np.int32), np.empty(len(completes), np.int32)
    count_waits(read_only(completes), _flat(keys), seen, last, wait, later)
    return wait, later


@dataclass(frozen=True, eq=False)
class Truth:
    """What came of each event, as far as the data show.

    Of an event with no completion after it, and fewer than k events either, nobody knows whether a match completes
    within k. It is left out. But among the last events of a key those with a completion soon after are known and the
    others are not, so that leaving out alone would favour completions: with short keys, by far. Therefore events that
    are known count for those like them that are not, by the inverse of the probability to be known (Robins and
    Rotnitzky; the estimator is that of Kaplan and Meier for the ends of keys). Where no key ends early all weigh 1.
    """

    wait: Int32
    later: Int32
    times: Int64 = field(default_factory=lambda: ONCE)  # how many events each stands for

    @classmethod
    def of(cls, completes: Bools, keys: Int32 | None = None) -> Truth:
        return cls(*waits(completes, keys))

    def __len__(self) -> int:
        return len(self.wait)

    @property
    def events(self) -> int:
        return int(self.times.sum()) if len(self.times) else len(self)

    def weights(self, horizon: int) -> Floats:
        """For k = 0 … horizon, what an event counts that is known k events ahead; 0: too few go on so long to tell.

        A few events that stand for all others would decide by chance alone.
        """
        from ostinato.kernels.forecast_truth import count_ends

        completed, ended = np.zeros(horizon + 2, np.int64), np.zeros(horizon + 2, np.int64)
        count_ends(read_only(self.wait), read_only(self.later), read_only(self.times), completed, ended)
        # A completion k events ahead is seen before the key may end there.
        could_end = self.events - np.cumsum(completed) - np.concatenate([[0], np.cumsum(ended)[:-1]])
        goes_on = np.cumprod(1 - ended / np.maximum(could_end, 1))[:horizon]
        known: Floats = np.concatenate([[1.0], goes_on])
        left = np.concatenate([[self.events], (could_end - ended)[:horizon]])
        tell = (known >= _SHARE) | (left >= _MANY)
        found = np.zeros_like(known)
        np.divide(1.0, known, out=found, where=np.logical_and.accumulate(tell))
        return found

    @property
    def completions(self) -> int:
        """Completions that some event came before: neighbours share them, so there is no more evidence than these."""
        just_before = self.wait == 1
        return int(self.times[just_before].sum() if len(self.times) else np.count_nonzero(just_before))


def _flat(keys: Int32 | None) -> Int32:
    return ONE_KEY if keys is None else read_only(keys)
