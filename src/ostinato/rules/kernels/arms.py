"""Runs arms: each new tuple of a point, alone or with the tuples that it meets, through the instructions of an arm."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type
from ostinato.rules.kernels.groups import aggregate_group
from ostinato.rules.kernels.layout import (
    ABOVE,
    ABSENT,
    ACCUMULATE,
    AFTER,
    AGGREGATES_BEGIN,
    AGGREGATES_END,
    ARM,
    ARM_KIND,
    BETWEEN,
    CHUNK,
    CODE_BEGIN,
    CODE_END,
    COMMITTED,
    COUNT,
    DEPTH,
    DISPATCH,
    DONE,
    DONE_NOW,
    DUE_SIZE,
    EMIT,
    END_SLOT,
    EQUAL,
    EVENTS,
    FINAL,
    FINISHED,
    FIRST,
    FLOATING,
    FOREVER,
    FREE,
    FROM,
    GROUP,
    GROUP_ROWS,
    HIGH,
    HOST,
    HOST_ARM,
    INDEX,
    IS_FREE,
    KEY_BEGIN,
    KEY_END,
    KEYS_BEGIN,
    KIND,
    LAST,
    LIMIT,
    LOAD_BEGIN,
    LOAD_END,
    LOADS_BEGIN,
    LOADS_END,
    LOG_SIZE,
    LOOKUP,
    LOW,
    LOWEST,
    MASK,
    MISSING,
    MOST_ROUNDS,
    NEED_DUE,
    NEED_GROUP,
    NEED_ROWS,
    NEXT_EVENT,
    NODE,
    NOW,
    NULL,
    OP,
    PC,
    PHASE,
    PLAIN_BEGIN,
    PLAIN_END,
    POINT,
    PRESENT,
    QUEUE_SIZE,
    RESUMES,
    ROUND_STEP,
    ROUNDS,
    ROW_BEGIN,
    ROW_END,
    SKIP,
    SLOTS_BEGIN,
    SLOTS_END,
    SOURCE,
    STEP,
    SWITCH_BEGIN,
    SWITCH_COLUMN,
    SWITCH_END,
    SWITCH_KIND,
    TARGET,
    TEST,
    TIME,
    TOO_MANY_ROUNDS,
    TOUCHED,
    TOUCHED_SIZE,
    TRANSIENT,
    UP_TO,
    WAITING,
    WAKING,
    WENT,
    WHO,
    WINDOW_COLUMN,
    WINDOW_SLOT,
    WORKING,
    LiveState,
    Point,
)  # fmt: skip
from ostinato.rules.kernels.stores import (
    add,
    comparable,
    enter,
    hash_with,
    next_arm,
    pop_due,
    wake_arms,
)
from ostinato.rules.kernels.values import compute

STATE, POINT_TYPE = struct_type(LiveState), struct_type(Point)


@subroutine(int64(STATE, int64))
def _hash_slots(state: LiveState, pc: int) -> int:
    """The hash of the key that a look-up seeks; NULL where a part of it is."""
    frame, slots, code = state.frame, state.slots, state.code
    hashed = code[pc, INDEX]
    for at in range(code[pc, KEY_BEGIN], code[pc, KEY_END]):
        value = frame[slots[at]]
        if value == NULL:
            return NULL
        hashed = hash_with(hashed, value)
    return int(hashed) if hashed != NULL else 0


@subroutine(int64(STATE, int64, int64, int64))
def _find(state: LiveState, pc: int, row: int, hashed: int) -> int:
    """From a tuple of a chain on, the first that a look-up wants, or -1."""
    code, frame, slots = state.code, state.frame, state.slots
    point = state.points[code[pc, POINT]]
    index, limit = code[pc, INDEX], point.marks[COUNT]
    rows, links, hashes, keys = point.rows, point.links, point.hashes, point.keys
    if code[pc, OP] == LOOKUP and code[pc, LIMIT] >= 0:
        limit = state.arms[code[pc, LIMIT], DONE]  # what the other arm has not seen yet will find us
    column = point.specs[index, TIME]
    low = frame[code[pc, LOW]] if code[pc, LOW] >= 0 else LOWEST
    high = frame[code[pc, HIGH]] if code[pc, HIGH] >= 0 else FOREVER
    first_key, first_slot = point.specs[index, KEYS_BEGIN], code[pc, KEY_BEGIN]
    count = code[pc, KEY_END] - first_slot
    while row >= 0:
        time = rows[row, column]
        if time < low:
            return -1
        if time <= high and row < limit and hashes[index, row] == hashed:
            same = True
            for at in range(count):
                value = comparable(state, rows[row, keys[first_key + at, 0]], keys[first_key + at, 1])
                same &= value == frame[slots[first_slot + at]]
            if same:
                return int(row)
        row = links[index, row]
    return -1


@subroutine(int64(STATE, int64))
def _begin(state: LiveState, pc: int) -> int:
    """The first tuple that a look-up finds, or -1."""
    code, loops = state.code, state.loops
    hashed = _hash_slots(state, pc)
    loops[pc, 1] = hashed
    if hashed == NULL:
        return -1
    point = state.points[code[pc, POINT]]
    tails = point.tails
    return _find(state, pc, tails[code[pc, INDEX], hashed & (tails.shape[1] - 1)], hashed)


@subroutine(boolean(STATE, int64))
def _is_absent(state: LiveState, pc: int) -> bool:
    """Whether no tuple with the key lies within the window."""
    code = state.code
    point = state.points[code[pc, POINT]]
    begin, column = state.frame[code[pc, WINDOW_SLOT]], code[pc, WINDOW_COLUMN]
    row = _begin(state, pc)
    hashed = state.loops[pc, 1]
    while row >= 0:
        if point.rows[row, column] >= begin:
            return False
        row = _find(state, pc, point.links[code[pc, INDEX], row], hashed)
    return True


@subroutine(int64(STATE, int64, int64, boolean))
def run_row(state: LiveState, arm: int, row: int, resumes: bool) -> int:
    """Run an arm for one tuple. Returns what it needs, if any; then it can go on where it stopped."""
    arms, code, frame, loads, words = state.arms, state.code, state.frame, state.loads, state.marks
    loops, stack, slots = state.loops, state.stack, state.slots
    end = arms[arm, CODE_END]
    if resumes:
        pc, depth = words[PC], words[DEPTH]
    else:
        rows = state.points[arms[arm, SOURCE]].rows
        for at in range(arms[arm, LOADS_BEGIN], arms[arm, LOADS_END]):
            frame[loads[at, 0]] = rows[row, loads[at, 1]]
        pc, depth = arms[arm, CODE_BEGIN], 0
    while True:
        goes_on = pc < end
        if goes_on:
            op = code[pc, OP]
            if op > EMIT:
                compute(state, pc)
                pc += 1
            elif op == TEST:
                goes_on = frame[code[pc, 1]] == 1
                pc += 1
            elif op == PRESENT:
                goes_on = frame[code[pc, 1]] != NULL
                pc += 1
            elif op == MISSING:
                goes_on = frame[code[pc, 1]] == NULL
                pc += 1
            elif op == ABSENT:
                goes_on = _is_absent(state, pc)
                pc += 1
            elif op == EMIT:
                now = code[pc, END_SLOT]
                status = add(
                    state,
                    code[pc, TARGET],
                    code[pc, SLOTS_BEGIN],
                    code[pc, SLOTS_END],
                    frame[now] if now >= 0 else words[NOW],
                )
                if status != FINISHED:
                    words[PC], words[DEPTH] = pc, depth
                    return status
                goes_on = False
            elif op == ACCUMULATE:
                group, count = state.group, words[GROUP_ROWS]
                if count >= group.shape[0]:
                    words[PC], words[DEPTH] = pc, depth
                    return NEED_GROUP
                first = code[pc, ROW_BEGIN]
                for at in range(code[pc, ROW_END] - first):
                    group[count, at] = frame[slots[first + at]]
                words[GROUP_ROWS] = count + 1
                goes_on = False
            elif op == GROUP:
                words[GROUP_ROWS] = 0
                stack[depth] = pc
                depth += 1
                pc += 1
            else:  # LOOKUP
                found = _begin(state, pc)
                goes_on = found >= 0
                if goes_on:
                    loops[pc, 0] = found
                    stack[depth] = pc
                    depth += 1
                    rows = state.points[code[pc, POINT]].rows
                    for at in range(code[pc, LOAD_BEGIN], code[pc, LOAD_END]):
                        frame[loads[at, 0]] = rows[found, loads[at, 1]]
                    pc += 1
        if goes_on:
            continue
        # Back to the innermost loop that has another tuple, or to the end of a group.
        while True:
            if depth == 0:
                return FINISHED
            pc = stack[depth - 1]
            if code[pc, OP] == GROUP:
                depth -= 1
                if words[GROUP_ROWS] > 0:
                    aggregate_group(state, code[pc, AGGREGATES_BEGIN], code[pc, AGGREGATES_END])
                    pc = code[pc, AFTER]
                    break
                continue
            point = state.points[code[pc, POINT]]
            found = _find(state, pc, point.links[code[pc, INDEX], loops[pc, 0]], loops[pc, 1])
            if found >= 0:
                loops[pc, 0] = found
                rows = point.rows
                for at in range(code[pc, LOAD_BEGIN], code[pc, LOAD_END]):
                    frame[loads[at, 0]] = rows[found, loads[at, 1]]
                pc += 1
                break
            depth -= 1


@subroutine(int64(STATE, int64))
def _run_batch(state: LiveState, arm: int) -> int:
    """Run an arm for all tuples that its point has and it has not seen."""
    arms, words = state.arms, state.marks
    source = state.points[arms[arm, SOURCE]]
    while arms[arm, DONE] < source.marks[COUNT]:
        resumes = words[RESUMES] == 1
        words[RESUMES] = 0
        status = run_row(state, arm, arms[arm, DONE], resumes)
        if status != FINISHED:
            words[RESUMES] = 1
            return status
        arms[arm, DONE] += 1
    return FINISHED


# Dispatch: the arms that concern a tuple ------------------------------------------------------------------------------


@subroutine(int64(STATE, int64, int64))
def _run_some(state: LiveState, first: int, last: int) -> int:
    """Run arms of a list for the tuple at hand; those that it has been through are skipped."""
    words, node_arms = state.marks, state.node_arms
    row, skip = words[PC], words[SKIP]
    for at in range(first, last):
        words[DEPTH] += 1
        if words[DEPTH] <= skip:
            continue
        status = run_row(state, node_arms[at], row, False)
        if status != FINISHED:
            words[SKIP] = words[DEPTH] - 1
            return status
    return FINISHED


@subroutine(int64(STATE, int64, boolean, int64, int64))
def _count_below(state: LiveState, value: int, strictly: bool, first: int, last: int) -> int:
    """Of ascending constants, how many are below a whole number (or not above it)."""
    thresholds, low, high = state.thresholds, first, last
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] < value or (not strictly and thresholds[middle] == value):
            low = middle + 1
        else:
            high = middle
    return low


@subroutine(int64(STATE, boolean, int64, int64))
def _count_floats_below(state: LiveState, strictly: bool, first: int, last: int) -> int:
    """As `_count_below`, for the float in the first slot."""
    thresholds, low, high, value = state.threshold_floats, first, last, state.floats[0]
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] < value or (not strictly and thresholds[middle] == value):
            low = middle + 1
        else:
            high = middle
    return low


@subroutine(int64(STATE, int64, int64))
def _run_switch(state: LiveState, switch: int, value: int) -> int:
    """Run the arms whose comparison with a constant holds for a value."""
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
        below = _count_floats_below(state, strictly, first, last)
    else:
        below = _count_below(state, value, strictly, first, last)
    shift = switches[switch, MASK]  # where its arms are, beside its constants
    if kind in (ABOVE, FROM):
        return _run_some(state, first + shift, below + shift)
    return _run_some(state, below + shift, last + shift)


@subroutine(int64(STATE, int64, int64, int64))
def _dispatch_row(state: LiveState, node: int, number: int, row: int) -> int:
    nodes, words = state.nodes, state.marks
    words[PC], words[DEPTH] = row, 0
    status = _run_some(state, nodes[node, PLAIN_BEGIN], nodes[node, PLAIN_END])
    if status != FINISHED:
        return status
    for switch in range(nodes[node, SWITCH_BEGIN], nodes[node, SWITCH_END]):
        value = state.points[number].rows[row, state.switches[switch, SWITCH_COLUMN]]
        if value != NULL:
            status = _run_switch(state, switch, value)
            if status != FINISHED:
                return status
    return FINISHED


@subroutine(int64(STATE, int64))
def _dispatch(state: LiveState, arm: int) -> int:
    """Give the new tuples of a point to the arms that run for each at once."""
    arms, words = state.arms, state.marks
    number = arms[arm, SOURCE]
    point = state.points[number]
    while arms[arm, DONE] < point.marks[COUNT]:
        row = arms[arm, DONE]
        node = arms[arm, NODE] if number > 0 else point.rows[row, 0]
        status = _dispatch_row(state, node, number, row)
        if status != FINISHED:
            return status
        words[SKIP] = 0
        arms[arm, DONE] += 1
    return FINISHED


# Steps ----------------------------------------------------------------------------------------------------------------


@subroutine(boolean(STATE))
def _begin_step(state: LiveState) -> bool:
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
        wake_arms(state, 0)
    return True


@subroutine(int64(STATE))
def _wake(state: LiveState) -> int:
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
def _work(state: LiveState) -> int:
    """Run all arms that have new tuples, in the order of the plan."""
    words, arms = state.marks, state.arms
    while words[QUEUE_SIZE] > 0 or words[ARM] >= 0:
        arm = words[ARM]
        if arm < 0:
            arm = next_arm(state)
            if arms[arm, MOST_ROUNDS] > 0:
                if arms[arm, ROUND_STEP] != words[STEP]:
                    arms[arm, ROUND_STEP], arms[arm, ROUNDS] = words[STEP], 0
                arms[arm, ROUNDS] += 1
                if arms[arm, ROUNDS] > arms[arm, MOST_ROUNDS]:
                    words[WHO] = arm
                    return TOO_MANY_ROUNDS
            words[ARM] = arm
        if arms[arm, ARM_KIND] == HOST_ARM:
            words[WHO], words[ARM] = arm, -1
            return HOST
        status = _dispatch(state, arm) if arms[arm, ARM_KIND] == DISPATCH else _run_batch(state, arm)
        if status != FINISHED:
            return status
        words[ARM] = -1
    return FINISHED


@subroutine()
def _end_step(state: LiveState) -> None:
    words, log = state.marks, state.log
    for at in range(words[TOUCHED_SIZE]):
        number = state.touched[at]
        point = state.points[number]
        point.marks[TOUCHED] = 0
        if point.marks[KIND] == TRANSIENT and number > 0:
            point.marks[COUNT] = 0
            for place in range(state.driven_ranges[number, 0], state.driven_ranges[number, 1]):
                arm = state.driven[place]
                state.arms[arm if arm >= 0 else ~arm, DONE] = 0
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
def run(state: LiveState) -> int:
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
        _end_step(state)
        words[PHASE] = BETWEEN
