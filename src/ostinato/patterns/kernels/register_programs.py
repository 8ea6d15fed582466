"""Tests between events that are programs: steps for a stack, in SQL's three-valued logic (see register_tests.py)."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, float64, int64, struct_type, void
from ostinato.patterns.kernels.layout import RunTables
from ostinato.patterns.kernels.register_layout import (
    ABSOLUTE,
    ADD,
    AND,
    CELL,
    CELL_FLOAT,
    CELLS,
    CHOOSE_TOTAL,
    COALESCE,
    COMPARE,
    COMPARE_TEXTS,
    DIVIDE,
    GREATER,
    IS_NULL,
    IS_TRUE,
    LESS,
    NEGATE,
    NOT,
    NULLS,
    OR,
    PROGRAM,
    REMAINDER,
    ROUND_DOWN,
    ROUND_UP,
    SQUARE_ROOT,
    SUBTRACT,
    TERM,
    TERM_FLOAT,
)
from ostinato.patterns.kernels.register_tests import keep_passing, order, order_floats, order_texts

TABLES = struct_type(RunTables)
_NULL, _WHOLE, _FLOAT = range(3)
_FITS = 9.2e18  # floats below it are less than 2⁶³, also before they were rounded
_LEAST = -(2**63)  # the one number whose negation does not fit


@subroutine(float64(TABLES, int64))
def _as_float(tables: RunTables, at: int) -> float:
    return tables.stack_floats[at] if tables.stack_kinds[at] == _FLOAT else np.float64(tables.stack_whole[at])


@subroutine(void(TABLES, int64, int64))
def _apply_operator(tables: RunTables, op: int, top: int) -> None:
    """Whole numbers stay whole as long as they fit; `/` is true division; a divisor of zero gives NULL."""
    kinds, whole, floats = tables.stack_kinds, tables.stack_whole, tables.stack_floats
    left, right = _as_float(tables, top), _as_float(tables, top + 1)
    exact = kinds[top] == _WHOLE and kinds[top + 1] == _WHOLE
    if op >= DIVIDE:
        if right == 0:
            kinds[top] = _NULL
        elif op == REMAINDER and exact:
            # As an unsigned number the size of -2⁶³ is right, too.
            size = np.int64(np.uint64(abs(whole[top])) % np.uint64(abs(whole[top + 1])))
            whole[top] = -size if whole[top] < 0 else size
        else:
            kinds[top] = _FLOAT
            floats[top] = left / right if op == DIVIDE else np.fmod(left, right)
        return
    result = left + right if op == ADD else left - right if op == SUBTRACT else left * right
    if exact and abs(result) < _FITS:
        a, b = whole[top], whole[top + 1]
        whole[top] = a + b if op == ADD else a - b if op == SUBTRACT else a * b
    else:
        kinds[top], floats[top] = _FLOAT, result


@subroutine(void(TABLES, int64, int64))
def _apply_function(tables: RunTables, op: int, top: int) -> None:
    kinds, whole, floats = tables.stack_kinds, tables.stack_whole, tables.stack_floats
    if kinds[top] == _NULL:
        return
    if op == SQUARE_ROOT:
        floats[top] = np.sqrt(_as_float(tables, top))
        kinds[top] = _FLOAT
    elif kinds[top] == _WHOLE:
        if whole[top] == _LEAST and op <= ABSOLUTE:
            kinds[top], floats[top] = _FLOAT, -np.float64(_LEAST)
        elif op == NEGATE:
            whole[top] = -whole[top]
        elif op == ABSOLUTE:
            whole[top] = abs(whole[top])
    elif op == NEGATE:
        floats[top] = -floats[top]
    elif op == ABSOLUTE:
        floats[top] = abs(floats[top])
    elif op == ROUND_DOWN:
        floats[top] = np.floor(floats[top])
    else:
        floats[top] = np.ceil(floats[top])


@subroutine(boolean(TABLES, int64, int64, int64, int64))
def _passes_program(tables: RunTables, begin: int, end: int, run: int, row: int) -> bool:
    """Whether the test is TRUE for one run (SQL's three-valued logic)."""
    steps, runs, run_floats = tables.steps, tables.runs, tables.run_floats
    kinds, whole, floats = tables.stack_kinds, tables.stack_whole, tables.stack_floats
    top = -1
    for step in range(begin, end):
        op, arg = steps[step, 0], steps[step, 1]
        if op <= CELL_FLOAT:
            top += 1
            kinds[top] = _NULL if (runs[NULLS, run] >> arg) & 1 else _WHOLE if op == CELL else _FLOAT
            whole[top], floats[top] = runs[CELLS + arg, run], run_floats[CELLS + arg, run]
        elif op <= TERM_FLOAT:
            top += 1
            kinds[top] = _NULL if not tables.present[arg, row] else _WHOLE if op == TERM else _FLOAT
            whole[top], floats[top] = tables.terms[arg, row], tables.term_floats[arg, row]
        elif op == IS_NULL:
            whole[top] = kinds[top] == _NULL
            kinds[top] = _WHOLE
        elif op == IS_TRUE:
            whole[top] = kinds[top] != _NULL and whole[top] == 1
            kinds[top] = _WHOLE
        elif op == NOT:
            whole[top] = 1 - whole[top]
        elif NEGATE <= op <= ROUND_UP:
            _apply_function(tables, op, top)
        else:
            top -= 1
            if AND <= op <= OR:
                decisive = 0 if op == AND else 1
                left = kinds[top] != _NULL and whole[top] == decisive
                right = kinds[top + 1] != _NULL and whole[top + 1] == decisive
                if left or right:
                    kinds[top], whole[top] = _WHOLE, decisive
                elif kinds[top] == _NULL or kinds[top + 1] == _NULL:
                    kinds[top] = _NULL
                else:
                    whole[top] = 1 - decisive
            elif op == COALESCE:
                if kinds[top] == _NULL:
                    kinds[top], whole[top], floats[top] = kinds[top + 1], whole[top + 1], floats[top + 1]
            elif kinds[top] == _NULL or kinds[top + 1] == _NULL:
                kinds[top] = _NULL
            elif op == CHOOSE_TOTAL:
                if abs(floats[top + 1]) >= _FITS:
                    kinds[top], floats[top] = _FLOAT, floats[top + 1]
            elif op == COMPARE_TEXTS:
                whole[top] = (order_texts(whole[top], whole[top + 1], tables.text_ends, tables.texts) & arg) != 0
            elif op == COMPARE:
                if kinds[top] == _WHOLE and kinds[top + 1] == _WHOLE:
                    outcome = order(whole[top], whole[top + 1])
                else:
                    outcome = order_floats(_as_float(tables, top), _as_float(tables, top + 1))
                whole[top] = (outcome & arg) != 0 or (outcome == 0 and arg == LESS | GREATER)
                kinds[top] = _WHOLE
            else:
                _apply_operator(tables, op, top)
    return bool(kinds[0] == _WHOLE and whole[0] == 1)


@subroutine(int64(TABLES, int64, int64, int64, int64))
def keep_passing_any(tables: RunTables, begin: int, end: int, row: int, count: int) -> int:
    """As `keep_passing`, where some of the tests may be programs."""
    tests, candidates = tables.tests, tables.candidates
    for test in range(begin, end):
        if tests[test, 0] != PROGRAM:
            count = keep_passing(tables, test, test + 1, row, count)
            continue
        kept = 0
        for at in range(count):
            candidates[kept] = candidates[at]
            kept += _passes_program(tables, tests[test, 1], tests[test, 2], candidates[at], row)
        count = kept
    return count
