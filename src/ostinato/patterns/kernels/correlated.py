"""The update loop for patterns that compare events with each other: each event moves the runs whose tests it passes.

What an event may do is a table of *acts* per code: find the runs of a state, by the equalities that its tests share,
keep those that pass the other tests, and complete their matches, move them on, or end them. A run that an event does
not touch stays as it is, without being looked at.
"""

from __future__ import annotations

from typing import Any

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.jit import inlined, kernel
from ostinato.patterns.kernels.best_match import NO_CHOICE, choose, enumerate_equal
from ostinato.patterns.kernels.enumeration import enumerate_matches, write_match
from ostinato.patterns.kernels.lists import resolve
from ostinato.patterns.kernels.protocol import (
    AT,
    BOTTOM,
    CHOSEN,
    CLOCK,
    CODE,
    CONSUME_ANY,
    CONSUME_NONE,
    DONE,
    EMITTED,
    EMITTING,
    EVENT_WINDOW,
    FLOOR,
    FOREVER,
    FREED,
    KEY_WINDOW,
    MATCHES,
    NEED_NODES,
    NEED_PENDING,
    NEED_RUNS,
    NEED_STACK,
    NEED_STEP,
    NIL,
    NO_WINDOW,
    NOTICE,
    OUTPUT_FULL,
    RUNS,
    STACK,
    SYMBOL_BITS,
    USED,
    WALK,
)
from ostinato.patterns.kernels.register_tests import keep_passing
from ostinato.patterns.kernels.runs import (
    BORN,
    CELL_BEGIN,
    CELL_END,
    CELLS,
    DEAD,
    LIST,
    NEWEST,
    NULLS,
    collect_runs,
    enter,
    find_runs,
)

# Columns of `acts`. A source below 0 is the run without marks.
DOES, SOURCE, TARGET, SYMBOL, PROBES, TEST_BEGIN, TEST_END, WRITE_BEGIN, WRITE_END = range(9)
COMPLETE, MOVE, END = range(3)
# Columns of `codes`: the acts of a code (completing ones first), and the columns of `killed` it sets.
ACT_BEGIN, ACT_END, KILL_BEGIN, KILL_END = range(4)


