"""Conditions on single nodes of a tree: what relative paths reach, and whether some of it makes a comparison hold."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import inlined, kernel
from ostinato.xseq.kernels.buffered.build import advance, passes
from ostinato.xseq.kernels.buffered.values import load
from ostinato.xseq.kernels.values import run_program

MARK, BACK, MEET, BEGIN, AGAIN = 10, 11, 12, 13, 14  # jumps, numbered after the axes
GROW_TEXT, GROW_LIST, GROW_PATH = 11, 12, 13  # what has to be made larger before the kernel is called again


class Auto(NamedTuple):
    """The moves of all walks, by the state they leave."""

    begin: NDArray[np.int32]
    axis: NDArray[np.int32]
    target: NDArray[np.int32]
    test: NDArray[np.int32]
    name: NDArray[np.int32]
    mark: NDArray[np.int32]
    checks: NDArray[np.int32]  # where the checks of each move begin in `check`; one more at the end
    check: NDArray[np.int32]
    accepting: NDArray[np.uint8]
    marks: NDArray[np.int32]  # of each state: how many nodes a run there may have to remember


class Checks(NamedTuple):
    """Conditions as programs over atoms; an atom is a comparison that must hold for some nodes that paths reach."""

    begin: NDArray[np.int32]  # where the program of each check begins; one more at the end
    code: NDArray[np.int32]  # pairs: 0 atom, 1 and, 2 or, 3 not
    table: NDArray[np.int32]  # of a check whose results are remembered: its row in `known`, else -1
    atoms: NDArray[np.int32]  # (0 exists or 1 compares, holes begin, end, groups begin, end, code begin, end) each
    holes: NDArray[np.int32]  # (place, group or -1 for the node itself, source) each
    groups: NDArray[np.int32]  # the states where relative paths begin
    programs: NDArray[np.int32]
    stack: int
    known: NDArray[np.uint8]  # per table and node: 0 not known, 1 fails, 2 holds


class Search(NamedTuple):
    """Room for a search along a relative path."""

    seen: NDArray[np.int32]  # per state of relative walks and node: the number of the search that was there
    first: int  # the first of those states
    number: NDArray[np.int32]
    state: NDArray[np.int32]
    node: NDArray[np.int32]
    move: NDArray[np.int32]
    at: NDArray[np.int32]
    marks: NDArray[np.int32]
    width: int
    found: NDArray[np.int32]
    groups: NDArray[np.int32]  # where the nodes of each group of an atom begin and which is tried, in pairs


@inlined
def simply_holds(tree: Any, data: Any, sources: Any, checks: Any, check: Any, node: Any, own: Any, free: Any) -> Any:
    """1 or 0 as a condition without paths holds on a node, 11 when there is no room."""
    before = free[0]
    truths: Any = np.int64(0)  # a stack of bits
    result: Any = 0
    for step in range(checks.begin[check], checks.begin[check + 1]):
        operation = checks.code[2 * step]
        if operation == 0:
            row = 7 * checks.code[2 * step + 1]
            for hole in range(checks.atoms[row + 1], checks.atoms[row + 2]):
                if not load(
                    tree, data, sources, checks.holes[3 * hole + 2], node, own, checks.holes[3 * hole], free
                ):  # fmt: skip
                    result = 11
            run_program(
                checks.programs, checks.atoms[row + 5], checks.atoms[row + 6], 0, 1 << 30, checks.stack,
                own.kind, own.num, own.start, own.size, data.buffer, data.held,
            )  # fmt: skip
            free[0] = before
            truths = (truths << 1) | (1 if own.num[checks.stack] == 1.0 else 0)
        elif operation == 1:
            truths = (truths >> 2 << 1) | (truths & (truths >> 1) & 1)
        elif operation == 2:
            truths = (truths >> 2 << 1) | ((truths | (truths >> 1)) & 1)
        else:
            truths ^= 1
    if result == 0:
        result = truths & 1
    return result


@kernel()
def search(
    tree: Any, data: Any, sources: Any, auto: Any, checks: Any, room: Any, own: Any, free: Any,
    start: Any, node: Any, base: Any, all_of_them: Any,
) -> Any:  # fmt: skip
    """The nodes that a walk from `node` ends on, put at found[base:]; how many, or only whether there is one.

    Below zero what to make larger when there is no room. Checks on the way that have paths were decided before.
    """
    count = 0
    nodes = tree.kind.size
    width = room.width
    if all_of_them:
        room.number[0] += 1
    number = room.number[0]  # stays as it is after a search in vain: it need not look there again
    depth = 0
    room.state[0] = start
    room.node[0] = node
    room.move[0] = auto.begin[start]
    room.at[0] = -2
    entered = True
    while depth >= 0:
        state, here = room.state[depth], room.node[depth]
        if entered:
            entered = False
            if auto.accepting[state]:
                if not all_of_them:
                    room.number[0] += 1
                    return 1
                if base + count >= room.found.size:
                    room.number[0] += 1
                    return -12
                room.found[base + count] = here
                count += 1
        move = room.move[depth]
        if move == auto.begin[state + 1]:
            depth -= 1
            continue
        axis = auto.axis[move]
        if axis >= 10:
            mark = auto.mark[move]
            at = here if room.at[depth] == -2 else -1
            if at >= 0 and axis == 11:
                at = room.marks[depth * width + mark]
            elif at >= 0 and axis == 12 and room.marks[depth * width + mark] != here:
                at = -1
        else:
            at = advance(tree, axis, here, room.at[depth])
        if at < 0:
            room.move[depth] = move + 1
            room.at[depth] = -2
            continue
        room.at[depth] = at
        good = axis >= 10 or passes(tree, axis, auto.test[move], auto.name[move], at)
        if good:
            for which in range(auto.checks[move], auto.checks[move + 1]):
                table = checks.table[auto.check[which]]
                if table >= 0:
                    good = checks.known[table * nodes + at] == 2
                else:
                    result = simply_holds(tree, data, sources, checks, auto.check[which], at, own, free)
                    if result > 1:
                        room.number[0] += 1
                        return -result
                    good = result == 1
                if not good:
                    break
        if not good:
            continue
        target = auto.target[move]
        if depth + 2 >= room.state.size:
            room.number[0] += 1
            return -13
        for mark in range(auto.marks[target]):
            room.marks[(depth + 1) * width + mark] = room.marks[depth * width + mark]
        if axis == 10:
            room.marks[(depth + 1) * width + auto.mark[move]] = at
        if auto.marks[target] == 0:
            place = (target - room.first) * nodes + at
            if room.seen[place] == number:
                continue
            room.seen[place] = number
        else:  # a walk that comes back to where it was leads to nothing new
            again = False
            for above in range(depth + 1):
                if room.state[above] == target and room.node[above] == at:
                    again = True
                    for mark in range(auto.marks[target]):
                        if room.marks[above * width + mark] != room.marks[(depth + 1) * width + mark]:
                            again = False
                    if again:
                        break
            if again:
                continue
        depth += 1
        room.state[depth] = target
        room.node[depth] = at
        room.move[depth] = auto.begin[target]
        room.at[depth] = -2
        entered = True
    if all_of_them:
        room.number[0] += 1
    return count


@kernel()
def atom_holds(
    tree: Any, data: Any, sources: Any, auto: Any, checks: Any, room: Any, atom: Any, node: Any, own: Any, free: Any
) -> Any:
    """1 when some nodes make the comparison hold, 0 when none do, more when there is no room."""
    row = 7 * atom
    first, last = checks.atoms[row + 3], checks.atoms[row + 4]
    if checks.atoms[row] == 0:
        return abs(search(tree, data, sources, auto, checks, room, own, free, checks.groups[first], node, 0, False))
    base = 0
    for group in range(first, last):
        count = search(
            tree, data, sources, auto, checks, room, own, free, checks.groups[group], node, base, True
        )  # fmt: skip
        if count < 0:
            return -count
        if count == 0:
            return 0
        room.groups[2 * (group - first)] = base
        room.groups[2 * (group - first) + 1] = base
        base += count
    room.groups[2 * (last - first)] = base
    while True:
        for hole in range(checks.atoms[row + 1], checks.atoms[row + 2]):
            place, group, source = checks.holes[3 * hole], checks.holes[3 * hole + 1], checks.holes[3 * hole + 2]
            which = node if group == -1 else room.found[room.groups[2 * group + 1]]
            if not load(tree, data, sources, source, which, own, place, free):
                return 11
        run_program(
            checks.programs, checks.atoms[row + 5], checks.atoms[row + 6], 0, 1 << 30, checks.stack,
            own.kind, own.num, own.start, own.size, data.buffer, data.held,
        )  # fmt: skip
        if own.num[checks.stack] == 1.0:
            return 1
        group = last - first - 1
        while group >= 0:
            room.groups[2 * group + 1] += 1
            if room.groups[2 * group + 1] < room.groups[2 * group + 2]:
                break
            room.groups[2 * group + 1] = room.groups[2 * group]
            group -= 1
        if group < 0:
            return 0


@kernel()
def check_holds(
    tree: Any, data: Any, sources: Any, auto: Any, checks: Any, room: Any, check: Any, node: Any, own: Any, free: Any
) -> Any:
    """1 or 0 as a condition holds on a node, more when there is no room."""
    table = checks.table[check]
    place = table * tree.kind.size + node
    if table >= 0 and checks.known[place]:
        return checks.known[place] - 1
    before = free[0]
    truths = np.int64(0)  # a stack of bits
    for step in range(checks.begin[check], checks.begin[check + 1]):
        operation, argument = checks.code[2 * step], checks.code[2 * step + 1]
        if operation == 0:
            result = atom_holds(tree, data, sources, auto, checks, room, argument, node, own, free)
            free[0] = before
            if result > 1:
                return result
            truths = (truths << 1) | result
        elif operation == 1:
            truths = (truths >> 2 << 1) | (truths & (truths >> 1) & 1)
        elif operation == 2:
            truths = (truths >> 2 << 1) | ((truths | (truths >> 1)) & 1)
        else:
            truths ^= 1
    if table >= 0:
        checks.known[place] = 1 + (truths & 1)
    return truths & 1


@kernel()
def decide(
    tree: Any, data: Any, sources: Any, auto: Any, checks: Any, room: Any, check: Any, own: Any, free: Any,
    names: Any, at: Any,
) -> Any:  # fmt: skip
    """Decide a check from node at[0] on, for the searches of checks that it is a part of.

    `names` are those of the elements it is asked of; where there are none, it is asked of all nodes.
    """
    for node in range(at[0], tree.kind.size):
        at[0] = node
        asked = names.size == 0
        for place in range(names.size):
            asked |= tree.name[node] == names[place]
        if not asked:
            continue
        result = check_holds(tree, data, sources, auto, checks, room, check, node, own, free)
        if result > 1:
            return result
    return 0


@kernel()
def filter_nodes(
    tree: Any, data: Any, sources: Any, auto: Any, checks: Any, room: Any, move: Any, nodes: Any, own: Any, free: Any,
    at: Any,
) -> Any:  # fmt: skip
    """Set to -1 those of `nodes`, from at[0] on, on which a check of a move fails; not 0 when there is no room."""
    for place in range(at[0], nodes.size):
        at[0] = place
        for which in range(auto.checks[move], auto.checks[move + 1]):
            result = check_holds(tree, data, sources, auto, checks, room, auto.check[which], nodes[place], own, free)
            if result > 1:
                return result
            if result == 0:
                nodes[place] = -1
                break
    return 0
