"""Conditions on single nodes of a tree: what relative paths reach, and whether some of it makes a comparison hold."""

from __future__ import annotations

from ostinato.core.arrays import Int32
from ostinato.core.jit import array, subroutine
from ostinato.core.jit.types import boolean, int32, int64
from ostinato.xseq.kernels.buffered.build import advance, passes
from ostinato.xseq.kernels.buffered.layout import (
    BASE,
    COMBINATIONS,
    FIND_COUNT,
    FIND_DEPTH,
    GOING_ON,
    GROUP,
    GROW_LIST,
    GROW_PATH,
    GROW_TEXT,
    IS_AND,
    IS_ATOM,
    IS_NOT,
    NOTHING,
    PAUSED,
    SEARCH,
    SEARCH_OF_NODES,
    STEP,
    STEPS,
    TRUTHS,
    Search,
)
from ostinato.xseq.kernels.buffered.values import load
from ostinato.xseq.kernels.values import run_program


@subroutine(int64(int64, int64))
def _combine(operation: int, truths: int) -> int:
    """A stack of bits after IS_AND, IS_OR or IS_NOT."""
    if operation == IS_NOT:
        return truths ^ 1
    both = truths & (truths >> 1) if operation == IS_AND else truths | (truths >> 1)
    return (truths >> 2 << 1) | (both & 1)


@subroutine(int64(SEARCH, int64, int64))
def simply_holds(search: Search, check: int, node: int) -> int:
    """1 or 0 as a condition without paths holds on a node, more when there is no room."""
    checks, values = search.checks, search.values
    before, truths = values.free[0], 0
    for step in range(checks.begin[check], checks.begin[check + 1]):
        operation = checks.code[2 * step]
        if operation == IS_ATOM:
            row = 7 * checks.code[2 * step + 1]
            for hole in range(checks.atoms[row + 1], checks.atoms[row + 2]):
                if not load(search.sources, values, checks.holes[3 * hole + 2], node, checks.holes[3 * hole]):
                    values.free[0] = before
                    return GROW_TEXT
            run_program(values, checks.atoms[row + 5], checks.atoms[row + 6], 0)
            values.free[0] = before
            truths = (truths << 1) | int(values.num[values.stack] == 1.0)
        else:
            truths = _combine(operation, truths)
    return truths & 1


@subroutine(int64(SEARCH, int64, int64))
def _decided(search: Search, move: int, node: int) -> int:
    """1 or 0 as the checks of a move hold on a node, where those with paths were decided before; more without room."""
    automaton, checks = search.automaton, search.checks
    for which in range(automaton.checks[move], automaton.checks[move + 1]):
        check = automaton.check[which]
        table = checks.table[check]
        if table >= 0:
            result = int(search.known[table * search.tree.kind.size + node] == 2)
        else:
            result = simply_holds(search, check, node)
        if result != 1:
            return result
    return 1


@subroutine(boolean(SEARCH, int64, int64, int64))
def _was_there(search: Search, depth: int, state: int, node: int) -> bool:
    """Whether the search has come to a node in a state, with the marks at `depth`, on its way there."""
    width, marks = search.width, search.marks
    for above in range(depth):
        if search.state[above] == state and search.node[above] == node:
            same = True
            for mark in range(search.automaton.marks[state]):
                if marks[above * width + mark] != marks[depth * width + mark]:
                    same = False
            if same:
                return True
    return False


@subroutine(int64(SEARCH, int64, int64))
def _next_node(search: Search, depth: int, move: int) -> int:
    """The next node that a move leads to, -1 if there is none."""
    axis, here, cursor = search.automaton.axis[move], search.node[depth], search.at[depth]
    if axis < 10:
        return advance(search.tree, axis, here, cursor)
    marked = search.marks[depth * search.width + search.automaton.mark[move]]
    if cursor != -2 or (axis == 12 and marked != here):
        return -1
    return marked if axis == 11 else here


@subroutine(int64(SEARCH, int64, int64, int64, boolean))
def _find(search: Search, start: int, node: int, base: int, find_all: bool) -> int:
    automaton, number, pause = search.automaton, search.number[0], search.pause
    count = depth = 0
    entered = pause[GOING_ON] != SEARCH_OF_NODES
    if entered:
        search.state[0] = start
        search.node[0] = node
        search.move[0] = automaton.begin[start]
        search.at[0] = -2
    else:
        depth, count = pause[FIND_DEPTH], pause[FIND_COUNT]
        pause[GOING_ON] = NOTHING
    while depth >= 0:
        if not entered and pause[STEPS] <= 0:
            pause[GOING_ON] = SEARCH_OF_NODES
            pause[FIND_DEPTH], pause[FIND_COUNT] = depth, count
            return -PAUSED
        pause[STEPS] -= 1
        state = search.state[depth]
        if entered:
            entered = False
            if automaton.accepting[state]:
                if not find_all:
                    return 1
                if base + count >= search.found.size:
                    return -GROW_LIST
                search.found[base + count] = search.node[depth]
                count += 1
        move = search.move[depth]
        if move == automaton.begin[state + 1]:
            depth -= 1
            continue
        at = _next_node(search, depth, move)
        if at < 0:
            search.move[depth] = move + 1
            search.at[depth] = -2
            continue
        search.at[depth] = at
        axis = automaton.axis[move]
        if axis < 10 and not passes(search.tree, axis, automaton.test[move], search.names[move], at):
            continue
        result = _decided(search, move, at)
        if result > 1:
            return -result
        if result == 0:
            continue
        if depth + 2 >= search.state.size:
            return -GROW_PATH
        target, begin = automaton.target[move], (depth + 1) * search.width
        for mark in range(automaton.marks[target]):
            search.marks[begin + mark] = search.marks[begin - search.width + mark]
        if axis == 10:
            search.marks[begin + automaton.mark[move]] = at
        if automaton.marks[target] == 0:
            place = (target - search.first) * search.tree.kind.size + at
            if search.seen[place] == number:
                continue
            search.seen[place] = number
        elif _was_there(search, depth + 1, target, at):  # that leads to nothing new
            continue
        depth += 1
        search.state[depth] = target
        search.node[depth] = at
        search.move[depth] = automaton.begin[target]
        search.at[depth] = -2
        entered = True
    return count


