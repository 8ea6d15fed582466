"""Aggregates of a group: the rows that a trace collects, each distinct binding once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Float64, Int64
from ostinato.core.jit import subroutine, table
from ostinato.core.jit.types import boolean, float64, int64, struct_type, void
from ostinato.rules.kernels.exact_moments import add_square, add_whole, clear_squares, deviation, is_large
from ostinato.rules.kernels.exact_sums import SUM_WORDS, add_to_sum, clear_sum, rounded_sum
from ostinato.rules.kernels.layout import (
    AVG,
    COUNT_ALL,
    DISTINCT_BEGIN,
    DISTINCT_END,
    FIRST_OF,
    GROUP_ROWS,
    IS_FLOAT,
    MEDIAN,
    MIN,
    NAME,
    ORDER_BEGIN,
    ORDER_END,
    RESULT,
    STDDEV,
    SUM,
    VALUE,
    ProgramState,
)  # fmt: skip
from ostinato.rules.kernels.ranked_tree import sort_floats
from ostinato.rules.kernels.stores import as_value, hash_with

STATE = struct_type(ProgramState)
_FEW = 8  # rows that are compared with each other
_HALF, _LOW = 32, (1 << 32) - 1


@subroutine(boolean(STATE, int64, int64, int64, int64))
def _alike(state: ProgramState, one: int, other: int, first: int, last: int) -> bool:
    group, columns = state.group, state.columns
    same = True
    for at in range(first, last):
        same &= group[one, columns[at]] == group[other, columns[at]]
    return same


@subroutine(boolean(STATE, int64, int64, int64))
def _is_first(state: ProgramState, row: int, first: int, last: int) -> bool:
    """Whether no row before it has the same binding. Asked of each row in turn."""
    group, columns, distinct, count = state.group, state.columns, state.distinct, state.marks[GROUP_ROWS]
    if count <= _FEW:
        known = False
        for other in range(row):
            known |= _alike(state, other, row, first, last)
        return not known
    mask = 1
    while mask < 2 * count:
        mask *= 2
    mask -= 1
    if row == 0:
        for slot in range(mask + 1):
            distinct[slot] = -1
    hashed: Any = np.int64(0)
    for at in range(first, last):
        hashed = hash_with(hashed, group[row, columns[at]])
    slot = hashed & mask
    while distinct[slot] >= 0:
        if _alike(state, distinct[slot], row, first, last):
            return False
        slot = (slot + 1) & mask
    distinct[slot] = row
    return True


@subroutine(boolean(STATE, table(int64), table(float64), int64, int64, int64))
def comes_before(state: ProgramState, rows: Int64, floats: Float64, aggregate: int, one: int, other: int) -> bool:
    """Whether a row comes before another one: by the times of its order, then by its value."""
    columns, aggregates = state.columns, state.aggregates
    for at in range(aggregates[aggregate, ORDER_BEGIN], aggregates[aggregate, ORDER_END]):
        a, b = rows[one, columns[at]], rows[other, columns[at]]
        if a != b:
            return bool(a < b)
    value = aggregates[aggregate, VALUE]
    if aggregates[aggregate, IS_FLOAT]:
        return bool(floats[one, value] < floats[other, value])
    return bool(rows[one, value] < rows[other, value])


@subroutine(void(STATE, int64))
def _pick(state: ProgramState, aggregate: int) -> None:
    """min, max, first and last."""
    group, aggregates, best = state.group, state.aggregates, -1
    name, value = aggregates[aggregate, NAME], aggregates[aggregate, VALUE]
    for row in range(state.marks[GROUP_ROWS]):
        if group[row, value] == state.null:
            continue
        if best < 0:
            best = row
        elif name in (MIN, FIRST_OF):
            if comes_before(state, group, state.group_floats, aggregate, row, best):
                best = row
        elif comes_before(state, group, state.group_floats, aggregate, best, row):
            best = row
    state.frame[aggregates[aggregate, RESULT]] = group[best, value] if best >= 0 else state.null


@subroutine(void(STATE, int64, float64))
def write_float(state: ProgramState, slot: int, number: float) -> None:
    """NaN is NULL, and there is one zero."""
    if number != number:
        state.frame[slot] = state.null
    else:
        state.floats[slot] = number + 0.0


@subroutine(void(STATE, int64, table(int64), int64, int64, int64, int64, int64))
def finish_number(
    state: ProgramState, aggregate: int, sums: Int64, row: int, at: int, count: int, high: int, low: int
) -> None:
    """Write count, sum or avg to its slot: of whole numbers from the two parts of their sum, of floats from their exact
    sum."""
    frame, floats, aggregates = state.frame, state.floats, state.aggregates
    name, result = aggregates[aggregate, NAME], aggregates[aggregate, RESULT]
    if name == COUNT_ALL:
        frame[result] = count
    elif count == 0:
        frame[result] = state.null
    elif aggregates[aggregate, IS_FLOAT]:
        found = rounded_sum(sums, row, at)
        if name == AVG:
            found /= count
        write_float(state, result, found)
    elif name == SUM:
        high += low >> _HALF
        low &= _LOW
        fits = -(1 << 31) <= high < (1 << 31)
        frame[result] = as_value(state, (high << _HALF) | low) if fits else state.null
    else:
        floats[result] = (float(high) * 4294967296.0 + float(low)) / count


@subroutine(int64(table(int64), int64, int64, int64, boolean, int64))
def add_to_moments(words: Int64, row: int, at: int, value: int, floating: bool, times: int) -> int:
    """Add a value to the sum of values and to that of squares, or take it away; gives what that adds to the number of
    values which are too large for it."""
    if floating and is_large(value):
        return times
    if floating:
        add_to_sum(words, row, at, value, times)
    else:
        add_whole(words, row, at, value, times)
    add_square(words, row, at + SUM_WORDS, value, floating, times)
    return 0


@subroutine(void(table(int64), int64, int64))
def clear_moments(words: Int64, row: int, at: int) -> None:
    clear_sum(words, row, at)
    clear_squares(words, row, at + SUM_WORDS)


@subroutine(void(STATE, int64, table(int64), int64, int64, int64, int64))
def finish_stddev(state: ProgramState, slot: int, words: Int64, row: int, at: int, count: int, large: int) -> None:
    """That of a sample; NULL of fewer than two values, or where the square of one might be beyond all floats."""
    if count < 2 or large > 0:
        state.frame[slot] = state.null
    else:
        write_float(state, slot, deviation(state.sums, words, row, at, at + SUM_WORDS, count))


@subroutine(void(STATE, int64))
def _rank(state: ProgramState, aggregate: int) -> None:
    """median, over distinct bindings."""
    group, aggregates, ranked = state.group, state.aggregates, state.ranked_floats
    value, floating = aggregates[aggregate, VALUE], aggregates[aggregate, IS_FLOAT]
    first, last = aggregates[aggregate, DISTINCT_BEGIN], aggregates[aggregate, DISTINCT_END]
    count = 0
    for row in range(state.marks[GROUP_ROWS]):
        if _is_first(state, row, first, last) and group[row, value] != state.null:
            ranked[count] = state.group_floats[row, value] if floating else float(group[row, value])
            count += 1
    sort_floats(ranked, count)
    middle = ranked[(count - 1) >> 1] / 2 + ranked[count >> 1] / 2 if count > 0 else np.nan
    write_float(state, aggregates[aggregate, RESULT], middle)


@subroutine(void(STATE, int64))
def _add_up(state: ProgramState, aggregate: int) -> None:
    """count, sum, avg and stddev, over distinct bindings."""
    group, aggregates, sums = state.group, state.aggregates, state.sums
    name, value = aggregates[aggregate, NAME], aggregates[aggregate, VALUE]
    first, last = aggregates[aggregate, DISTINCT_BEGIN], aggregates[aggregate, DISTINCT_END]
    floating = aggregates[aggregate, IS_FLOAT] == 1
    high: Any = np.int64(0)
    low: Any = np.int64(0)
    count = large = 0
    clear_moments(sums, 0, 0)
    for row in range(state.marks[GROUP_ROWS]):
        if not _is_first(state, row, first, last) or group[row, value] == state.null:
            continue
        count += 1
        if name == COUNT_ALL:
            continue
        if name == STDDEV:
            large += add_to_moments(sums, 0, 0, group[row, value], floating, 1)
        elif floating:
            add_to_sum(sums, 0, 0, group[row, value], 1)
        else:
            high += group[row, value] >> _HALF
            low += group[row, value] & _LOW
    if name == STDDEV:
        finish_stddev(state, aggregates[aggregate, RESULT], sums, 0, 0, count, large)
    else:
        finish_number(state, aggregate, sums, 0, 0, count, high, low)


@subroutine(void(STATE, int64, int64))
def aggregate_group(state: ProgramState, first: int, last: int) -> None:
    """Write each aggregate of the group to its slot."""
    for aggregate in range(first, last):
        name = state.aggregates[aggregate, NAME]
        if name >= MIN:
            _pick(state, aggregate)
        elif name == MEDIAN:
            _rank(state, aggregate)
        else:
            _add_up(state, aggregate)
