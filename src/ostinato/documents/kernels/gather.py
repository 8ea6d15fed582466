"""Ranges of bytes, scattered over a buffer, into one Arrow column."""

from __future__ import annotations

from typing import Any

from ostinato.core.jit import kernel


@kernel()
def copy_texts(start: Any, offsets: Any, buffer: Any, held: Any, out: Any) -> None:
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
