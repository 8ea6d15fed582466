"""Ranges of bytes, scattered over a buffer, into one Arrow column; and the texts that runs still need, put aside."""

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


@kernel()
def held_size(run_state: Any, runs: int, base: int, width: int, kind: Any, size: Any) -> int:
    """How many bytes of text the runs that are alive hold."""
    total = 0
    for run in range(runs):
        if run_state[run] >= 0:
            for at in range(base + run * width, base + (run + 1) * width):
                if kind[at] == 2 or kind[at] == 3:
                    total += size[at]
    return total


@kernel()
def put_aside(
    run_state: Any, runs: int, base: int, width: int, kind: Any, start: Any, size: Any,
    buffer: Any, held: Any, constants: int, out: Any,
) -> None:  # fmt: skip
    """Copy the texts of living runs behind the constants, and let the runs point there."""
    free = constants
    for run in range(runs):
        if run_state[run] >= 0:
            for at in range(base + run * width, base + (run + 1) * width):
                if kind[at] == 2 or kind[at] == 3:
                    source = start[at]
                    for byte in range(size[at]):
                        out[free + byte] = buffer[source + byte] if source >= 0 else held[-1 - source + byte]
                    start[at] = -1 - free
                    free += size[at]