@kernel()
def run_correlated(
    codes: Int32,
    keys: Int32,
    positions: Int64,
    first_position: int,
    ticks: Int64,
    lows: Int64,
    window: int,
    events: int,
    consume: int,
    mode: int,
    choice: int,
    key_count: Int64,
    killed: Int64,
    plan: Int32,
    acts: Int32,
    kills: Int32,
    probes: Int32,
    tests: Int32,
    steps: Int32,
    writes: Int32,
    states: Int32,
    cells: Int32,
    floating: Bools,
    terms: Int64,
    term_floats: Float64,
    present: Bools,
    text_ends: Int64,
    texts: Any,
    runs: Int64,
    run_floats: Float64,
    heads: Int32,
    candidates: Int32,
    pending: Int64,
    held: Int64,
    held_floats: Float64,
    roots: Int64,
    best: Int64,
    target: Int64,
    kinds: Int32,
    whole: Int64,
    floats: Float64,
    nodes: Int64,
    marks: Int64,
    cursor: Int64,
    stack: Int64,
    path: Int64,
    values: Int64,
    ends: Int64,
    origins: Int64,
) -> Any:
    """Read events from cursor[AT] on. Empty `keys` or `positions` mean one key, rows as they come."""
    keyed, placed = len(keys) > 0, len(positions) > 0
    capacity, room = len(nodes) // 4, runs.shape[1]
    tick, low = 0, FOREVER
    for at in range(cursor[AT], len(codes)):
        key = keys[at] if keyed else 0
        if window == EVENT_WINDOW:
            tick = key_count[key] + 1
            low = tick - events + 1
        elif window != NO_WINDOW:
            tick, low = ticks[at], lows[at]
        code = codes[at]
        if code >= len(plan) or plan[code, ACT_BEGIN] < 0:
            cursor[AT], cursor[CODE] = at, code
            return NEED_STEP
        first_act, last_act = plan[code, ACT_BEGIN], plan[code, ACT_END]
        position = positions[at] if placed else first_position + at
        born = cursor[CLOCK] + at
        count = 0
        while True:  # a second time when room had to be made
            count = 0
            complete = 0
            for act in range(first_act, last_act):
                does, source = acts[act, DOES], acts[act, SOURCE]
                found = 1
                if source >= 0:
                    found = find_runs(
                        key, source, acts[act, PROBES], probes, states, cells, runs, heads, killed, terms, term_floats,
                        present, at, low, cursor, candidates,
                    )  # fmt: skip
                    first_test, last_test = acts[act, TEST_BEGIN], acts[act, TEST_END]
                    if found and first_test < last_test:
                        found = keep_passing(
                            first_test, last_test, tests, steps, runs, run_floats, terms, term_floats, present,
                            text_ends, texts, at, candidates, found, kinds, whole, floats,
                        )  # fmt: skip
                if 3 * (count + found) > len(pending) or 2 * (complete + found) > len(roots):
                    cursor[AT] = at
                    return NEED_PENDING
                if does != COMPLETE:
                    for one in range(found):
                        run = candidates[one] if source >= 0 else -1
                        pending[3 * count], pending[3 * count + 1] = act, run
                        pending[3 * count + 2] = runs[LIST, run] if source >= 0 else BOTTOM
                        count += 1
                elif found:
                    cursor[EMITTED] = 1
                    for one in range(found if mode != NOTICE else 0):
                        node = resolve(nodes, runs[LIST, candidates[one]], low) if source >= 0 else BOTTOM
                        roots[2 * complete], roots[2 * complete + 1] = node, acts[act, SYMBOL]
                        complete += 1
            if complete:
                cursor[AT] = at
                status = _emit(
                    nodes, roots, complete, position, low, choice, mode == WALK, marks, best, target, cursor, stack,
                    path, values, ends, origins,
                )  # fmt: skip
                if status != DONE:
                    return status
            if cursor[USED] + count <= capacity and cursor[RUNS] - cursor[FREED] + count <= room:
                break
            collect_runs(states, runs, heads, killed, key_count, nodes, marks, cursor, window, events, low)
            # There must be work enough between two collections.
            if 4 * cursor[USED] + count > capacity:
                cursor[AT] = at
                return NEED_NODES
            if 2 * cursor[RUNS] + count > room:
                cursor[AT] = at
                return NEED_RUNS
        cursor[EMITTING] = 0
        if window == EVENT_WINDOW:
            key_count[key] = tick
        elif window == KEY_WINDOW:
            key_count[key] = low
        if cursor[EMITTED]:
            cursor[EMITTED] = 0
            if consume != CONSUME_NONE:
                if consume == CONSUME_ANY or not keyed:
                    cursor[FLOOR] = born + 1
                else:
                    killed[key, 0] = born + 1
                continue
        for one in range(count):
            if acts[pending[3 * one], DOES] == END:
                runs[NEWEST, pending[3 * one + 1]] = DEAD
        for kill in range(plan[code, KILL_BEGIN], plan[code, KILL_END]):
            killed[key, kills[kill, 0]] = born
        for one in range(count):
            act, source = pending[3 * one], pending[3 * one + 1]
            if acts[act, DOES] != MOVE:
                continue
            state = acts[act, TARGET]
            nulls = 0
            held[:] = 0
            if source >= 0:
                for each in range(states[state, CELL_BEGIN], states[state, CELL_END]):
                    cell = cells[each]
                    held[cell, 0] = runs[CELLS + cell, source]
                    nulls |= runs[NULLS, source] & (1 << cell)
            for write in range(acts[act, WRITE_BEGIN], acts[act, WRITE_END]):
                cell, term = writes[write, 0], writes[write, 1]
                nulls &= ~(1 << cell)
                held[cell, 0] = terms[term, at]
                if not present[term, at]:
                    held[cell, 0] = 0
                    nulls |= 1 << cell
            run = enter(held, held_floats, nulls, key, state, states, cells, floating, runs, heads, killed, cursor, low)
            if run >= 0:
                _join(nodes, cursor, runs, run, pending[3 * one + 2], position, acts[act, SYMBOL], tick)
                runs[BORN, run] = born
    cursor[AT] = len(codes)
    cursor[CLOCK] += len(codes)
    return DONE


@inlined
def _join(
    nodes: Int64, cursor: Int64, runs: Int64, run: int, before: int, position: int, symbol: int, tick: int
) -> None:
    """Add what came `before`, with the event if it has a symbol, to the list of a run."""
    known = runs[LIST, run] if runs[NEWEST, run] != DEAD else NIL
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


@kernel()
def _emit(
    nodes: Int64,
    roots: Int64,
    count: int,
    position: int,
    low: int,
    choice: int,
    walk: bool,
    marks: Int64,
    best: Int64,
    target: Int64,
    cursor: Int64,
    stack: Int64,
    path: Int64,
    values: Int64,
    ends: Int64,
    origins: Int64,
) -> Any:
    """Everything the current event completes, or the best of it, from where the last call stopped.

    The first `count` of `roots` are lists, each with the symbol that the event gets.
    """
    if choice != NO_CHOICE and cursor[EMITTING] == 0:
        cursor[CHOSEN] = choose(nodes, roots, count, low, choice, marks, best, stack, target)
        if cursor[CHOSEN] == NIL:
            return NEED_STACK
    while True:
        if choice == NO_CHOICE:
            status = enumerate_matches(nodes, low, walk, cursor, stack, path, values, ends, origins)
        else:
            status = enumerate_equal(
                nodes, low, walk, target, cursor[CHOSEN], cursor, stack, path, values, ends, origins
            )
        if status != DONE:
            return status
        root = cursor[EMITTING]
        if root == count:
            return DONE
        node, symbol = roots[2 * root], roots[2 * root + 1]
        depth = 0
        if symbol:
            path[0] = (position << SYMBOL_BITS) | symbol
            depth = 1
        if node >= 0:
            stack[0], stack[1] = node, depth
            cursor[STACK] = 1
        elif choice == NO_CHOICE or cursor[CHOSEN] == 1:
            if walk:
                cursor[MATCHES] += 1
            elif not write_match(path, depth, cursor, values, ends, origins):
                return OUTPUT_FULL
        cursor[EMITTING] += 1
