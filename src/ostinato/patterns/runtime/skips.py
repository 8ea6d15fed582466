"""AFTER MATCH SKIP TO …: matches are taken in order, and each says where later ones of its partition may begin.

Under a window that is decided of complete matches. Without one, matches may have begun anywhere, so what is skipped is
taken for the window. Where the matcher decides itself (kernels/completed_skips.py), it reads on; else it stops at every
event that completes some.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from ostinato.core.arrays import Bools, Int64
from ostinato.core.stopwatch import Stopwatch
from ostinato.patterns.kernels.protocol import CONSUME_ASK, CONSUME_SKIP, SYMBOL_BITS
from ostinato.patterns.kernels.skips import take_unskipped
from ostinato.patterns.runtime.batches import Chunk, Events
from ostinato.patterns.runtime.direct import Direct
from ostinato.patterns.runtime.matcher import Matcher
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.strategies import select_matches
from ostinato.patterns.syntax.nodes import Skip, Strategy

_CHOOSING = ("NXT", "LAST", "MAX")
_PIECE = 256  # events at a time: each match says of so many at most that an earlier beginning does not count


class Skips:
    """Where later matches of each partition may begin, as places in the stream."""

    def __init__(self, skip: Skip, strategy: Strategy, symbols: frozenset[int], *, keyed: bool, narrows: bool) -> None:
        """`symbols` are those of the variable to skip to. `keyed`: whether partitions are told apart. `narrows`:
        whether partial matches that began too early are dropped, by a window from where later matches may begin."""
        self.skip, self.strategy, self.keyed, self.narrows = skip, strategy, keyed, narrows
        self.named: Bools = np.zeros(1 << SYMBOL_BITS, np.bool_)  # by symbol
        self.named[list(symbols)] = True
        self.bars: Int64 = np.zeros(0 if keyed else 1, np.int64)

    def pieces(self, events: Events) -> Iterator[Events]:
        """A batch as a whole; or in pieces, each with what is skipped so far: while it is read, `take` says more."""
        if self.keyed and len(self.bars) < events.key_count:
            self.bars = np.concatenate([self.bars, np.zeros(events.key_count - len(self.bars), np.int64)])
        if not self.narrows:
            yield events
            return
        for begin in range(0, max(1, len(events.codes)), _PIECE):
            piece = events.pick(np.arange(begin, min(begin + _PIECE, len(events.codes))))
            bars = self.bars[piece.keys] if self.keyed else np.full(len(piece.codes), self.bars[0])
            yield replace(piece, lows=bars)

    def can_read_on(self, matcher: Matcher) -> bool:
        """Whether the matcher itself can decide, of events whose positions are their places."""
        return self.narrows and self.strategy not in ("LAST", "MAX") and isinstance(matcher, Direct)

    def read_on(self, matcher: Matcher, events: Events) -> Iterator[Chunk]:
        """Let the matcher decide, but of events that complete very many: then it is `undecided`."""
        assert isinstance(matcher, Direct)
        state, known = matcher.state, len(self.bars)
        state.update(
            consume=CONSUME_SKIP,
            skipped_to=self.named,
            to_first=int(self.skip.to == "FIRST"),
            chosen_next=int(self.strategy == "NXT"),
        )
        state.key_count[:known] = self.bars[: len(state.key_count)]
        for chunk in matcher.run(events):
            if matcher.undecided:
                self.bars[:] = state.key_count[:known]
                yield chunk
                state.key_count[:known] = self.bars
            else:
                yield chunk
        self.bars[:] = state.key_count[:known]
        state.update(consume=CONSUME_ASK)

    def take(self, matches: Matches, places: Int64, events: Events, clock: Stopwatch) -> Matches:
        """Of all matches that some of the events complete, those that are not skipped. `places` are of their events."""
        keys = matches.keys if self.keyed else np.zeros(len(matches), np.int64)
        firsts = places[matches.offsets[:-1]]
        named = self.named[matches.symbols]
        taken = np.zeros(len(matches), np.bool_)
        for group in self._groups(np.lexsort((firsts, matches.origins)), matches.origins):
            chosen = group
            if self.strategy in _CHOOSING:
                chosen = group[firsts[group] >= self.bars[keys[group[0]]]]
                chosen = select_matches(self.strategy, chosen, matches.origins, matches.offsets, places, clock)
                chosen = chosen[np.argsort(firsts[chosen], kind="stable")]
            to_first = int(self.skip.to == "FIRST")
            marked = (matches.origins, keys, matches.offsets, places, named)
            take_unskipped(chosen, *marked, to_first, self.bars, taken)
        if self.narrows and len(matches):  # of one event
            origin, key = int(matches.origins[0]), int(keys[0])
            later = events.lows[origin + 1 :]
            later[events.keys[origin + 1 :] == key if self.keyed else slice(None)] = self.bars[key]
        return matches if taken.all() else matches.pick(np.flatnonzero(taken))

    def _groups(self, order: Int64, origins: Int64) -> Sequence[Int64]:
        """All at once, or where a strategy chooses among those that are not skipped, event by event."""
        if self.strategy not in _CHOOSING:
            return [order]
        return np.split(order, np.flatnonzero(np.diff(origins[order])) + 1) if len(order) else []

    def keep_keys(self, kept: Int64) -> None:
        """Forget all keys but these, which are numbered anew in this order. What is forgotten has no partial matches,
        so that all its matches begin later anyway."""
        if self.keyed:
            known = kept < len(self.bars)
            bars = np.zeros(len(kept), np.int64)
            bars[known] = self.bars[kept[known]]
            self.bars = bars
