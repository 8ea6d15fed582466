"""Gives each answer once: where SELECT leaves out variables, different complex events can look the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from ostinato.patterns.runtime.matches import Matches

UInt64 = npt.NDArray[np.uint64]


class Distinct:
    """Remembers answers by a 128-bit fingerprint, and forgets them when their window has passed.

    An answer can come again only from a match that starts no later than its first shown event. Once that event is
    older than the window, its fingerprint is not needed any more.
    """

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}  # fingerprint -> position of the first shown event (-1: none, kept for ever)

    def only_new(self, matches: Matches, alike: Sequence[int]) -> Matches:
        """The matches whose events with symbols that are shown (none: whose events, whatever their symbols) were not
        given before, the first of each kind. `alike` are those symbols, 1 and up, as what each is shown."""
        if not alike:
            given = replace(matches, symbols=np.ones_like(matches.symbols))
            return matches.pick(self._fresh(given, 1))
        if len(set(alike)) == len(alike):
            return matches.pick(self._fresh(matches, len(alike)))
        hidden = len(alike) + 1
        shown = np.array([hidden, *alike, hidden], np.int64)[np.minimum(matches.symbols, hidden)]
        return matches.pick(self._fresh(replace(matches, symbols=shown), len(alike)))

    def _fresh(self, matches: Matches, shown: int) -> npt.NDArray[np.int64]:
        visible = matches.symbols <= shown
        rows = matches.rows[visible]
        words = (matches.positions[visible].astype(np.uint64) << np.uint64(8)) | matches.symbols[visible].astype(
            np.uint64
        )
        halves = [_sum_by_row(_mix(words + np.uint64(seed)), rows, len(matches)) for seed in (0x9E37, 0x79B97F4A7C15)]
        first = np.full(len(matches), -1, np.int64)
        first[rows[::-1]] = matches.positions[visible][::-1]
        fresh = []
        for index, (high, low, position) in enumerate(
            zip(*(half.tolist() for half in halves), first.tolist(), strict=True)
        ):
            fingerprint = high << 64 | low
            if fingerprint not in self.seen:
                self.seen[fingerprint] = position
                fresh.append(index)
        return np.array(fresh, np.int64)

    def forget_before(self, position: int) -> None:
        """Drop fingerprints whose first shown event lies before a position that no later match can reach back to."""
        self.seen = {key: at for key, at in self.seen.items() if at < 0 or at >= position}


def _mix(words: UInt64) -> UInt64:
    """splitmix64, so that sums of words are as good as random."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _sum_by_row(words: UInt64, rows: npt.NDArray[np.int64], count: int) -> UInt64:
    totals = np.zeros(count, np.uint64)
    np.add.at(totals, rows, words)
    return totals
