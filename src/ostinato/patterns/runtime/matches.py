"""Complete matches as columns, between the kernel and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Int32, Int64
from ostinato.patterns.kernels.match_ends import read_ends
from ostinato.patterns.kernels.protocol import SYMBOL_BITS
from ostinato.patterns.runtime.batches import Chunk, Events

_SYMBOL_MASK = (1 << SYMBOL_BITS) - 1


@dataclass(frozen=True)
class Matches:
    """`offsets` cut the marked events (`positions`, `symbols`) into matches; `keys` are their partitions.

    `origins` say which event of the current batch completed each match, -1 for one completed earlier. `reached` is the
    part in which each stopped, 0 where it is complete; None: all are. Where that is asked for, `completed` are the
    positions of the events that completed them, and `known` says when those that waited were certain, in pulses.
    """

    positions: Int64
    symbols: Int64
    offsets: Int64
    keys: Int64
    origins: Int64
    reached: Int64 | None = None
    completed: Int64 | None = None
    known: Int64 | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @staticmethod
    def none() -> Matches:
        empty = np.zeros(0, np.int64)
        return Matches(empty, empty, np.zeros(1, np.int64), empty, empty)

    @staticmethod
    def unpack(chunk: Chunk, events: Events, *, symbols: bool = True, completed: bool = False) -> Matches:
        """The matches that some of these events complete; the positions take the place of the chunk's values. Without
        `symbols` there are none: most answers do not tell them; nor which events `completed` them."""
        found = chunk.values & _SYMBOL_MASK if symbols else np.zeros(0, np.int64)
        positions = np.right_shift(chunk.values, SYMBOL_BITS, out=chunk.values)
        by = events.positions_at(chunk.origins) if completed else None
        keys = events.keys_at(chunk.origins)
        return Matches(positions, found, chunk.offsets, keys, chunk.origins, completed=by)

    @staticmethod
    def of(chunk: Chunk, keys: Int64) -> Matches:
        """Matches in these partitions."""
        positions, symbols = chunk.values >> SYMBOL_BITS, chunk.values & _SYMBOL_MASK
        return Matches(positions, symbols, chunk.offsets, keys, chunk.origins)

    @staticmethod
    def concat(parts: Sequence[Matches]) -> Matches:
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return Matches.none()
        shifts = np.cumsum([0] + [len(part.positions) for part in parts])
        offsets = [part.offsets[1:] + shift for part, shift in zip(parts, shifts, strict=False)]
        return Matches(
            np.concatenate([part.positions for part in parts]),
            np.concatenate([part.symbols for part in parts]),
            np.concatenate([np.zeros(1, np.int64), *offsets]),
            np.concatenate([part.keys for part in parts]),
            np.concatenate([part.origins for part in parts]),
            completed=_concat_known([part.completed for part in parts]),
        )

    @property
    def lengths(self) -> Int64:
        return np.diff(self.offsets)

    @property
    def rows(self) -> Int64:
        """For every marked event the number of its match."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def ends(self) -> tuple[Int64, Int64, Int32]:
        """The first and the last position of each match, and the offsets in 32 bits. No match is empty."""
        first, last = np.empty(len(self), np.int64), np.empty(len(self), np.int64)
        offsets = np.empty(len(self) + 1, np.int32)
        read_ends(self.positions, self.offsets, first, last, offsets)
        return first, last, offsets

    @property
    def first(self) -> Int64:
        """Position of the first event of each match."""
        return self.positions[self.offsets[:-1]]

    @property
    def last(self) -> Int64:
        return self.positions[self.offsets[1:] - 1]

    def pick(self, chosen: Int64) -> Matches:
        """The matches at some indices, in that order."""
        lengths = self.lengths[chosen]
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        inner = (
            np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths) + np.repeat(self.offsets[:-1][chosen], lengths)
        )
        reached, completed, known = (
            None if more is None else more[chosen] for more in (self.reached, self.completed, self.known)
        )
        keys, origins = self.keys[chosen], self.origins[chosen]
        return Matches(self.positions[inner], self.symbols[inner], offsets, keys, origins, reached, completed, known)

    def part(self, begin: int, end: int) -> Matches:
        """The matches from one index up to another, not copied."""
        first, last = self.offsets[begin], self.offsets[end]
        return Matches(
            self.positions[first:last],
            self.symbols[first:last],
            self.offsets[begin : end + 1] - first,
            self.keys[begin:end],
            self.origins[begin:end],
            completed=None if self.completed is None else self.completed[begin:end],
        )

    def of_symbols(self, symbols: Sequence[int]) -> tuple[Int64, Int64]:
        """Offsets and positions of the events marked with one of the symbols."""
        wanted = self.symbols == symbols[0] if len(symbols) == 1 else np.isin(self.symbols, symbols)
        counts = np.bincount(self.rows[wanted], minlength=len(self))
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]).astype(np.int64), self.positions[wanted]


def _concat_known(parts: Sequence[Int64 | None]) -> Int64 | None:
    """What all of the parts know."""
    known = [part for part in parts if part is not None]
    return np.concatenate(known) if len(known) == len(parts) else None
