"""Where a pattern exactly stands after each event: per state of its transducer, the age of the youngest run.

For patterns that compare events with each other, and for windows in time, no table of states tells that. The events of
a key come in a row, and its runs are followed one by one: there are never more than a window holds. What an event may
do is the table of *acts* that detection uses (patterns/runtime/transition_tables.py), without look-ups by equality.
"""

from __future__ import annotations

from typing import Any

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.jit import kernel
from ostinato.patterns.kernels.correlated import (
    ACT_BEGIN,
    ACT_END,
    COMPLETE,
    DOES,
    END,
    KILL_BEGIN,
    KILL_END,
    SOURCE,
    TARGET,
    TEST_BEGIN,
    TEST_END,
    WRITE_BEGIN,
    WRITE_END,
)
from ostinato.patterns.kernels.register_tests import keep_passing
from ostinato.patterns.kernels.runs import BORN, CELL_BEGIN, CELL_END, CELLS, DEAD, FRAGILE, NEWEST, NULLS, OWNER


@kernel()
def _add(states: Int32, cells: Int32, after: Int64, count: int, state: int) -> int:
    """The run written at `count` joins the others; of two that are the same the younger stays. Returns how many."""
    for other in range(count):
        if after[OWNER, other] != state or after[NULLS, other] != after[NULLS, count]:
            continue
        same = True
        for at in range(states[state, CELL_BEGIN], states[state, CELL_END]):
            same &= after[CELLS + cells[at], other] == after[CELLS + cells[at], count]
        if same:
            after[NEWEST, other] = max(after[NEWEST, other], after[NEWEST, count])
            return count
    return count + 1


@kernel()
def _copy(source: Int64, begin: int, end: int, target: Int64, at: int) -> None:
    """Some runs, to begin at a column of another table."""
    for row in range(source.shape[0]):
        for run in range(begin, end):
            target[row, at + run - begin] = source[row, run]


@kernel()
def follow_runs(
    codes: Int32,
    keys: Int32,
    ticks: Int64,
    lows: Int64,
    consume: bool,
    plan: Int32,
    acts: Int32,
    kills: Int32,
    tests: Int32,
    steps: Int32,
    writes: Int32,
    states: Int32,
    cells: Int32,
    terms: Int64,
    term_floats: Float64,
    present: Bools,
    text_ends: Int64,
    texts: Any,
    pool: Int64,
    pool_ends: Int64,
    runs: Int64,
    run_floats: Float64,
    after: Int64,
    candidates: Int32,
    stack_kinds: Int32,
    stack_whole: Int64,
    stack_floats: Float64,
    kept: Int64,
    kept_ends: Int64,
    youngest: Int64,
    completes: Bools,
) -> int:
    """Events sorted by key. The runs of key k before them are columns pool_ends[k] … pool_ends[k + 1] of `pool`; those
    after them go to `kept`. Returns the first event that there was no room for, or the number of events.

    `youngest[event, state]` is the tick that the youngest run there began at, DEAD where there is none.
    """
    rows, room = runs.shape
    used = 0
    at = 0
    for key in range(len(pool_ends) - 1):
        count = pool_ends[key + 1] - pool_ends[key]
        if at == len(codes) or keys[at] != key:  # nothing new: its runs stay as they are
            if used + count > kept.shape[1]:
                return at
            _copy(pool, pool_ends[key], pool_ends[key + 1], kept, used)
            used += count
            kept_ends[key + 1] = used
            continue
        if count > room:
            return at
        _copy(pool, pool_ends[key], pool_ends[key + 1], runs, 0)
        while at < len(codes) and keys[at] == key:
            code, tick, low = codes[at], ticks[at], lows[at]
            moved = 0
            for act in range(plan[code, ACT_BEGIN], plan[code, ACT_END]):
                does, source, target = acts[act, DOES], acts[act, SOURCE], acts[act, TARGET]
                found = 1
                if source >= 0:
                    found = 0
                    for run in range(count):
                        candidates[found] = run
                        found += runs[OWNER, run] == source and runs[NEWEST, run] >= low
                    if found:
                        found = keep_passing(
                            acts[act, TEST_BEGIN], acts[act, TEST_END], tests, steps, runs, run_floats, terms,
                            term_floats, present, text_ends, texts, at, candidates, found, stack_kinds, stack_whole,
                            stack_floats,
                        )  # fmt: skip
                if does == COMPLETE:
                    if found:
                        completes[at] = True
                    continue
                if does == END:
                    for place in range(found):
                        runs[BORN, candidates[place]] = at
                    continue
                for place in range(found):
                    if moved == room:
                        return at
                    run = candidates[place] if source >= 0 else 0
                    after[OWNER, moved], after[BORN, moved] = target, -1
                    after[NEWEST, moved] = tick if source < 0 else runs[NEWEST, run]
                    nulls = 0 if source < 0 else runs[NULLS, run]
                    for row in range(CELLS, rows):
                        after[row, moved] = 0 if source < 0 else runs[row, run]
                    for write in range(acts[act, WRITE_BEGIN], acts[act, WRITE_END]):
                        cell, term = writes[write, 0], writes[write, 1]
                        after[CELLS + cell, moved] = terms[term, at]
                        nulls &= ~(1 << cell)
                        if not present[term, at]:
                            nulls |= 1 << cell
                    needed = 0
                    for place_of in range(states[target, CELL_BEGIN], states[target, CELL_END]):
                        needed |= 1 << cells[place_of]
                    after[NULLS, moved] = nulls & needed
                    moved = _add(states, cells, after, moved, target)
            for run in range(count):
                state = runs[OWNER, run]
                stays = runs[NEWEST, run] >= low and runs[BORN, run] != at
                for kill in range(plan[code, KILL_BEGIN], plan[code, KILL_END]):
                    stays &= kills[kill, 0] != states[state, FRAGILE]
                if stays:
                    if moved == room:
                        return at
                    _copy(runs, run, run + 1, after, moved)
                    moved = _add(states, cells, after, moved, state)
            if consume and completes[at]:
                moved = 0
            count = moved
            _copy(after, 0, count, runs, 0)
            youngest[at] = DEAD
            for run in range(count):
                youngest[at, runs[OWNER, run]] = max(youngest[at, runs[OWNER, run]], runs[NEWEST, run])
            at += 1
        if used + count > kept.shape[1]:
            return at - 1
        _copy(runs, 0, count, kept, used)
        used += count
        kept_ends[key + 1] = used
    return at
