"""The standard deviation of a sample, rounded once: from the exact sums of its values and of their squares.

n Σx² - (Σx)² is a whole number of 2^-2148, as long as the sums are exact; it is divided by n (n - 1) and rounded, and
its root is taken. A sum of squares is laid out as other sums are (exact_sums), and is longer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit import subroutine, table
from ostinato.core.jit.types import boolean, float64, int64, void
from ostinato.rules.kernels.exact_sums import (
    HIGHEST_LIMB,
    LIMBS,
    LOWEST_LIMB,
    add_scaled,
    exponent_of,
    mantissa_of,
    rounded_digits,
)

_SQUARE_LIMBS = 108  # the squares of numbers below 1e150, and their sums
SQUARE_WORDS = LIMBS + _SQUARE_LIMBS
DIGITS = 160  # of what is computed here
_MASK = (1 << 32) - 1
_ONE = 1074  # the exponent of 1
_FRACTION = 4  # digits that a division adds
_LARGE = 0x5F138D352E5096AF  # the bits of 1e150: the square of such a number might be beyond all floats


@subroutine(boolean(int64))
def is_large(bits: int) -> bool:
    """Whether a float is, by its bits."""
    return bits & 0x7FFFFFFFFFFFFFFF >= _LARGE


@subroutine(void(table(int64), int64, int64))
def clear_squares(words: Int64, row: int, at: int) -> None:
    for limb in range(words[row, at + LOWEST_LIMB], words[row, at + HIGHEST_LIMB] + 1):
        words[row, at + LIMBS + limb] = 0
    words[row, at + LOWEST_LIMB], words[row, at + HIGHEST_LIMB] = _SQUARE_LIMBS, -1


@subroutine(void(table(int64), int64, int64, int64, int64))
def add_whole(words: Int64, row: int, at: int, number: int, times: int) -> None:
    """Add a whole number to a sum, or take it away."""
    add_scaled(words, row, at, number, _ONE, times)


@subroutine(void(table(int64), int64, int64, int64, boolean, int64))
def add_square(words: Int64, row: int, at: int, value: int, floating: bool, times: int) -> None:
    """Add the square of a value to a sum of squares, or take it away."""
    number, exponent = (mantissa_of(value), exponent_of(value)) if floating else (abs(value), _ONE)
    if number == 0:
        return
    low, high = number & _MASK, (number >> 32) & _MASK
    first, middle, last = low * low, low * high, high * high
    # Its four digits, moved to where they belong.
    limb, shift = (2 * exponent) >> 5, (2 * exponent) & 31
    base, carry, rest = at + LIMBS + limb, 0, 0
    for place in range(5):
        if place == 0:
            rest = first & _MASK
        elif place == 1:
            rest = ((first >> 32) & _MASK) + 2 * (middle & _MASK)
        elif place == 2:
            rest += 2 * (middle >> 32) + (last & _MASK)
        elif place == 3:
            rest += last >> 32
        digit = ((rest & _MASK) << shift) + carry
        words[row, base + place] += times * (digit & _MASK)
        carry, rest = digit >> 32, rest >> 32
    words[row, at + LOWEST_LIMB] = min(words[row, at + LOWEST_LIMB], limb)
    words[row, at + HIGHEST_LIMB] = max(words[row, at + HIGHEST_LIMB], limb + 4)


@subroutine(int64(table(int64), int64, int64, int64))
def _carry(digits: Int64, row: int, first: int, last: int) -> int:
    """Let digits be between 0 and 2^32; gives what is left over."""
    carry: Any = np.int64(0)
    for place in range(first, last + 1):
        value = digits[row, place] + carry
        digits[row, place], carry = value & _MASK, value >> 32
    return int(carry)


@subroutine(float64(table(int64), table(int64), int64, int64, int64, int64))
def deviation(digits: Int64, words: Int64, row: int, sum_at: int, square_at: int, count: int) -> float:
    """Of `count` values. The last two rows of `digits` are there to compute with."""
    one, two = digits.shape[0] - 2, digits.shape[0] - 1
    for place in range(DIGITS):
        digits[one, place] = digits[two, place] = 0
    # Σx², in row two; then n times that.
    for limb in range(words[row, square_at + LOWEST_LIMB], words[row, square_at + HIGHEST_LIMB] + 1):
        digits[two, _FRACTION + limb] = words[row, square_at + LIMBS + limb]
    lowest, highest = words[row, square_at + LOWEST_LIMB], words[row, square_at + HIGHEST_LIMB] + 2
    _carry(digits, two, _FRACTION + lowest, _FRACTION + highest)
    for place in range(_FRACTION + lowest, _FRACTION + highest + 1):
        digits[two, place] *= count
    # Σx, in row one: its amount.
    first, last = words[row, sum_at + LOWEST_LIMB], words[row, sum_at + HIGHEST_LIMB]
    for limb in range(first, last + 1):
        digits[one, limb] = words[row, sum_at + LIMBS + limb]
    if _carry(digits, one, first, last + 2) < 0:
        for limb in range(first, last + 3):
            digits[one, limb] = -digits[one, limb]
        _carry(digits, one, first, last + 2)
    # n Σx² - (Σx)²
    _carry(digits, two, _FRACTION + lowest, _FRACTION + highest + 1)
    for left in range(first, last + 3):
        for right in range(first, last + 3):
            product = digits[one, left] * digits[one, right]
            digits[two, _FRACTION + left + right] -= product & _MASK
            digits[two, _FRACTION + left + right + 1] -= (product >> 32) & _MASK
    lowest, highest = _FRACTION + min(lowest, 2 * first), _FRACTION + max(highest + 1, 2 * last + 5)
    _carry(digits, two, lowest, highest)
    # Divided by n, and by n - 1.
    lowest -= _FRACTION
    rest: Any = np.int64(0)
    for divisor in (count, count - 1):
        over: Any = np.int64(0)
        for place in range(highest, lowest - 1, -1):
            value = (over << 32) | digits[two, place]
            digits[two, place], over = value // divisor, value % divisor
        rest |= over
    while highest > lowest and digits[two, highest] == 0:
        highest -= 1
    if digits[two, highest] == 0:
        return 0.0
    for place in range(lowest, highest - 2):
        rest |= digits[two, place]
    second = digits[two, highest - 1] if highest > lowest else 0
    third = digits[two, highest - 2] if highest > lowest + 1 else 0
    exponent = 32 * (highest - _FRACTION) - 2 * _ONE
    return math.sqrt(rounded_digits(digits[two, highest], second, third, rest, exponent))
