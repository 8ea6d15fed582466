"""Points: tuples are added, found by key in the order of time, and forgotten when nothing later can need them.

An index is a chained hash table whose chains go from the newest tuple to the oldest, by one of their times. Tuples
mostly come in that order, so that one goes in near the end of its chain, and a look-up of what is recent ends soon.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.columns.intern import mix
from ostinato.core.jit import kernel, subroutine, table, view
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.rules.kernels.layout import (
    COMMITTED,
    COUNT,
    DERIVED,
    DIRTY,
    DIRTY_SIZE,
    DONE,
    DUE_SIZE,
    FINISHED,
    FREE,
    IS_FREE,
    IS_NULL_TAKEN,
    KEYS_BEGIN,
    KEYS_END,
    KIND,
    LOG_SIZE,
    NEED_DUE,
    NEED_PENDING,
    NEED_ROWS,
    NO_HASH,
    NOW,
    QUEUE_SIZE,
    QUEUED,
    SOURCE,
    STEP,
    TIME,
    TOUCHED,
    TOUCHED_SIZE,
    TRANSIENT,
    USED,
    WAITING,
    WAITS,
    WHO,
    Point,
    ProgramState,
)  # fmt: skip

STATE, POINT = struct_type(ProgramState), struct_type(Point)


@subroutine(int64(int64, int64))
def hash_with(hashed: Any, value: Any) -> Any:
    return np.int64(mix(np.uint64(hashed) ^ np.uint64(value)))


@subroutine(int64(STATE, int64))
def as_value(state: ProgramState, code: int) -> int:
    """The code of a value that is new. Where NULL has it, the step begins again, with another one for NULL."""
    if code == state.null:
        state.marks[IS_NULL_TAKEN] = 1
    return code


@subroutine(int64(STATE, int64, int64))
def comparable(state: ProgramState, value: int, kind: int) -> int:
    """A code of a key as it is compared: of a TERM what it holds, if that is of the kind."""
    null = state.null
    if kind == 0 or value == null:
        return value
    return as_value(state, state.plains[value]) if state.plain_kinds[value] == kind else null


@subroutine(int64(STATE, POINT, int64, int64))
def hash_key(state: ProgramState, point: Point, index: int, row: int) -> int:
    """The hash of a tuple's key; NO_HASH where a part of it is NULL."""
    rows, keys, null = point.rows, point.keys, state.null
    hashed = index
    for at in range(point.specs[index, KEYS_BEGIN], point.specs[index, KEYS_END]):
        value = comparable(state, rows[row, keys[at, 0]], keys[at, 1])
        if value == null:
            return NO_HASH
        hashed = hash_with(hashed, value)
    return hashed if hashed != NO_HASH else 0


@subroutine(void(STATE, POINT, int64, int64))
def link(state: ProgramState, point: Point, index: int, row: int) -> None:
    """Put a tuple into its chain: before it come those whose time is not later."""
    rows, links, tails = point.rows, point.links, point.tails
    hashed = hash_key(state, point, index, row)
    point.hashes[index, row] = hashed
    if hashed == NO_HASH:
        return  # NULL equals nothing
    column = point.specs[index, TIME]
    bucket = hashed & (tails.shape[1] - 1)
    time = rows[row, column]
    newer, older = np.int64(-1), tails[index, bucket]
    while older >= 0 and rows[older, column] > time:
        newer, older = older, links[index, older]
    links[index, row] = older
    if newer < 0:
        tails[index, bucket] = row
    else:
        links[index, newer] = row


@subroutine(boolean(POINT, int64, int64))
def _same(point: Point, one: int, other: int) -> bool:
    rows = point.rows
    same = True
    for column in range(rows.shape[1]):
        same &= rows[one, column] == rows[other, column]
    return same


