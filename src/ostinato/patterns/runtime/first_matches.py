"""LIMIT: the first matches of each partition, and no reading of what a partition brings after that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import numpy as np

from ostinato.core.arrays import Bools, Int64
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matches import Matches

_FEW, _MANY = 1 << 8, 1 << 16  # events at a time: few at first, since the limit may be reached soon


class FirstMatches:
    """How many matches each partition has given so far."""

    def __init__(self, limit: int, *, keyed: bool, skips: bool) -> None:
        """`keyed`: whether partitions are counted apart. `skips`: whether one that is full may be left out, since its
        events do not matter to others."""
        self.limit, self.keyed, self.skips = limit, keyed, skips
        self.given: Int64 = np.zeros(0 if keyed else 1, np.int64)

    @property
    def full(self) -> Bools:
        """Per key: whether it has given all it may."""
        full: Bools = self.given >= self.limit
        return full

    @property
    def done(self) -> bool:
        """Whether there is nothing more to find in the whole stream."""
        return not self.keyed and bool(self.given[0] >= self.limit)

    def pieces(self, events: Events, *, at_once: bool) -> Iterator[Events]:
        """A batch in pieces, without the partitions that are full by then; in one piece if `at_once`."""
        if self.keyed and len(self.given) < events.key_count:
            self.given = np.concatenate([self.given, np.zeros(events.key_count - len(self.given), np.int64)])
        if at_once:
            yield events
            return
        left = np.arange(len(events.codes))
        size, counted = _FEW, -1
        while not self.done:
            if self.keyed and self.skips and (now := int(np.count_nonzero(self.full))) != counted:
                left, counted = left[~self.full[events.keys[left]]], now
            yield events if size >= len(left) == len(events.codes) else events.pick(left[:size])
            left, size = left[size:], min(2 * size, _MANY)
            if not len(left):
                return

    def take(self, matches: Matches, groups: Int64, places: Int64, ranks: Sequence[int]) -> tuple[Matches, Int64]:
        """Those of the matches that still count, and the keys that are full since then.

        What is found at once is a group; in it, rows are in the order of their events: `places` has the place in the
        stream of each. `ranks` puts those of the same places in order, by their symbols 1, 2, …; other symbols do not
        count, unless there are no ranks.
        """
        keys = matches.keys if self.keyed else np.zeros(len(matches), np.int64)
        open_before = ~self.full
        order = np.lexsort((groups, keys))
        by_key, by_group = keys[order], groups[order]
        new_key = np.ones(len(order), bool)
        new_key[1:] = by_key[1:] != by_key[:-1]
        new_group = new_key.copy()
        new_group[1:] |= by_group[1:] != by_group[:-1]
        at = np.arange(len(order))
        first_of_key = np.maximum.accumulate(np.where(new_key, at, 0))
        begins = np.flatnonzero(new_group)
        ends = np.append(begins[1:], len(order))
        before = self.given[by_key[begins]] + begins - first_of_key[begins]
        kept = np.zeros(len(matches), bool)
        room = self.limit - before
        kept[order[np.repeat(ends - begins <= room, ends - begins)]] = True
        for group in np.flatnonzero((room > 0) & (ends - begins > room)).tolist():
            members = order[begins[group] : ends[group]].tolist()
            members.sort(key=lambda member: _shown_events(matches, places, member, ranks))
            kept[members[: room[group]]] = True
        self.given += np.bincount(keys[kept], minlength=len(self.given))
        return matches.pick(np.flatnonzero(kept)), np.flatnonzero(open_before & self.full)

    def keep_keys(self, kept: Int64) -> None:
        """Forget all keys but these, which are numbered anew in this order."""
        if self.keyed:
            self.given = self.given[kept]


def _shown_events(matches: Matches, places: Int64, number: int, ranks: Sequence[int]) -> tuple[list[float], list[int]]:
    """The places that the answer shows, an end being later than any place, and the ranks of their symbols."""
    events = slice(matches.offsets[number], matches.offsets[number + 1])
    if not ranks:
        return [*places[events].tolist(), inf], []
    marks = zip(places[events].tolist(), matches.symbols[events].tolist(), strict=True)
    shown = [(place, ranks[symbol - 1]) for place, symbol in marks if symbol <= len(ranks)]
    return [*(place for place, _ in shown), inf], [rank for _, rank in shown]
