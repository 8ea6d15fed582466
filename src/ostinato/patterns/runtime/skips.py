"""AFTER MATCH SKIP TO …: matches are taken one by one, and each says where later ones of its partition may begin."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.stopwatch import Stopwatch
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.strategies import select_matches
from ostinato.patterns.syntax.nodes import Skip, Strategy

_PIECE = 256  # events at a time: each match says of so many at most that an earlier beginning does not count


class Skips:
    """Where later matches of each partition may begin, as places in the stream."""

    def __init__(self, skip: Skip, strategy: Strategy, symbols: frozenset[int], *, keyed: bool, narrows: bool) -> None:
        """`symbols` are those of the variable to skip to. `keyed`: whether partitions are told apart. `narrows`:
        whether partial matches that began too early are dropped, by a window from where later matches may begin."""
        self.skip, self.strategy, self.symbols, self.keyed, self.narrows = skip, strategy, symbols, keyed, narrows
        self.bars: Int64 = np.zeros(0 if keyed else 1, np.int64)

    def pieces(self, events: Events) -> Iterator[Events]:
        """A batch in pieces, each with what is skipped so far. While a piece is read, `take` says more."""
        if self.keyed and len(self.bars) < events.key_count:
            self.bars = np.concatenate([self.bars, np.zeros(events.key_count - len(self.bars), np.int64)])
        for begin in range(0, max(1, len(events.codes)), _PIECE):
            piece = events.pick(np.arange(begin, min(begin + _PIECE, len(events.codes))))
            if self.narrows:
                bars = self.bars[piece.keys] if self.keyed else np.full(len(piece.codes), self.bars[0])
                piece = replace(piece, lows=bars)
            yield piece

    def take(self, matches: Matches, places: Int64, events: Events, clock: Stopwatch) -> Matches:
        """Of the matches that one of the events completes, those that are not skipped. `places` are of their events."""
        origin, key = int(matches.origins[0]), int(matches.keys[0]) if self.keyed else 0
        bar = int(self.bars[key])
        group = np.flatnonzero(places[matches.offsets[:-1]] >= bar)
        if self.strategy in ("NXT", "LAST", "MAX"):
            group = select_matches(self.strategy, group, matches.origins, matches.offsets, places, clock)
        same: dict[tuple[int, ...], list[int]] = {}  # one complex event may be found by several labellings
        for number in group.tolist():
            event = tuple(places[matches.offsets[number] : matches.offsets[number + 1]].tolist())
            same.setdefault(event, []).append(number)
        taken: list[int] = []
        for event in sorted(same):
            if event[0] >= bar:
                taken += same[event]
                bar = max(bar, *(self._bar(matches, places, number) for number in same[event]))
        self.bars[key] = bar
        if self.narrows:
            later = events.lows[origin + 1 :]
            later[events.keys[origin + 1 :] == key if self.keyed else slice(None)] = bar
        return matches.pick(np.array(sorted(taken), np.int64))

    def _bar(self, matches: Matches, places: Int64, number: int) -> int:
        """Where later matches may begin after this one: behind its first event at least."""
        events = slice(matches.offsets[number], matches.offsets[number + 1])
        own = places[events]
        after = int(own[0]) + 1
        named = own[np.isin(matches.symbols[events], list(self.symbols))] if self.symbols else own[:0]
        if not len(named):
            return after
        return max(after, int(named[0] if self.skip.to == "FIRST" else named[-1]))

    def keep_keys(self, kept: Int64) -> None:
        """Forget all keys but these, which are numbered anew in this order. What is forgotten has no partial matches,
        so that all its matches begin later anyway."""
        if self.keyed:
            known = kept < len(self.bars)
            bars = np.zeros(len(kept), np.int64)
            bars[known] = self.bars[kept[known]]
            self.bars = bars
