"""Periodic timers: which times they have over a stream.

Time is cut into periods of one length, from the epoch on. Those from the first event's to the last one's are the times
of `timer:tumbling`, each up to a tick before the next, and `timer:every` goes off when each of them is over. The time
of an event is its end. Live, time that `advance` tells counts as an event does, so timers go on with the clock; but
nothing is made before an event or `advance` has come, and not more than a limit at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.errors import Limit, LimitError, Message
from ostinato.rules.algebra.nodes import PeriodicStream
from ostinato.rules.limits import RuleLimits


@dataclass(frozen=True)
class Periods:
    """`ticks` is the length of a period."""

    stream: PeriodicStream
    ticks: int

    @property
    def gap(self) -> int:
        """How many ticks before the next period the timer ends."""
        return 1 if self.stream.kind == "tumbling" else 0

    def between(self, first: int, last: int, after: int, up_to: int, limits: RuleLimits) -> Int64:
        """Begin and end of each time that ends after `after` and up to `up_to`, of a stream from `first` to `last`."""
        low = max(first // self.ticks, (after + self.gap) // self.ticks)
        high = min(last // self.ticks, (up_to + self.gap) // self.ticks - 1)
        if high - low >= limits.periods:
            raise LimitError(
                "periods",
                limits.periods,
                reason=f"timer:{self.stream.kind} would go off {high - low + 1:,} times at once",
                fix=Message(
                    "see whether a time of the events is wrong, or allow more: ", Limit("periods", "RuleLimits")
                ),
            )
        ends = np.arange(low + 1, high + 2, dtype=np.int64) * self.ticks
        begins = ends - self.ticks if self.gap else ends
        return np.stack([begins, ends - self.gap], axis=1)

    def next_end(self, first: int, after: int) -> int:
        """When it goes off next, as long as time goes on."""
        return (max(first // self.ticks, (after + self.gap) // self.ticks) + 1) * self.ticks - self.gap

    def of_events(self, events: pa.Table, limits: RuleLimits) -> pa.Table:
        """All times over a stream of these events."""
        first, last = (pc.min_max(events["end"])[side].as_py() for side in ("min", "max"))
        found = np.zeros((0, 2), np.int64)
        if first is not None:
            found = self.between(first, last, first - 1, (last // self.ticks + 1) * self.ticks, limits)
        return pa.table({"begin": found[:, 0], "end": found[:, 1]})
