"""What happened after each event, and how forecasts did: one pass over the events each."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int8, Int32, Int64, UInt8
from ostinato.core.jit import array, kernel, table, types, view
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import struct_type

_TABLE = table(types.int32, constant=True)
_MARKS = table(types.boolean, constant=True)
_CELLS = table(types.float64)
_NUMBERS = table(types.int64)
_ROWS = table(types.float64, constant=True)


class SeenEvents(ArrayStruct):
    """What was seen after each event."""

    wait = Field[Int32](np.int32, 1, "how many events later the key completes a match; 0: not seen", constant=True)
    later = Field[Int32](np.int32, 1, "how many events of the key come after it", constant=True)
    times = Field[Int64](np.int64, 1, "how many events it stands for; empty: each is one", constant=True)
    strata = Field[UInt8](np.uint8, 1, "its stratum; empty: there is only one", constant=True)


class ScoredEvents(SeenEvents):
    """Forecasts that were made at events, and what an event counts."""

    states = Field[Int32](np.int32, 1, "the state that the forecast is for", constant=True)
    weights = Field[Float64](
        np.float64, 2, "per stratum: what an event counts that is known so far ahead", constant=True
    )


_SEEN, _SCORED = struct_type(SeenEvents), struct_type(ScoredEvents)

# What `interval_sums` adds up.
FORECASTS, WIDTH, KNOWN, COVERED, PENALISED, PENALTY = range(6)
SUMS = 6


@kernel(
    types.int64(_TABLE, _MARKS, view(types.int32), view(types.int32), array(types.int32), array(types.boolean)),
)
def mark_completions(after: Int32, completes: Bools, symbols: Int32, keys: Int32, states: Int32, out: Bools) -> int:
    """Whether each event completes a match; `states` has the state of each key and is updated.

    Returns the first event whose symbol cannot come in the state of its key, or the number of events.
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


@kernel(
    types.void(view(types.boolean), view(types.int32), view(types.float64), array(types.float64), array(types.float64)),
)
def count_seconds(completes: Bools, keys: Int32, seconds: Float64, last: Float64, ahead: Float64) -> None:
    """Backwards: how long after each event the next completion of its key comes; `last` is when, NaN: none is seen."""
    one = len(keys) == 0
    for event in range(len(completes) - 1, -1, -1):
        key = 0 if one else keys[event]
        ahead[event] = last[key] - seconds[event]
        if completes[event]:
            last[key] = seconds[event]


@kernel(types.void(_ROWS, _ROWS, view(types.int32), view(types.float64), types.float64, array(types.int64)))
def hit_levels(earliest: Float64, latest: Float64, states: Int32, ahead: Float64, off: float, hits: Int64) -> None:
    """Bit l: `ahead` lies in the span [level l, state], give or take this share of it; NaN lies in none."""
    for event in range(len(states)):
        bits, state = 0, states[event]
        low, high = ahead[event] * (1 - off), ahead[event] * (1 + off)
        for level in range(earliest.shape[0]):
            if high >= earliest[level, state] and low <= latest[level, state]:
                bits |= 1 << level
        hits[event] = bits


@kernel(types.void(_SEEN, _NUMBERS, _NUMBERS))
def count_ends(events: SeenEvents, completed: Int64, ended: Int64) -> None:
    """Per stratum, how many events saw a completion, or else the end of their key, so many events ahead.

    The last cell is for all that is beyond.
    """
    wait, later, times, strata = events.wait, events.later, events.times, events.strata
    most = completed.shape[1] - 1
    once, same = len(times) == 0, len(strata) == 0
    for event in range(len(wait)):
        number = 1 if once else times[event]
        stratum = 0 if same else strata[event]
        if wait[event] > 0:
            completed[stratum, min(wait[event], most)] += number
        else:
            ended[stratum, min(later[event], most)] += number


@kernel(types.void(_SCORED, view(types.int8), types.int64, _CELLS, _CELLS))
def tally(events: ScoredEvents, bands: Int8, within: int, positives: Float64, negatives: Float64) -> None:
    """Per state and band, the weight of events that saw a completion within so many events, and of those that did not.

    Events of band -1 are left out, those whose key ends before it is known, and strata that tell nothing so far ahead.
    """
    states, wait, later, weights = events.states, events.wait, events.later, events.weights
    times, strata = events.times, events.strata
    one, once, same = len(bands) == 0, len(times) == 0, len(strata) == 0
    for event in range(len(states)):
        band = 0 if one else bands[event]
        weighing = weights[0 if same else strata[event]]
        if band < 0 or weighing[within] == 0:
            continue
        number = 1 if once else times[event]
        if 0 < wait[event] <= within:
            positives[states[event], band] += weighing[wait[event]] * number
        elif later[event] >= within:
            negatives[states[event], band] += weighing[within] * number


@kernel(types.void(_SCORED, view(types.int32), view(types.int32), types.float64, array(types.float64)))
def interval_sums(events: ScoredEvents, earliest: Int32, latest: Int32, price: float, sums: Float64) -> None:
    """What the intervals of the events' states were worth; `price` is what it costs to miss by one event.

    A completion beyond the horizon counts as one just beyond it.
    """
    states, wait, later, weights = events.states, events.wait, events.later, events.weights
    times, strata = events.times, events.strata
    horizon = weights.shape[1] - 1
    once, same = len(times) == 0, len(strata) == 0
    for event in range(len(states)):
        begin, end = earliest[states[event]], latest[states[event]]
        if end == 0:
            continue
        number = 1 if once else times[event]
        weighing = weights[0 if same else strata[event]]
        sums[FORECASTS] += number
        sums[WIDTH] += (end - begin) * number
        ahead = wait[event]
        if weighing[end] == 0:  # no key goes on long enough to see such an interval fail
            pass
        elif 0 < ahead <= end:
            sums[KNOWN] += weighing[ahead] * number
            if ahead >= begin:
                sums[COVERED] += weighing[ahead] * number
        elif later[event] >= end:
            sums[KNOWN] += weighing[end] * number
        if weighing[horizon] == 0:
            continue
        if 0 < ahead <= horizon:
            weight = weighing[ahead] * number
        elif later[event] >= horizon:
            ahead, weight = horizon + 1, weighing[horizon] * number
        else:
            continue
        sums[PENALISED] += weight
        sums[PENALTY] += weight * (end - begin + price * (max(begin - ahead, 0) + max(ahead - end, 0)))


@kernel(types.void(_SCORED, _TABLE, _TABLE, view(types.int64), array(types.float64), array(types.float64)))
def level_sums(
    events: ScoredEvents, earliest: Int32, latest: Int32, hits: Int64, known: Float64, covered: Float64
) -> None:
    """Per level, the weight of the intervals [level, state] that the events decide, and of those that held.

    Without `hits` intervals count events. Else bit l of hits[event] says whether that of level l held; what lies beyond
    the horizon did not.
    """
    states, wait, later, weights = events.states, events.wait, events.later, events.weights
    times, strata = events.times, events.strata
    once, same, counted = len(times) == 0, len(strata) == 0, len(hits) == 0
    for event in range(len(states)):
        number = 1 if once else times[event]
        weighing = weights[0 if same else strata[event]]
        ahead = wait[event]
        for level in range(len(known)):
            end = latest[level, states[event]]
            if end == 0 or weighing[end] == 0:
                continue
            if 0 < ahead <= end:
                known[level] += weighing[ahead] * number
                if (ahead >= earliest[level, states[event]]) if counted else (hits[event] >> level & 1) == 1:
                    covered[level] += weighing[ahead] * number
            elif later[event] >= end:
                known[level] += weighing[end] * number
