"""Sums of floats that lose nothing: whatever is added and taken away again, in any order, they are rounded once.

A sum is a number of 2,176 bits in units of 2^-1074, the smallest float: limbs of 32 bits, each in a word of 64, so that
carries can wait. It is what math.fsum gives. Only the limbs that its numbers have touched are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit import subroutine, table
from ostinato.core.jit.types import float64, int64, void
from ostinato.rules.kernels.layout import LOWEST

LOWEST_LIMB, HIGHEST_LIMB, ABOVE_ALL, BELOW_ALL, LIMBS = range(5)  # the infinities are counted
SUM_WORDS = LIMBS + 68
_MASK = (1 << 32) - 1
_MANTISSA = (1 << 52) - 1


@subroutine(void(table(int64), int64, int64))
def clear_sum(words: Int64, row: int, at: int) -> None:
    """Let a sum be 0: it is in the words of a row from a column on."""
    for limb in range(words[row, at + LOWEST_LIMB], words[row, at + HIGHEST_LIMB] + 1):
        words[row, at + LIMBS + limb] = 0
    words[row, at + LOWEST_LIMB], words[row, at + HIGHEST_LIMB] = 68, -1
    words[row, at + ABOVE_ALL] = words[row, at + BELOW_ALL] = 0


@subroutine(int64(int64))
def mantissa_of(bits: int) -> int:
    return bits & _MANTISSA | (1 << 52 if (bits >> 52) & 0x7FF else 0)


@subroutine(int64(int64))
def exponent_of(bits: int) -> int:
    """Of the lowest bit of the mantissa, from that of the smallest float on."""
    return max((bits >> 52) & 0x7FF, 1) - 1


@subroutine(void(table(int64), int64, int64, int64, int64, int64))
def add_scaled(words: Int64, row: int, at: int, number: int, exponent: int, sign: int) -> None:
    """Add number * 2^exponent."""
    limb, shift = exponent >> 5, exponent & 31
    low, high = (number & _MASK) << shift, (number >> 32) << shift
    first = at + LIMBS + limb
    words[row, first] += sign * (low & _MASK)
    words[row, first + 1] += sign * (((low >> 32) & _MASK) + (high & _MASK))
    words[row, first + 2] += sign * (high >> 32)
    words[row, at + LOWEST_LIMB] = min(words[row, at + LOWEST_LIMB], limb)
    words[row, at + HIGHEST_LIMB] = max(words[row, at + HIGHEST_LIMB], limb + 2)


@subroutine(void(table(int64), int64, int64, int64, int64))
def add_to_sum(words: Int64, row: int, at: int, bits: int, times: int) -> None:
    """Add a float, by its bits, or take it away (`times` is -1)."""
    if (bits >> 52) & 0x7FF == 0x7FF:
        words[row, at + (BELOW_ALL if bits < 0 else ABOVE_ALL)] += times
    elif bits & ~LOWEST:
        add_scaled(words, row, at, mantissa_of(bits), exponent_of(bits), -times if bits < 0 else times)


@subroutine(float64(int64, int64))
def _scaled(whole: int, exponent: int) -> float:
    """whole * 2^exponent, which is a float: nothing is lost."""
    found, left = float(whole), abs(exponent)
    step, factor = 512, 2.0**512 if exponent > 0 else 2.0**-512
    while left > 0:
        while left >= step:
            found *= factor
            left -= step
        step, factor = step >> 1, np.sqrt(factor)
    return found


@subroutine(float64(int64, int64, int64, int64, int64))
def rounded_digits(one: int, two: int, three: int, rest: int, exponent: int) -> float:
    """The float that is nearest to a number, by its first three digits of 32 bits; `rest` is 0 if all others are. The
    lowest bit of the first digit, which is not 0, is worth 2^exponent."""
    bits = 0
    while one >> bits:
        bits += 1
    top = exponent + bits - 1  # what the highest bit is worth
    kept = min(53, top + 1075)  # a float has no more of it
    if kept < 0:
        return 0.0
    # 62 bits, the last of which says whether there is more.
    missing = 62 - bits
    if missing >= 32:
        whole, shift = (one << 32) | two, missing - 32
        cut = 32 - shift
        whole, rest = (whole << shift) | (three >> cut), rest | (three & ((1 << cut) - 1))
    else:
        cut = 32 - missing
        whole, rest = (one << missing) | (two >> cut), rest | three | (two & ((1 << cut) - 1))
    whole |= 1 if rest else 0
    drop = 62 - kept
    half, tail = 1 << (drop - 1), whole & ((1 << drop) - 1)
    whole >>= drop
    if tail > half or (tail == half and whole & 1):
        whole += 1
    return _scaled(whole, top - kept + 1)


@subroutine(float64(table(int64), int64, int64))
def rounded_sum(words: Int64, row: int, at: int) -> float:
    """The float that is nearest to a sum; NaN if it has both infinities."""
    above, below = words[row, at + ABOVE_ALL] > 0, words[row, at + BELOW_ALL] > 0
    if above or below:
        return np.nan if above and below else (np.inf if above else -np.inf)
    first, last, base = words[row, at + LOWEST_LIMB], words[row, at + HIGHEST_LIMB], at + LIMBS
    carry: Any = np.int64(0)
    for limb in range(first, last + 1):
        carry = (words[row, base + limb] + carry) >> 32
    sign = -1 if carry < 0 else 1
    # The digits of its amount: those above the last limb are in the carry.
    top: Any = np.int64(-1)
    carry = np.int64(0)
    for limb in range(first, last + 3):
        value = (sign * words[row, base + limb] if limb <= last else 0) + carry
        carry = value >> 32
        if value & _MASK:
            top = limb
    if top < 0:
        return 0.0
    carry = np.int64(0)
    one = two = three = rest = 0
    for limb in range(first, top + 1):
        value = (sign * words[row, base + limb] if limb <= last else 0) + carry
        carry = value >> 32
        rest |= three
        three, two, one = two, one, value & _MASK
    return sign * rounded_digits(one, two, three, rest, 32 * top - 1074)
