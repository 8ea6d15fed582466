"""NXT and LAST where runs have registers: a run keeps one partial match, the best, as long as no other can outlive it.

Two partial matches of one run go on in the same ways, and what is added to both leaves their order as it is. So the
better one is enough, unless it leaves the window before the other: then the run holds a list of them, as under ALL, and
the best is chosen when a match is complete (best_match.py). A run can also make others needless: in the same state,
with a better match that does not leave the window first, and with registers that pass every test that theirs pass.
"""

from __future__ import annotations

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.patterns.kernels.best_match import emit_best
from ostinato.patterns.kernels.correlated import add_all, hold_event, join_list, read_events
from ostinato.patterns.kernels.enumeration import write_match
from ostinato.patterns.kernels.layout import CorrelatedState
from ostinato.patterns.kernels.protocol import (
    ALONE,
    BOTTOM,
    DONE,
    EMITTING,
    FUEL,
    MATCHES,
    NEED_STACK,
    NIL,
    NO_WINDOW,
    OUTPUT_FULL,
    PENDING,
    SYMBOL_BITS,
    USED,
    WALK,
)
from ostinato.patterns.kernels.register_layout import (
    BORN,
    BY_PLACE,
    CELL_BEGIN,
    CELL_END,
    CELLS,
    CHOOSE_NEXT,
    DEAD,
    EQUAL,
    GREATER,
    INDEX_BEGIN,
    INDEX_END,
    LESS,
    LIST,
    NEWEST,
    NEXT,
    NULLS,
    OWNER,
    PLAIN,
    SYMBOL,
    TARGET,
)
from ostinato.patterns.kernels.register_programs import keep_passing_any
from ostinato.patterns.kernels.register_tests import order, order_floats
from ostinato.patterns.kernels.runs import enter, hash_run, last_death

STATE = struct_type(CorrelatedState)


@subroutine(boolean(STATE, int64))
def _is_alone(state: CorrelatedState, node: int) -> bool:
    return node == BOTTOM or state.nodes[4 * node + 2] == ALONE


@subroutine(int64(STATE, int64, int64))
def _better(state: CorrelatedState, left: int, right: int) -> int:
    """Which of two partial matches, each alone, is the better one; the left one if they have the same events."""
    nodes = state.nodes
    one, other, better = left, right, left
    if state.choice == CHOOSE_NEXT and left >= 0 and right >= 0 and nodes[4 * left + 3] != nodes[4 * right + 3]:
        return left if nodes[4 * left + 3] < nodes[4 * right + 3] else right  # which begins earlier
    while one != other:
        state.fuel[FUEL] -= 1
        if one < 0 or other < 0:  # whatever is left is only in one of them, and any event is better than none
            return right if one < 0 else left
        if nodes[4 * one] >> SYMBOL_BITS == nodes[4 * other] >> SYMBOL_BITS:
            one, other = nodes[4 * one + 1], nodes[4 * other + 1]
            continue
        better = left if one > other else right  # which has an event that the other does not: the latest so far
        if state.choice != CHOOSE_NEXT:
            return better
        if one > other:
            one = nodes[4 * one + 1]
        else:
            other = nodes[4 * other + 1]
    return better


@subroutine(boolean(STATE, int64, int64))
def _outlives(state: CorrelatedState, one: int, other: int) -> bool:
    """Whether one partial match stays in the window as long as another."""
    return state.window == NO_WINDOW or state.nodes[4 * one + 3] >= state.nodes[4 * other + 3]


@subroutine(int64(STATE, int64, int64, int64))
def _compare_cells(state: CorrelatedState, run: int, begin: int, end: int) -> int:
    """LESS if a run passes all tests that one with the cells of `held` does, GREATER the other way round, EQUAL if they
    hold the same, 0 if neither. Both have the same cells of NULL."""
    tables, ranking, held = state.tables, state.ranking, state.held
    result = EQUAL
    for at in range(begin, end):
        cell = tables.cells[at]
        if tables.runs[CELLS + cell, run] == held[cell, 0]:
            continue
        if tables.floating[cell]:
            outcome = order_floats(tables.run_floats[CELLS + cell, run], state.held_floats[cell, 0])
        else:
            outcome = order(tables.runs[CELLS + cell, run], held[cell, 0])
        if ranking[cell] == EQUAL or not outcome & (LESS | GREATER):
            return 0
        outcome = LESS if outcome == ranking[cell] else GREATER
        if result not in (EQUAL, outcome):
            return 0
        result = outcome
    return result


