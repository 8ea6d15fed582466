"""The update loop for patterns that compare events with each other: each event moves the runs whose tests it passes.

What an event may do is a table of *actions* per code: find the runs of a state, by the equalities that its tests share,
keep those that pass the other tests, and complete their matches, move them on, or end them. A run that an event does
not touch stays as it is, without being looked at.
"""

from __future__ import annotations

from collections.abc import Callable

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import int64, struct_type, void
from ostinato.patterns.kernels.completions import emit_all
from ostinato.patterns.kernels.layout import CorrelatedState, RunTables
from ostinato.patterns.kernels.lists import resolve
from ostinato.patterns.kernels.protocol import (
    AT,
    BOTTOM,
    CLOCK,
    CODE,
    COMPLETED,
    CONSUME_ANY,
    CONSUME_ASK,
    CONSUME_NONE,
    DONE,
    EMITTED,
    EMITTING,
    EVENT_WINDOW,
    FLOOR,
    FOREVER,
    FREED,
    FUEL,
    KEY_WINDOW,
    NEED_NODES,
    NEED_PENDING,
    NEED_STEP,
    NEEDED,
    NIL,
    NO_WINDOW,
    NOTICE,
    PAUSED,
    RUNS,
    SYMBOL_BITS,
    USED,
)
from ostinato.patterns.kernels.register_layout import (
    ACTION_BEGIN,
    ACTION_END,
    BORN,
    CELL_BEGIN,
    CELL_END,
    CELLS,
    COMPLETE,
    DEAD,
    END,
    EVENT_NUMBER,
    KILL_BEGIN,
    KILL_END,
    KIND,
    LIST,
    MOVE,
    NEWEST,
    NULLS,
    SOURCE,
    SYMBOL,
    TARGET,
    TEST_BEGIN,
    TEST_END,
    WRITE_BEGIN,
    WRITE_END,
)
from ostinato.patterns.kernels.register_tests import keep_passing
from ostinato.patterns.kernels.runs import enter, find_runs

STATE = struct_type(CorrelatedState)
_SOME = 1 << 16
Keep = Callable[[RunTables, int, int, int, int], int]
Emit = Callable[[CorrelatedState, int, int, int], int]
Hold = Callable[[CorrelatedState, int, int, int], int]
Add = Callable[[CorrelatedState, int, int, int, int, int, int, int, int], None]


@subroutine(int64(STATE, int64, int64, int64))
def hold_event(state: CorrelatedState, action: int, source: int, row: int) -> int:
    """Write to `held` what a run holds after an action: what it still needs, and what it remembers of the event.

    Returns a bit for each cell that is NULL.
    """
    tables = state.tables
    actions, states, cells, writes = tables.actions, tables.states, tables.cells, tables.writes
    runs, held = tables.runs, state.held
    control = actions[action, TARGET]
    nulls = 0
    for cell in range(held.shape[0]):
        held[cell, 0] = 0
    if source >= 0:
        for at in range(states[control, CELL_BEGIN], states[control, CELL_END]):
            cell = cells[at]
            held[cell, 0] = runs[CELLS + cell, source]
            nulls |= runs[NULLS, source] & (1 << cell)
    for write in range(actions[action, WRITE_BEGIN], actions[action, WRITE_END]):
        cell, term = writes[write, 0], writes[write, 1]
        nulls &= ~(1 << cell)
        if term == EVENT_NUMBER:
            held[cell, 0] = state.cursor[CLOCK] + row
            continue
        held[cell, 0] = tables.terms[term, row]
        if not tables.present[term, row]:
            held[cell, 0] = 0
            nulls |= 1 << cell
    return nulls


@subroutine(void(STATE, int64, int64, int64, int64, int64))
def join_list(state: CorrelatedState, run: int, before: int, position: int, symbol: int, tick: int) -> None:
    """Add what came `before`, with the event if it has a symbol, to the list of a run."""
    nodes, cursor, runs = state.nodes, state.cursor, state.tables.runs
    known = runs[LIST, run] if runs[NEWEST, run] != DEAD else NIL
    if known >= 0 and state.apart:
        return  # it came another way
    newest = tick if before == BOTTOM else nodes[4 * before + 3]
    if known >= 0:
        newest = max(newest, nodes[4 * known + 3])
    runs[NEWEST, run] = newest
    if known < 0 and not symbol:
        runs[LIST, run] = before
        return
    at = 4 * cursor[USED]
    nodes[at + 3] = newest
    if symbol:
        nodes[at], nodes[at + 1], nodes[at + 2] = (position << SYMBOL_BITS) | symbol, before, known
    else:
        nodes[at], nodes[at + 1], nodes[at + 2] = -1, known, before
    runs[LIST, run] = cursor[USED]
    cursor[USED] += 1