@subroutine(int64(SEARCH, int64, int64, int64, boolean))
def find_nodes(search: Search, start: int, node: int, base: int, find_all: bool) -> int:
    """The nodes that a walk from `node` ends on, put at found[base:]; how many, or only whether there is one.

    Below zero what to make larger when there is no room. Checks on the way that have paths were decided before.
    """
    if find_all and search.pause[GOING_ON] != SEARCH_OF_NODES:
        search.number[0] += 1
    count = _find(search, start, node, base, find_all)
    if count != -PAUSED and (find_all or count != 0):  # after a search in vain the next one need not look there again
        search.number[0] += 1
    return count


@subroutine(boolean(array(int32), int64))
def next_combination(groups: Int32, size: int) -> bool:
    """Go on to the next combination of a node of each group; False after the last one."""
    group = size - 1
    while group >= 0:
        groups[2 * group + 1] += 1
        if groups[2 * group + 1] < groups[2 * group + 2]:
            return True
        groups[2 * group + 1] = groups[2 * group]
        group -= 1
    return False


@subroutine(int64(SEARCH, int64, int64))
def _atom_holds(search: Search, atom: int, node: int) -> int:
    """1 when some nodes make the comparison hold, 0 when none do, more when there is no room."""
    checks, groups, values, row = search.checks, search.groups, search.values, 7 * atom
    pause = search.pause
    first, size = checks.atoms[row + 3], checks.atoms[row + 4] - checks.atoms[row + 3]
    if checks.atoms[row] == 0:
        return abs(find_nodes(search, checks.groups[first], node, 0, False))
    if pause[GOING_ON] == COMBINATIONS:
        pause[GOING_ON] = NOTHING
    else:
        begin = base = 0
        if pause[GOING_ON] == SEARCH_OF_NODES:
            begin, base = pause[GROUP], pause[BASE]
        for group in range(begin, size):
            pause[GROUP], pause[BASE] = group, base
            count = find_nodes(search, checks.groups[first + group], node, base, True)
            if count <= 0:
                return -count
            groups[2 * group] = base
            groups[2 * group + 1] = base
            base += count
        groups[2 * size] = base
    while True:
        if pause[STEPS] <= 0:
            pause[GOING_ON] = COMBINATIONS
            return PAUSED
        pause[STEPS] -= 1
        for hole in range(checks.atoms[row + 1], checks.atoms[row + 2]):
            group = checks.holes[3 * hole + 1]
            which = node if group == -1 else search.found[groups[2 * group + 1]]
            if not load(search.sources, values, checks.holes[3 * hole + 2], which, checks.holes[3 * hole]):
                return GROW_TEXT
        run_program(values, checks.atoms[row + 5], checks.atoms[row + 6], 0)
        if values.num[values.stack] == 1.0:
            return 1
        if not next_combination(groups, size):
            return 0


@subroutine(int64(SEARCH, int64, int64))
def check_holds(search: Search, check: int, node: int) -> int:
    """1 or 0 as a condition holds on a node, more when there is no room."""
    checks, values = search.checks, search.values
    table = checks.table[check]
    if table < 0:
        return simply_holds(search, check, node)
    place = table * search.tree.kind.size + node
    if search.known[place]:
        return search.known[place] - 1
    before, truths, begin, pause = values.free[0], 0, checks.begin[check], search.pause
    if pause[GOING_ON] != NOTHING:
        begin, truths = pause[STEP], pause[TRUTHS]
    for step in range(begin, checks.begin[check + 1]):
        operation = checks.code[2 * step]
        if operation == IS_ATOM:
            result = _atom_holds(search, checks.code[2 * step + 1], node)
            values.free[0] = before
            if result > 1:
                pause[STEP], pause[TRUTHS] = step, truths
                return result
            truths = (truths << 1) | result
        else:
            truths = _combine(operation, truths)
    search.known[place] = 1 + (truths & 1)
    return truths & 1


@subroutine(int64(SEARCH, int64, int64))
def move_holds(search: Search, move: int, node: int) -> int:
    """1 or 0 as the checks of a move hold on a node, more when there is no room."""
    automaton = search.automaton
    for which in range(automaton.checks[move], automaton.checks[move + 1]):
        result = check_holds(search, automaton.check[which], node)
        if result != 1:
            return result
    return 1
