"""Which matches are the beginning of others: those that have the same events, and then one more."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Bools, Int64
from ostinato.patterns.kernels.extended import add_beginnings, find_beginnings
from ostinato.patterns.runtime.matches import Matches

EXTENDED_KERNELS = (add_beginnings, find_beginnings)


class Extensions:
    """What matches go beyond: the beginnings with all their events but the last; with the same ones, where the match is
    complete."""

    def __init__(self, matches: Matches, complete: Bools) -> None:
        most = len(matches) + int(np.count_nonzero(complete))
        self._slots: Int64 = np.zeros((1 << (2 * most).bit_length(), 2), np.int64)
        add_beginnings(matches.positions, matches.offsets, complete.view(np.uint8), self._slots)

    def extend(self, matches: Matches, begun: Bools) -> Bools:
        """Which of the matches that have only begun are among them."""
        found = np.zeros(len(matches), np.uint8)
        find_beginnings(matches.positions, matches.offsets, begun.view(np.uint8), self._slots, found)
        return found.view(np.bool_)
