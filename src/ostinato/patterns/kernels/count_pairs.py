"""Counting pairs of events by an inequality between them, or by a band: a Fenwick tree of the values that are within
the window."""

from __future__ import annotations

from ostinato.core.arrays import Float64, Int64, UInt8
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import boolean, float64, int64, uint8, void


@subroutine(void(array(int64), int64, int64))
def _add(tree: Int64, rank: int, change: int) -> None:
    at = rank + 1
    while at < len(tree):
        tree[at] += change
        at += at & -at


@subroutine(int64(array(int64), int64))
def _sum_below(tree: Int64, rank: int) -> int:
    total, at = 0, rank
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@kernel(int64(view(uint8), view(int64), view(int64), view(int64), view(int64), view(int64), array(int64)))
def count_pairs(begins: UInt8, keys: Int64, ticks: Int64, lows: Int64, ranks: Int64, floors: Int64, tree: Int64) -> int:
    """How many pairs there are of an entry that begins one and a later entry of its key that ends it: where the first
    is within the window of the second, and its rank is below that of the second, and not below the second's floor.

    Entries are sorted by key, then in stream order. Empty `floors` are 0. `tree` holds zeros, before and after.
    """
    found, first = 0, 0
    for at in range(len(keys) + 1):
        at_end = at == len(keys)
        if at_end or (at > 0 and keys[at] != keys[at - 1]):
            for entry in range(first, at):
                if begins[entry]:
                    _add(tree, ranks[entry], -1)
            first = at
        if at_end:
            break
        if begins[at]:
            _add(tree, ranks[at], 1)
            continue
        while first < at and ticks[first] < lows[at]:
            if begins[first]:
                _add(tree, ranks[first], -1)
            first += 1
        found += _sum_below(tree, ranks[at])
        if len(floors):
            found -= _sum_below(tree, floors[at])
    return found


@subroutine(int64(view(float64), float64, float64, boolean))
def _first_beyond(ordered: Float64, value: float, distance: float, reached: bool) -> int:
    """The first place from which on the values are more than `distance` above a value; or, if `reached`, no less."""
    low, high = 0, len(ordered)
    while low < high:
        middle = (low + high) // 2
        above = ordered[middle] - value  # as tests compute it: it never falls as the values rise
        if above > distance or (reached and above == distance):
            high = middle
        else:
            low = middle + 1
    return low


@kernel(void(view(float64), view(float64), float64, boolean, array(int64), array(int64)))
def find_bands(ordered: Float64, values: Float64, width: float, closed: bool, floors: Int64, ends: Int64) -> None:
    """For each value, the places of those that are closer than `width`; or, if `closed`, no farther."""
    for at in range(len(values)):
        floors[at] = _first_beyond(ordered, values[at], -width, closed)
        ends[at] = _first_beyond(ordered, values[at], width, not closed)
