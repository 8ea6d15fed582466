"""Runs with registers: one for each key, state and content of the registers that still matter in that state.

Two chained hash tables find them: by *place*, that is, key, state and the cells that equality tests look for, and by
all they hold, so that runs that have become the same become one. A place is divided into *buckets* where the tests of a
state compare a cell by its order: an inequality looks only at those that may pass it. Runs that died stay where they
are until someone looks for others in their place, or until `collect_runs` slides the living together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit import kernel, subroutine, table
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.patterns.kernels.layout import CorrelatedState, RunTables
from ostinato.patterns.kernels.lists import resolve, slide
from ostinato.patterns.kernels.protocol import EVENT_WINDOW, FLOOR, FOREVER, FREE, FREED, KEY_WINDOW, NIL, RUNS, USED
from ostinato.patterns.kernels.register_layout import (
    BORN,
    BY_ALL,
    BY_PLACE,
    CELL_BEGIN,
    CELL_END,
    CELLS,
    DEAD,
    FLOATS,
    FRAGILE,
    GREATER,
    HASH,
    INDEX_BEGIN,
    INDEX_END,
    LESS,
    LIST,
    NEWEST,
    NEXT,
    NULLS,
    OWNER,
    PLAIN,
    PROBES,
    RANGED,
    TEST_BEGIN,
    TEST_END,
    WHOLE,
)

STATE, TABLES = struct_type(CorrelatedState), struct_type(RunTables)
_NEGATIVE_ZERO, _ALL_BUT_SIGN = -(1 << 63), (1 << 63) - 1


@subroutine(int64(int64, int64))
def mix(hashed: Any, value: Any) -> Any:
    """The low bits depend on all bits of both."""
    word = (np.uint64(hashed) ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(word ^ (word >> np.uint64(29)))


@subroutine(int64(int64, boolean))
def ordered(value: Any, floating: bool) -> Any:
    """A whole number, or the bits of a float, as a whole number in the same order; NaN anywhere."""
    if floating and value < 0:
        return np.int64(0) if value == _NEGATIVE_ZERO else value ^ _ALL_BUT_SIGN
    return value


@subroutine(int64(TABLES, int64, int64))
def bucket_of(tables: RunTables, cell: int, value: Any) -> int:
    """How many bounds of a cell are not above a value of its kind."""
    wanted = ordered(value, tables.floating[cell])
    bounds = tables.bounds
    low, high = 0, tables.bound_counts[cell]
    while low < high:
        middle = (low + high) >> 1
        if bounds[cell, middle] <= wanted:
            low = middle + 1
        else:
            high = middle
    return low


@subroutine(int64(STATE, int64, table(int64), int64, int64, int64, int64))
def hash_run(state: CorrelatedState, by: int, values: Int64, first: int, column: int, nulls: int, owner: int) -> int:
    """What a run is found by: its place, or all it holds. Its cells are in a column of `values`, from row `first`."""
    states, cells = state.tables.states, state.tables.cells
    control = owner % len(states)
    hashed: int = mix(0, owner)
    for at in range(states[control, INDEX_BEGIN], states[control, INDEX_END]):
        hashed = mix(hashed, values[first + cells[at], column])
    if by == BY_ALL:
        hashed = mix(hashed, nulls)
        for at in range(states[control, CELL_BEGIN], states[control, CELL_END]):
            hashed = mix(hashed, values[first + cells[at], column])
    elif states[control, RANGED]:
        cell = states[control, RANGED] - 1
        hashed = mix(hashed, bucket_of(state.tables, cell, values[first + cell, column]))
    return hashed


@subroutine(int64(STATE, int64, int64))
def last_death(state: CorrelatedState, key: int, control: int) -> int:
    """Runs of a key in a control state that are older than this event are dead."""
    killed, states = state.killed, state.tables.states
    floor: int = max(state.cursor[FLOOR], max(killed[key, 0], killed[key, states[control, FRAGILE]]))
    return floor


@subroutine(void(STATE, int64, int64))
def _link(state: CorrelatedState, run: int, last: int) -> None:
    """Put a run first in its chains of the hash tables up to `last`."""
    runs, heads = state.tables.runs, state.run_heads
    for by in range(last + 1):
        head = runs[HASH + by, run] & (heads.shape[1] - 1)
        runs[NEXT + by, run] = heads[by, head]
        heads[by, head] = run


@subroutine(void(STATE))
def _link_all(state: CorrelatedState) -> None:
    states, runs, heads = state.tables.states, state.tables.runs, state.run_heads
    for by in range(heads.shape[0]):
        for head in range(heads.shape[1]):
            heads[by, head] = -1
    for run in range(state.cursor[RUNS]):
        _link(state, run, BY_PLACE if states[runs[OWNER, run] % len(states), PLAIN] else BY_ALL)


@subroutine(void(STATE, int64))
def _release(state: CorrelatedState, run: int) -> None:
    """The room of a run that was taken out of its chain of places is free."""
    tables = state.tables
    states, runs, heads, cursor = tables.states, tables.runs, state.run_heads, state.cursor
    if not states[runs[OWNER, run] % len(states), PLAIN]:
        head = runs[HASH + BY_ALL, run] & (heads.shape[1] - 1)
        other = heads[BY_ALL, head]
        if other == run:
            heads[BY_ALL, head] = runs[NEXT + BY_ALL, run]
        else:
            while runs[NEXT + BY_ALL, other] != run:
                other = runs[NEXT + BY_ALL, other]
            runs[NEXT + BY_ALL, other] = runs[NEXT + BY_ALL, run]
    runs[OWNER, run], runs[NEWEST, run] = -1, DEAD
    runs[NEXT, run] = cursor[FREE]
    cursor[FREE] = run
    cursor[FREED] += 1


@subroutine(int64(STATE, int64, boolean, int64, int64, int64, int64, int64, int64), inline=True)
def _look_through(
    state: CorrelatedState,
    hashed: int,
    alone: bool,
    key: int,
    control: int,
    action: int,
    row: int,
    low: int,
    count: int,
) -> int:
    """Add to the first `count` candidates the living runs of one place and bucket; returns how many there are then.

    Unless it is `alone` that is looked through, runs of another bucket in the same chain do not count: they would be
    found twice.
    """
    tables = state.tables
    states, cells, probes, runs, heads = tables.states, tables.cells, tables.probes, tables.runs, state.run_heads
    terms, candidates, probe_begin = tables.terms, tables.candidates, tables.actions[action, PROBES]
    owner = key * len(states) + control
    begin, size = states[control, INDEX_BEGIN], states[control, INDEX_END] - states[control, INDEX_BEGIN]
    floor = last_death(state, key, control)
    head = hashed & (heads.shape[1] - 1)
    before = -1
    run = heads[BY_PLACE, head]
    while run >= 0:
        after = runs[NEXT + BY_PLACE, run]
        dead = runs[NEWEST, run] == DEAD
        if runs[OWNER, run] == owner and not dead and (alone or runs[HASH + BY_PLACE, run] == hashed):
            same = True
            for at in range(size):
                same &= runs[CELLS + cells[begin + at], run] == terms[probes[probe_begin + at, 0], row]
            if same:
                dead = runs[NEWEST, run] < low or runs[BORN, run] < floor
                candidates[count] = run
                count += not dead
        if dead:
            if before < 0:
                heads[BY_PLACE, head] = after
            else:
                runs[NEXT + BY_PLACE, before] = after
            _release(state, run)
        else:
            before = run
        run = after
    return count


@subroutine(int64(STATE, int64, int64, int64, int64, int64, int64))
def _find_in_buckets(
    state: CorrelatedState, hashed: int, key: int, control: int, action: int, row: int, low: int
) -> int:
    """As `find_runs`, for a place that is divided into buckets: without those whose runs fail a test."""
    tables = state.tables
    tests, cell = tables.tests, tables.states[control, RANGED] - 1
    kind = FLOATS if tables.floating[cell] else WHOLE
    first, last = 0, tables.bound_counts[cell]
    for test in range(tables.actions[action, TEST_BEGIN], tables.actions[action, TEST_END]):
        if tests[test, 0] == kind and tests[test, 1] == cell:
            bucket = bucket_of(tables, cell, tables.terms[tests[test, 2], row])
            if not tests[test, 3] & GREATER:
                last = min(last, bucket)
            if not tests[test, 3] & LESS:
                first = max(first, bucket)
    count = 0
    for bucket in range(first, last + 1):
        count = _look_through(state, mix(hashed, bucket), first == last, key, control, action, row, low, count)
    return count


@subroutine(int64(STATE, int64, int64, int64, int64, int64))
def find_runs(state: CorrelatedState, key: int, control: int, action: int, row: int, low: int) -> int:
    """Write to `candidates` all living runs of a key in a control state whose looked-up cells equal the terms that the
    probes of an action name, but not all that fail its tests; returns how many there are."""
    tables = state.tables
    states, probes, probe_begin = tables.states, tables.probes, tables.actions[action, PROBES]
    hashed = mix(0, key * len(states) + control)
    for at in range(states[control, INDEX_END] - states[control, INDEX_BEGIN]):
        term = probes[probe_begin + at, 0]
        if not tables.present[term, row] or (probes[probe_begin + at, 1] and np.isnan(tables.term_floats[term, row])):
            return 0
        hashed = mix(hashed, tables.terms[term, row])
    low = max(low, DEAD + 1)
    if states[control, RANGED]:
        return _find_in_buckets(state, hashed, key, control, action, row, low)
    return _look_through(state, hashed, True, key, control, action, row, low, 0)


@subroutine(int64(STATE, int64, int64, int64, int64))
def enter(state: CorrelatedState, key: int, control: int, nulls: int, low: int) -> int:
    """The run that holds what `held` does: a living one, or one that is DEAD; -1 where no test can ever find it."""
    tables = state.tables
    states, cells, runs, heads, cursor = tables.states, tables.cells, tables.runs, state.run_heads, state.cursor
    held = state.held
    for at in range(states[control, INDEX_BEGIN], states[control, INDEX_END]):
        cell = cells[at]
        # NULL and NaN equal nothing.
        if (nulls >> cell) & 1 or (tables.floating[cell] and np.isnan(state.held_floats[cell, 0])):
            return -1
    by = BY_PLACE if states[control, PLAIN] else BY_ALL
    owner = key * len(states) + control
    hashed = hash_run(state, by, held, 0, 0, nulls, owner)
    low = max(low, DEAD + 1)
    floor = last_death(state, key, control)
    run: int = heads[by, hashed & (heads.shape[1] - 1)]
    while run >= 0:
        if runs[OWNER, run] == owner and runs[NULLS, run] == nulls:
            same = True
            for at in range(states[control, CELL_BEGIN], states[control, CELL_END]):
                same &= runs[CELLS + cells[at], run] == held[cells[at], 0]
            if same:
                if runs[NEWEST, run] < low or runs[BORN, run] < floor:
                    runs[NEWEST, run] = DEAD  # and comes to life again
                return run
        run = runs[NEXT + by, run]
    run = cursor[FREE]
    if run >= 0:
        cursor[FREE] = runs[NEXT, run]
        cursor[FREED] -= 1
    else:
        run = cursor[RUNS]
        cursor[RUNS] += 1
    runs[OWNER, run], runs[NEWEST, run], runs[NULLS, run] = owner, DEAD, nulls
    runs[HASH + by, run] = hashed
    if by == BY_ALL:
        runs[HASH + BY_PLACE, run] = hash_run(state, BY_PLACE, held, 0, 0, nulls, owner)
    for cell in range(held.shape[0]):
        runs[CELLS + cell, run] = held[cell, 0]
    _link(state, run, by)
    return run


@kernel(void(STATE, int64))
def collect_runs(state: CorrelatedState, low: int) -> None:
    """Keep only the runs, and the nodes, that can still matter; each key may have its own lower bound."""
    tables = state.tables
    states, runs, cursor, nodes, marks = tables.states, tables.runs, state.cursor, state.nodes, state.marks
    window, key_count = state.window, state.key_count
    for node in range(cursor[USED]):
        marks[node] = FOREVER
    kept = 0
    for run in range(cursor[RUNS]):
        if runs[NEWEST, run] == DEAD:
            continue
        key, control = runs[OWNER, run] // len(states), runs[OWNER, run] % len(states)
        bound = low
        if window == EVENT_WINDOW:
            bound = key_count[key] - state.width + 1
        elif window == KEY_WINDOW:
            bound = key_count[key]
        bound = max(bound, FOREVER + 1)  # FOREVER itself means "not reached"; the next one keeps everything, too
        if runs[NEWEST, run] < bound or runs[BORN, run] < last_death(state, key, control):
            continue
        node = resolve(nodes, runs[LIST, run], bound)
        if node < 0:
            continue
        marks[node] = bound
        for row in range(runs.shape[0]):
            runs[row, kept] = runs[row, run]
        runs[LIST, kept] = node
        kept += 1
    cursor[RUNS], cursor[FREED], cursor[FREE] = kept, 0, NIL
    slide(state)
    for run in range(kept):
        runs[LIST, run] = marks[runs[LIST, run]]
    _link_all(state)


@kernel(void(STATE))
def rehash(state: CorrelatedState) -> None:
    """Find all runs anew, after keys or texts were numbered anew."""
    runs = state.tables.runs
    for run in range(state.cursor[RUNS]):
        for by in range(2):
            runs[HASH + by, run] = hash_run(state, by, runs, CELLS, run, runs[NULLS, run], runs[OWNER, run])
    _link_all(state)
