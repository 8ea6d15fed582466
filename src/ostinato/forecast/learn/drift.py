"""An alarm for when the stream has changed: events have become more surprising, or less, intervals no longer hold as
often as they promise, or a model of the new events alone is better than one of everything.

Page's cumulative sums: by how much each event costs more than expected, minus a slack, is added up, and never falls
below zero. Chance keeps the sum low; a lasting change makes it grow until it rings. The same is done with how much less
events cost, and with how often intervals miss. Some changes, such as a new order among events that came in any order
before, show in the last way only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ostinato.errors import DataError
from ostinato.forecast.learn.loss import log_loss
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.symbols.reader import SymbolBatch

BATCHES = 30  # of held-out events, whose losses tell how much a batch may cost
_LARGEST = 100.0  # nats: what was never observed has no probability and an endless loss
_LEAST_SPREAD = 0.02  # nats; where chance is less, a model that goes on learning changes more than that
# Per completion, in units of what chance does: intervals that hold a little less often than promised are let pass.
_MISSED_SLACK, _MISSED_LIMIT = 0.25, 20.0
_LEAST_CHANCE = 0.1
_DOUBT = 2.0  # times its standard error the expected loss may be off
_FEWEST, _CERTAIN = 4, 5.0  # events in a part of a batch, and times its standard error, that a gain must have


@dataclass(frozen=True)
class Drift:
    """The alarm rang after `at` events; the change began after about `since`.

    `of` says what changed. "log-loss": events cost `excess` more than expected since then; "coverage": intervals hold
    less often than they promise, by `excess`; "past": without everything learned before, events cost `excess` less.
    """

    at: int
    since: int
    excess: float
    of: Literal["log-loss", "coverage", "past"] = "log-loss"

    def __str__(self) -> str:
        reasons = {
            "log-loss": f"the log-loss is {self.excess:+.3f} per event",
            "coverage": f"intervals hold {self.excess:.1%} less often than they promise",
            "past": f"what was learned before costs {self.excess:.3f} log-loss per event",
        }
        return f"drift: {reasons[self.of]} since about event {self.since:,} (noticed at event {self.at:,})"


@dataclass
class PageSum:
    """`slack` and `limit` are in units of chance: less than the slack is ignored, and the sum of what exceeds it rings
    at the limit. A change of twice the slack is noticed after a count of about limit / slack."""

    slack: float
    limit: float
    level: float = 0.0
    since: int = 0  # events before the sum last left zero
    cost: float = 0.0  # what was added since then
    counted: float = 0.0

    def step(self, excess: float, count: float, events: int, doubt: float = 0.0) -> bool:
        """Whether so many with this mean excess ring; `events` came before. `doubt` is how far off it may be."""
        if self.level == 0:
            self.since, self.cost, self.counted = events, 0.0, 0.0
        self.cost += excess * count
        self.counted += count
        self.level = max(0.0, self.level + min(excess - self.slack - doubt, self.limit) * count)
        return self.level >= self.limit * (1 - 1e-9)

    @property
    def mean(self) -> float:
        return self.cost / self.counted


@dataclass
class DriftAlarm:
    """Watches the mean log-loss of batches, and how often intervals hold; starts anew after each alarm."""

    expected: float
    spread: float
    weight: float  # events that the expected loss rests on
    slack: float = 0.1
    limit: float = 100.0
    events: int = 0
    learning: float = 0.0  # how much the last learning changed the loss: the next may change it as much
    past: float = 0.0  # how much better a model without the past may be
    above: PageSum = field(init=False)
    below: PageSum = field(init=False)
    missed: PageSum = field(init=False)
    last: Drift | None = None

    def __post_init__(self) -> None:
        self._begin_anew()

    @classmethod
    def of(cls, losses: Sequence[float], events: Sequence[int], slack: float = 0.1, limit: float = 100.0) -> DriftAlarm:
        """From the mean log-loss of consecutive batches of held-out events, and how many events each has."""
        return cls(*_estimate_loss(losses, events), slack, limit)

    def step(self, loss: float, events: int) -> Drift | None:
        """The alarm, if this batch of so many events with this mean log-loss rings it.

        The expected loss is the mean of all batches since the last alarm: a few held-out events give only a rough idea
        of it, and the model goes on learning.
        """
        if not events:
            return None
        loss = min(loss, _LARGEST)
        excess, before = loss - self.expected, self.events
        self.events += events
        doubt = _DOUBT / math.sqrt(self.weight)
        for sign, each, more in ((1, self.above, 0.0), (-1, self.below, self.learning / self.spread)):
            if each.step(sign * excess / self.spread, events, before, doubt + more):
                return self._ring(Drift(self.events, each.since, sign * self.spread * each.mean))
        self.weight += events
        self.expected += excess * events / self.weight
        return None

    def step_intervals(self, promised: float, coverage: float, completions: float, events: int) -> Drift | None:
        """The alarm, if the intervals before so many completions of the last batch held too seldom."""
        if not completions > 0 or math.isnan(coverage):
            return None
        chance = max(math.sqrt(promised * (1 - promised)), _LEAST_CHANCE)
        if not self.missed.step((promised - coverage) / chance, completions, self.events - events):
            return None
        return self._ring(Drift(self.events, self.missed.since, chance * self.missed.mean, "coverage"))

    def step_past(self, gains: Sequence[float], events: Sequence[int]) -> Drift | None:
        """The alarm, if the last batch, in parts of so many events, costs so much less without everything before it.

        What it rang for once is expected from then on: it takes a while until newer events outweigh older ones.
        """
        if sum(events) < _FEWEST * BATCHES:
            return None
        gain, spread, count = _estimate_loss(gains, events)
        if gain - self.past <= _CERTAIN * spread / math.sqrt(count):
            self.past = min(self.past, max(gain, 0.0))
            return None
        self.past = gain
        return self._ring(Drift(self.events, self.events - int(count), gain, "past"))

    def record_learning(self, change: float, *, shift: bool) -> None:
        """The model has learned, and events now cost so much more or less; `shift`: expect this from now on."""
        self.learning = abs(change)
        self.expected += change if shift else 0.0

    def expect(self, losses: Sequence[float], events: Sequence[int]) -> None:
        """What it rang for has been learned, and batches cost this now: the next change is measured from here."""
        self.expected, self.spread, self.weight = _estimate_loss(losses, events)

    def _ring(self, drift: Drift) -> Drift:
        self.last = drift
        self._begin_anew()
        return drift

    def _begin_anew(self) -> None:
        self.above, self.below = PageSum(self.slack, self.limit), PageSum(self.slack, self.limit)
        self.missed = PageSum(_MISSED_SLACK, _MISSED_LIMIT)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> DriftAlarm:
        sums = {name: PageSum(**state[name]) for name in ("above", "below", "missed")}
        last = None if state["last"] is None else Drift(**state["last"])
        found = cls(**{name: value for name, value in state.items() if name not in (*sums, "last")}, last=last)
        for name, each in sums.items():
            setattr(found, name, each)
        return found


def _estimate_loss(losses: Sequence[float], events: Sequence[int]) -> tuple[float, float, float]:
    """The mean, the spread of one event, and how many there are.

    Some thirty batches are enough. Losses of neighbouring events go together, so means of batches vary more than those
    of independent events would; they tell the spread as it matters here, scaled to one event.
    """
    means, sizes = np.asarray(losses, np.float64), np.asarray(events, np.float64)
    if not sizes.sum() > 0 or not np.isfinite(means).all():
        raise DataError("a drift alarm needs the log-loss of held-out events", fix="hold out more events")
    expected = float(means @ sizes / sizes.sum())
    spread = math.sqrt(float(np.mean(sizes * (means - expected) ** 2)))
    return expected, max(spread, _LEAST_SPREAD), float(sizes.sum())


def batch_losses(tree: SuffixTree, read: SymbolBatch) -> tuple[list[float], list[int]]:
    """The mean log-loss of events in batches, and the sizes of these."""
    ends = np.linspace(0, len(read.symbols), BATCHES + 1).astype(int).tolist()
    parts = [read.part(begin, end) for begin, end in pairwise(ends) if begin < end]
    return [log_loss(tree, part.symbols, part.keys) for part in parts], [len(part.symbols) for part in parts]
