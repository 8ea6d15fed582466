"""NOT at the end of a pattern: matches wait until a deadline has passed without an event that cancels them.

Times are the pulses of a clock (core/clock.py), so that deadlines can be added up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.core.clock import MAX_TICK
from ostinato.core.deadlines import later
from ostinato.patterns.runtime.extended import Extensions
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.strategies import parts_of, select_matches
from ostinato.patterns.syntax.nodes import Strategy

Bool = npt.NDArray[np.bool_]


NEVER = MAX_TICK - 1  # a time or a place that is not known yet


@dataclass(frozen=True)
class Wait:
    """How long an event may not come after a match of a branch: `reach` pulses from its last event on (FOR), or from
    its first. With `at_once` only the next event of the same key counts.
    """

    reach: int
    from_last: bool
    at_once: bool = False
    branch: int = 0


class WaitingMatches:
    """Matches whose absences, one for each of `waits` that is of their branch, are not yet certain.

    An event decides where only the next one counts, and where a branch has no absence: its last one. Else time does.
    Those of the branches in `stops` are beginnings of matches, which stopped in this part.
    """

    def __init__(self, strategy: Strategy, waits: Sequence[Wait], stops: Mapping[int, int]) -> None:
        self.strategy, self.waits = strategy, waits
        self.stops: Int64 = np.zeros(1 + max([*stops, *(wait.branch for wait in waits)]), np.int64)
        self.stops[list(stops)] = list(stops.values())
        self.matches = Matches.none()
        self.starts: Int64 = np.zeros(0, np.int64)  # when the first event came
        self.ends: Int64 = np.zeros(0, np.int64)  # when the last one came; the event that decides, where one does
        self.branches: Int64 = np.zeros(0, np.int64)
        self.deciding: Int64 = np.zeros(0, np.int64)  # the place of the event that decides, if there is one
        self.groups: Int64 = np.zeros(0, np.int64)  # matches completed by the same event; strategies choose among them
        # Per marked event its place in the stream: strategies compare places, and positions need not be in order.
        self.places: Int64 = np.zeros(0, np.int64)
        self.next_group = 0

    def add(self, matches: Matches, branches: Int64, starts: Int64, ends: Int64, last: Int64, places: Int64) -> None:
        """New matches of the current batch, the times of their first and last events, the places of the last ones, and
        of all that they show."""
        groups = np.cumsum(np.diff(matches.origins, prepend=-1) != 0)  # they come in the order of their last events
        waits = np.isin(branches, [wait.branch for wait in self.waits])
        next_decides = np.isin(branches, [wait.branch for wait in self.waits if wait.at_once])
        ends, last = np.where(next_decides, NEVER, ends), np.where(waits, NEVER, last)
        self.branches = np.concatenate([self.branches, branches])
        self.deciding = np.concatenate([self.deciding, last])
        self.matches = Matches.concat([self.matches, matches])
        self.starts = np.concatenate([self.starts, starts])
        self.ends = np.concatenate([self.ends, ends])
        self.places = np.concatenate([self.places, places])
        self.groups = np.concatenate([self.groups, self.next_group + groups])
        self.next_group += len(matches)

    def drop_extended(self, matches: Matches, branches: Int64) -> tuple[Matches, Int64]:
        """New matches without the beginnings that others of them go beyond, and their branches; those that have waited
        are forgotten."""
        if not self.stops.any() or not len(matches):
            return matches, branches
        stops = self.stops[branches]
        extensions = Extensions(matches, stops == 0)
        self.forget(extensions.extend(self.matches, self.reached > 0))
        kept = np.flatnonzero(~extensions.extend(matches, stops > 0))
        return matches.pick(kept), branches[kept]

    @property
    def reached(self) -> Int64:
        """The part in which each stopped; 0 for a match."""
        return self.stops[self.branches]

    def deadlines(self, wait: Wait) -> Int64:
        """When each match is safe from the event of one absence: after this time."""
        return later(self.ends if wait.from_last else self.starts, wait.reach)

    @property
    def certain(self) -> Int64:
        """When each match is safe from all of them, or when the event came that decided."""
        latest = self.ends
        for branch in {wait.branch for wait in self.waits if not wait.at_once}:
            own = [self.deadlines(wait) for wait in self.waits if wait.branch == branch]
            latest = np.where(self.branches == branch, np.max(own, axis=0), latest)
        return latest

    @property
    def timed(self) -> bool:
        """Whether time decides for some of them."""
        return not all(wait.at_once for wait in self.waits)

    def of(self, wait: Wait) -> Int64:
        """The numbers of the matches that wait for it."""
        return np.flatnonzero(self.branches == wait.branch)

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
        self.forget(self._are_cancelled(self.deadlines(wait), times, keys, cancels) & (self.branches == wait.branch))

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
        """Matches that are certain now that time has reached `now` (None: its end), in the order in which they became
        so, which is in their origins now. What an event decides is certain before time has passed that event."""
        certain = self.certain
        due: Bool = np.ones(len(certain), bool) if now is None else (certain < now) | (self.deciding < NEVER)
        chosen, gone = due, due
        if self.strategy in ("NXT", "LAST", "MAX"):
            chosen, gone = self._choose(due)
        order = np.flatnonzero(chosen)
        order = order[np.lexsort((self.deciding[order], certain[order]))]
        moments = np.stack([certain[order], self.deciding[order]])
        ranks = np.cumsum(np.append(False, (moments[:, 1:] != moments[:, :-1]).any(axis=0)))[: len(order)]
        reached = self.reached[order] if self.stops.any() else None
        ready = replace(self.matches.pick(order), origins=ranks, reached=reached, completed=None, known=certain[order])
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
        gone: Bool = chosen | (np.isin(self.groups, self.groups[chosen]) & ~best)
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
        certain = self.certain[everything]
        by_time = certain[(self.deciding[everything] == NEVER) & (certain < NEVER)]
        return int(by_time.min()) if len(by_time) else None

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
        self.branches, self.deciding = self.branches[kept], self.deciding[kept]
