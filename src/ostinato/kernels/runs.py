"""Runs with registers: one for each key, state and content of the registers that still matter in that state.

Two chained hash tables find them: by *place*, that is, key, state and the cells that equality tests look for, and by
all they hold, so that runs that have become the same become one. Runs that died stay in the chains until someone walks
by, and in their room until `collect_runs` slides the living together.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ostinato.kernels.jit import inlined, kernel
from ostinato.kernels.lists import resolve, slide
from ostinato.kernels.protocol import (
    EVENT_WINDOW,
    FLOOR,
    FOREVER,
    KEY_WINDOW,
    RUNS,
    USED,
    Bools,
    Floats,
    Int32,
    Int64,
)

# Columns of `states`: the cells that matter in the state, those of them that it is looked up by, whether those are all,
# and which column of `killed` tells when its runs last died together (0: only with all others of the key).
CELL_BEGIN, CELL_END, INDEX_BEGIN, INDEX_END, PLAIN, FRAGILE = range(6)
DEAD = FOREVER  # as the newest tick of a run's list


class Layout(NamedTuple):
    """What every state holds. `cells` lists columns of cells; `floating` says which columns are floats."""

    states: Int32
    cells: Int32
    floating: Bools


class Runs(NamedTuple):
    """A column per property, so that looking through many runs touches little memory.

    `owner` is key * states + state; `newest` the newest tick of the list, or DEAD; `born` the event that last entered
    the run; `cells` are (cell, run), `nulls` a bit for each cell; heads and next are the chains of both hash tables.
    """

    owner: Int64
    newest: Int64
    next_place: Int32
    nulls: Int64
    cells: Int64
    floats: Floats  # the same memory as `cells`
    born: Int64
    lists: Int64
    next: Int32
    hashes: Int64  # (place, all), run
    place_heads: Int32
    heads: Int32
    killed: Int64  # per key: when all its runs, and those of each fragile state, last died


class Terms(NamedTuple):
    """Per term a row of values of the current events, and where there is one."""

    values: Int64
    floats: Floats  # the same memory as `values`
    present: Bools
    text_ends: Int64
    texts: Any


@inlined
def mix(hashed: Any, value: Any) -> Any:
    word = (np.uint64(hashed) ^ np.uint64(value)) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(word ^ (word >> np.uint64(29)))


@kernel()
def find_runs(
    key: int,
    state: int,
    probe_begin: int,
    probes: Int32,
    layout: Layout,
    runs: Runs,
    terms: Terms,
    row: int,
    low: int,
    floor: int,
    candidates: Int32,
) -> int:
    """All living runs of a key in a state whose looked-up cells equal the terms that `probes` name."""
    begin, size = layout.states[state, INDEX_BEGIN], layout.states[state, INDEX_END] - layout.states[state, INDEX_BEGIN]
    owner = key * len(layout.states) + state
    hashed = mix(0, owner)
    for at in range(size):
        term = probes[probe_begin + at, 0]
        if not terms.present[term, row] or (probes[probe_begin + at, 1] and np.isnan(terms.floats[term, row])):
            return 0
        hashed = mix(hashed, terms.values[term, row])
    low = max(low, DEAD + 1)
    floor = max(floor, max(runs.killed[key, 0], runs.killed[key, layout.states[state, FRAGILE]]))
    count = 0
    head = hashed & (len(runs.place_heads) - 1)
    before = -1
    run = runs.place_heads[head]
    while run >= 0:
        after = runs.next_place[run]
        dead = runs.newest[run] == DEAD
        if runs.owner[run] == owner and not dead:
            same = True
            for at in range(size):
                same &= runs.cells[layout.cells[begin + at], run] == terms.values[probes[probe_begin + at, 0], row]
            if same:
                dead = runs.newest[run] < low or runs.born[run] < floor
                candidates[count] = run
                count += not dead
        if dead:
            runs.newest[run] = DEAD
            if before < 0:
                runs.place_heads[head] = after
            else:
                runs.next_place[before] = after
        else:
            before = run
        run = after
    return count


@kernel()
def _find_same(
    held: Int64,
    nulls: int,
    owner: int,
    state: int,
    layout: Layout,
    runs: Runs,
    heads: Int32,
    chain: Int32,
    hashed: int,
    low: int,
    floor: int,
) -> Any:
    """The living run with this content, or -1; `chain` is that of `heads`."""
    head = hashed & (len(heads) - 1)
    before = -1
    run = heads[head]
    while run >= 0:
        after = chain[run]
        dead = runs.newest[run] == DEAD
        if runs.owner[run] == owner and runs.nulls[run] == nulls and not dead:
            same = True
            for at in range(layout.states[state, CELL_BEGIN], layout.states[state, CELL_END]):
                same &= runs.cells[layout.cells[at], run] == held[layout.cells[at]]
            if same:
                dead = runs.newest[run] < low or runs.born[run] < floor
                if not dead:
                    return run
        if dead:
            runs.newest[run] = DEAD
            if before < 0:
                heads[head] = after
            else:
                chain[before] = after
        else:
            before = run
        run = after
    return -1


@kernel()
def enter(
    held: Int64,
    held_floats: Floats,
    nulls: int,
    key: int,
    state: int,
    layout: Layout,
    runs: Runs,
    cursor: Int64,
    low: int,
) -> Any:
    """The run with this content: a living one, or a new one, which is DEAD; -1 where no test can ever find it."""
    for at in range(layout.states[state, INDEX_BEGIN], layout.states[state, INDEX_END]):
        cell = layout.cells[at]
        # NULL and NaN equal nothing.
        if (nulls >> cell) & 1 or (layout.floating[cell] and np.isnan(held_floats[cell])):
            return -1
    plain = layout.states[state, PLAIN] != 0
    owner = key * len(layout.states) + state
    by_place = mix(0, owner)
    for at in range(layout.states[state, INDEX_BEGIN], layout.states[state, INDEX_END]):
        by_place = mix(by_place, held[layout.cells[at]])
    low = max(low, DEAD + 1)
    floor = max(cursor[FLOOR], max(runs.killed[key, 0], runs.killed[key, layout.states[state, FRAGILE]]))
    hashed = by_place
    if plain:
        known = _find_same(
            held, nulls, owner, state, layout, runs, runs.place_heads, runs.next_place, hashed, low, floor
        )
    else:
        hashed = mix(by_place, nulls)
        for at in range(layout.states[state, CELL_BEGIN], layout.states[state, CELL_END]):
            hashed = mix(hashed, held[layout.cells[at]])
        known = _find_same(held, nulls, owner, state, layout, runs, runs.heads, runs.next, hashed, low, floor)
    if known >= 0:
        return known
    run = cursor[RUNS]
    cursor[RUNS] += 1
    runs.owner[run], runs.newest[run], runs.nulls[run] = owner, DEAD, nulls
    runs.hashes[0, run], runs.hashes[1, run] = by_place, hashed
    for cell in range(len(held)):
        runs.cells[cell, run] = held[cell]
    _link(runs, run, plain)
    return run


@inlined
def _link(runs: Runs, run: int, plain: bool) -> None:
    head = runs.hashes[0, run] & (len(runs.place_heads) - 1)
    runs.next_place[run] = runs.place_heads[head]
    runs.place_heads[head] = run
    if not plain:
        head = runs.hashes[1, run] & (len(runs.heads) - 1)
        runs.next[run] = runs.heads[head]
        runs.heads[head] = run


@kernel()
def collect_runs(
    layout: Layout,
    runs: Runs,
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
        key, state = runs.owner[run] // len(layout.states), runs.owner[run] % len(layout.states)
        bound = low
        if window == EVENT_WINDOW:
            bound = key_count[key] - events + 1
        elif window == KEY_WINDOW:
            bound = key_count[key]
        bound = max(bound, FOREVER + 1)  # FOREVER itself means "not reached"; the next one keeps everything, too
        floor = max(cursor[FLOOR], max(runs.killed[key, 0], runs.killed[key, layout.states[state, FRAGILE]]))
        if runs.newest[run] < bound or runs.born[run] < floor:
            continue
        node = resolve(nodes, runs.lists[run], bound)
        if node < 0:
            continue
        marks[node] = bound
        runs.owner[kept], runs.newest[kept], runs.nulls[kept] = runs.owner[run], runs.newest[run], runs.nulls[run]
        runs.born[kept], runs.lists[kept] = runs.born[run], node
        runs.hashes[0, kept], runs.hashes[1, kept] = runs.hashes[0, run], runs.hashes[1, run]
        for cell in range(len(runs.cells)):
            runs.cells[cell, kept] = runs.cells[cell, run]
        kept += 1
    cursor[RUNS] = kept
    slide(nodes, marks, cursor)
    for run in range(kept):
        runs.lists[run] = marks[runs.lists[run]]
    _link_all(layout, runs, cursor)


@kernel()
def _link_all(layout: Layout, runs: Runs, cursor: Int64) -> None:
    runs.place_heads[:] = -1
    runs.heads[:] = -1
    for run in range(cursor[RUNS]):
        _link(runs, run, layout.states[runs.owner[run] % len(layout.states), PLAIN] != 0)


@kernel()
def rehash(layout: Layout, runs: Runs, cursor: Int64) -> None:
    """Find all runs anew, after keys or texts were numbered anew."""
    for run in range(cursor[RUNS]):
        state = runs.owner[run] % len(layout.states)
        by_place = mix(0, runs.owner[run])
        for at in range(layout.states[state, INDEX_BEGIN], layout.states[state, INDEX_END]):
            by_place = mix(by_place, runs.cells[layout.cells[at], run])
        hashed = by_place
        if layout.states[state, PLAIN] == 0:
            hashed = mix(by_place, runs.nulls[run])
            for at in range(layout.states[state, CELL_BEGIN], layout.states[state, CELL_END]):
                hashed = mix(hashed, runs.cells[layout.cells[at], run])
        runs.hashes[0, run], runs.hashes[1, run] = by_place, hashed
    _link_all(layout, runs, cursor)
