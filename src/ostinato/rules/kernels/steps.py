"""Steps: events find the delta queries that concern them, timers go off, and tuples run until none is new."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float64, Int64
from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type
from ostinato.rules.kernels.delta_queries import run_batch, run_row
from ostinato.rules.kernels.layout import (
    ABOVE,
    BETWEEN,
    CHUNK,
    COMMITTED,
    COUNT,
    DELTA,
    DELTA_KIND,
    DEPTH,
    DISPATCH,
    DONE,
    DONE_NOW,
    DUE_SIZE,
    EQUAL,
    EVENTS,
    FINAL,
    FINISHED,
    FIRST,
    FLOATING,
    FREE,
    FROM,
    HOST,
    HOST_DELTA,
    IS_FREE,
    IS_NULL_TAKEN,
    KIND,
    LAST,
    LOG_SIZE,
    MASK,
    MOST_ROUNDS,
    NEED_DUE,
    NEED_NULL,
    NEED_ROWS,
    NEXT_EVENT,
    NODE,
    NOW,
    PC,
    PHASE,
    PLAIN_BEGIN,
    PLAIN_END,
    QUEUE_SIZE,
    ROUND_STEP,
    ROUNDS,
    SKIP,
    SOURCE,
    STEP,
    SWITCH_BEGIN,
    SWITCH_COLUMN,
    SWITCH_END,
    SWITCH_KIND,
    TOO_MANY_ROUNDS,
    TOUCHED,
    TOUCHED_SIZE,
    TRANSIENT,
    UP_TO,
    WAITING,
    WAKING,
    WENT,
    WHO,
    WORKING,
    ProgramState,
)  # fmt: skip
from ostinato.rules.kernels.stores import (
    enter,
    hash_with,
    next_delta,
    pop_due,
    wake_deltas,
)

STATE = struct_type(ProgramState)


# Dispatch: the delta queries that concern a tuple ---------------------------------------------------------------------


@subroutine(int64(STATE, int64, int64))
def _run_some(state: ProgramState, first: int, last: int) -> int:
    """Run delta queries of a list for the tuple at hand; those that it has been through are skipped."""
    words, node_deltas = state.marks, state.node_deltas
    row, skip = words[PC], words[SKIP]
    for at in range(first, last):
        words[DEPTH] += 1
        place = words[DEPTH]
        if place <= skip:
            continue
        status = run_row(state, node_deltas[at], row, False)  # which writes DEPTH where it stops
        if status != FINISHED:
            words[SKIP] = place - 1
            return status
    return FINISHED


@subroutine()
def _count_below(thresholds: Int64 | Float64, value: float, strictly: bool, first: int, last: int) -> int:
    """Of ascending constants, how many are below a number (or not above it)."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] < value or (not strictly and thresholds[middle] == value):
            low = middle + 1
        else:
            high = middle
    return low


@subroutine(int64(STATE, int64, int64))
def _run_switch(state: ProgramState, switch: int, value: int) -> int:
    """Run the delta queries whose comparison with a constant holds for a value."""
    switches = state.switches
    first, last, kind = switches[switch, FIRST], switches[switch, LAST], switches[switch, SWITCH_KIND]
    if kind == EQUAL:
        cases, mask = state.cases, switches[switch, MASK]
        slot = hash_with(np.int64(0), value) & mask
        while cases[first + slot, 1] >= 0:
            if cases[first + slot, 0] == value:
                return _run_some(state, cases[first + slot, 1], cases[first + slot, 2])
            slot = (slot + 1) & mask
        return FINISHED
    strictly = kind in (ABOVE, UP_TO)
    if switches[switch, FLOATING]:
        state.frame[0] = value
        below = _count_below(state.threshold_floats, state.floats[0], strictly, first, last)
    else:
        below = _count_below(state.thresholds, value, strictly, first, last)
    shift = switches[switch, MASK]  # where its delta queries are, beside its constants
    if kind in (ABOVE, FROM):
        return _run_some(state, first + shift, below + shift)
    return _run_some(state, below + shift, last + shift)


@subroutine(int64(STATE, int64, int64, int64))
def _dispatch_row(state: ProgramState, node: int, number: int, row: int) -> int:
    nodes, words = state.nodes, state.marks
    words[PC], words[DEPTH] = row, 0
    status = _run_some(state, nodes[node, PLAIN_BEGIN], nodes[node, PLAIN_END])
    if status != FINISHED:
        return status
    for switch in range(nodes[node, SWITCH_BEGIN], nodes[node, SWITCH_END]):
        value = state.points[number].rows[row, state.switches[switch, SWITCH_COLUMN]]
        if value != state.null:
            status = _run_switch(state, switch, value)
            if status != FINISHED:
                return status
    return FINISHED


