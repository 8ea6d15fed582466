"""Gaps between the events of each key, by the symbols on both sides and by size."""

from __future__ import annotations

import math

import numpy as np

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.jit import array, kernel, types, view

# Gaps of the same size to within 9% share a bin: 2 ** (1/8). Bin 0 is for none at all, below a nanosecond.
PER_OCTAVE, LOWEST, OCTAVES = 8, -30, 64
BINS = 1 + PER_OCTAVE * OCTAVES

NONE = -1


@kernel(
    types.void(
        view(types.int32),
        view(types.int32),
        view(types.float64),
        types.int64,
        array(types.float64),
        array(types.int32),
        array(types.int64),
        array(types.float64),
    )
)
def find_gaps(
    symbols: Int32,
    keys: Int32,
    ticks: Float64,
    alphabet: int,
    last: Float64,
    before: Int32,
    cells: Int64,
    gaps: Float64,
) -> None:
    """The gap before each event, and its cell: (symbol before, symbol, bin) as one number; NONE where there is no gap.

    `last` has the time of the last event of each key, NaN before the first, `before` its symbol; both go on with the
    events.
    """
    one = keys.size == 0
    for event in range(symbols.size):
        key = 0 if one else keys[event]
        tick = ticks[event]
        gap = tick - last[key]
        pair = before[key] * alphabet + symbols[event]
        if not np.isnan(tick):
            last[key], before[key] = tick, symbols[event]
        cells[event] = NONE
        if np.isnan(gap):
            continue
        gap = max(gap, 0.0)
        place = 0
        if gap > 2.0**LOWEST:
            place = min(1 + int((math.log2(gap) - LOWEST) * PER_OCTAVE), BINS - 1)
        cells[event], gaps[event] = pair * BINS + place, gap
