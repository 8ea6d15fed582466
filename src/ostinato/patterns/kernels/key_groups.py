"""Picks the events of some keys out of a batch, in one pass over it."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int32, int64, uint8


@kernel(int64(view(int32), view(int32), view(uint8), int64, array(int32), array(int32), array(int64)))
def pick_group(
    codes: Int32, keys: Int32, group: UInt8, number: int, own_codes: Int32, own_keys: Int32, places: Int64
) -> int:
    """The events whose key is in a group: their codes, keys and places, and how many there are."""
    count = 0
    for place in range(codes.size):
        own_codes[count], own_keys[count], places[count] = codes[place], keys[place], place
        count += group[keys[place]] == number  # no branch: groups are met at random
    return count
