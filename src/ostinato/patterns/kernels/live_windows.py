"""Where the windows of queries begin that run together.

Bounds of the first few windows come with the events. Those of any others are worked out when a query looks, so that the
windows of queries that sleep cost nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, float64, int64, struct_type
from ostinato.patterns.kernels.live_layout import SharedState

STATE = struct_type(SharedState)
LEAST, MOST = -(2**63), 2**63 - 1
NEARBY = 4  # floats at most between a guess and a bound


@subroutine(float64(STATE, int64), inline=False)
def float_of(live: SharedState, tick: int) -> Any:
    """The float that a tick stands for."""
    live.bits[0] = tick ^ ((tick >> 63) & MOST)
    return live.bits.view(np.float64)[0]


@subroutine(int64(STATE, float64), inline=False)
def tick_of(live: SharedState, number: float) -> Any:
    live.bits.view(np.float64)[0] = number + 0.0
    return live.bits[0] ^ ((live.bits[0] >> 63) & MOST)


@subroutine(boolean(STATE, int64, float64), inline=False)
def reaches(live: SharedState, tick: int, reached: float) -> Any:
    """Whether a tick is not before a number of nanoseconds."""
    return np.rint(float_of(live, tick) * 1e9) >= reached


@subroutine(int64(STATE, int64, float64), inline=False)
def float_bound(live: SharedState, tick: int, width: float) -> Any:
    """As core/window_bounds.py has it for floats that are numbers of seconds."""
    last = float_of(live, tick)
    reached = np.rint(last * 1e9) - width
    low = tick_of(live, reached / 1e9)
    if not np.isfinite(reached):
        return tick if np.isfinite(last) else low
    for _ in range(NEARBY):
        if reaches(live, low, reached):
            break
        low += 1
    for _ in range(NEARBY):
        if not reaches(live, low - 1, reached):
            break
        low -= 1
    return min(low, tick)


@subroutine(int64(STATE, int64, int64), inline=False)
def find_bound(live: SharedState, frame: int, tick: int) -> Any:
    """The lowest tick in one window with an event at `tick`."""
    reach = live.reaches[frame]
    if reach >= 0:
        return max(tick, LEAST + reach) - reach
    if live.bounded[frame] != tick:
        live.bounded[frame], live.bounds[frame] = tick, float_bound(live, tick, live.widths[frame])
    return live.bounds[frame]
