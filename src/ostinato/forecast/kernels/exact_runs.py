"""Where a pattern exactly stands after each event: per state of its transducer, the age of the youngest run.

For patterns that compare events with each other, and for windows in time, no table of states tells that. The events of
a key come in a row, and its runs are followed one by one: there are never more than a window holds. What an event may
do is the table of *actions* that detection uses (patterns/runtime/transition_tables.py), without look-ups by equality.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.core.jit import kernel, subroutine, table
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField
from ostinato.core.jit.types import int64, struct_type, void
from ostinato.patterns.kernels.layout import RunTables
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
    FRAGILE,
    KILL_BEGIN,
    KILL_END,
    KIND,
    NEWEST,
    NULLS,
    OWNER,
    SOURCE,
    TARGET,
    TEST_BEGIN,
    TEST_END,
    WRITE_BEGIN,
    WRITE_END,
)
from ostinato.patterns.kernels.register_programs import keep_passing_any


class FollowedRuns(ArrayStruct):
    """The events of a batch, sorted by key, and the runs of all keys before and after them."""

    tables = StructField(RunTables, "the runs of the current key before an event, and what events may do to them")
    codes = Field[Int32](np.int32, 1, "per event: which conditions it satisfies, as one code", constant=True)
    keys = Field[Int32](np.int32, 1, "per event: its partition", constant=True)
    ticks = Field[Int64](np.int64, 1, "per event: where it stands along the window", constant=True)
    lows = Field[Int64](np.int64, 1, "per event: the lowest tick that is in one window with it", constant=True)
    consume = Field[int](np.int64, 0, "whether a match ends all runs of its key")
    pool = Field[Int64](np.int64, 2, "the runs of all keys before the batch, a column each", constant=True)
    pool_ends = Field[Int64](
        np.int64, 1, "the runs of key k are columns pool_ends[k] … pool_ends[k + 1]", constant=True
    )
    after = Field[Int64](np.int64, 2, "the runs of the current key after the event")
    kept = Field[Int64](np.int64, 2, "output: the runs of all keys after the batch")
    kept_ends = Field[Int64](np.int64, 1, "output: as `pool_ends`, for `kept`")
    youngest = Field[Int64](np.int64, 2, "output, per event and state: when its youngest run began, or DEAD")
    completes = Field[Bools](np.bool_, 1, "output, per event: whether it completes a match")


RUNS = struct_type(FollowedRuns)


@subroutine(int64(RUNS, int64, int64))
def _add(followed: FollowedRuns, count: int, state: int) -> int:
    """The run written at `count` of `after` joins those before it; of two that are the same the younger stays.

    Returns how many there are.
    """
    states, cells, after = followed.tables.states, followed.tables.cells, followed.after
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


@subroutine(void(table(int64, constant=True), int64, int64, table(int64), int64))
def _copy(source: Int64, begin: int, end: int, target: Int64, at: int) -> None:
    """Copy some runs to another table, from its column `at` on."""
    for row in range(source.shape[0]):
        for run in range(begin, end):
            target[row, at + run - begin] = source[row, run]


@kernel(int64(RUNS))
def follow_runs(followed: FollowedRuns) -> int:
    """Follow the runs of all keys over a batch. Returns the first event that there was no room for, or the number of
    events."""
    tables = followed.tables
    codes, keys, ticks, lows = followed.codes, followed.keys, followed.ticks, followed.lows
    code_ranges, actions, kills, writes = tables.code_ranges, tables.actions, tables.kills, tables.writes
    states, cells, terms, present = tables.states, tables.cells, tables.terms, tables.present
    pool, pool_ends, kept, kept_ends = followed.pool, followed.pool_ends, followed.kept, followed.kept_ends
    runs, after, candidates = tables.runs, followed.after, tables.candidates
    youngest, completes = followed.youngest, followed.completes
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
            for action in range(code_ranges[code, ACTION_BEGIN], code_ranges[code, ACTION_END]):
                kind, source, target = actions[action, KIND], actions[action, SOURCE], actions[action, TARGET]
                found = 1
                if source >= 0:
                    found = 0
                    for run in range(count):
                        candidates[found] = run
                        found += runs[OWNER, run] == source and runs[NEWEST, run] >= low
                    if found:
                        first_test, last_test = actions[action, TEST_BEGIN], actions[action, TEST_END]
                        found = keep_passing_any(tables, first_test, last_test, at, found)
                if kind == COMPLETE:
                    if found:
                        completes[at] = True
                    continue
                if kind == END:
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
                    for write in range(actions[action, WRITE_BEGIN], actions[action, WRITE_END]):
                        cell, term = writes[write, 0], writes[write, 1]
                        after[CELLS + cell, moved] = terms[term, at]
                        nulls &= ~(1 << cell)
                        if not present[term, at]:
                            nulls |= 1 << cell
                    needed = 0
                    for place_of in range(states[target, CELL_BEGIN], states[target, CELL_END]):
                        needed |= 1 << cells[place_of]
                    after[NULLS, moved] = nulls & needed
                    moved = _add(followed, moved, target)
            for run in range(count):
                state = runs[OWNER, run]
                stays = runs[NEWEST, run] >= low and runs[BORN, run] != at
                for kill in range(code_ranges[code, KILL_BEGIN], code_ranges[code, KILL_END]):
                    stays &= kills[kill, 0] != states[state, FRAGILE]
                if stays:
                    if moved == room:
                        return at
                    _copy(runs, run, run + 1, after, moved)
                    moved = _add(followed, moved, state)
            if followed.consume and completes[at]:
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
