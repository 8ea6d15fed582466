"""Tests that compare the current event with what runs remember, as small tables of typed instructions.

Values are 64-bit integers: whole numbers, booleans, ticks of time, ids of texts, or the bits of a float; NULL is told
beside them. A test is a row (kind, cell, term, outcomes): a comparison of a run's cell with a term of the current
event, which is what nearly all tests are, or a program of steps for a stack. `outcomes` has one bit for each of less,
equal and greater.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.jit import inlined, kernel
from ostinato.patterns.kernels.runs import CELLS, NULLS

# How cell and term are compared: as integers, as floats (either may be one already), or as texts by their bytes.
WHOLE, FLOATS, CELL_IS_FLOAT, TERM_IS_FLOAT, TEXTS, PROGRAM = range(6)
LESS, EQUAL, GREATER = 1, 2, 4
OUTCOMES = {"=": EQUAL, "!=": LESS | GREATER, "<": LESS, "<=": LESS | EQUAL, ">": GREATER, ">=": GREATER | EQUAL}

# Steps of a program: push a cell or a term (as an integer or as a float), or replace the topmost by a result.
(CELL, CELL_FLOAT, TERM, TERM_FLOAT, COMPARE, COMPARE_TEXTS, AND, OR, NOT, IS_NULL, IS_TRUE) = range(11)
ADD, SUBTRACT, MULTIPLY, DIVIDE, REMAINDER, NEGATE, ABSOLUTE, SQUARE_ROOT, FLOOR, CEILING = range(11, 21)
STACK = 64  # how deep a program may go
_NULL, _WHOLE, _FLOAT = range(3)


@inlined
def _order(left: Any, right: Any) -> Any:
    """LESS, EQUAL, GREATER; 0 when neither, as with NaN."""
    return LESS * (left < right) + EQUAL * (left == right) + GREATER * (left > right)


@kernel()
def _text_order(left: int, right: int, ends: Int64, texts: Any) -> int:
    """UTF-8 sorts by its bytes."""
    if left == right:
        return EQUAL
    at, left_end = ends[left], ends[left + 1]
    other, right_end = ends[right], ends[right + 1]
    while at < left_end and other < right_end:
        if texts[at] != texts[other]:
            return LESS if texts[at] < texts[other] else GREATER
        at += 1
        other += 1
    return LESS if other < right_end else GREATER


@inlined
def keep_passing(
    begin: int,
    end: int,
    tests: Int32,
    steps: Int32,
    runs: Int64,
    run_floats: Float64,
    terms: Int64,
    term_floats: Float64,
    present: Bools,
    text_ends: Int64,
    texts: Any,
    row: int,
    candidates: Int32,
    count: int,
    kinds: Int32,
    whole: Int64,
    floats: Float64,
) -> int:
    """The candidates that pass all tests come first; returns how many they are. Last comes the stack of programs."""
    for test in range(begin, end):
        kind, cell, term, outcomes = tests[test, 0], tests[test, 1], tests[test, 2], tests[test, 3]
        kept = 0
        if kind == PROGRAM:
            for at in range(count):
                candidates[kept] = candidates[at]
                kept += _program(
                    cell, term, steps, runs, run_floats, candidates[at], terms, term_floats, present, text_ends, texts,
                    row, kinds, whole, floats,
                )  # fmt: skip
            count = kept
            continue
        if not present[term, row]:
            return 0
        wanted, number = terms[term, row], term_floats[term, row]
        unordered = outcomes == LESS | GREATER  # what has no order, as NaN, differs
        if kind == FLOATS:
            for at in range(count):
                run = candidates[at]
                outcome = _order(run_floats[CELLS + cell, run], number)
                candidates[kept] = run
                kept += ((outcome & outcomes) != 0 or (unordered and outcome == 0)) and not (
                    runs[NULLS, run] >> cell
                ) & 1
        elif kind == WHOLE:
            for at in range(count):
                run = candidates[at]
                candidates[kept] = run
                kept += (_order(runs[CELLS + cell, run], wanted) & outcomes) != 0 and not (runs[NULLS, run] >> cell) & 1
        else:
            for at in range(count):
                run = candidates[at]
                if (runs[NULLS, run] >> cell) & 1:
                    continue
                if kind == TEXTS:
                    outcome = _text_order(runs[CELLS + cell, run], wanted, text_ends, texts)
                elif kind == TERM_IS_FLOAT:
                    outcome = _order(np.float64(runs[CELLS + cell, run]), number)
                else:
                    outcome = _order(run_floats[CELLS + cell, run], np.float64(wanted))
                candidates[kept] = run
                kept += (outcome & outcomes) != 0 or (unordered and outcome == 0)
        count = kept
    return count


@kernel()
def _program(
    begin: int,
    end: int,
    steps: Int32,
    runs: Int64,
    run_floats: Float64,
    run: int,
    terms: Int64,
    term_floats: Float64,
    present: Bools,
    text_ends: Int64,
    texts: Any,
    row: int,
    kinds: Int32,
    whole: Int64,
    floats: Float64,
) -> Any:
    """Whether the test is TRUE for one run (SQL's three-valued logic)."""
    top = -1
    for step in range(begin, end):
        op, arg = steps[step, 0], steps[step, 1]
        if op in (CELL, CELL_FLOAT):
            top += 1
            kinds[top] = _NULL if (runs[NULLS, run] >> arg) & 1 else _WHOLE if op == CELL else _FLOAT
            whole[top], floats[top] = runs[CELLS + arg, run], run_floats[CELLS + arg, run]
        elif op in (TERM, TERM_FLOAT):
            top += 1
            kinds[top] = _NULL if not present[arg, row] else _WHOLE if op == TERM else _FLOAT
            whole[top], floats[top] = terms[arg, row], term_floats[arg, row]
        elif op == IS_NULL:
            whole[top] = kinds[top] == _NULL
            kinds[top] = _WHOLE
        elif op == IS_TRUE:
            whole[top] = kinds[top] != _NULL and whole[top] == 1
            kinds[top] = _WHOLE
        elif op == NOT:
            whole[top] = 1 - whole[top]
        elif op >= NEGATE:
            _function(op, kinds, whole, floats, top)
        else:
            top -= 1
            if op in (AND, OR):
                decisive = 0 if op == AND else 1
                left = kinds[top] != _NULL and whole[top] == decisive
                right = kinds[top + 1] != _NULL and whole[top + 1] == decisive
                if left or right:
                    kinds[top], whole[top] = _WHOLE, decisive
                elif kinds[top] == _NULL or kinds[top + 1] == _NULL:
                    kinds[top] = _NULL
                else:
                    whole[top] = 1 - decisive
            elif kinds[top] == _NULL or kinds[top + 1] == _NULL:
                kinds[top] = _NULL
            elif op == COMPARE_TEXTS:
                whole[top] = (_text_order(whole[top], whole[top + 1], text_ends, texts) & arg) != 0
            elif op == COMPARE:
                if kinds[top] == _WHOLE and kinds[top + 1] == _WHOLE:
                    outcome = _order(whole[top], whole[top + 1])
                else:
                    outcome = _order(_as_float(kinds, whole, floats, top), _as_float(kinds, whole, floats, top + 1))
                whole[top] = (outcome & arg) != 0 or (outcome == 0 and arg == LESS | GREATER)
                kinds[top] = _WHOLE
            else:
                _arithmetic(op, kinds, whole, floats, top)
    return kinds[0] == _WHOLE and whole[0] == 1


@kernel()
def _as_float(kinds: Any, whole: Int64, floats: Float64, at: int) -> Any:
    return floats[at] if kinds[at] == _FLOAT else np.float64(whole[at])


@kernel()
def _arithmetic(op: int, kinds: Any, whole: Int64, floats: Float64, top: int) -> None:
    """Whole numbers stay whole as long as they fit; `/` is true division; a divisor of zero gives NULL."""
    left, right = _as_float(kinds, whole, floats, top), _as_float(kinds, whole, floats, top + 1)
    exact = kinds[top] == _WHOLE and kinds[top + 1] == _WHOLE
    if op in (DIVIDE, REMAINDER):
        if right == 0:
            kinds[top] = _NULL
        elif op == REMAINDER and exact:
            size = abs(whole[top]) % abs(whole[top + 1])
            whole[top] = -size if whole[top] < 0 else size
        else:
            kinds[top] = _FLOAT
            floats[top] = left / right if op == DIVIDE else np.fmod(left, right)
        return
    result = left + right if op == ADD else left - right if op == SUBTRACT else left * right
    if exact and abs(result) < 9.2e18:
        a, b = whole[top], whole[top + 1]
        whole[top] = a + b if op == ADD else a - b if op == SUBTRACT else a * b
    else:
        kinds[top], floats[top] = _FLOAT, result


@kernel()
def _function(op: int, kinds: Any, whole: Int64, floats: Float64, top: int) -> None:
    if kinds[top] == _NULL:
        return
    if op == SQUARE_ROOT:
        floats[top] = np.sqrt(_as_float(kinds, whole, floats, top))
        kinds[top] = _FLOAT
    elif kinds[top] == _WHOLE:
        if op == NEGATE:
            whole[top] = -whole[top]
        elif op == ABSOLUTE:
            whole[top] = abs(whole[top])
    elif op == NEGATE:
        floats[top] = -floats[top]
    elif op == ABSOLUTE:
        floats[top] = abs(floats[top])
    elif op == FLOOR:
        floats[top] = np.floor(floats[top])
    else:
        floats[top] = np.ceil(floats[top])
