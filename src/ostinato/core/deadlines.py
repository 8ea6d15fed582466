"""Until when something must not happen, in the pulses of a clock, which can be added to."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.clock import MAX_TICK, SECOND, Clock, exact_fraction, to_ordered_ints


def reach(clock: Clock, nanoseconds: float) -> int:
    """How many pulses lie within so long a time."""
    assert clock.step is not None
    pulse = Fraction(1) if clock.kind == "float" else clock.step
    return int(min(exact_fraction(nanoseconds) // pulse, MAX_TICK))


def later(pulses: Int64, reach: int) -> Int64:
    """The last pulses within reach of these."""
    return np.minimum(pulses, MAX_TICK - reach) + reach


def earlier(pulses: Int64, reach: int) -> Int64:
    """The first pulses that have these within reach."""
    return np.maximum(pulses, -MAX_TICK + reach) - reach


def first_after(clock: Clock, pulse: int) -> int:
    """The first tick after a pulse; among floats about the first."""
    if clock.kind != "float":
        return min(pulse, MAX_TICK - 1) + 1
    tick, step = int(to_ordered_ints(np.array([(pulse + 1) / SECOND]))[0]), 1
    while tick < MAX_TICK and int(clock.to_pulses(np.array([tick]))[0]) <= pulse:
        tick, step = min(tick + step, MAX_TICK), 2 * step
    return tick
