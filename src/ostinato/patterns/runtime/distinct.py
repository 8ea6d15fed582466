"""Gives each answer once: where SELECT leaves out variables, different complex events can look the same."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ostinato.core.arrays import Int32, Int64
from ostinato.patterns.kernels.fingerprints import FIRST, HIGH, LOW, find_fresh, place_fingerprints
from ostinato.patterns.runtime.matches import Matches

_ROOM = 256
_HALF = 1 << 64
_REACHED = 1 << 50  # no position: those are of events


def _with_reached(matches: Matches) -> Matches:
    """With one more event in each, which stands for the part in which it stopped."""
    assert matches.reached is not None
    ends = matches.offsets[1:]
    offsets = matches.offsets + np.arange(len(matches.offsets))
    positions = np.insert(matches.positions, ends, _REACHED + matches.reached)
    return replace(matches, positions=positions, symbols=np.insert(matches.symbols, ends, 1), offsets=offsets)


class Distinct:
    """Remembers answers by a 128-bit fingerprint, and forgets them when their window has passed.

    An answer can come again only from a match that starts no later than its first shown event. Once that event is
    older than the window, its fingerprint is not needed any more.
    """

    KERNELS: ClassVar[tuple[Any, ...]] = (find_fresh, place_fingerprints)

    def __init__(self) -> None:
        self._seen: Int64 = np.empty((_ROOM, 3), np.int64)
        self._slots: Int32 = np.full(2 * _ROOM, -1, np.int32)
        self._size = 0

    def only_new(self, matches: Matches, alike: Sequence[int]) -> Matches:
        """The matches whose events with symbols that are shown (none: whose events, whatever their symbols) were not
        given before, the first of each kind. `alike` are those symbols, 1 and up, as what each is shown."""
        given = matches
        if not alike:
            given = replace(matches, symbols=np.ones_like(matches.symbols))
        elif len(set(alike)) < len(alike):
            hidden = len(alike) + 1
            shown = np.array([hidden, *alike, hidden], np.int64)[np.minimum(matches.symbols, hidden)]
            given = replace(matches, symbols=shown)
        return matches.pick(self._fresh(given if matches.reached is None else _with_reached(given), len(alike) or 1))

    def _fresh(self, matches: Matches, shown: int) -> Int64:
        fresh: Int64 = np.empty(len(matches), np.int64)
        counts: Int64 = np.array([self._size, 0], np.int64)
        marked = (matches.positions, matches.symbols, matches.offsets)
        done = 0
        while True:
            done = find_fresh(*marked, shown, done, fresh, self._slots, self._seen, counts)
            self._size = int(counts[0])
            if done == len(matches):
                return fresh[: counts[1]]
            self._keep(self._seen[: self._size])

    def forget_before(self, position: int) -> None:
        """Drop fingerprints whose first shown event lies before a position that no later match can reach back to."""
        first = self._seen[: self._size, FIRST]
        self._keep(self._seen[: self._size][(first < 0) | (first >= position)])

    def forget_all(self) -> None:
        if self._size:
            self._keep(self._seen[:0])

    def _keep(self, kept: Int64) -> None:
        """Only these, with room for as many more."""
        room = _ROOM
        while room < 2 * len(kept):
            room *= 2
        seen: Int64 = np.empty((room, 3), np.int64)
        seen[: len(kept)] = kept
        self._seen, self._size, self._slots = seen, len(kept), np.full(2 * room, -1, np.int32)
        place_fingerprints(self._slots, self._seen, self._size)

    # -- snapshots

    def save(self) -> list[tuple[str, int]]:
        """Fingerprints as decimal numbers, and the position of the first shown event of each (-1: none)."""
        return [
            (str((high % _HALF) << 64 | low % _HALF), first) for high, low, first in self._seen[: self._size].tolist()
        ]

    def load(self, saved: Iterable[tuple[str, int]]) -> None:
        rows = [(*divmod(int(fingerprint), _HALF), first) for fingerprint, first in saved]
        kept: Int64 = np.empty((len(rows), 3), np.int64)
        for column, values in zip((HIGH, LOW, FIRST), zip(*rows, strict=True), strict=False):
            kept[:, column] = np.array([value % _HALF for value in values], np.uint64).view(np.int64)
        self._keep(kept)
