"""What runs have bound: chains of (variable, node), each kept once, with the values that a run remembers at each.

Equal sequences of bindings are one chain, so that two walks with the same bindings are one match. Chain 0 is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, uint64, void
from ostinato.xseq.kernels.buffered.checks import next_combination
from ostinato.xseq.kernels.buffered.layout import (
    BINDINGS,
    CHAINS,
    GOING_ON,
    GROW_LIST,
    GROW_TEXT,
    NOTHING,
    PAUSED,
    STEP,
    STEPS,
    TREE_VALUES,
    WALK_SEARCH,
    Chains,
    TreeValues,
    WalkSearch,
)
from ostinato.xseq.kernels.buffered.values import load
from ostinato.xseq.kernels.values import compare, run_program


@subroutine(uint64(int64, int64, int64))
def hash_of(one: int, two: int, three: int) -> Any:
    """A hash of three numbers."""
    value = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(29))) + np.uint64(two)
    value = value * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(32))) + np.uint64(three)
    value = value * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@subroutine(int64(CHAINS, int64, int64, int64))
def place_of(chains: Chains, parent: int, label: int, node: int) -> int:
    """Where in the table a chain stands, or would."""
    mask = chains.table.size - 1
    place: Any = np.int64(hash_of(parent, label, node + 1) & np.uint64(mask))
    while True:
        chain = chains.table[place]
        if chain < 0 or (
            chains.parent[chain] == parent and chains.label[chain] == label and chains.node[chain] == node
        ):
            return place
        place = (place + 1) & mask


@subroutine(void(CHAINS, int64, int64, int64, int64, int64))
def enter(chains: Chains, place: int, chain: int, parent: int, label: int, node: int) -> None:
    """Put a new chain at a free place of the table."""
    chains.table[place] = chain
    chains.parent[chain] = parent
    chains.label[chain] = label
    chains.node[chain] = node


@subroutine(boolean(CHAINS, int64, int64))
def began(chains: Chains, trail: int, node: int) -> bool:
    """Whether a round began at a node."""
    while trail > 0:
        if chains.node[trail] == node:
            return True
        trail = chains.parent[trail]
    return False


@kernel(void(CHAINS, int64))
def enter_again(chains: Chains, count: int) -> None:
    """Fill a new table."""
    for chain in range(1, count):
        place = place_of(chains, chains.parent[chain], chains.label[chain], chains.node[chain])
        chains.table[place] = chain


@subroutine(void(TREE_VALUES, int64, TREE_VALUES, int64))
def _copy_value(to: TreeValues, place: int, values: TreeValues, other: int) -> None:
    """Copy a value from one file to another."""
    to.kind[place] = values.kind[other]
    to.num[place] = values.num[other]
    to.start[place] = values.start[other]
    to.size[place] = values.size[other]
    to.origin[place] = values.origin[other]


@subroutine(boolean(WALK_SEARCH, int64, int64, int64, int64, int64, int64))
def _aggregate(walks: WalkSearch, operation: int, place: int, begin: int, end: int, node: int, shift: int) -> bool:
    """Add what a program computes from a node to an aggregate. False when there is no room for a text."""
    values, first = walks.values, walks.writes.first_source
    for step in range(begin, end):
        source = values.code[2 * step + 1]
        if (
            values.code[2 * step] == 0
            and first <= source < values.stack
            and not load(walks.search.sources, values, source - first, node, source)
        ):
            return False
    run_program(values, begin, end, shift)
    kind, number = values.kind[values.stack], values.num[values.stack]
    if operation == 6:  # COUNT
        if kind >= 2:
            values.num[place] += 1.0
    elif kind >= 3:
        if values.kind[place] < 3:
            values.num[place] = number
        elif operation == 7:  # SUM
            values.num[place] += number
        elif operation == 8:  # LEAST
            values.num[place] = min(values.num[place], number)
        else:  # MOST
            values.num[place] = max(values.num[place], number)
        values.kind[place] = 4
    return True


@subroutine(boolean(WALK_SEARCH, int64, int64, int64, int64))
def remember(walks: WalkSearch, move: int, node: int, old: int, new: int) -> bool:
    """The values of chain `new`: those of `old`, changed by what a move writes. False when there is no room."""
    writes, values = walks.writes, walks.values
    shift = new * writes.width
    before, after = values.base + old * writes.width, values.base + shift
    for slot in range(writes.width):
        _copy_value(values, after + slot, values, before + slot)
    for row in range(writes.move_ops[move], writes.move_ops[move + 1]):
        operation, one, two = writes.ops[row, 0], writes.ops[row, 2], writes.ops[row, 3]
        place = after + writes.ops[row, 1]
        if operation == 0:  # COPY
            _copy_value(values, place, values, after + one)
        elif operation == 1:  # CLEAR
            values.kind[place] = 0
            values.origin[place] = -1
        elif operation <= 4:  # SET, SET_NEW, SET_FIRST_ROUND
            fits = operation == 2 or (values.kind[place] == 0 and (operation == 3 or values.num[after + two] == 1.0))
            if fits and not load(walks.search.sources, values, one - writes.first_source, node, place):
                return False
        elif operation == 5 or (operation == 6 and one == two):  # INCREASE, or the node itself is counted
            values.num[place] += 1.0
        elif not _aggregate(walks, operation, place, one, two, node, shift):
            return False
    return True


@subroutine(boolean(WALK_SEARCH, int64, int64, int64))
def all_hold(walks: WalkSearch, chain: int, begin: int, end: int) -> bool:
    """Whether the tests begin … end - 1 hold on the values of a chain."""
    writes, values = walks.writes, walks.values
    tests, base, shift = writes.tests, values.base, chain * writes.width
    for test in range(begin, end):
        applies = True
        for need in range(tests[test, 6], tests[test, 7]):
            if values.kind[base + shift + writes.needs[need]] == 0:
                applies = False
        if not applies:
            continue
        if tests[test, 0]:
            left, right = tests[test, 2], tests[test, 3]
            left = left if left < base else left + shift
            right = right if right < base else right + shift
            good = compare(values, tests[test, 1], left, right)
        else:
            run_program(values, tests[test, 4], tests[test, 5], shift)
            good = values.num[values.stack] == 1.0
        if not good:
            return False
    return True


@subroutine(int64(WALK_SEARCH, int64, int64, int64))
def _collect(walks: WalkSearch, chain: int, label: int, base: int) -> int:
    """Put the nodes that a chain binds to a variable at found[base:]; how many, or -1 when there is no room."""
    chains, found = walks.chains, walks.search.found
    count, length, at = 0, 0, chain
    while at > 0:
        count += chains.label[at] == label
        length += 1
        at = chains.parent[at]
    walks.search.pause[STEPS] -= length
    if base + count > found.size:
        return -1
    place, at = base + count - 1, chain
    while at > 0:
        if chains.label[at] == label:
            found[place] = chains.node[at]
            place -= 1
        at = chains.parent[at]
    return count


@subroutine(int64(WALK_SEARCH, int64, int64))
def _fill(walks: WalkSearch, row: int, chain: int) -> int:
    """Put the values of a combination of bindings where a condition on all bindings expects them.

    0 where the condition does not ask about this combination, more than 1 when there is no room.
    """
    search, for_each = walks.search, walks.for_each
    for hole in range(for_each.rows[row, 2], for_each.rows[row, 3]):
        place, group, source = for_each.holes[hole, 0], for_each.holes[hole, 1], for_each.holes[hole, 3]
        if group == -2:
            slot = walks.values.base + chain * walks.writes.width + source
            _copy_value(search.values, place, walks.values, slot)
            continue
        which = search.groups[2 * group + 1] - for_each.holes[hole, 2]
        if which < search.groups[2 * group]:
            return 0
        if not load(search.sources, search.values, source, search.found[which], place):
            return GROW_TEXT
    return 1


@subroutine(int64(WALK_SEARCH, int64))
def each_holds(walks: WalkSearch, chain: int) -> int:
    """1 or 0 as the conditions on all bindings hold, more when there is no room."""
    search, for_each = walks.search, walks.for_each
    groups, values, pause = search.groups, search.values, search.pause
    before = values.free[0]
    for row in range(pause[STEP] if pause[GOING_ON] == BINDINGS else 0, for_each.rows.shape[0]):
        first, size, base, count = for_each.rows[row, 0], for_each.rows[row, 1] - for_each.rows[row, 0], 0, 1
        if pause[GOING_ON] == BINDINGS:
            pause[GOING_ON] = NOTHING
        else:
            for group in range(size):
                count = _collect(walks, chain, for_each.variables[first + group], base)
                if count < 0:
                    return GROW_LIST
                if count == 0:
                    break
                groups[2 * group] = base
                groups[2 * group + 1] = base
                base += count
            if count == 0:
                continue
            groups[2 * size] = base
        more = True
        while more:
            if pause[STEPS] <= 0:
                pause[GOING_ON], pause[STEP] = BINDINGS, row
                return PAUSED
            pause[STEPS] -= 1
            result = _fill(walks, row, chain)
            if result > 1:
                return result
            if result:
                run_program(values, for_each.rows[row, 4], for_each.rows[row, 5], 0)
                if values.num[values.stack] != 1.0:
                    values.free[0] = before
                    return 0
            values.free[0] = before
            more = next_combination(groups, size)
    return 1
