"""What runs have bound, as a forest: which matches are prefixes of others, in which order they come, what can go."""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import boolean, int32, int64, uint8, void
from ostinato.xseq.kernels.one_pass.layout import HISTORY, WORK, Work


@kernel(void(WORK, view(int64), array(uint8), boolean))
def mark_prefixes(work: Work, histories: Int64, marked: UInt8, itself: bool) -> None:
    """Mark every proper prefix of the given histories, and with `itself` the histories too."""
    parent = work.history_parent
    for index in range(histories.size):
        history = histories[index] if itself else parent[histories[index]]
        while history > 0 and not marked[history]:
            marked[history] = 1
            history = parent[history]


@kernel(void(WORK, view(uint8), array(int64)))
def renumber(work: Work, kept: UInt8, number: Int64) -> None:
    """Move what is kept to the front; number[h] is the new number of history h. Prefixes of what is kept are kept."""
    free = 1
    for history in range(1, work.state[HISTORY]):
        if kept[history]:
            number[history] = free
            work.history_parent[free] = number[work.history_parent[history]]
            work.history_node[free] = work.history_node[history]
            work.history_variable[free] = work.history_variable[history]
            work.history_done[free] = work.history_done[history]
            free += 1
    work.state[HISTORY] = free


@subroutine(boolean(WORK, int64, int64))
def _before(work: Work, one: int, two: int) -> bool:
    """Whether the first history comes before the second, both ending on one node.

    The nodes bound before that one are compared from the first on, a prefix coming first; then the variables.
    """
    parent, node, variable = work.history_parent, work.history_node, work.history_variable
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


@kernel(void(WORK, view(int64), view(int64), array(int64), array(int64)))
def sort_ties(work: Work, last: Int64, histories: Int64, order: Int64, spare: Int64) -> None:
    """Sort `order`, that of rows which are in order of `last`: those with the same last node by what they bound before.

    `spare` has room for as many.
    """
    size, low = last.size, 0
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
                        left < middle and not _before(work, histories[order[right]], histories[order[left]])
                    ):
                        spare[out] = order[left]
                        left += 1
                    else:
                        spare[out] = order[right]
                        right += 1
                    out += 1
                for at in range(begin, end):
                    order[at] = spare[at]
                begin += 2 * width
            width *= 2
        low = high


@kernel(int64(WORK, view(int64), array(int64)))
def chain_ends(work: Work, histories: Int64, ends: Int64) -> int:
    """Where the nodes of each history end when they are written one after the other; how many there are."""
    total = 0
    for index in range(histories.size):
        history = histories[index]
        while history > 0:
            total += 1
            history = work.history_parent[history]
        ends[index + 1] = total
    return total


@kernel(void(WORK, view(int64), view(int64), array(int64), array(int32)))
def write_chains(work: Work, histories: Int64, ends: Int64, nodes: Int64, variables: Int32) -> None:
    """The nodes and variables of each history, from the first on."""
    for index in range(histories.size):
        history, place = histories[index], ends[index + 1]
        while history > 0:
            place -= 1
            nodes[place], variables[place] = work.history_node[history], work.history_variable[history]
            history = work.history_parent[history]