@subroutine(void(STATE, int64, int64, int64, int64, int64, int64, int64, int64), inline=True)
def add_all(
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
    """Add what came `before` an action, with the event, to the run that holds what `held` does."""
    actions, runs = state.tables.actions, state.tables.runs
    run = enter(state, key, actions[action, TARGET], nulls, low)
    if run >= 0:
        join_list(state, run, before, position, actions[action, SYMBOL], tick)
        runs[BORN, run] = born


@subroutine()
def read_events(state: CorrelatedState, keep: Keep, emit: Emit, hold: Hold, add: Add) -> int:
    """Read events from cursor[AT] on. Empty `keys` or `positions` mean one key, rows as they come.

    `keep`, `emit`, `hold` and `add` are subroutines: most patterns do with simple ones, which are compiled sooner.
    """
    tables = state.tables
    codes, keys, positions, first_position = state.codes, state.keys, state.positions, state.first_position
    ticks, lows, window, width, consume = state.ticks, state.lows, state.window, state.width, state.consume
    cursor, key_count, killed, kills, mode = state.cursor, state.key_count, state.killed, tables.kills, state.mode
    code_ranges, actions, runs, candidates = tables.code_ranges, tables.actions, tables.runs, tables.candidates
    nodes, pending, roots, fuel = state.nodes, state.pending, state.roots, state.fuel
    keyed, placed = len(keys) > 0, len(positions) > 0
    capacity, room = len(nodes) // 4, runs.shape[1]
    tick, low = 0, FOREVER
    for at in range(cursor[AT], len(codes)):
        key = keys[at] if keyed else 0
        if window == EVENT_WINDOW:
            tick = key_count[key] + 1
            low = tick - width + 1
        elif window != NO_WINDOW:
            tick, low = ticks[at], lows[at]
        code = codes[at]
        if code >= len(code_ranges) or code_ranges[code, ACTION_BEGIN] < 0:
            cursor[AT], cursor[CODE] = at, code
            return NEED_STEP
        first_action, last_action = code_ranges[code, ACTION_BEGIN], code_ranges[code, ACTION_END]
        if fuel[FUEL] < 0:
            cursor[AT] = at
            return PAUSED
        position = positions[at] if placed else first_position + at
        born = cursor[CLOCK] + at
        count = 0
        complete = 0
        for action in range(first_action, last_action):
            kind, source = actions[action, KIND], actions[action, SOURCE]
            found = 1
            if source >= 0:
                found = find_runs(state, key, source, action, at, low)
                fuel[FUEL] -= 1 + found
                first_test, last_test = actions[action, TEST_BEGIN], actions[action, TEST_END]
                if found and first_test < last_test:
                    found = keep(tables, first_test, last_test, at, found)
            if 3 * (count + found) > len(pending) or 2 * (complete + found) > len(roots):
                cursor[AT] = at
                return NEED_PENDING
            if kind != COMPLETE:
                for one in range(found):
                    run = candidates[one] if source >= 0 else -1
                    pending[3 * count], pending[3 * count + 1] = action, run
                    pending[3 * count + 2] = runs[LIST, run] if source >= 0 else BOTTOM
                    count += 1
            elif found:
                cursor[EMITTED] = 1
                for one in range(found if mode != NOTICE else 0):
                    node = resolve(nodes, runs[LIST, candidates[one]], low) if source >= 0 else BOTTOM
                    roots[2 * complete], roots[2 * complete + 1] = node, actions[action, SYMBOL]
                    complete += 1
        if complete:
            cursor[AT] = at
            fuel[FUEL] = max(fuel[FUEL], _SOME)  # what led here is done again after a pause
            status = emit(state, complete, position, low)
            if status != DONE:
                return status
        if cursor[USED] + count > capacity or cursor[RUNS] - cursor[FREED] + count > room:
            cursor[AT], cursor[NEEDED] = at, count
            return NEED_NODES
        cursor[EMITTING] = 0
        if window == EVENT_WINDOW:
            key_count[key] = tick
        elif window == KEY_WINDOW:
            key_count[key] = low
        ask = False
        if cursor[EMITTED]:
            cursor[EMITTED] = 0
            if consume == CONSUME_ASK:
                ask = True
            elif consume != CONSUME_NONE:
                if consume == CONSUME_ANY or not keyed:
                    cursor[FLOOR] = born + 1
                else:
                    killed[key, 0] = born + 1
                continue
        for one in range(count):
            if actions[pending[3 * one], KIND] == END:
                runs[NEWEST, pending[3 * one + 1]] = DEAD
        for kill in range(code_ranges[code, KILL_BEGIN], code_ranges[code, KILL_END]):
            killed[key, kills[kill, 0]] = born
        for one in range(count):
            action = pending[3 * one]
            if actions[action, KIND] == MOVE:
                nulls = hold(state, action, pending[3 * one + 1], at)
                add(state, key, action, nulls, pending[3 * one + 2], position, tick, low, born)
        if ask:
            cursor[AT] = at + 1
            return COMPLETED
    cursor[AT] = len(codes)
    cursor[CLOCK] += len(codes)
    return DONE


@kernel(int64(STATE))
def run_correlated(state: CorrelatedState) -> int:
    """For patterns whose tests are comparisons, and that give out all matches."""
    return read_events(state, keep_passing, emit_all, hold_event, add_all)
