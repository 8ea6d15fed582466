"""Instructions that compute slots: arithmetic, comparisons and logic, where NULL is a code of its own."""

from __future__ import annotations

import math

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, float64, int64, struct_type, void
from ostinato.rules.kernels.layout import (
    ABS_F,
    ABS_I,
    ADD_F,
    ADD_I,
    AND,
    CEIL_F,
    CHOOSE,
    COALESCE,
    DIV_F,
    DIV_I,
    EQ_F,
    EQ_I,
    EXACT_F_TO_I,
    EXACT_I_TO_F,
    FLOOR_F,
    GE_I,
    GREATEST,
    GT_F,
    GT_I,
    I_TO_F,
    IS_NULL,
    IS_TRUE,
    LAST_SERIAL,
    LE_F,
    LE_I,
    LEAST,
    LOWEST,
    LT_F,
    LT_I,
    MOD_I,
    MOVE,
    MUL_F,
    MUL_I,
    NE_F,
    NE_I,
    NEG_F,
    NEG_I,
    NOT,
    OP,
    OR,
    ROUND_F,
    SERIAL,
    SQRT_F,
    SUB_F,
    SUB_I,
    TERM_PLAIN,
    ProgramState,
)  # fmt: skip
from ostinato.rules.kernels.stores import as_value

STATE = struct_type(ProgramState)
_WHOLE = 9.2e18  # numbers below it fit 64 bits
_EXACT = 1 << 53


@subroutine(int64(STATE, int64, int64, int64))
def _whole(state: ProgramState, op: int, a: int, b: int) -> int:
    """Arithmetic on whole numbers; NULL where 64 bits are not enough."""
    null = state.null
    if op == ADD_I:
        found = a + b
        return null if ((a ^ found) & (b ^ found)) < 0 else as_value(state, found)
    if op == SUB_I:
        found = a - b
        return null if ((a ^ b) & (a ^ found)) < 0 else as_value(state, found)
    if op == MUL_I:
        near = float(a) * float(b)
        if abs(near) < _WHOLE:
            return as_value(state, a * b)
        found = a * b
        exact = abs(near) < 9.3e18 and (found < 0) == (near < 0) and a != 0 and found // a == b and found % a == 0
        return as_value(state, found) if exact else null
    if op == MOD_I:
        if b == 0:
            return null
        rest = 0 if b == -1 else a % b  # the processor has no least number by -1
        return as_value(state, rest - b if rest != 0 and (rest < 0) != (a < 0) else rest)
    if op == LEAST:
        return min(a, b)
    return max(a, b)


@subroutine(boolean(int64, int64, int64))
def _compare_whole(op: int, a: int, b: int) -> bool:
    if op == EQ_I:
        return a == b
    if op == NE_I:
        return a != b
    if op == LT_I:
        return a < b
    if op == LE_I:
        return a <= b
    if op == GT_I:
        return a > b
    return a >= b


@subroutine(boolean(float64))
def _fits(number: float) -> bool:
    """Whether 64 bits are enough for its whole part."""
    return -(2.0**63) <= number < 2.0**63


@subroutine(void(STATE, int64, int64, int64, int64))
def _floating(state: ProgramState, op: int, dst: int, one: int, other: int) -> None:
    """Arithmetic and comparisons of floats, none of them NULL."""
    frame, floats, null = state.frame, state.floats, state.null
    a = floats[one]
    if op >= EQ_F:
        b = floats[other]
        if op == EQ_F:
            holds = a == b
        elif op == NE_F:
            holds = a != b
        elif op == LT_F:
            holds = a < b
        elif op == LE_F:
            holds = a <= b
        elif op == GT_F:
            holds = a > b
        else:
            holds = a >= b
        frame[dst] = 1 if holds else 0
        return
    if op in (FLOOR_F, CEIL_F):
        whole = math.floor(a) if op == FLOOR_F else math.ceil(a)
        frame[dst] = as_value(state, int(whole)) if _fits(a) else null
        return
    if op == NEG_F:
        found = -a
    elif op == ABS_F:
        found = abs(a)
    elif op == ROUND_F:
        found = np.trunc(a)
        if abs(a - found) >= 0.5:
            found += 1.0 if a > 0 else -1.0
    elif op == SQRT_F:
        found = math.sqrt(a) if a >= 0 else math.nan
    else:
        b = floats[other]
        if op == ADD_F:
            found = a + b
        elif op == SUB_F:
            found = a - b
        elif op == MUL_F:
            found = a * b
        elif b == 0:
            found = math.nan
        elif op == DIV_F:
            found = a / b
        else:
            found = abs(a) % abs(b) if not math.isinf(a) else math.nan
            if a < 0:
                found = -found
    if found != found:
        frame[dst] = null
    else:
        floats[dst] = found + 0.0  # there is one zero


@subroutine(int64(int64, int64, int64, int64))
def _logic(op: int, a: int, b: int, null: int) -> int:
    if op == AND:
        if a == 0 or b == 0:
            return 0
        return null if a == null or b == null else 1
    if a == 1 or b == 1:
        return 1
    return null if a == null or b == null else 0


@subroutine(void(STATE, int64))
def compute(state: ProgramState, pc: int) -> None:
    """Run one instruction that computes a slot."""
    frame, floats, code, null = state.frame, state.floats, state.code, state.null
    op, dst, one, other = code[pc, OP], code[pc, 1], code[pc, 2], code[pc, 3]
    a, b = frame[one], frame[other]
    if op == MOVE:
        frame[dst] = a
    elif op in (AND, OR):
        frame[dst] = _logic(op, a, b, null)
    elif op == IS_NULL:
        frame[dst] = 1 if a == null else 0
    elif op == IS_TRUE:
        frame[dst] = 1 if a == 1 else 0
    elif op == COALESCE:
        frame[dst] = b if a == null else a
    elif op == CHOOSE:
        frame[dst] = b if a == 1 else frame[code[pc, 4]]
    elif op == SERIAL:
        state.marks[LAST_SERIAL] += 1
        frame[dst] = state.marks[LAST_SERIAL]
    elif a == null:
        frame[dst] = null
    elif op == NOT:
        frame[dst] = 1 - a
    elif op in (NEG_I, ABS_I):
        negated = null if a == LOWEST else as_value(state, -a)
        frame[dst] = negated if op == NEG_I or a < 0 else a
    elif op == I_TO_F:
        floats[dst] = float(a)
    elif op == EXACT_I_TO_F:
        floats[dst] = float(a)
        if abs(a) > _EXACT and (abs(floats[dst]) >= 2.0**63 or np.int64(floats[dst]) != a):
            frame[dst] = null
    elif op == EXACT_F_TO_I:
        number = floats[one]
        if _fits(number) and number == math.floor(number):
            frame[dst] = as_value(state, int(number))
        else:
            frame[dst] = null
    elif op == TERM_PLAIN:
        frame[dst] = as_value(state, state.plains[a]) if state.plain_kinds[a] == other else null
    elif NEG_F <= op <= SQRT_F:
        _floating(state, op, dst, one, one)
    elif b == null:
        frame[dst] = null
    elif op == DIV_I:
        frame[dst] = as_value(state, a // b)
    elif ADD_I <= op <= GREATEST:
        frame[dst] = _whole(state, op, a, b)
    elif EQ_I <= op <= GE_I:
        frame[dst] = 1 if _compare_whole(op, a, b) else 0
    else:
        _floating(state, op, dst, one, other)