@subroutine(boolean(STATE, int64, int64, int64, int64, int64))
def _is_needless(state: CorrelatedState, key: int, control: int, nulls: int, node: int, low: int) -> bool:
    """Whether some run makes another needless that would hold `held` and a partial match; those that it makes needless
    itself die."""
    tables = state.tables
    states, cells, runs, heads, held = tables.states, tables.cells, tables.runs, state.run_heads, state.held
    owner = key * len(states) + control
    begin, end = states[control, CELL_BEGIN], states[control, CELL_END]
    low = max(low, DEAD + 1)
    floor = last_death(state, key, control)
    run = heads[BY_PLACE, hash_run(state, BY_PLACE, held, 0, 0, nulls, owner) & (heads.shape[1] - 1)]
    while run >= 0:
        state.fuel[FUEL] -= 1
        living = runs[NEWEST, run] >= low and runs[BORN, run] >= floor
        if runs[OWNER, run] == owner and living and runs[NULLS, run] == nulls:
            same = True
            for at in range(states[control, INDEX_BEGIN], states[control, INDEX_END]):
                same &= runs[CELLS + cells[at], run] == held[cells[at], 0]
            known = runs[LIST, run]
            passes = _compare_cells(state, run, begin, end) if same and _is_alone(state, known) else 0
            if passes == LESS and _outlives(state, known, node) and _better(state, known, node) == known:
                return True
            if passes == GREATER and _outlives(state, node, known) and _better(state, node, known) == node:
                runs[NEWEST, run] = DEAD
        run = runs[NEXT + BY_PLACE, run]
    return False


@subroutine(void(STATE, int64, int64, int64, int64, int64, int64, int64, int64))
def _add_best(
    state: CorrelatedState,
    key: int,
    action: int,
    nulls: int,
    before: int,
    position: int,
    tick: int,
    low: int,
    born: int,
) -> None:
    """As `add_all`, but a run keeps the better of two partial matches if it can."""
    nodes, cursor, tables = state.nodes, state.cursor, state.tables
    runs, actions, states = tables.runs, tables.actions, tables.states
    control, symbol = actions[action, TARGET], actions[action, SYMBOL]
    if state.window == NO_WINDOW:
        tick = born  # so that it says which match begins earlier
    if not _is_alone(state, before) or (before == BOTTOM and not symbol):
        add_all(state, key, action, nulls, before, position, tick, low, born)
        return
    node = before
    if symbol:
        node = cursor[USED]  # which is taken only once it is needed
        nodes[4 * node] = (position << SYMBOL_BITS) | symbol
        nodes[4 * node + 1], nodes[4 * node + 2] = before, ALONE
        nodes[4 * node + 3] = tick if before == BOTTOM else nodes[4 * before + 3]
    if len(state.ranking) and not states[control, PLAIN] and _is_needless(state, key, control, nulls, node, low):
        return
    run = enter(state, key, control, nulls, low)
    if run < 0:
        return
    known = runs[LIST, run] if runs[NEWEST, run] != DEAD else NIL
    if known >= 0:
        best = _better(state, known, node) if _is_alone(state, known) else NIL
        if best < 0 or not _outlives(state, best, known if best == node else node):
            join_list(state, run, before, position, symbol, tick)
            runs[BORN, run] = born
            return
        if best == known:
            return
    runs[LIST, run], runs[NEWEST, run], runs[BORN, run] = node, nodes[4 * node + 3], born
    if symbol:
        cursor[USED] += 1


@subroutine(int64(STATE, int64, int64, int64))
def _emit_best(state: CorrelatedState, count: int, position: int, low: int) -> int:
    """As `emit_best`, at once where every run has only its best partial match."""
    nodes, cursor, roots, path = state.nodes, state.cursor, state.roots, state.path
    best, symbol = roots[0], roots[1]
    for root in range(count):
        if not _is_alone(state, roots[2 * root]):
            return emit_best(state, count, position, low)
        if root and _better(state, best, roots[2 * root]) != best:
            best, symbol = roots[2 * root], roots[2 * root + 1]
    if cursor[EMITTING]:
        return DONE  # before there was too little room for what comes after
    cursor[PENDING] = 0
    length = 0
    if symbol:
        path[0] = (position << SYMBOL_BITS) | symbol
        length = 1
    while best >= 0:
        if length + 2 >= len(path):
            return NEED_STACK
        path[length] = nodes[4 * best]
        best = nodes[4 * best + 1]
        length += 1
    if state.mode == WALK:
        cursor[MATCHES] += 1
    elif not write_match(state, length):
        cursor[PENDING] = length
        return OUTPUT_FULL
    cursor[EMITTING] = count
    return DONE


@kernel(int64(STATE))
def run_best(state: CorrelatedState) -> int:
    """Only the best match of each event is given out, and no labels are; some tests may be programs."""
    return read_events(state, keep_passing_any, _emit_best, hold_event, _add_best)
