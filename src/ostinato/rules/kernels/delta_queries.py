"""Runs delta queries: each new tuple of a point, alone or with those that it meets, through the instructions."""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.rules.kernels.groups import aggregate_group
from ostinato.rules.kernels.layout import (
    ABSENT,
    ACCUMULATE,
    AFTER,
    AGGREGATES_BEGIN,
    AGGREGATES_END,
    CLOSE,
    CODE_BEGIN,
    CODE_END,
    COUNT,
    DEPTH,
    DONE,
    EMIT,
    END_SLOT,
    FEW_ROWS,
    FINISHED,
    FOREVER,
    GROUP,
    GROUP_ROWS,
    HIGH,
    INDEX,
    KEY_BEGIN,
    KEY_END,
    KEYS_BEGIN,
    LIMIT,
    LOAD_BEGIN,
    LOAD_END,
    LOADS_BEGIN,
    LOADS_END,
    LOOKUP,
    LOW,
    LOWEST,
    MISSING,
    NEED_GROUP,
    NO_HASH,
    NOW,
    OP,
    PC,
    POINT,
    PRESENT,
    RESUMES,
    ROW_BEGIN,
    ROW_END,
    SLOTS_BEGIN,
    SLOTS_END,
    SOURCE,
    TARGET,
    TEST,
    TIME,
    WINDOW_COLUMN,
    WINDOW_SLOT,
    WINDOWS,
    Point,
    ProgramState,
)  # fmt: skip
from ostinato.rules.kernels.sliding_windows import NO_WINDOW, begin_window, slide_window
from ostinato.rules.kernels.stores import (
    add,
    comparable,
    hash_with,
)
from ostinato.rules.kernels.values import compute

STATE, POINT_TYPE = struct_type(ProgramState), struct_type(Point)


@subroutine(int64(STATE, int64))
def _hash_slots(state: ProgramState, pc: int) -> int:
    """The hash of the key that a look-up seeks; NO_HASH where a part of it is NULL."""
    frame, slots, code, null = state.frame, state.slots, state.code, state.null
    hashed = code[pc, INDEX]
    for at in range(code[pc, KEY_BEGIN], code[pc, KEY_END]):
        value = frame[slots[at]]
        if value == null:
            return NO_HASH
        hashed = hash_with(hashed, value)
    return int(hashed) if hashed != NO_HASH else 0


@subroutine(int64(STATE, int64, int64, int64))
def _find(state: ProgramState, pc: int, row: int, hashed: int) -> int:
    """From a tuple of a chain on, the first that a look-up wants, or -1."""
    code, frame, slots = state.code, state.frame, state.slots
    point = state.points[code[pc, POINT]]
    index, limit = code[pc, INDEX], point.marks[COUNT]
    rows, links, hashes, keys = point.rows, point.links, point.hashes, point.keys
    if code[pc, OP] == LOOKUP and code[pc, LIMIT] >= 0:
        limit = state.deltas[code[pc, LIMIT], DONE]  # what the other delta query has not seen yet will find us
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
def _begin(state: ProgramState, pc: int) -> int:
    """The first tuple that a look-up finds, or -1."""
    code, loops = state.code, state.loops
    hashed = _hash_slots(state, pc)
    loops[pc, 1] = hashed
    if hashed == NO_HASH:
        return -1
    point = state.points[code[pc, POINT]]
    tails = point.tails
    return _find(state, pc, tails[code[pc, INDEX], hashed & (tails.shape[1] - 1)], hashed)


@subroutine(boolean(STATE, int64))
def _is_absent(state: ProgramState, pc: int) -> bool:
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


@subroutine(void(STATE, int64))
def _close(state: ProgramState, pc: int) -> None:
    """Rows of a table hold until then, if they have the key, and nothing replaced them before."""
    code = state.code
    point = state.points[code[pc, POINT]]
    until, column = state.frame[code[pc, WINDOW_SLOT]], code[pc, WINDOW_COLUMN]
    row = _begin(state, pc)
    hashed = state.loops[pc, 1]
    while row >= 0 and point.rows[row, column] > until:  # what is older was replaced before
        point.rows[row, column] = until
        row = _find(state, pc, point.links[code[pc, INDEX], row], hashed)


@subroutine(int64(STATE, int64, int64, boolean))
def run_row(state: ProgramState, delta: int, row: int, resumes: bool) -> int:
    """Run a delta query for one tuple. Returns what it needs, if any; then it can go on where it stopped."""
    deltas, code, frame, loads, words = state.deltas, state.code, state.frame, state.loads, state.marks
    loops, stack, slots = state.loops, state.stack, state.slots
    end = deltas[delta, CODE_END]
    if resumes:
        pc, depth = words[PC], words[DEPTH]
    else:
        rows = state.points[deltas[delta, SOURCE]].rows
        for at in range(deltas[delta, LOADS_BEGIN], deltas[delta, LOADS_END]):
            frame[loads[at, 0]] = rows[row, loads[at, 1]]
        pc, depth = deltas[delta, CODE_BEGIN], 0
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
                goes_on = frame[code[pc, 1]] != state.null
                pc += 1
            elif op == MISSING:
                goes_on = frame[code[pc, 1]] == state.null
                pc += 1
            elif op == ABSENT:
                goes_on = _is_absent(state, pc)
                pc += 1
            elif op == CLOSE:
                _close(state, pc)
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
                if code[pc, WINDOWS] >= 0:
                    loops[pc, 1] = _hash_slots(state, pc + 1)
                    loops[pc, 0] = begin_window(state, pc, loops[pc, 1])
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
                if code[pc, WINDOWS] >= 0 and (
                    loops[pc, 0] >= 0 or (loops[pc, 0] == NO_WINDOW and words[GROUP_ROWS] > words[FEW_ROWS])
                ):
                    status = slide_window(state, pc, loops[pc, 0], loops[pc, 1])
                    if status != FINISHED:  # it begins again
                        words[PC], words[DEPTH] = pc, depth
                        return status
                    if words[GROUP_ROWS] > 0:
                        pc = code[pc, AFTER]
                        break
                    continue
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
def run_batch(state: ProgramState, delta: int) -> int:
    """Run a delta query for all tuples that its point has and it has not seen."""
    deltas, words = state.deltas, state.marks
    source = state.points[deltas[delta, SOURCE]]
    while deltas[delta, DONE] < source.marks[COUNT]:
        resumes = words[RESUMES] == 1
        words[RESUMES] = 0
        status = run_row(state, delta, deltas[delta, DONE], resumes)
        if status != FINISHED:
            words[RESUMES] = 1
            return status
        deltas[delta, DONE] += 1
    return FINISHED
