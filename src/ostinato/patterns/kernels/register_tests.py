"""Tests that compare the current event with what runs remember, as small tables of typed instructions.

Values are 64-bit integers: whole numbers, booleans, ticks of time, ids of texts, or the bits of a float; whether one is
NULL stands beside them. A test is a row (kind, cell, term, outcomes): a comparison of a run's cell with a term of the
current event, which is what nearly all tests are, or a program of steps for a stack. `outcomes` has one bit for each of
less, equal and greater. The codes of tests and steps are in register_layout.py.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int64, UInt8
from ostinato.core.jit import subroutine, view
from ostinato.core.jit.types import float64, int64, struct_type, uint8
from ostinato.patterns.kernels.layout import RunTables
from ostinato.patterns.kernels.register_layout import (
    CELLS,
    EQUAL,
    FLOATS,
    GREATER,
    LESS,
    NULLS,
    TERM_IS_FLOAT,
    TEXTS,
    WHOLE,
)

TABLES = struct_type(RunTables)


@subroutine(int64(int64, int64))
def order(left: int, right: int) -> int:
    return LESS * (left < right) + EQUAL * (left == right) + GREATER * (left > right)


@subroutine(int64(float64, float64))
def order_floats(left: float, right: float) -> int:
    """As `order`; 0 when neither, as with NaN."""
    return LESS * (left < right) + EQUAL * (left == right) + GREATER * (left > right)


@subroutine(int64(int64, int64, view(int64), view(uint8)))
def order_texts(left: int, right: int, ends: Int64, texts: UInt8) -> int:
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


@subroutine(int64(TABLES, int64, int64, int64, int64))
def keep_passing(tables: RunTables, begin: int, end: int, row: int, count: int) -> int:
    """Of the first `count` candidates, those that pass all tests come first; returns how many they are."""
    tests, runs, run_floats, candidates = tables.tests, tables.runs, tables.run_floats, tables.candidates
    for test in range(begin, end):
        kind, cell, term, outcomes = tests[test, 0], tests[test, 1], tests[test, 2], tests[test, 3]
        kept = 0
        if not tables.present[term, row]:
            return 0
        wanted, number = tables.terms[term, row], tables.term_floats[term, row]
        unordered = outcomes == LESS | GREATER  # what has no order, as NaN, differs
        if kind == FLOATS:
            for at in range(count):
                run = candidates[at]
                outcome = order_floats(run_floats[CELLS + cell, run], number)
                candidates[kept] = run
                kept += ((outcome & outcomes) != 0 or (unordered and outcome == 0)) and not (
                    runs[NULLS, run] >> cell
                ) & 1
        elif kind == WHOLE:
            for at in range(count):
                run = candidates[at]
                candidates[kept] = run
                kept += (order(runs[CELLS + cell, run], wanted) & outcomes) != 0 and not (runs[NULLS, run] >> cell) & 1
        else:
            for at in range(count):
                run = candidates[at]
                if (runs[NULLS, run] >> cell) & 1:
                    continue
                if kind == TEXTS:
                    outcome = order_texts(runs[CELLS + cell, run], wanted, tables.text_ends, tables.texts)
                elif kind == TERM_IS_FLOAT:
                    outcome = order_floats(np.float64(runs[CELLS + cell, run]), number)
                else:
                    outcome = order_floats(run_floats[CELLS + cell, run], np.float64(wanted))
                candidates[kept] = run
                kept += (outcome & outcomes) != 0 or (unordered and outcome == 0)
        count = kept
    return count
