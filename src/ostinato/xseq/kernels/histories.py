"""What runs have bound, as a forest: which matches are prefixes of others, in which order they come, what can go."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel


@kernel()
def mark_prefixes(histories: Any, parent: Any, marked: Any, itself: bool) -> None:
    """Mark every proper prefix of the given histories, and with `itself` the histories too."""
    for index in range(histories.size):
        history = histories[index] if itself else parent[histories[index]]
        while history > 0 and not marked[history]:
            marked[history] = 1
            history = parent[history]


@kernel()
def renumber(count: int, parent: Any, node: Any, variable: Any, done: Any, kept: Any, number: Any) -> int:
    """Move what is kept to the front; number[h] is the new number of history h. Prefixes of what is kept are kept."""
    free = 1
    for history in range(1, count):
        if kept[history]:
            number[history] = free
            parent[free] = number[parent[history]]
            node[free] = node[history]
            variable[free] = variable[history]
            done[free] = done[history]
            free += 1
    return free


@kernel()
def _before(one: int, two: int, parent: Any, node: Any, variable: Any) -> bool:
    """Whether the first history comes before the second, both ending on one node.

    The nodes bound before that one are compared from the first on, a prefix coming first; then the variables.
    """
    depth, other = 0, 0
    at = one
    while at > 0:
        depth += 1
        at = parent[at]
    at = two
    while at > 0:
        other += 1
        at = parent[at]
    by_variable = variable[one] < variable[two]
    first, second = parent[one], parent[two]
    for _ in range(depth - other):
        first = parent[first]
    for _ in range(other - depth):
        second = parent[second]
    same, result = depth == other, depth < other
    while first > 0:  # the difference nearest to the beginning decides, so the last one found on the way up
        if node[first] != node[second]:
            same, result = False, node[first] < node[second]
        if variable[first] != variable[second]:
            by_variable = variable[first] < variable[second]
        first, second = parent[first], parent[second]
    return by_variable if same else result


@kernel(allocates=True)
def sort_ties(last: Any, histories: Any, parent: Any, node: Any, variable: Any) -> Any:
    """The order of rows that are in order of `last`: those with the same last node by what they bound before."""
    size = last.size
    order = np.arange(size)
    spare = np.empty(size, np.int64)
    low = 0
    while low < size:
        high = low + 1
        while high < size and last[high] == last[low]:
            high += 1
        width = 1
        while width < high - low:  # merge sort, bottom up
            begin = low
            while begin < high:
                middle, end = min(begin + width, high), min(begin + 2 * width, high)
                left, right, out = begin, middle, begin
                while left < middle or right < end:
                    if right >= end or (
                        left < middle
                        and not _before(histories[order[right]], histories[order[left]], parent, node, variable)
                    ):
                        spare[out] = order[left]
                        left += 1
                    else:
                        spare[out] = order[right]
                        right += 1
                    out += 1
                order[begin:end] = spare[begin:end]
                begin += 2 * width
            width *= 2
        low = high
    return order


@kernel()
def chain_ends(histories: Any, parent: Any, ends: Any) -> int:
    """Where the nodes of each history end when they are written one after the other; how many there are."""
    total = 0
    for index in range(histories.size):
        history = histories[index]
        while history > 0:
            total += 1
            history = parent[history]
        ends[index + 1] = total
    return total


@kernel()
def write_chains(histories: Any, parent: Any, node: Any, variable: Any, ends: Any, nodes: Any, variables: Any) -> None:
    """The nodes and variables of each history, from the first on."""
    for index in range(histories.size):
        history, place = histories[index], ends[index + 1]
        while history > 0:
            place -= 1
            nodes[place], variables[place] = node[history], variable[history]
            history = parent[history]