@subroutine(int64(STATE, int64))
def _dispatch(state: ProgramState, delta: int) -> int:
    """Give the new tuples of a point to the delta queries that run for each at once."""
    deltas, words = state.deltas, state.marks
    number = deltas[delta, SOURCE]
    point = state.points[number]
    while deltas[delta, DONE] < point.marks[COUNT]:
        row = deltas[delta, DONE]
        node = deltas[delta, NODE] if number > 0 else state.label_nodes[point.rows[row, 0]]
        status = _dispatch_row(state, node, number, row)
        if status != FINISHED:
            return status
        words[SKIP] = 0
        deltas[delta, DONE] += 1
    return FINISHED


# Steps ----------------------------------------------------------------------------------------------------------------


@subroutine(boolean(STATE))
def _begin_step(state: ProgramState) -> bool:
    """Let time go on to the end of some more events; False where all is done."""
    words, events = state.marks, state.points[0]
    rows, first, total = events.rows, words[NEXT_EVENT], words[EVENTS]
    if first >= total and words[NOW] >= words[FINAL]:
        return False
    last = min(first + words[CHUNK], total)
    while 0 < last < total and rows[last, 2] == rows[last - 1, 2]:
        last += 1
    words[NOW] = words[FINAL] if last == total else rows[last - 1, 2]
    words[NEXT_EVENT] = last
    words[STEP] += 1
    if last > first:
        events.marks[COUNT] = last
        wake_deltas(state, 0)
    return True


@subroutine(int64(STATE))
def _wake(state: ProgramState) -> int:
    """Timers go off: what was pending up to now belongs to its point."""
    words, due, log = state.marks, state.due, state.log
    while words[DUE_SIZE] > 0 and due[0, 0] <= words[NOW]:
        number, place = due[0, 1], due[0, 2]
        point = state.points[number]
        row, rows, pending = point.marks[COUNT], point.rows, point.pending
        if row >= rows.shape[0]:
            words[WHO] = number
            return NEED_ROWS
        if words[LOG_SIZE] >= log.shape[0]:
            return NEED_DUE
        for column in range(rows.shape[1]):
            rows[row, column] = pending[place, column]
        pending[place, pending.shape[1] - 1] = WENT
        log[words[LOG_SIZE], 0], log[words[LOG_SIZE], 1] = number, place
        words[LOG_SIZE] += 1
        point.marks[WAITING] -= 1
        pop_due(state)
        enter(state, number)
    return FINISHED


@subroutine(int64(STATE))
def _work(state: ProgramState) -> int:
    """Run all delta queries that have new tuples, in the order of the plan."""
    words, deltas = state.marks, state.deltas
    while words[QUEUE_SIZE] > 0 or words[DELTA] >= 0:
        delta = words[DELTA]
        if delta < 0:
            delta = next_delta(state)
            if deltas[delta, MOST_ROUNDS] > 0:
                if deltas[delta, ROUND_STEP] != words[STEP]:
                    deltas[delta, ROUND_STEP], deltas[delta, ROUNDS] = words[STEP], 0
                deltas[delta, ROUNDS] += 1
                if deltas[delta, ROUNDS] > deltas[delta, MOST_ROUNDS]:
                    words[WHO] = delta
                    return TOO_MANY_ROUNDS
            words[DELTA] = delta
        if deltas[delta, DELTA_KIND] == HOST_DELTA:
            words[WHO], words[DELTA] = delta, -1
            return HOST
        status = _dispatch(state, delta) if deltas[delta, DELTA_KIND] == DISPATCH else run_batch(state, delta)
        if status != FINISHED:
            return status
        words[DELTA] = -1
    return FINISHED


@subroutine()
def _end_step(state: ProgramState) -> None:
    words, log = state.marks, state.log
    for at in range(words[TOUCHED_SIZE]):
        number = state.touched[at]
        point = state.points[number]
        point.marks[TOUCHED] = 0
        if point.marks[KIND] == TRANSIENT and number > 0:
            point.marks[COUNT] = 0
            for place in range(state.driven_ranges[number, 0], state.driven_ranges[number, 1]):
                delta = state.driven[place]
                state.deltas[delta if delta >= 0 else ~delta, DONE] = 0
        point.marks[COMMITTED] = point.marks[COUNT]
    words[TOUCHED_SIZE] = 0
    for at in range(words[LOG_SIZE]):
        point, place = state.points[log[at, 0]], log[at, 1]
        pending = point.pending
        pending[place, pending.shape[1] - 1] = IS_FREE
        pending[place, 0] = point.marks[FREE]
        point.marks[FREE] = place
    words[LOG_SIZE] = 0
    words[DONE_NOW] = words[NOW]


@kernel(int64(STATE))
def run(state: ProgramState) -> int:
    """Take the events up to EVENTS and let time go on to FINAL. Returns FINISHED, or what must be done before the next
    call."""
    words = state.marks
    while True:
        if words[PHASE] == BETWEEN:
            if not _begin_step(state):
                return FINISHED
            words[PHASE] = WAKING
        if words[PHASE] == WAKING:
            status = _wake(state)
            if status != FINISHED:
                return status
            words[PHASE] = WORKING
        status = _work(state)
        if status != FINISHED:
            return status
        if words[IS_NULL_TAKEN]:
            return NEED_NULL
        _end_step(state)
        words[PHASE] = BETWEEN
