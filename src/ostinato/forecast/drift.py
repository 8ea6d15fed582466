"""An alarm for when the stream is no longer the one that was learned: events have become less expected.

Page's cumulative sum over the log-loss: what each event costs more than expected, less a slack, adds up, and never
falls below zero. Chance keeps the sum low; a lasting change makes it grow until it rings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ostinato.errors import DataError

_LARGEST = 100.0  # nats: what was never observed has no probability and an endless loss
_LEAST_SPREAD = 1e-3  # nats; a stream without any chance would ring at the first rounding error


@dataclass(frozen=True)
class Drift:
    """It rang after `at` events; the change began after about `since`, and events cost `excess` more since then."""

    at: int
    since: int
    excess: float  # mean log-loss since, less the expected

    def __str__(self) -> str:
        return (
            f"drift: the log-loss is {self.excess:+.3f} per event since about event {self.since:,} "
            f"(noticed at event {self.at:,})"
        )


@dataclass
class DriftAlarm:
    """Watches the mean log-loss of batches; starts anew after each alarm.

    `slack` and `limit` are in units of `spread`: a change of less than the slack is let pass, and the sum over events
    of what exceeds it rings at the limit. A change twice the slack is noticed after about limit / slack events.
    """

    expected: float
    spread: float
    slack: float = 0.1
    limit: float = 100.0
    events: int = 0
    level: float = 0.0
    since: int = 0  # events before the sum last left zero
    cost: float = 0.0  # log-loss beyond the expected since then
    last: Drift | None = None

    @classmethod
    def of(cls, losses: Sequence[float], events: Sequence[int], slack: float = 0.1, limit: float = 100.0) -> DriftAlarm:
        """From the mean log-loss of consecutive batches of held-out events, and how many events each has.

        Some thirty batches are enough. Losses of neighbouring events go together, so means of batches vary more than
        those of independent events would; they tell the spread as it matters here, scaled to one event.
        """
        means, sizes = np.asarray(losses, np.float64), np.asarray(events, np.float64)
        if not sizes.sum() > 0 or not np.isfinite(means).all():
            raise DataError("a drift alarm needs the log-loss of held-out events", fix="hold out more events")
        expected = float(means @ sizes / sizes.sum())
        spread = math.sqrt(float(np.mean(sizes * (means - expected) ** 2)))
        return cls(expected, max(spread, _LEAST_SPREAD), slack, limit)

    def step(self, loss: float, events: int) -> Drift | None:
        """The alarm, if this batch of so many events with this mean log-loss rings it."""
        if not events:
            return None
        if self.level == 0:
            self.since, self.cost = self.events, 0.0
        self.events += events
        loss = min(loss, _LARGEST)
        self.cost += (loss - self.expected) * events
        most = self.expected + (self.slack + self.limit) * self.spread
        self.level = max(0.0, self.level + ((min(loss, most) - self.expected) / self.spread - self.slack) * events)
        if self.level < self.limit * (1 - 1e-9):
            return None
        self.last = Drift(self.events, self.since, self.cost / (self.events - self.since))
        self.level = 0.0
        return self.last

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> DriftAlarm:
        last = state["last"]
        return cls(**{**state, "last": None if last is None else Drift(**last)})
