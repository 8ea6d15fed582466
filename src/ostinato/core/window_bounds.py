"""Where windows begin and end: an event that starts a match is within the window of a later event exactly when its tick
is not below that event's lower bound. Bounds are computed in the column's own arithmetic, inclusive on both sides.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from struct import Struct
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Float64, Int64
from ostinato.core.clock import (
    MAX_TICK,
    MIN_TICK,
    SECOND,
    Clock,
    clamp,
    exact_fraction,
    from_ordered_ints,
    to_ordered_ints,
)

_FLOAT, _INTEGER = Struct("=d"), Struct("=q")
_BLOCK = 1 << 14  # floats at a time, so that all passes over them stay in the cache


def lower_bounds(clock: Clock, ticks: Int64, amount: float) -> Int64:
    """For each tick t the least tick s with value(t) - value(s) <= amount."""
    if clock.kind == "float":
        blocks = [_float_bounds(clock, ticks[start : start + _BLOCK], amount) for start in range(0, len(ticks), _BLOCK)]
        return np.concatenate([np.empty(0, np.int64), *blocks])
    reach = whole_reach(clock, amount)
    assert reach is not None
    bounds = np.maximum(ticks, MIN_TICK + reach)
    bounds -= reach
    return bounds


def whole_reach(clock: Clock, amount: float) -> int | None:
    """How many ticks a window reaches back; None among floats, where that depends on the tick."""
    if clock.kind == "float":
        return None
    assert clock.step is not None
    return int(min(exact_fraction(amount) // clock.step, MAX_TICK))


def lower_bound_function(clock: Clock, amount: float) -> Callable[[int], int]:
    """The lower bound of one tick at a time."""
    if clock.kind == "float":
        return _float_bound_function(amount, in_seconds=not clock.attribute)
    reach = whole_reach(clock, amount)
    assert reach is not None
    return lambda tick: max(tick - reach, MIN_TICK)


def first_beyond(clock: Clock, tick: int, amount: float) -> int:
    """The first tick whose window of this size no longer reaches back to `tick`; among floats about the first."""
    if clock.kind != "float":
        assert clock.step is not None
        return clamp(tick + int(exact_fraction(amount) // clock.step) + 1)
    last = from_ordered_ints(np.array([tick])) + float(amount) / (1 if clock.attribute else SECOND)
    beyond, step = int(to_ordered_ints(last)[0]), 1
    while beyond < MAX_TICK and lower_bounds(clock, np.array([beyond]), amount)[0] <= tick:
        beyond, step = clamp(beyond + step), 2 * step
    return beyond


def _float_bounds(clock: Clock, ticks: Int64, amount: float) -> Int64:
    """Floats as numbers of seconds are taken to the nanosecond, so that 0.8 is within 100 ms of 0.7; attributes are
    subtracted as they are. Either way rounding may put the bound a few floats off the plain difference."""
    last = from_ordered_ints(ticks)
    if clock.attribute:
        return _least_float(last - amount, lambda first, at: last[at] - first <= amount)
    with np.errstate(invalid="ignore", over="ignore"):
        reached = np.rint(last * 1e9) - amount
        lows = _least_float(reached / 1e9, lambda first, at: np.rint(first * 1e9) >= reached[at])
        # Where nanoseconds are beyond all floats, the next float is further off than any window reaches. Where floats
        # are finer than nanoseconds, an event may be before the one it is taken for; but it is in its own window.
        return np.where(np.isfinite(last), np.where(np.isinf(reached), ticks, np.minimum(lows, ticks)), lows)


def _float_bound_function(amount: float, *, in_seconds: bool) -> Callable[[int], int]:
    """What `_float_bounds` gives, for one tick."""

    def bound(tick: int) -> int:
        last = _to_float(tick)
        reached = _round(last * 1e9) - amount if in_seconds else last - amount
        guess = reached / 1e9 if in_seconds else reached
        low = _to_ordered(guess)
        if not isfinite(guess):
            return tick if isfinite(last) else low  # as `_float_bounds` says

        def holds(place: int) -> bool:
            first = _to_float(place)
            return _round(first * 1e9) >= reached if in_seconds else last - first <= amount

        for _ in range(4):
            if holds(low):
                break
            low += 1
        for _ in range(4):
            if not holds(low - 1):
                break
            low -= 1
        return min(low, tick)

    return bound


def _round(number: float) -> float:
    return float(round(number)) if isfinite(number) else number


def _to_ordered(number: float) -> int:
    (bits,) = _INTEGER.unpack(_FLOAT.pack(number + 0.0))
    return int(bits) ^ ((int(bits) >> 63) & MAX_TICK)


def _to_float(ordered: int) -> float:
    (number,) = _FLOAT.unpack(_INTEGER.pack(ordered ^ ((ordered >> 63) & MAX_TICK)))
    return float(number)


def _least_float(guess: Float64, holds: Callable[[Float64, Any], npt.NDArray[np.bool_]]) -> Int64:
    """The least float, near the guess, for which `holds(float, places)`: the guess may be a few floats off."""
    lows = to_ordered_ints(guess)
    places = np.flatnonzero(np.isfinite(guess))
    with np.errstate(invalid="ignore", over="ignore"):
        for step, wanted in ((1, False), (-1, True)):  # up to the first that holds, then down to the last that does
            moving = places
            for _ in range(4):
                tried = lows[moving] + min(step, 0)
                moving = moving[holds(from_ordered_ints(tried), moving) == wanted]
                if not len(moving):
                    break
                lows[moving] += step
    return lows
