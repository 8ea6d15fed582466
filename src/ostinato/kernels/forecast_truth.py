"""What came of each event, and how it bears out what was forecast: one pass over the events each."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from ostinato.kernels.jit import array, kernel, view
from ostinato.kernels.protocol import Bools, Floats, Int32, Int64

Int8 = npt.NDArray[np.int8]

_TABLE = types.Array(types.int32, 2, "C", readonly=True)
_MARKS = types.Array(types.boolean, 2, "C", readonly=True)
_CELLS = types.Array(types.float64, 2, "C")

# What `interval_sums` adds up.
FORECASTS, WIDTH, KNOWN, COVERED, PENALISED, PENALTY = range(6)
SUMS = 6


@kernel(
    types.int64(_TABLE, _MARKS, view(types.int32), view(types.int32), array(types.int32), array(types.boolean)),
)
def mark_completions(after: Int32, completes: Bools, symbols: Int32, keys: Int32, states: Int32, out: Bools) -> int:
    """Whether each event completes a match; `states` has the state of each key and goes on with the events.

    The first event whose symbol cannot come where its key stands; the number of events if there is none.
    """
    one = len(keys) == 0
    for event in range(len(symbols)):
        key = 0 if one else keys[event]
        state, symbol = states[key], symbols[event]
        if not 0 <= symbol < after.shape[1] or after[state, symbol] < 0:
            return event
        out[event] = completes[state, symbol]
        states[key] = after[state, symbol]
    return len(symbols)


@kernel(
    types.void(
        view(types.boolean),
        view(types.int32),
        array(types.int32),
        array(types.int32),
        array(types.int32),
        array(types.int32),
    ),
)
def count_waits(completes: Bools, keys: Int32, seen: Int32, last: Int32, wait: Int32, later: Int32) -> None:
    """Backwards: `seen` counts the events of each key so far, `last` is the count at its nearest completion or -1."""
    one = len(keys) == 0
    for event in range(len(completes) - 1, -1, -1):
        key = 0 if one else keys[event]
        place = seen[key]
        later[event] = place
        wait[event] = place - last[key] if last[key] >= 0 else 0
        if completes[event]:
            last[key] = place
        seen[key] = place + 1


@kernel(types.void(view(types.int32), view(types.int32), view(types.int64), array(types.int64), array(types.int64)))
def count_ends(wait: Int32, later: Int32, times: Int64, completed: Int64, ended: Int64) -> None:
    """How many events saw a completion, or else the end of their key, so many events ahead; the last cell is beyond."""
    most = len(completed) - 1
    once = len(times) == 0
    for event in range(len(wait)):
        number = 1 if once else times[event]
        if wait[event] > 0:
            completed[min(wait[event], most)] += number
        else:
            ended[min(later[event], most)] += number


@kernel(
    types.void(
        view(types.int32),
        view(types.int32),
        view(types.int32),
        view(types.int64),
        view(types.int8),
        types.int64,
        view(types.float64),
        _CELLS,
        _CELLS,
    ),
)
def tally(
    states: Int32,
    wait: Int32,
    later: Int32,
    times: Int64,
    bands: Int8,
    within: int,
    weights: Floats,
    positives: Floats,
    negatives: Floats,
) -> None:
    """Per state and band, the weight of events that saw a completion within so many events, and of those that did not.

    Events of band -1 are left out, and those whose key ends before it is known.
    """
    one, once = len(bands) == 0, len(times) == 0
    for event in range(len(states)):
        band = 0 if one else bands[event]
        if band < 0:
            continue
        number = 1 if once else times[event]
        if 0 < wait[event] <= within:
            positives[states[event], band] += weights[wait[event]] * number
        elif later[event] >= within:
            negatives[states[event], band] += weights[within] * number


@kernel(
    types.void(
        view(types.int32),
        view(types.int32),
        view(types.int32),
        view(types.int32),
        view(types.int32),
        view(types.int64),
        view(types.float64),
        types.float64,
        array(types.float64),
    ),
)
def interval_sums(
    earliest: Int32,
    latest: Int32,
    states: Int32,
    wait: Int32,
    later: Int32,
    times: Int64,
    weights: Floats,
    price: float,
    sums: Floats,
) -> None:
    """What the intervals of the events' states were worth; `price` is what it costs to miss by one event.

    A completion beyond the horizon counts as one just beyond it.
    """
    horizon = len(weights) - 1
    once = len(times) == 0
    for event in range(len(states)):
        begin, end = earliest[states[event]], latest[states[event]]
        if end == 0:
            continue
        number = 1 if once else times[event]
        sums[FORECASTS] += number
        sums[WIDTH] += (end - begin) * number
        ahead = wait[event]
        if weights[end] == 0:  # no key goes on long enough to see such an interval fail
            pass
        elif 0 < ahead <= end:
            sums[KNOWN] += weights[ahead] * number
            if ahead >= begin:
                sums[COVERED] += weights[ahead] * number
        elif later[event] >= end:
            sums[KNOWN] += weights[end] * number
        if weights[horizon] == 0:
            continue
        if 0 < ahead <= horizon:
            weight = weights[ahead] * number
        elif later[event] >= horizon:
            ahead, weight = horizon + 1, weights[horizon] * number
        else:
            continue
        sums[PENALISED] += weight
        sums[PENALTY] += weight * (end - begin + price * (max(begin - ahead, 0) + max(ahead - end, 0)))