@subroutine(boolean(POINT, int64))
def is_new(point: Point, row: int) -> bool:
    """Put a tuple into the set, unless it is there already."""
    rows, seen = point.rows, point.tails
    hashed = np.int64(0)
    for column in range(rows.shape[1]):
        hashed = hash_with(hashed, rows[row, column])
    mask = seen.shape[1] - 1
    slot = hashed & mask
    while seen[0, slot] >= 0:
        if _same(point, seen[0, slot], row):
            return False
        slot = (slot + 1) & mask
    seen[0, slot] = row
    point.links[0, row] = slot
    return True


@subroutine(void(STATE, POINT))
def relink(state: ProgramState, point: Point) -> None:
    tails, count = point.tails, point.marks[COUNT]
    for index in range(tails.shape[0]):
        for bucket in range(tails.shape[1]):
            tails[index, bucket] = -1
    if point.marks[KIND] == DERIVED:
        for row in range(count):
            is_new(point, row)
        return
    for index in range(point.specs.shape[0]):
        for row in range(count):
            link(state, point, index, row)


# The queue of delta queries -------------------------------------------------------------------------------------------


@subroutine(void(STATE, int64))
def queue_delta(state: ProgramState, delta: int) -> None:
    deltas, queue, words = state.deltas, state.queue, state.marks
    if deltas[delta, QUEUED]:
        return
    deltas[delta, QUEUED] = 1
    at = words[QUEUE_SIZE]
    words[QUEUE_SIZE] += 1
    while at > 0:
        above = (at - 1) >> 1
        if queue[above] <= delta:
            break
        queue[at] = queue[above]
        at = above
    queue[at] = delta


@subroutine(int64(STATE))
def next_delta(state: ProgramState) -> int:
    """The first delta query in the order of the plan that has new tuples."""
    queue, words = state.queue, state.marks
    found = queue[0]
    words[QUEUE_SIZE] -= 1
    size = words[QUEUE_SIZE]
    last = queue[size]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and queue[below + 1] < queue[below]:
            below += 1
        if queue[below] >= last:
            break
        queue[at] = queue[below]
        at = below
    queue[at] = last
    state.deltas[found, QUEUED] = 0
    return int(found)


@subroutine(void(STATE, int64))
def wake_deltas(state: ProgramState, number: int) -> None:
    """A point has a new tuple."""
    driven, point = state.driven, state.points[number]
    for at in range(state.driven_ranges[number, 0], state.driven_ranges[number, 1]):
        delta = driven[at]
        if delta < 0:  # what it looks up has changed: it does the step again
            delta = ~delta
            source = state.points[state.deltas[delta, SOURCE]]
            state.deltas[delta, DONE] = source.marks[COMMITTED]
        queue_delta(state, delta)
    words = state.marks
    if not point.marks[TOUCHED]:
        point.marks[TOUCHED] = 1
        state.touched[words[TOUCHED_SIZE]] = number
        words[TOUCHED_SIZE] += 1
    if point.marks[KIND] != TRANSIENT and not point.marks[DIRTY]:
        point.marks[DIRTY] = 1
        state.dirty[words[DIRTY_SIZE]] = number
        words[DIRTY_SIZE] += 1


# Adding ---------------------------------------------------------------------------------------------------------------


@subroutine(void(STATE, int64))
def enter(state: ProgramState, number: int) -> None:
    """The tuple that was written after the last one belongs to the point."""
    point = state.points[number]
    row = point.marks[COUNT]
    if point.marks[KIND] == DERIVED:
        if not is_new(point, row):
            return
    else:
        for index in range(point.specs.shape[0]):
            link(state, point, index, row)
    point.marks[COUNT] = row + 1
    wake_deltas(state, number)


@subroutine(boolean(STATE, int64, int64))
def _is_sooner(state: ProgramState, one: int, other: int) -> bool:
    due = state.due
    return bool(due[one, 0] < due[other, 0])


@subroutine(void(STATE, int64, int64, int64))
def push_due(state: ProgramState, end: int, number: int, place: int) -> None:
    due, words = state.due, state.marks
    at = words[DUE_SIZE]
    words[DUE_SIZE] += 1
    while at > 0:
        above = (at - 1) >> 1
        if due[above, 0] <= end:
            break
        due[at, 0], due[at, 1], due[at, 2] = due[above, 0], due[above, 1], due[above, 2]
        at = above
    due[at, 0], due[at, 1], due[at, 2] = end, number, place


