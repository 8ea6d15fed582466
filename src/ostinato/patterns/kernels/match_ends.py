"""The first and the last event of each match, and where matches end, as an answer shows them."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int32, int64, void


@kernel(void(view(int64), view(int64), array(int64), array(int64), array(int32)))
def read_ends(positions: Int64, offsets: Int64, first: Int64, last: Int64, narrow: Int32) -> None:
    """`narrow` gets the offsets, which cut `positions` into matches of at least one event."""
    narrow[0] = offsets[0]
    for match in range(first.size):
        begin, end = offsets[match], offsets[match + 1]
        first[match], last[match] = positions[begin], positions[end - 1]
        narrow[match + 1] = end
