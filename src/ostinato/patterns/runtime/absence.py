"""NOT at the end of a pattern: matches wait until their window has passed without an event that cancels them.

Time is compared through lower bounds: the window of a match that started at tick s has passed at an event whose lower
bound is above s, and an event cancels it when its lower bound is at most s.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.strategies import parts_of, select_matches
from ostinato.patterns.syntax.nodes import Strategy

Bool = npt.NDArray[np.bool_]


class WaitingMatches:
    """Matches whose absence is not yet certain."""

    def __init__(self, strategy: Strategy) -> None:
        self.strategy = strategy
        self.matches = Matches.none()
        self.starts: Int64 = np.zeros(0, np.int64)  # tick of the first event
        self.groups: Int64 = np.zeros(0, np.int64)  # matches completed by the same event; strategies choose among them
        # Per marked event its place in the stream: strategies compare places, and positions need not be in order.
        self.places: Int64 = np.zeros(0, np.int64)
        self.next_group = 0

    def add(self, matches: Matches, starts: Int64, places: Int64) -> None:
        """New matches of the current batch, the ticks of their first events, and the places of all their events."""
        _, groups = np.unique(matches.origins, return_inverse=True)
        self.matches = Matches.concat([self.matches, matches])
        self.starts = np.concatenate([self.starts, starts])
        self.places = np.concatenate([self.places, places])
        self.groups = np.concatenate([self.groups, self.next_group + groups])
        self.next_group += len(matches)

    def read(self, lows: Int64, keys: Int64, cancels: Bool) -> Matches:
        """Let the events of a batch pass: `lows` are their lower bounds, `cancels` says which of them cancel."""
        if not len(self.matches):
            return self.matches
        cancelled = self._are_cancelled(lows, keys, np.flatnonzero(cancels))
        self._keep(~cancelled)
        return self.until(int(lows[-1])) if len(lows) else Matches.none()

    def forget(self, cancelled: Bool) -> None:
        if cancelled.any():
            self._drop(~cancelled)

    def _are_cancelled(self, lows: Int64, keys: Int64, cancels: Int64) -> Bool:
        """Whether the first cancelling event of the same key after a match lies within its window."""
        if not len(cancels):
            return np.zeros(len(self.matches), bool)
        size = len(lows) + 1
        places = np.sort(keys[cancels] * size + cancels)
        wanted = self.matches.keys * size + self.matches.origins
        at = np.searchsorted(places, wanted, side="right")
        found = at < len(places)
        place = places[np.minimum(at, len(places) - 1)]
        found &= place // size == self.matches.keys
        within: Bool = lows[place % size] <= self.starts
        return found & within

    def until(self, low: int) -> Matches:
        """Matches that are certain now that the lower bound has reached `low`, in order of their windows' ends."""
        due: Bool = self.starts < low
        chosen, gone = due, due
        if self.strategy in ("NXT", "LAST", "MAX"):
            chosen, gone = self._choose(due)
        order = np.flatnonzero(chosen)
        ready = self.matches.pick(order[np.argsort(self.starts[order], kind="stable")])
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

    def next_start(self) -> int | None:
        """The tick that the lower bound must pass before some match is certain; None when nothing waits."""
        if not len(self.matches):
            return None
        everything = np.arange(len(self.matches))
        if self.strategy in ("NXT", "LAST", "MAX"):
            everything = select_matches(self.strategy, everything, self.groups, self.matches.offsets, self.places)
        return int(self.starts[everything].min())

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
        self.starts, self.groups = self.starts[kept], self.groups[kept]
