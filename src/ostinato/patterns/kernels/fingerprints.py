"""A hash table of answers that were given, by 128-bit fingerprints: sums of hashes, so the order of events does not
matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import array, kernel, subroutine, table, view
from ostinato.core.jit.types import int32, int64, uint64, void

HIGH, LOW, FIRST = range(3)  # columns of `seen`: the two halves, the position of the first shown event (-1: none)


@subroutine(uint64(uint64))
def mix(word: Any) -> Any:
    """splitmix64, so that sums of words are as good as random."""
    word = word + np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@kernel(
    int64(
        *(view(int64), view(int64), view(int64), int64, int64, array(int64)),
        *(array(int32), table(int64), array(int64)),
    )
)
def find_fresh(
    positions: Int64,
    symbols: Int64,
    offsets: Int64,
    shown: int,
    start: int,
    fresh: Int64,
    slots: Int32,
    seen: Int64,
    counts: Int64,
) -> int:
    """Write to `fresh` the matches from `start` on whose events with symbols up to `shown` are not in `seen`, and add
    them there. Returns early, with the match reached, when `seen` is full. `counts` are the sizes of both.
    """
    mask = len(slots) - 1
    size, found = counts[0], counts[1]
    for match in range(start, len(offsets) - 1):
        if size == len(seen):
            counts[0], counts[1] = size, found
            return match
        high, low, first = np.uint64(0), np.uint64(0), -1
        for at in range(offsets[match], offsets[match + 1]):
            if symbols[at] <= shown:
                word = (np.uint64(positions[at]) << np.uint64(8)) | np.uint64(symbols[at])
                high += mix(word + np.uint64(0x9E37))
                low += mix(word + np.uint64(0x79B97F4A7C15))
                if first < 0:
                    first = positions[at]
        slot = np.int64(low) & mask
        known = slots[slot]
        while known >= 0 and (seen[known, HIGH] != np.int64(high) or seen[known, LOW] != np.int64(low)):
            slot = (slot + 1) & mask
            known = slots[slot]
        if known < 0:
            slots[slot] = size
            seen[size, HIGH], seen[size, LOW], seen[size, FIRST] = np.int64(high), np.int64(low), first
            size += 1
            fresh[found] = match
            found += 1
    counts[0], counts[1] = size, found
    return len(offsets) - 1


@kernel(void(array(int32), table(int64), int64))
def place_fingerprints(slots: Int32, seen: Int64, size: int) -> None:
    """Put the first `size` into an empty table."""
    mask = len(slots) - 1
    for number in range(size):
        slot = seen[number, LOW] & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number
