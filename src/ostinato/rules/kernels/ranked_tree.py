"""Values in their order: a tree that finds the middle one, and an array that is sorted.

The tree is a treap: a search tree by value, where each node stands above those of which a hash of its number is less.
So it is balanced, whatever comes in which order. A node has its number in all windows, and each window its root.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Float64, Int64
from ostinato.core.columns.intern import mix
from ostinato.core.jit import array, subroutine, table
from ostinato.core.jit.types import boolean, float64, int64, void

LEFT, RIGHT, SIZE, RANKED_BY = range(4)
TREE_WORDS = 4


@subroutine(boolean(int64, int64))
def _is_above(one: int, other: int) -> bool:
    """Whether a node stands above another one."""
    return bool(mix(np.uint64(one)) > mix(np.uint64(other)))


@subroutine(boolean(table(float64), int64, int64))
def _is_before(floats: Float64, one: int, other: int) -> bool:
    """In the order of values; equal ones by their numbers."""
    a, b = floats[one, RANKED_BY], floats[other, RANKED_BY]
    return bool(a < b or (a == b and one < other))


@subroutine(int64(table(int64), int64))
def _size(tree: Int64, node: int) -> int:
    return tree[node, SIZE] if node >= 0 else 0


@subroutine(int64(table(int64), int64, int64, int64, int64))
def _attach(tree: Int64, root: int, above: int, side: int, node: int) -> int:
    """Put a tree below a node, or, if there is none, at the root; gives the root."""
    if above < 0:
        return node
    tree[above, side] = node
    return root


@subroutine(int64(table(int64), table(float64), int64, int64))
def insert_ranked(tree: Int64, floats: Float64, root: int, node: int) -> int:
    """Put a node into a tree, by its value; gives the root."""
    above, side, at = -1, LEFT, root
    while at >= 0 and _is_above(at, node):
        tree[at, SIZE] += 1
        above, side = at, LEFT if _is_before(floats, node, at) else RIGHT
        at = tree[at, side]
    tree[node, LEFT] = tree[node, RIGHT] = -1
    tree[node, SIZE] = 1 + _size(tree, at)
    root = _attach(tree, root, above, side, node)
    # What is below it now is divided by it. First, how much of that comes before it.
    before: Any = np.int64(0)
    below = at
    while below >= 0:
        if _is_before(floats, below, node):
            before += 1 + _size(tree, tree[below, LEFT])
            below = tree[below, RIGHT]
        else:
            below = tree[below, LEFT]
    left, left_side, right, right_side = node, LEFT, node, RIGHT
    while at >= 0:
        if _is_before(floats, at, node):
            tree[left, left_side] = at
            tree[at, SIZE], before = before, before - 1 - _size(tree, tree[at, LEFT])
            left, left_side, at = at, RIGHT, tree[at, RIGHT]
        else:
            tree[right, right_side] = at
            tree[at, SIZE] -= before
            right, right_side, at = at, LEFT, tree[at, LEFT]
    tree[left, left_side] = tree[right, right_side] = -1
    return root


@subroutine(int64(table(int64), table(float64), int64, int64))
def remove_ranked(tree: Int64, floats: Float64, root: int, node: int) -> int:
    """Take a node out of a tree; gives the root."""
    above, side, at = -1, LEFT, root
    while at != node:
        tree[at, SIZE] -= 1
        above, side = at, LEFT if _is_before(floats, node, at) else RIGHT
        at = tree[at, side]
    left, right = tree[node, LEFT], tree[node, RIGHT]
    while left >= 0 and right >= 0:
        if _is_above(left, right):
            tree[left, SIZE] += tree[right, SIZE]
            root = _attach(tree, root, above, side, left)
            above, side, left = left, RIGHT, tree[left, RIGHT]
        else:
            tree[right, SIZE] += tree[left, SIZE]
            root = _attach(tree, root, above, side, right)
            above, side, right = right, LEFT, tree[right, LEFT]
    return _attach(tree, root, above, side, max(left, right))


@subroutine(float64(table(int64), table(float64), int64, int64))
def _ranked(tree: Int64, floats: Float64, root: int, place: int) -> float:
    """The value at a place, from 0 on."""
    node = root
    while True:
        before = _size(tree, tree[node, LEFT])
        if place == before:
            return float(floats[node, RANKED_BY])
        if place < before:
            node = tree[node, LEFT]
        else:
            place, node = place - before - 1, tree[node, RIGHT]


@subroutine(float64(table(int64), table(float64), int64))
def middle_ranked(tree: Int64, floats: Float64, root: int) -> float:
    """Halfway between the two values in the middle, which may be one."""
    size = tree[root, SIZE]
    return _ranked(tree, floats, root, (size - 1) >> 1) / 2 + _ranked(tree, floats, root, size >> 1) / 2


@subroutine(void(array(float64), int64))
def sort_floats(values: Float64, count: int) -> None:
    """Sort the first values, in place (heapsort)."""
    for step in range(count + (count >> 1) - 1, -1, -1):
        # First each node of the upper half sinks, the last one first; then the top goes to the end, again and again.
        size, at = count, step - count
        if step < count:
            values[0], values[step] = values[step], values[0]
            size, at = step, 0
        sinking = values[at]
        while 2 * at + 1 < size:
            below = 2 * at + 1
            if below + 1 < size and values[below] < values[below + 1]:
                below += 1
            if values[below] <= sinking:
                break
            values[at] = values[below]
            at = below
        values[at] = sinking