@subroutine(void(STATE))
def pop_due(state: ProgramState) -> None:
    due, words = state.due, state.marks
    words[DUE_SIZE] -= 1
    size = words[DUE_SIZE]
    end, number, place = due[size, 0], due[size, 1], due[size, 2]
    at = 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and due[below + 1, 0] < due[below, 0]:
            below += 1
        if due[below, 0] >= end:
            break
        due[at, 0], due[at, 1], due[at, 2] = due[below, 0], due[below, 1], due[below, 2]
        at = below
    due[at, 0], due[at, 1], due[at, 2] = end, number, place


@subroutine(int64(STATE, int64, int64, int64, int64))
def add(state: ProgramState, number: int, first: int, last: int, end: int) -> int:
    """Add the tuple in a list of slots to a point; one that ends in the future waits. Returns what it needs, if any."""
    frame, slots, words = state.frame, state.slots, state.marks
    point = state.points[number]
    if end > words[NOW]:
        pending = point.pending
        place = point.marks[FREE]
        if place < 0:
            place = point.marks[USED]
        if place >= pending.shape[0]:
            words[WHO] = number
            return NEED_PENDING
        if words[DUE_SIZE] >= state.due.shape[0]:
            return NEED_DUE
        if point.marks[FREE] >= 0:
            point.marks[FREE] = pending[place, 0]
        else:
            point.marks[USED] += 1
        for at in range(last - first):
            pending[place, at] = frame[slots[first + at]]
        pending[place, pending.shape[1] - 2], pending[place, pending.shape[1] - 1] = words[STEP], WAITS
        point.marks[WAITING] += 1
        push_due(state, end, number, place)
        return FINISHED
    rows, row = point.rows, point.marks[COUNT]
    if row >= rows.shape[0]:
        words[WHO] = number
        return NEED_ROWS
    for at in range(last - first):
        rows[row, at] = frame[slots[first + at]]
    enter(state, number)
    return FINISHED


# Kernels that Python calls --------------------------------------------------------------------------------------------


@kernel(void(STATE, int64))
def reindex(state: ProgramState, number: int) -> None:
    """Index a point anew: its arrays were replaced."""
    relink(state, state.points[number])


@kernel(int64(STATE, int64, table(int64), view(int64), int64))
def add_rows(state: ProgramState, number: int, rows: Int64, ends: Int64, first: int) -> int:
    """Add tuples to a point, from one on; each waits until its end. Returns how many are done when it needs room."""
    frame = state.frame
    width = rows.shape[1]
    for row in range(first, rows.shape[0]):
        for column in range(width):
            frame[1 + column] = rows[row, column]
        if add(state, number, 0, width, ends[row]) != FINISHED:
            return row
    return int(rows.shape[0])


@kernel(void(STATE))
def rebuild_due(state: ProgramState) -> None:
    """Collect anew what is pending, after a step that failed: what came in it is gone, what went in it is there."""
    words = state.marks
    words[DUE_SIZE] = words[LOG_SIZE] = 0
    for number in range(state.driven_ranges.shape[0]):
        point = state.points[number]
        pending = point.pending
        state_column = pending.shape[1] - 1
        point.marks[FREE], point.marks[WAITING] = -1, 0
        for place in range(point.marks[USED]):
            is_kept = pending[place, state_column] != IS_FREE and pending[place, state_column - 1] != words[STEP]
            if is_kept:
                pending[place, state_column] = WAITS
            else:
                pending[place, state_column] = IS_FREE
                pending[place, 0] = point.marks[FREE]
                point.marks[FREE] = place
                continue
            end = pending[place, point.ends[0]]
            for at in range(1, point.ends.shape[0]):
                end = max(end, pending[place, point.ends[at]])
            point.marks[WAITING] += 1
            push_due(state, end, number, place)
