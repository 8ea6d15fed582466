"""Runs with registers: one for each key, state and content of the registers that still matter in that state.

Two chained hash tables find them: by *place*, that is, key, state and the cells that equality tests look for, and by
all they hold, so that runs that have become the same become one. Runs that died stay where they are until someone looks
for others in their place, or until `collect_runs` slides the living together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.jit import inlined, kernel
from ostinato.patterns.kernels.lists import resolve, slide
from ostinato.patterns.kernels.protocol import EVENT_WINDOW, FLOOR, FOREVER, FREE, FREED, KEY_WINDOW, NIL, RUNS, USED

# Rows of `runs`, which has a column for each run: key * states + state; the newest tick of its list, or DEAD; a bit for
# each cell that is NULL; the event it was last entered by; its list; the next runs of its two chains; the hashes that
# put it there; its cells. A row for each property, so that looking through many runs touches little memory; and all in
# one array, since kernels count references to every array they pass on.
OWNER, NEWEST, NULLS, BORN, LIST, NEXT, HASH, CELLS = 0, 1, 2, 3, 4, 5, 7, 9
# NEXT and HASH have a row each for the two hash tables, as `heads` has.
BY_PLACE, BY_ALL = range(2)
# Columns of `states`: the cells that matter in the state, those of them that it is looked up by, whether those are all,
# and which column of `killed` tells when its runs last died together (0: only with all others of the key).
CELL_BEGIN, CELL_END, INDEX_BEGIN, INDEX_END, PLAIN, FRAGILE = range(6)
DEAD = FOREVER  # as the newest tick of a run's list


@inlined
def mix(hashed: Any, value: Any) -> Any:
    """The low bits depend on all bits of both."""
    word = (np.uint64(hashed) ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    word = (word ^ (word >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(word ^ (word >> np.uint64(29)))


@inlined
def find_runs(
    key: int,
    state: int,
    probe_begin: int,
    probes: Int32,
    states: Int32,
    cells: Int32,
    runs: Int64,
    heads: Int32,
    killed: Int64,
    terms: Int64,
    term_floats: Float64,
    present: Bools,
    row: int,
    low: int,
    cursor: Int64,
    candidates: Int32,
) -> int:
    """All living runs of a key in a state whose looked-up cells equal the terms that `probes` name."""
    begin, size = states[state, INDEX_BEGIN], states[state, INDEX_END] - states[state, INDEX_BEGIN]
    owner = key * len(states) + state
    hashed = mix(0, owner)
    for at in range(size):
        term = probes[probe_begin + at, 0]
        if not present[term, row] or (probes[probe_begin + at, 1] and np.isnan(term_floats[term, row])):
            return 0
        hashed = mix(hashed, terms[term, row])
    low = max(low, DEAD + 1)
    floor = max(cursor[FLOOR], max(killed[key, 0], killed[key, states[state, FRAGILE]]))
    count = 0
    head = hashed & (heads.shape[1] - 1)
    before = -1
    run = heads[BY_PLACE, head]
    while run >= 0:
        after = runs[NEXT + BY_PLACE, run]
        dead = runs[NEWEST, run] == DEAD
        if runs[OWNER, run] == owner and not dead:
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
            _release(runs, run, states, heads, cursor)
        else:
            before = run
        run = after
    return count


@inlined
def _release(runs: Int64, run: int, states: Int32, heads: Int32, cursor: Int64) -> None:
    """The room of a run that was taken out of its chain of places is free."""
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


@inlined
def _hash(by: int, values: Int64, column: int, nulls: int, owner: int, state: int, states: Int32, cells: Int32) -> Any:
    """What a run is found by: its place, or all it holds. Its cells are in one column of `values`."""
    hashed = mix(0, owner)
    for at in range(states[state, INDEX_BEGIN], states[state, INDEX_END]):
        hashed = mix(hashed, values[cells[at], column])
    if by == BY_ALL:
        hashed = mix(hashed, nulls)
        for at in range(states[state, CELL_BEGIN], states[state, CELL_END]):
            hashed = mix(hashed, values[cells[at], column])
    return hashed


@inlined
def enter(
    held: Int64,
    held_floats: Float64,
    nulls: int,
    key: int,
    state: int,
    states: Int32,
    cells: Int32,
    floating: Bools,
    runs: Int64,
    heads: Int32,
    killed: Int64,
    cursor: Int64,
    low: int,
) -> Any:
    """The run that holds this column of cells: a living one, or one that is DEAD; -1 where no test can ever find it."""
    for at in range(states[state, INDEX_BEGIN], states[state, INDEX_END]):
        cell = cells[at]
        # NULL and NaN equal nothing.
        if (nulls >> cell) & 1 or (floating[cell] and np.isnan(held_floats[cell, 0])):
            return -1
    by = BY_PLACE if states[state, PLAIN] else BY_ALL
    owner = key * len(states) + state
    hashed = _hash(by, held, 0, nulls, owner, state, states, cells)
    low = max(low, DEAD + 1)
    floor = max(cursor[FLOOR], max(killed[key, 0], killed[key, states[state, FRAGILE]]))
    run = heads[by, hashed & (heads.shape[1] - 1)]
    while run >= 0:
        if runs[OWNER, run] == owner and runs[NULLS, run] == nulls:
            same = True
            for at in range(states[state, CELL_BEGIN], states[state, CELL_END]):
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
        runs[HASH + BY_PLACE, run] = _hash(BY_PLACE, held, 0, nulls, owner, state, states, cells)
    for cell in range(held.shape[0]):
        runs[CELLS + cell, run] = held[cell, 0]
    _link(runs, run, by, heads)
    return run


@inlined
def _link(runs: Int64, run: int, last: int, heads: Int32) -> None:
    for by in range(last + 1):
        head = runs[HASH + by, run] & (heads.shape[1] - 1)
        runs[NEXT + by, run] = heads[by, head]
        heads[by, head] = run


@kernel()
def collect_runs(
    states: Int32,
    runs: Int64,
    heads: Int32,
    killed: Int64,
    key_count: Int64,
    nodes: Int64,
    marks: Int64,
    cursor: Int64,
    window: int,
    events: int,
    low: int,
) -> None:
    """Keep only the runs, and the nodes, that can still matter; each key may have its own lower bound."""
    marks[: cursor[USED]] = FOREVER
    kept = 0
    for run in range(cursor[RUNS]):
        if runs[NEWEST, run] == DEAD:
            continue
        key, state = runs[OWNER, run] // len(states), runs[OWNER, run] % len(states)
        bound = low
        if window == EVENT_WINDOW:
            bound = key_count[key] - events + 1
        elif window == KEY_WINDOW:
            bound = key_count[key]
        bound = max(bound, FOREVER + 1)  # FOREVER itself means "not reached"; the next one keeps everything, too
        floor = max(cursor[FLOOR], max(killed[key, 0], killed[key, states[state, FRAGILE]]))
        if runs[NEWEST, run] < bound or runs[BORN, run] < floor:
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
    slide(nodes, marks, cursor)
    for run in range(kept):
        runs[LIST, run] = marks[runs[LIST, run]]
    _link_all(states, runs, heads, cursor)


@kernel()
def _link_all(states: Int32, runs: Int64, heads: Int32, cursor: Int64) -> None:
    heads[:] = -1
    for run in range(cursor[RUNS]):
        _link(runs, run, BY_PLACE if states[runs[OWNER, run] % len(states), PLAIN] else BY_ALL, heads)


@kernel()
def rehash(states: Int32, cells: Int32, runs: Int64, heads: Int32, cursor: Int64) -> None:
    """Find all runs anew, after keys or texts were numbered anew."""
    for run in range(cursor[RUNS]):
        owner, nulls = runs[OWNER, run], runs[NULLS, run]
        for by in range(2):
            hashed = _hash(by, runs[CELLS:], run, nulls, owner, owner % len(states), states, cells)
            runs[HASH + by, run] = hashed
    _link_all(states, runs, heads, cursor)
