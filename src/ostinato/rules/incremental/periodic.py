"""Periodic timers of a live engine: the times that end in a step are tuples that wait for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ostinato.core.arrays import Int64
from ostinato.rules.algebra.nodes import PeriodicStream
from ostinato.rules.limits import RuleLimits
from ostinato.rules.runtime.periods import Periods

ENDED = 2**62  # the time after a stream


@dataclass
class PeriodicTimers:
    """`first` is when the stream began, once time has passed it; `done` until when timers have gone off."""

    periods: Mapping[PeriodicStream, Periods]
    limits: RuleLimits
    first: int | None = None
    done: int | None = None

    def until(self, now: int, before: int, waiting: Int64) -> Iterator[tuple[PeriodicStream, Int64]]:
        """What goes off until time is `now`. It was `before`; `waiting` are the ends of events that it may pass."""
        passed = waiting[waiting <= now]
        if self.first is None:
            if not len(passed):
                return
            self.first = int(passed.min())
        done = self.first - 1 if self.done is None else self.done
        last = max(int(passed.max()), before) if len(passed) else before
        if now < ENDED:  # else it ends with its last event or the last time that was told
            last = max(last, now)
        found = {name: each.between(self.first, last, done, now, self.limits) for name, each in self.periods.items()}
        self.done = now
        yield from found.items()

    @property
    def due(self) -> int | None:
        """When the next timer goes off."""
        if self.first is None:
            return None
        done = self.first - 1 if self.done is None else self.done
        return min((each.next_end(self.first, done) for each in self.periods.values()), default=None)
