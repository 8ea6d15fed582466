"""A hash table of the beginnings that matches go beyond: their events but the last; all of them, where it is complete.

Sets of events are told apart by fingerprints of 128 bits, sums over their events.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64, UInt8
from ostinato.core.jit import array, kernel, subroutine, table, view
from ostinato.core.jit.types import int64, uint8, uint64, void
from ostinato.patterns.kernels.fingerprints import HIGH, LOW, mix

_SEEDS = (np.uint64(0x9E37), np.uint64(0x79B97F4A7C15))


@subroutine(int64(table(int64), uint64, uint64))
def _slot_of(slots: Int64, high: Any, low: Any) -> Any:
    """Where a fingerprint is, or the free slot for it: one of zeros."""
    mask = len(slots) - 1
    slot = np.int64(low) & mask
    while (slots[slot, HIGH] != np.int64(high) or slots[slot, LOW] != np.int64(low)) and (
        slots[slot, HIGH] != 0 or slots[slot, LOW] != 0
    ):
        slot = (slot + 1) & mask
    return slot


@subroutine(void(table(int64), uint64, uint64))
def _add(slots: Int64, high: Any, low: Any) -> None:
    slot = _slot_of(slots, high, low)
    slots[slot, HIGH], slots[slot, LOW] = np.int64(high), np.int64(low)


@kernel(void(view(int64), view(int64), view(uint8), table(int64)))
def add_beginnings(positions: Int64, offsets: Int64, complete: UInt8, slots: Int64) -> None:
    """Add what each match goes beyond to a table, which has room for two of each."""
    for match in range(len(offsets) - 1):
        high, low = np.uint64(0), np.uint64(0)
        last = offsets[match + 1] - 1
        for at in range(offsets[match], last):
            high += mix(np.uint64(positions[at]) + _SEEDS[0])
            low += mix(np.uint64(positions[at]) + _SEEDS[1])
        if last > offsets[match]:
            _add(slots, high, low)
        if complete[match]:
            high += mix(np.uint64(positions[last]) + _SEEDS[0])
            low += mix(np.uint64(positions[last]) + _SEEDS[1])
            _add(slots, high, low)


@kernel(void(view(int64), view(int64), view(uint8), table(int64), array(uint8)))
def find_beginnings(positions: Int64, offsets: Int64, wanted: UInt8, slots: Int64, found: UInt8) -> None:
    """Set `found` for the `wanted` matches whose events are in the table."""
    for match in range(len(offsets) - 1):
        if wanted[match]:
            high, low = np.uint64(0), np.uint64(0)
            for at in range(offsets[match], offsets[match + 1]):
                high += mix(np.uint64(positions[at]) + _SEEDS[0])
                low += mix(np.uint64(positions[at]) + _SEEDS[1])
            slot = _slot_of(slots, high, low)
            found[match] = slots[slot, HIGH] != 0 or slots[slot, LOW] != 0
