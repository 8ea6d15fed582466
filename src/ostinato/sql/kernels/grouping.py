"""Rows of the same partition next to each other, in the order in which they are given."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import boolean, int32, int64, void


@kernel(void(view(int32), array(int64), array(int64)))
def group_rows(keys: Int32, ends: Int64, order: Int64) -> None:
    """Write the places of rows, those of key 0 first. `ends` says where each key begins, and then where it ends."""
    for row in range(keys.size):
        key = keys[row]
        order[ends[key]] = row
        ends[key] += 1


@kernel(boolean(view(int32), array(int64)))
def count_rows(keys: Int32, counts: Int64) -> bool:
    """Count the rows of each key; whether they already lie key by key."""
    grouped = True
    before = np.int32(0)
    for row in range(keys.size):
        key = keys[row]
        counts[key] += 1
        grouped &= key >= before
        before = key
    return grouped


@kernel(boolean(view(int64), view(int32), array(int64)))
def are_in_order(ticks: Int64, keys: Int32, latest: Int64) -> bool:
    """Whether the ticks of each key are in order. `latest` has the lowest tick for each key."""
    for row in range(keys.size):
        key, tick = keys[row], ticks[row]
        if tick < latest[key]:
            return False
        latest[key] = tick
    return True
