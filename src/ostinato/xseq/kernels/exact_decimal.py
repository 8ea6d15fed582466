"""Which of two neighbouring float64 a decimal number of many digits is nearer to, by whole numbers of any size.

They are arrays of 32 bits each, the lowest first, in words of 64. 128 of them hold all that may come up: the digits are
cut after DIGITS, and 10 ** -1124 is 5 ** -1124, of 2,610 bits, times a power of two.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import UInt8, UInt64
from ostinato.core.jit import subroutine
from ostinato.core.jit.memory import stack_words
from ostinato.core.jit.types import array, boolean, int64, uint8, uint64, view, void
from ostinato.xseq.kernels.decimal_to_float import Word

DIGITS = 800  # no number between two float64 has more than 768
_SIZE = 128
_MASK = np.uint64(0xFFFFFFFF)


@subroutine(void(array(uint64), int64, uint64, uint64))
def _multiply_add(words: UInt64, at: int, factor: Word, more: Word) -> None:
    """Number `at` of two, times a factor of at most 32 bits, and more."""
    carry = more
    for place in range(at, at + _SIZE):
        carry += words[place] * factor
        words[place] = carry & _MASK
        carry >>= np.uint64(32)


@subroutine(void(array(uint64), int64, int64))
def _shift_left(words: UInt64, at: int, bits: int) -> None:
    whole, rest = bits >> 5, bits & 31
    for place in range(at + _SIZE - 1, at - 1, -1):
        found = np.uint64(0)
        if place - whole >= at:
            found = words[place - whole] << np.uint64(rest)
        if place - whole - 1 >= at:
            found |= words[place - whole - 1] >> np.uint64(32 - rest)
        words[place] = found & _MASK


@subroutine(boolean(view(uint8), int64, int64, int64, int64, int64), inline=False)
def is_nearer_to_next(data: UInt8, low: int, high: int, power: int, mantissa: int, binary: int) -> bool:
    """Whether a decimal number is nearer to (m + 1) * 2 ** binary than to m * 2 ** binary, or as near and m is odd.

    Its digits, perhaps with a point among them, begin at `low`; `power` is that of ten that is to be applied to them.
    """
    words = stack_words()
    ours, theirs = 0, _SIZE
    for place in range(2 * _SIZE):
        words[place] = np.uint64(0)
    digits, fraction, rest = 0, 0, False
    digit: Any
    for place in range(low, high):
        if data[place] == 46:
            fraction = 1
            continue
        digit = np.int64(data[place]) - 48
        if digits == 0 and digit == 0:
            power -= fraction
        elif digits < DIGITS:
            _multiply_add(words, ours, np.uint64(10), np.uint64(digit))
            digits += 1
            power -= fraction
        else:
            rest |= digit != 0
            power += 1 - fraction
    if rest:  # a little more than what the digits say
        _multiply_add(words, ours, np.uint64(10), np.uint64(1))
        power -= 1
    _multiply_add(words, theirs, np.uint64(0), np.uint64(2 * mantissa + 1))
    for _ in range(abs(power)):
        _multiply_add(words, ours if power >= 0 else theirs, np.uint64(5), np.uint64(0))
    shift = power - (binary - 1)
    _shift_left(words, ours if shift >= 0 else theirs, abs(shift))
    for place in range(_SIZE - 1, -1, -1):
        if words[ours + place] != words[theirs + place]:
            return words[ours + place] > words[theirs + place]
    return mantissa & 1 == 1
