"""Ranges of bytes, scattered over a buffer, into one Arrow column."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int32, int64, uint8, void


@kernel(void(view(int64), view(int32), view(uint8), view(uint8), array(uint8)))
def copy_texts(start: Int64, offsets: Int32, buffer: UInt8, held: UInt8, out: UInt8) -> None:
    """The bytes of texts, one after the other; those whose start is below zero stand in `held`."""
    for row in range(start.size):
        source = start[row]
        low, high = offsets[row], offsets[row + 1]
        if source >= 0:
            for at in range(high - low):
                out[low + at] = buffer[source + at]
        else:
            for at in range(high - low):
                out[low + at] = held[-1 - source + at]
