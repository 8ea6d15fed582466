"""Conditions that only compare, as tests that lead from one to the next, and the rows that they read."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, float64, int64, struct_type
from ostinato.sql.kernels.layout import (
    FRAME_WORDS,
    FROM_FIRST,
    INWARDS,
    ONWARDS,
    SET,
    Search,
)
from ostinato.sql.kernels.opcodes import (
    EQUAL,
    GREATER,
    LESS,
    MASK,
    PACKED,
    PASSED,
    TEST_COUNT,
    TEST_FLOAT_NULL,
    TEST_FLOAT_ROWS,
    TEST_NOT_FLOAT_NULL,
    TEST_NOT_NULL,
    TEST_NULL,
    TEST_ROWS,
)

SEARCH = struct_type(Search)


@subroutine(int64(SEARCH, int64, int64, int64, int64, int64))
def find_place(search: Search, place: int, partition: int, start: int, depth: int, base: int) -> int:
    """The row that a place of a program is, in a match of so many rows; -1 where there is none."""
    chosen, inwards = search.places[place, SET], search.places[place, INWARDS]
    known = depth if chosen < 0 else search.frames[base + depth, FRAME_WORDS + chosen]
    if inwards >= known:
        return -1
    at = inwards if search.places[place, FROM_FIRST] else known - 1 - inwards
    if chosen >= 0:
        at = search.frames[base + at, FRAME_WORDS + search.members.shape[0] + chosen]
    row = start + at + search.places[place, ONWARDS]
    return row if search.firsts[partition] <= row < search.lasts[partition] else -1


@subroutine(int64(SEARCH, int64, int64, int64, int64, int64))
def row_at(search: Search, place: int, partition: int, start: int, depth: int, base: int) -> int:
    """The row that is read at a place, or the one that stands for no row."""
    row = start + depth - 1 if place < 0 else find_place(search, place, partition, start, depth, base)
    return row if row >= 0 else search.ints.shape[1] - 1


@subroutine(int64(int64, int64))
def order(left: int, right: int) -> int:
    return LESS if left < right else GREATER if left > right else EQUAL


@subroutine(int64(float64, float64))
def order_of_floats(left: float, right: float) -> int:
    """NaN is equal to itself and greater than all others."""
    if left < right:
        return LESS
    if left > right:
        return GREATER
    return EQUAL if left == right else order(int(np.isnan(left)), int(np.isnan(right)))


@subroutine(boolean(SEARCH, int64, int64, int64, int64, int64))
def passes(search: Search, first: int, partition: int, start: int, depth: int, base: int) -> bool:
    """Whether the tests from a step on lead to the end where all that is asked is TRUE."""
    steps = search.steps
    step = first
    while True:
        op, a, b = steps[step, 0], steps[step, 1], steps[step, 2]
        passed = False
        if op <= TEST_FLOAT_ROWS:
            one, other, outcomes = a & MASK, a >> PACKED & MASK, a >> 2 * PACKED
            left = row_at(search, (b & MASK) - 1, partition, start, depth, base)
            right = row_at(search, (b >> PACKED) - 1, partition, start, depth, base)
            if op == TEST_ROWS:
                if search.int_nulls[one, left] | search.int_nulls[other, right] == 0:
                    passed = order(search.ints[one, left], search.ints[other, right]) & outcomes != 0
            elif search.float_nulls[one, left] | search.float_nulls[other, right] == 0:
                passed = order_of_floats(search.floats[one, left], search.floats[other, right]) & outcomes != 0
        elif op <= TEST_NOT_FLOAT_NULL:
            row = row_at(search, b, partition, start, depth, base)
            null = search.int_nulls[a, row] if op <= TEST_NOT_NULL else search.float_nulls[a, row]
            passed = (null != 0) == (op in (TEST_NULL, TEST_FLOAT_NULL))
        else:
            at = FRAME_WORDS + 2 * search.members.shape[0] + (a & MASK)
            count = search.frames[base + depth, at]
            if op == TEST_COUNT:
                passed = order(count, b) & a >> PACKED != 0
            elif count > 0:
                passed = order(search.frames[base + depth, at + search.totals.shape[0]], b) & a >> PACKED != 0
        then = steps[step, 3] if passed else steps[step, 4]
        if then < 0:
            return then == PASSED
        step = first + then
