"""Rows of the same partition next to each other, in the order in which they are given."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int32, int64, void


@kernel(void(view(int32), array(int64), array(int64)))
def group_rows(keys: Int32, ends: Int64, order: Int64) -> None:
    """Write the places of rows, those of key 0 first. `ends` says where each key begins, and then where it ends."""
    for row in range(keys.size):
        key = keys[row]
        order[ends[key]] = row
        ends[key] += 1


@kernel(int64(view(int64), view(int64)))
def first_unordered(ticks: Int64, bounds: Int64) -> int:
    """The first partition whose ticks are not in order; -1 if all are."""
    for partition in range(bounds.size - 1):
        for row in range(bounds[partition] + 1, bounds[partition + 1]):
            if ticks[row] < ticks[row - 1]:
                return partition
    return -1
