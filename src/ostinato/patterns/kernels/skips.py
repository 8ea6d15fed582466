"""AFTER MATCH SKIP TO …: which matches are taken, where each says where later ones of its partition may begin."""

from __future__ import annotations

from ostinato.core.arrays import Bools, Int64
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import boolean, int64, void

_INTS = view(int64)


@subroutine(int64(_INTS, _INTS, int64, int64))
def _order(offsets: Int64, places: Int64, one: int, other: int) -> int:
    """Below 0 where the events of one match come before those of another in order, 0 where they are the same."""
    first, second = offsets[one], offsets[other]
    shorter = min(offsets[one + 1] - first, offsets[other + 1] - second)
    for at in range(shorter):
        if places[first + at] != places[second + at]:
            return -1 if places[first + at] < places[second + at] else 1
    difference: int = (offsets[one + 1] - first) - (offsets[other + 1] - second)
    return difference


@subroutine(int64(_INTS, _INTS, view(boolean), int64, int64))
def _bar(offsets: Int64, places: Int64, named: Bools, to_first: int, match: int) -> int:
    """Where later matches may begin after this one: behind its first event at least."""
    after = places[offsets[match]] + 1
    bar: int = after
    for at in range(offsets[match], offsets[match + 1]):
        if named[at]:
            bar = max(after, places[at])
            if to_first:
                break
    return bar


@kernel(void(_INTS, _INTS, _INTS, _INTS, _INTS, view(boolean), int64, array(int64), array(boolean)))
def take_unskipped(
    order: Int64,
    origins: Int64,
    keys: Int64,
    offsets: Int64,
    places: Int64,
    named: Bools,
    to_first: int,
    bars: Int64,
    taken: Bools,
) -> None:
    """Of the matches in `order`, by the events that complete them and then by their first events, set `taken` for those
    that begin at the bar of their key or behind it, which then moves on. `named`: events of the variable to skip to.

    Of several that begin at one event only the first in order is taken: the bar is behind that event then. One complex
    event may be there with several labellings, and all of them are taken.
    """
    begin = 0
    while begin < order.size:
        best = order[begin]
        origin, key, first = origins[best], keys[best], places[offsets[best]]
        end = begin + 1
        while end < order.size and origins[order[end]] == origin and places[offsets[order[end]]] == first:
            if _order(offsets, places, order[end], best) < 0:
                best = order[end]
            end += 1
        if first >= bars[key]:
            for at in range(begin, end):
                if _order(offsets, places, order[at], best) == 0:
                    taken[order[at]] = True
                    bars[key] = max(bars[key], _bar(offsets, places, named, to_first, order[at]))
        begin = end
