"""What runs have bound: chains of (variable, node), each kept once, with the values that a run remembers at each.

Equal sequences of bindings are one chain, so that two walks with the same bindings are one match. Chain 0 is empty.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import inlined, kernel
from ostinato.xseq.kernels.buffered.values import load
from ostinato.xseq.kernels.values import compare, run_program


class Chains(NamedTuple):
    parent: NDArray[np.int32]
    label: NDArray[np.int32]  # a variable; or, from `variables` on, a path variable of which a round begins
    node: NDArray[np.int32]  # -1 for a round
    done: NDArray[np.uint8]  # bits: 1 the values are there, 2 the end was tested, 4 it is a match
    table: NDArray[np.int32]  # open addressing, a power of two; -1: free


class Work(NamedTuple):
    """What moves write and test, as walk/tables.py lays it out."""

    ops: NDArray[np.int32]
    move_ops: NDArray[np.int32]
    tests: NDArray[np.int32]
    move_tests: NDArray[np.int32]
    end_tests: NDArray[np.int32]
    needs: NDArray[np.int32]
    code: NDArray[np.int32]
    labels: NDArray[np.int32]  # where the labels of each move begin in `label`; one more at the end
    label: NDArray[np.int32]
    variables: int  # how many labels are variables
    rounds: int  # the label of chains that are nodes where rounds began
    first_source: int
    stack: int
    base: int
    width: int


class Each(NamedTuple):
    """Conditions that must hold for every combination of bindings."""

    rows: NDArray[np.int32]  # (variables begin, end, holes begin, end, code begin, end) each
    variables: NDArray[np.int32]
    holes: NDArray[np.int32]  # (place, which of the variables or -2 for a slot, prev, source or slot) each


@inlined
def mixed(one: Any, two: Any, three: Any) -> Any:
    """A hash of three numbers."""
    value = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15)
    value = (value ^ (value >> np.uint64(29))) + np.uint64(two)
    value = value * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(32))) + np.uint64(three)
    value = value * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@kernel()
def place_of(chains: Any, parent: Any, label: Any, node: Any) -> Any:
    """Where in the table a chain stands, or would."""
    mask = np.uint64(chains.table.size - 1)
    place = np.int64(mixed(parent, label, node + 1) & mask)
    while True:
        chain = chains.table[place]
        if chain < 0 or (
            chains.parent[chain] == parent and chains.label[chain] == label and chains.node[chain] == node
        ):
            return place
        place = (place + 1) & (chains.table.size - 1)


@kernel()
def began(chains: Any, trail: Any, node: Any) -> Any:
    """Whether a round began at a node."""
    while trail > 0:
        if chains.node[trail] == node:
            return True
        trail = chains.parent[trail]
    return False


@kernel()
def enter_again(chains: Any, count: Any) -> Any:
    """Fill a new table."""
    for chain in range(1, count):
        place = place_of(chains, chains.parent[chain], chains.label[chain], chains.node[chain])
        chains.table[place] = chain


@inlined
def put(values: Any, place: Any, other: Any) -> Any:
    values.kind[place] = values.kind[other]
    values.num[place] = values.num[other]
    values.start[place] = values.start[other]
    values.size[place] = values.size[other]
    values.origin[place] = values.origin[other]


@kernel()
def remember(
    tree: Any, data: Any, sources: Any, work: Any, values: Any, move: Any, node: Any, old: Any, new: Any, free: Any
) -> Any:
    """The values of chain `new`: those of `old`, changed by what a move writes. False when there is no room."""
    before = work.base + old * work.width
    after = work.base + new * work.width
    for slot in range(work.width):
        put(values, after + slot, before + slot)
    shift = new * work.width
    for row in range(work.move_ops[move], work.move_ops[move + 1]):
        what, slot, one, two = work.ops[row, 0], work.ops[row, 1], work.ops[row, 2], work.ops[row, 3]
        place = after + slot
        if what == 0:
            put(values, place, after + one)
        elif what == 1:
            values.kind[place] = 0
            values.origin[place] = -1
        elif what <= 4:
            if what >= 3 and values.kind[place] != 0:
                continue
            if what == 4 and values.num[after + two] != 1.0:
                continue
            if not load(tree, data, sources, one - work.first_source, node, values, place, free):
                return False
        elif what == 5 or (what == 6 and one == two):
            values.num[place] += 1.0
        else:
            for step in range(one, two):
                source = work.code[2 * step + 1] - work.first_source
                if work.code[2 * step] != 0 or not 0 <= source < work.stack - work.first_source:
                    continue
                if not load(tree, data, sources, source, node, values, source + work.first_source, free):
                    return False
            run_program(
                work.code, one, two, shift, work.base, work.stack,
                values.kind, values.num, values.start, values.size, data.buffer, data.held,
            )  # fmt: skip
            kind, number = values.kind[work.stack], values.num[work.stack]
            if what == 6:
                if kind >= 2:
                    values.num[place] += 1.0
            elif kind >= 3:
                if values.kind[place] < 3:
                    values.num[place] = number
                elif what == 7:
                    values.num[place] += number
                elif what == 8:
                    values.num[place] = min(values.num[place], number)
                else:
                    values.num[place] = max(values.num[place], number)
                values.kind[place] = 4
    return True


@kernel()
def all_hold(work: Any, data: Any, values: Any, chain: Any, begin: Any, end: Any) -> Any:
    """Whether the tests begin … end - 1 hold on the values of a chain."""
    shift = chain * work.width
    for test in range(begin, end):
        applies = True
        for need in range(work.tests[test, 6], work.tests[test, 7]):
            if values.kind[work.base + shift + work.needs[need]] == 0:
                applies = False
        if not applies:
            continue
        if work.tests[test, 0]:
            left, right = work.tests[test, 2], work.tests[test, 3]
            left = left if left < work.base else left + shift
            right = right if right < work.base else right + shift
            good = compare(
                work.tests[test, 1], left, right,
                values.kind, values.num, values.start, values.size, data.buffer, data.held,
            )  # fmt: skip
        else:
            run_program(
                work.code, work.tests[test, 4], work.tests[test, 5], shift, work.base, work.stack,
                values.kind, values.num, values.start, values.size, data.buffer, data.held,
            )  # fmt: skip
            good = values.num[work.stack] == 1.0
        if not good:
            return False
    return True


@kernel()
def each_holds(
    tree: Any, data: Any, sources: Any, work: Any, each: Any, checks: Any, chains: Any, values: Any, own: Any,
    room: Any, chain: Any, free: Any,
) -> Any:  # fmt: skip
    """1 or 0 as the conditions on all bindings hold, more when there is no room."""
    before = free[0]
    for row in range(each.rows.shape[0]):
        first, last = each.rows[row, 0], each.rows[row, 1]
        base = 0
        for group in range(first, last):
            count = 0
            at = chain
            while at > 0:
                if chains.label[at] == each.variables[group]:
                    count += 1
                at = chains.parent[at]
            if base + count > room.found.size:
                return 12
            place = base + count - 1
            at = chain
            while at > 0:
                if chains.label[at] == each.variables[group]:
                    room.found[place] = chains.node[at]
                    place -= 1
                at = chains.parent[at]
            room.groups[2 * (group - first)] = base
            room.groups[2 * (group - first) + 1] = base
            base += count
            if count == 0:
                base = -1
                break
        if base < 0:
            continue
        room.groups[2 * (last - first)] = base
        while True:
            applies = True
            for hole in range(each.rows[row, 2], each.rows[row, 3]):
                place, group, source = each.holes[hole, 0], each.holes[hole, 1], each.holes[hole, 3]
                if group == -2:
                    slot = work.base + chain * work.width + source
                    own.kind[place] = values.kind[slot]
                    own.num[place] = values.num[slot]
                    own.start[place] = values.start[slot]
                    own.size[place] = values.size[slot]
                    continue
                which = room.groups[2 * group + 1] - each.holes[hole, 2]
                if which < room.groups[2 * group]:
                    applies = False
                    break
                if not load(tree, data, sources, source, room.found[which], own, place, free):
                    return 11
            if applies:
                run_program(
                    checks.programs, each.rows[row, 4], each.rows[row, 5], 0, 1 << 30, checks.stack,
                    own.kind, own.num, own.start, own.size, data.buffer, data.held,
                )  # fmt: skip
                if own.num[checks.stack] != 1.0:
                    free[0] = before
                    return 0
            free[0] = before
            group = last - first - 1
            while group >= 0:
                room.groups[2 * group + 1] += 1
                if room.groups[2 * group + 1] < room.groups[2 * group + 2]:
                    break
                room.groups[2 * group + 1] = room.groups[2 * group]
                group -= 1
            if group < 0:
                break
    return 1
