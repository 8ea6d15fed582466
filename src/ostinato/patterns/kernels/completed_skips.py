"""AFTER MATCH SKIP TO … without a window: what an event completed is taken in order where it was just written.

Positions of events must rise as their places in the stream do, and be equal to them. The rules are those of skips.py,
which takes matches of many events, given as arrays.
"""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64, struct_type
from ostinato.patterns.kernels.layout import DirectState
from ostinato.patterns.kernels.protocol import MATCHES, SYMBOL_BITS, VALUES

STATE = struct_type(DirectState)

UNDECIDED = -1  # in place of a bar
_MANY = 1 << 10  # matches of one event: more are sorted elsewhere
_SYMBOLS = (1 << SYMBOL_BITS) - 1


@subroutine(int64(STATE, int64))
def _begin(state: DirectState, match: int) -> int:
    begin: int = state.ends[match - 1] if match else 0
    return begin


@subroutine(int64(STATE, int64, int64))
def _order(state: DirectState, one: int, other: int) -> int:
    """Below 0 where the events of one match come before those of another in order, 0 where they are the same."""
    values, at, place = state.values, _begin(state, one), _begin(state, other)
    while at < state.ends[one] and place < state.ends[other]:
        difference: int = (values[at] >> SYMBOL_BITS) - (values[place] >> SYMBOL_BITS)
        if difference:
            return difference
        at += 1
        place += 1
    longer: int = (state.ends[one] - at) - (state.ends[other] - place)
    return longer


@subroutine(int64(STATE, int64))
def _bar_after(state: DirectState, match: int) -> int:
    """Where later matches may begin after this one: behind its first event at least."""
    values, begin = state.values, _begin(state, match)
    after = (values[begin] >> SYMBOL_BITS) + 1
    bar: int = after
    for at in range(begin, state.ends[match]):
        if state.skipped_to[values[at] & _SYMBOLS]:
            bar = max(after, values[at] >> SYMBOL_BITS)
            if state.to_first:
                break
    return bar


@subroutine(int64(STATE, int64, int64), inline=False)
def take_completed(state: DirectState, at: int, bar: int) -> int:
    """Leave only those matches of the event `at` in the output that are not skipped, and return the bar after them."""
    cursor, values, ends, origins = state.cursor, state.values, state.ends, state.origins
    count = cursor[MATCHES]
    begin = count
    while begin > 0 and origins[begin - 1] == at:
        begin -= 1
    if count - begin > _MANY:
        return UNDECIDED
    taken = -1 - at  # in place of the origin
    while True:
        best = -1
        for match in range(begin, count):
            if values[_begin(state, match)] >> SYMBOL_BITS >= bar and (best < 0 or _order(state, match, best) < 0):
                best = match
        if best < 0:
            break
        for match in range(begin, count):  # a complex event may be there with several labellings
            if _order(state, match, best) == 0:
                origins[match] = taken
                bar = max(bar, _bar_after(state, match))
        if state.chosen_next:
            break
    used, kept, read = _begin(state, begin), begin, _begin(state, begin)
    for match in range(begin, count):
        end = ends[match]
        if origins[match] == taken:
            for place in range(read, end):
                values[used] = values[place]
                used += 1
            ends[kept], origins[kept] = used, at
            kept += 1
        read = end
    cursor[MATCHES], cursor[VALUES] = kept, used
    return bar
