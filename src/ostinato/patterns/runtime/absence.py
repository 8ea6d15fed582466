"""NOT at the end of a pattern: matches wait until a deadline has passed without an event that cancels them.

Times are the pulses of a clock (core/clock.py), so that deadlines can be added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.core.deadlines import later
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.strategies import parts_of, select_matches
from ostinato.patterns.syntax.nodes import Strategy

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Wait:
    """How long an event may not come: `reach` pulses from the last event of the match on (FOR), or from the first.

    With `at_once` only the next event of the same key counts. Times are then places in the stream: that of the next
    event, once it is known.
    """

    reach: int
    from_last: bool
    at_once: bool = False


class WaitingMatches:
    """Matches whose absences, one for each of `waits`, are not yet certain."""

    def __init__(self, strategy: Strategy, waits: Sequence[Wait]) -> None:
        self.strategy, self.waits = strategy, waits
        self.matches = Matches.none()
        self.starts: Int64 = np.zeros(0, np.int64)  # when the first event came
        self.ends: Int64 = np.zeros(0, np.int64)  # when the last one came
        self.groups: Int64 = np.zeros(0, np.int64)  # matches completed by the same event; strategies choose among them
        # Per marked event its place in the stream: strategies compare places, and positions need not be in order.
        self.places: Int64 = np.zeros(0, np.int64)
        self.next_group = 0

    def add(self, matches: Matches, starts: Int64, ends: Int64, places: Int64) -> None:
        """New matches of the current batch, the times of their first and last events, and the places of all of them."""
        _, groups = np.unique(matches.origins, return_inverse=True)
        self.matches = Matches.concat([self.matches, matches])
        self.starts = np.concatenate([self.starts, starts])
        self.ends = np.concatenate([self.ends, ends])
        self.places = np.concatenate([self.places, places])
        self.groups = np.concatenate([self.groups, self.next_group + groups])
        self.next_group += len(matches)

    def deadlines(self, wait: Wait) -> Int64:
        """When each match is safe from the event of one absence: after this time."""
        return later(self.ends if wait.from_last else self.starts, wait.reach)

    @property
    def certain(self) -> Int64:
        """When each match is safe from all of them."""
        latest: Int64 = np.max([self.deadlines(wait) for wait in self.waits], axis=0)
        return latest

    @property
    def timed(self) -> bool:
        """Whether time decides, and not the next event."""
        return not any(wait.at_once for wait in self.waits)

    def next_events(self, keys: Int64) -> Int64:
        """The first event of the batch after each match that has its key; as many as there are, where there is none."""
        size = len(keys) + 1
        order = np.argsort(keys, kind="stable")
        places = keys[order] * size + order
        at = np.searchsorted(places, self.matches.keys * size + self.matches.origins, side="right")
        place = np.append(places, -1)[at]
        return np.where(place // size == self.matches.keys, place % size, len(keys))

    def cancel(self, wait: Wait, times: Int64, keys: Int64, cancels: Int64) -> None:
        """Forget the matches that one of the events `cancels`, indices into `times` and `keys`, comes too early for."""
        self.forget(self._are_cancelled(self.deadlines(wait), times, keys, cancels))

    def forget(self, cancelled: Bool) -> None:
        if cancelled.any():
            self._drop(~cancelled)

    def _are_cancelled(self, deadlines: Int64, times: Int64, keys: Int64, cancels: Int64) -> Bool:
        """Whether the first cancelling event of the same key after a match comes before the deadline."""
        if not len(cancels) or not len(self.matches):
            return np.zeros(len(self.matches), bool)
        size = len(times) + 1
        places = np.sort(keys[cancels] * size + cancels)
        wanted = self.matches.keys * size + self.matches.origins
        at = np.searchsorted(places, wanted, side="right")
        found = at < len(places)
        place = places[np.minimum(at, len(places) - 1)]
        found &= place // size == self.matches.keys
        within: Bool = times[place % size] <= deadlines
        return found & within

    def until(self, now: int | None) -> Matches:
        """Matches that are certain now that time has reached `now` (None: its end), in order of their deadlines, which
        are their origins now."""
        certain = self.certain
        due: Bool = np.ones(len(certain), bool) if now is None else certain < now
        chosen, gone = due, due
        if self.strategy in ("NXT", "LAST", "MAX"):
            chosen, gone = self._choose(due)
        order = np.flatnonzero(chosen)
        order = order[np.argsort(certain[order], kind="stable")]
        ready = replace(self.matches.pick(order), origins=certain[order])
        self._keep(~gone)
        return ready

    def _choose(self, due: Bool) -> tuple[Bool, Bool]:
        """Which matches the strategy chooses for good, and which are out of the question from now on.

        It chooses among all that still wait: a match that is due must wait for a better one to be cancelled, but none
        for a worse one. Once a match is chosen, those that it beats need not wait for their windows.
        """
        rivals = np.flatnonzero(np.isin(self.groups, self.groups[due]))
        best = np.zeros(len(due), bool)
        best[select_matches(self.strategy, rivals, self.groups, self.matches.offsets, self.places)] = True
        chosen: Bool = best & due
        gone: Bool = np.isin(self.groups, self.groups[chosen])
        if self.strategy == "MAX":  # which may choose several of a group
            beaten = np.flatnonzero(gone & ~best)
            gone = chosen.copy()
            gone[parts_of(np.flatnonzero(chosen), beaten, self.groups, self.matches.offsets, self.places)] = True
        return chosen, gone

    def next_deadline(self) -> int | None:
        """The time that must pass before some match is certain; None when nothing waits."""
        if not len(self.matches):
            return None
        everything = np.arange(len(self.matches))
        if self.strategy in ("NXT", "LAST", "MAX"):
            everything = select_matches(self.strategy, everything, self.groups, self.matches.offsets, self.places)
        return int(self.certain[everything].min())

    def renumber(self, kept: Int64) -> None:
        """Keys have new numbers: `kept` are the old ones, in order."""
        self.matches = replace(self.matches, keys=np.searchsorted(kept, self.matches.keys))

    def _keep(self, kept: Bool) -> None:
        """Only these go on to the next batch."""
        self._drop(kept)
        self.matches = replace(self.matches, origins=np.full(len(self.matches), -1, np.int64))

    def _drop(self, kept: Bool) -> None:
        self.places = self.places[kept[self.matches.rows]]
        self.matches = self.matches.pick(np.flatnonzero(kept))
        self.starts, self.ends, self.groups = self.starts[kept], self.ends[kept], self.groups[kept]
