"""Kernels index arrays as numpy does, whatever numba's own way would be, and may be passed kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import array, boolean, float32, float64, int8, int64, table, uint8, view, void


@kernel(int64(view(int64), int64))
def item(numbers: Any, at: int) -> Any:
    return numbers[at]


@kernel(float64(table(float32, constant=True), int64, int8))
def cell(numbers: Any, row: int, column: int) -> Any:
    return numbers[row, column] + numbers[-1, 0]


@kernel(void(array(boolean), table(uint8), int64, float64))
def write(flags: Any, bytes_: Any, at: int, number: float) -> None:
    flags[at] = number > 1
    flags[0] = True
    bytes_[at, 1] = number
    bytes_[0, at] += 1


@kernel(float64(table(float64), int64))
def rows(numbers: Any, at: int) -> Any:
    row = numbers[at]
    numbers[at + 1] = 2.0
    row[1:] = 3.0
    return row[0] + len(numbers[:, 0])


@kernel(int64(int64))
def double(number: int) -> int:
    return 2 * number


@kernel(int64(int64))
def negate(number: int) -> int:
    return -number


@subroutine()
def apply_twice(function: Callable[[int], int], number: int) -> int:
    return function(function(number))


@kernel(int64(int64))
def double_then_negate(number: int) -> int:
    return apply_twice(double, number) + apply_twice(negate, 100 * number)


@subroutine(int64(view(int64), int64), inline=False)
def apart(numbers: Any, at: int) -> Any:
    return numbers[at] * 3


@subroutine(int64(view(int64), int64), inline=True)
def inside(numbers: Any, at: int) -> Any:
    return apart(numbers, at) + 1


@kernel(int64(view(int64)))
def total(numbers: Any) -> int:
    found = 0
    for at in range(len(numbers)):
        found += inside(numbers, at) + apart(numbers, -1)
    return found


@pytest.mark.parametrize("at", [0, 2, -1, -3])
def test_an_index_below_zero_counts_from_the_end(at: int) -> None:
    numbers = np.array([5, 6, 7])
    assert item(numbers, at) == numbers[at]


@pytest.mark.parametrize(("row", "column"), [(0, 0), (1, 2), (-2, -3), (-1, 1)])
def test_so_does_each_of_several(row: int, column: int) -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert cell(numbers, row, column) == numbers[row, column] + 3


@pytest.mark.parametrize("at", [1, -1])
def test_what_is_written_is_converted(at: int) -> None:
    flags, bytes_ = np.zeros(2, np.bool_), np.zeros((2, 2), np.uint8)
    write(flags, bytes_, at, 7.9)
    assert flags.tolist() == [True, True]
    assert bytes_.tolist() == [[0, 1], [0, 7]]


def test_rows_and_slices_are_views() -> None:
    numbers = np.zeros((3, 3))
    assert rows(numbers, 0) == 3
    assert numbers.tolist() == [[0, 3, 3], [2, 2, 2], [0, 0, 0]]


def test_a_kernel_may_be_passed_to_a_kernel() -> None:
    assert double_then_negate(3) == 12 + 300


def test_subroutines_may_be_copied_into_their_callers_or_not() -> None:
    assert total(np.array([5, 6, 7])) == 3 * (5 + 6 + 7) + 3 + 3 * 21
