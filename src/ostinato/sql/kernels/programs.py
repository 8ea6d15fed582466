"""Conditions on the match so far as programs: steps for a stack, typed, in SQL's three-valued logic.

A value is there, NULL, or bad: the outcome of an operation that DuckDB refuses, such as a sum that does not fit. Bad
values matter only where the condition depends on them.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64, struct_type, void
from ostinato.sql.kernels.decisions import find_place, order, order_of_floats, passes, row_at
from ostinato.sql.kernels.function_values import find_value
from ostinato.sql.kernels.layout import (
    ANSWER,
    ASK,
    ASKED,
    BAD,
    BAD_VALUE,
    CALL,
    CALL_OPERANDS,
    FOUND,
    FRAME_WORDS,
    NO,
    NULL,
    OF_FLOATS,
    STATE,
    THERE,
    TOP,
    UNASKED,
    YES,
    Search,
)
from ostinato.sql.kernels.opcodes import (
    ABSOLUTE,
    ABSOLUTE_FLOAT,
    ADD,
    ADD_FLOATS,
    AND,
    CALL_FUNCTION,
    CEILING,
    CHOOSE,
    COALESCE,
    COMPARE,
    COMPARE_FLOAT_ROWS,
    COMPARE_FLOATS,
    COMPARE_ROWS,
    CONSTANT_FLOAT,
    CONSTANT_INT,
    DISTINCT,
    DISTINCT_FLOATS,
    DIVIDE_FLOATS,
    EQUAL,
    FLOOR,
    IS_NULL,
    LOAD_COUNT,
    LOAD_FLOAT,
    LOAD_INT,
    LOAD_LABEL,
    LOAD_MEAN,
    LOAD_NUMBER,
    MASK,
    MULTIPLY,
    MULTIPLY_FLOATS,
    NEGATE,
    NEGATE_FLOAT,
    NOT,
    OR,
    PACKED,
    POWER,
    PREFER,
    PREFER_FLOATS,
    PUSH_NULL,
    QUOTIENT,
    REQUIRE,
    RESCALE,
    ROUND,
    SECONDS,
    SQUARE_ROOT,
    SUBTRACT,
    SUBTRACT_FLOATS,
    TEST_ROWS,
    TO_FLOAT,
    TO_SINGLE,
)

SEARCH = struct_type(Search)
KIND, WHOLE = range(2)  # columns of the stack


@subroutine(int64(SEARCH, int64))
def order_floats(search: Search, top: int) -> int:
    return order_of_floats(search.float_stack[top], search.float_stack[top + 1])


@subroutine(void(SEARCH, int64, int64, int64, int64))
def _whole_operator(search: Search, op: int, top: int, low: int, high: int) -> None:
    """An operator of two whole numbers that are there."""
    stack = search.stack
    a, b = stack[top, WHOLE], stack[top + 1, WHOLE]
    about = 0.0
    if op == ADD:
        result, about = a + b, np.float64(a) + np.float64(b)
    elif op == SUBTRACT:
        result, about = a - b, np.float64(a) - np.float64(b)
    elif op == MULTIPLY:
        result, about = a * b, np.float64(a) * np.float64(b)
    elif b == 0 or (b == -1 and a == low):
        stack[top, KIND] = BAD
        return
    else:  # truncated towards zero
        quotient = abs(a) // abs(b)
        quotient = quotient if (a < 0) == (b < 0) else -quotient
        result = quotient if op == QUOTIENT else a - quotient * b
    if abs(about) > 9.2e18 or result < low or result > high:
        stack[top, KIND] = BAD
    stack[top, WHOLE] = result


@subroutine(void(SEARCH, int64, int64))
def _float_operator(search: Search, op: int, top: int) -> None:
    floats = search.float_stack
    a, b = floats[top], floats[top + 1]
    if op == ADD_FLOATS:
        floats[top] = a + b
    elif op == SUBTRACT_FLOATS:
        floats[top] = a - b
    elif op == MULTIPLY_FLOATS:
        floats[top] = a * b
    elif op == DIVIDE_FLOATS:
        if b == 0:
            floats[top] = (
                np.nan if a == 0 or np.isnan(a) else np.inf if (a > 0) == (np.copysign(1.0, b) > 0) else -np.inf
            )
        else:
            floats[top] = a / b
    elif op == POWER:
        floats[top] = a**b
    else:
        floats[top] = np.nan if b == 0 or np.isinf(a) else np.fmod(a, b)


@subroutine(void(SEARCH, int64, int64, int64, int64))
def _one_operand(search: Search, op: int, top: int, low: int, high: int) -> None:
    stack, floats = search.stack, search.float_stack
    whole = stack[top, WHOLE]
    if op in (NEGATE, ABSOLUTE):
        if whole == low and low < 0:
            stack[top, KIND] = BAD
        elif op == NEGATE or whole < 0:
            stack[top, WHOLE] = -whole
    elif op == NEGATE_FLOAT:
        floats[top] = -floats[top]
    elif op == ABSOLUTE_FLOAT:
        floats[top] = abs(floats[top])
    elif op == TO_FLOAT:  # of a decimal with so many digits after the point as `low` has zeros
        floats[top] = np.float64(whole) / np.float64(low) if low > 1 else np.float64(whole)
    elif op == TO_SINGLE:
        floats[top] = np.float64(np.float32(floats[top]))
    elif op == ROUND:  # `low` is the number of a constant: a power of ten
        scale = search.constants[low]
        scaled = floats[top] * scale
        whole_part = np.trunc(scaled)
        if abs(scaled - whole_part) >= 0.5:
            whole_part += np.copysign(1.0, scaled)
        if np.isfinite(whole_part / scale):
            floats[top] = whole_part / scale
    elif op == FLOOR:
        floats[top] = np.floor(floats[top])
    elif op == CEILING:
        floats[top] = np.ceil(floats[top])
    elif op == SQUARE_ROOT:
        if floats[top] < 0:
            stack[top, KIND] = BAD
        else:
            floats[top] = np.sqrt(floats[top])
    elif op == SECONDS:  # of microseconds: whole days, and the rest
        days = abs(whole) // 86_400_000_000
        days = days if whole >= 0 else -days
        floats[top] = np.float64(days * 86_400) + np.float64(whole - days * 86_400_000_000) / 1e6
    elif op == RESCALE:
        if abs(np.float64(whole) * np.float64(low)) > 9.2e18:
            stack[top, KIND] = BAD
        stack[top, WHOLE] = whole * low


@subroutine(void(SEARCH, int64, int64))
def _connect(search: Search, op: int, top: int) -> None:
    """AND and OR: one decisive value is enough."""
    stack = search.stack
    decisive = 0 if op == AND else 1
    left, right = stack[top, KIND], stack[top + 1, KIND]
    if (left == THERE and stack[top, WHOLE] == decisive) or (right == THERE and stack[top + 1, WHOLE] == decisive):
        stack[top, KIND], stack[top, WHOLE] = THERE, decisive
    elif left == BAD or right == BAD:
        stack[top, KIND] = BAD
    elif left == NULL or right == NULL:
        stack[top, KIND] = NULL
    else:
        stack[top, WHOLE] = 1 - decisive


@subroutine(void(SEARCH, int64, int64, int64, int64))
def _move(search: Search, to: int, at: int, _a: int, _b: int) -> None:
    search.stack[to, KIND], search.stack[to, WHOLE] = search.stack[at, KIND], search.stack[at, WHOLE]
    search.float_stack[to] = search.float_stack[at]


@subroutine(void(SEARCH, int64, int64, int64))
def _load_total(search: Search, op: int, total: int, frame_top: int) -> None:
    """frame_top: the frame and the top of the stack, packed."""
    frame, top = frame_top >> 16, frame_top & 0xFFFF
    sets, totals = search.members.shape[0], search.totals.shape[0]
    count_at = FRAME_WORDS + 2 * sets + total
    count = search.frames[frame, count_at]
    whole, floating = search.frames[frame, count_at + totals], search.float_frames[frame, total]
    if op == LOAD_COUNT:
        search.stack[top, KIND], search.stack[top, WHOLE] = THERE, count
        return
    search.stack[top, KIND] = THERE if count > 0 else NULL
    search.stack[top, WHOLE], search.float_stack[top] = whole, floating
    if op == LOAD_MEAN and count > 0:
        value = floating if search.totals[total, OF_FLOATS] else np.float64(whole)
        search.float_stack[top] = value / np.float64(count)


@subroutine(void(SEARCH, int64, int64, int64, int64))
def _compare_rows(search: Search, op: int, top: int, columns: int, rows: int) -> None:
    """Compare the values of two columns, each at a row of its own."""
    one, other, outcomes = columns & MASK, columns >> PACKED & MASK, columns >> 2 * PACKED
    left, right = rows >> 32, rows & 0xFFFFFFFF
    if op == COMPARE_ROWS:
        null = search.int_nulls[one, left] | search.int_nulls[other, right]
        outcome = order(search.ints[one, left], search.ints[other, right])
    else:
        null = search.float_nulls[one, left] | search.float_nulls[other, right]
        outcome = order_of_floats(search.floats[one, left], search.floats[other, right])
    search.stack[top, KIND] = NULL if null else THERE
    search.stack[top, WHOLE] = np.int64(outcome & outcomes != 0)


@subroutine(int64(SEARCH, int64, int64, int64, int64, int64))
def holds(search: Search, variable: int, partition: int, start: int, depth: int, base: int) -> int:
    """Whether the condition of a variable is TRUE for the last row of a match of so many rows: NO or YES, or ASK,
    CALL or BAD_VALUE, which are no answers."""
    steps, stack, floats = search.steps, search.stack, search.float_stack
    top = -1
    first = search.programs[variable]
    if first < search.programs[variable + 1] and steps[first, 0] >= TEST_ROWS:
        return YES if passes(search, first, partition, start, depth, base) else NO
    for step in range(first, search.programs[variable + 1]):
        op, a, b = steps[step, 0], steps[step, 1], steps[step, 2]
        if op <= LOAD_FLOAT:
            top += 1
            row = row_at(search, b, partition, start, depth, base)
            if op == LOAD_INT:
                stack[top, KIND] = NULL if search.int_nulls[a, row] else THERE
                stack[top, WHOLE] = search.ints[a, row]
            else:
                stack[top, KIND] = NULL if search.float_nulls[a, row] else THERE
                floats[top] = search.floats[a, row]
        elif op <= COMPARE_FLOAT_ROWS:
            top += 1
            left = row_at(search, (b & MASK) - 1, partition, start, depth, base)
            right = row_at(search, (b >> PACKED) - 1, partition, start, depth, base)
            _compare_rows(search, op, top, a, left << 32 | right)
        elif op == CONSTANT_INT:
            top += 1
            stack[top, KIND], stack[top, WHOLE] = THERE, a
        elif op == CONSTANT_FLOAT:
            top += 1
            stack[top, KIND], floats[top] = THERE, search.constants[a]
        elif op == PUSH_NULL:
            top += 1
            stack[top, KIND] = NULL
        elif op <= LOAD_MEAN:
            top += 1
            _load_total(search, op, a, (base + depth) << 16 | top)
        elif op == LOAD_LABEL:
            top += 1
            row = find_place(search, a, partition, start, depth, base)
            inside = start <= row < start + depth
            stack[top, KIND] = THERE if inside else NULL
            if inside:
                state = search.frames[base + row - start + 1, STATE]
                stack[top, WHOLE] = search.labels[search.variables[state]]
        elif op == LOAD_NUMBER:
            top += 1
            stack[top, KIND], stack[top, WHOLE] = THERE, search.attempts[partition, FOUND] + 1
        elif op <= POWER:
            top -= 1
            worse = max(stack[top, KIND], stack[top + 1, KIND])
            stack[top, KIND] = worse
            if worse == THERE:
                if op <= QUOTIENT:
                    _whole_operator(search, op, top, a, b)
                else:
                    _float_operator(search, op, top)
        elif op <= RESCALE:
            if stack[top, KIND] == THERE:
                _one_operand(search, op, top, a, b)
        elif op <= COMPARE_FLOATS:
            top -= 1
            worse = max(stack[top, KIND], stack[top + 1, KIND])
            stack[top, KIND] = worse
            if worse == THERE:
                outcome = (
                    order(stack[top, WHOLE], stack[top + 1, WHOLE]) if op == COMPARE else order_floats(search, top)
                )
                stack[top, WHOLE] = np.int64(outcome & a != 0)
        elif op <= DISTINCT_FLOATS:
            top -= 1
            left, right = stack[top, KIND], stack[top + 1, KIND]
            if left == BAD or right == BAD:
                stack[top, KIND] = BAD
            else:
                if left == THERE and right == THERE:
                    outcome = (
                        order(stack[top, WHOLE], stack[top + 1, WHOLE]) if op == DISTINCT else order_floats(search, top)
                    )
                    differ = outcome != EQUAL
                else:
                    differ = left != right
                stack[top, KIND], stack[top, WHOLE] = THERE, np.int64(differ)
        elif op <= OR:
            top -= 1
            _connect(search, op, top)
        elif op == NOT:
            stack[top, WHOLE] = 1 - stack[top, WHOLE]
        elif op == IS_NULL:
            if stack[top, KIND] != BAD:
                stack[top, WHOLE] = np.int64(stack[top, KIND] == NULL)
                stack[top, KIND] = THERE
        elif op == COALESCE:
            top -= 1
            if stack[top, KIND] == NULL:
                _move(search, top, top + 1, 0, 0)
        elif op <= PREFER_FLOATS:  # the one that compares so with the other; NULL is passed over
            top -= 1
            left, right = stack[top, KIND], stack[top + 1, KIND]
            if left == BAD or right == BAD:
                stack[top, KIND] = BAD
            elif right == THERE:
                outcome = order(stack[top, WHOLE], stack[top + 1, WHOLE]) if op == PREFER else order_floats(search, top)
                if left == NULL or outcome & (a | EQUAL) == 0:
                    _move(search, top, top + 1, 0, 0)
        elif op == CHOOSE:  # condition, value where it is TRUE, value otherwise
            top -= 2
            if stack[top, KIND] != BAD:
                passed = stack[top, KIND] == THERE and stack[top, WHOLE] != 0
                _move(search, top, top + 1 if passed else top + 2, 0, 0)
        elif op == REQUIRE:
            if stack[top, KIND] == BAD:
                return BAD_VALUE
            if stack[top, KIND] == NULL or stack[top, WHOLE] == 0:
                return NO
            top -= 1
        elif op == CALL_FUNCTION:
            if not find_value(search, a, top):
                search.state[ASKED], search.state[TOP] = a, top
                return CALL
            top -= search.calls[a, CALL_OPERANDS] - 1
        elif search.state[ANSWER] == UNASKED:
            search.state[ASKED] = a
            return ASK
        else:
            answer = search.state[ANSWER]
            search.state[ANSWER] = UNASKED
            if answer == NO:
                return NO
    return YES
