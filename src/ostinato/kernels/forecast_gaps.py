"""Gaps between the events of each key, counted by symbol and size."""

from __future__ import annotations

import math

import numpy as np
from numba import types

from ostinato.kernels.jit import array, kernel, view
from ostinato.kernels.protocol import Floats, Int32

# Gaps of the same size to within 9% share a bin: 2 ** (1/8). Bin 0 is for none at all, below a nanosecond.
PER_OCTAVE, LOWEST, OCTAVES = 8, -30, 64
BINS = 1 + PER_OCTAVE * OCTAVES

_CELLS = types.Array(types.float64, 3, "C")


@kernel(types.void(view(types.int32), view(types.int32), view(types.float64), array(types.float64), _CELLS))
def count_gaps(symbols: Int32, keys: Int32, ticks: Floats, last: Floats, sums: Floats) -> None:
    """Adds to sums[symbol, bin] how many gaps there are, their seconds, and the squares of these.

    `last` has the time of the last event of each key, NaN before the first, and goes on with the events.
    """
    one = keys.size == 0
    for event in range(symbols.size):
        key = 0 if one else keys[event]
        tick = ticks[event]
        gap = tick - last[key]
        if not np.isnan(tick):
            last[key] = tick
        if np.isnan(gap):
            continue
        gap = max(gap, 0.0)
        place = 0
        if gap > 2.0**LOWEST:
            place = min(1 + int((math.log2(gap) - LOWEST) * PER_OCTAVE), BINS - 1)
        cell = sums[symbols[event], place]
        cell[0] += 1
        cell[1] += gap
        cell[2] += gap * gap
