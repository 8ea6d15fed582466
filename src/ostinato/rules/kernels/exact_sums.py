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


@subroutine(void(table(int64), int64, int64, int64, int64))
def add_to_sum(words: Int64, row: int, at: int, bits: int, times: int) -> None:
    """Add a float, by its bits, or take it away (`times` is -1)."""
    sign = -times if bits < 0 else times
    exponent, mantissa = (bits >> 52) & 0x7FF, bits & _MANTISSA
    if exponent == 0x7FF:
        words[row, at + (BELOW_ALL if bits < 0 else ABOVE_ALL)] += times
        return
    if exponent == 0:
        if mantissa == 0:
            return
        exponent = 1
    else:
        mantissa |= 1 << 52
    limb, shift = (exponent - 1) >> 5, (exponent - 1) & 31
    low, high = (mantissa & _MASK) << shift, (mantissa >> 32) << shift
    first = at + LIMBS + limb
    words[row, first] += sign * (low & _MASK)
    words[row, first + 1] += sign * (((low >> 32) & _MASK) + (high & _MASK))
    words[row, first + 2] += sign * (high >> 32)
    words[row, at + LOWEST_LIMB] = min(words[row, at + LOWEST_LIMB], limb)
    words[row, at + HIGHEST_LIMB] = max(words[row, at + HIGHEST_LIMB], limb + 2)


@subroutine(float64(int64, int64))
def _scaled(whole: int, exponent: int) -> float:
    """whole * 2^exponent. What is less than a normal float is a whole number of the smallest one: nothing is lost."""
    found, left = float(whole), abs(exponent)
    step, factor = 512, 2.0**512 if exponent > 0 else 2.0**-512
    while left > 0:
        while left >= step:
            found *= factor
            left -= step
        step, factor = step >> 1, np.sqrt(factor)
    return found


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
    one = two = three = np.uint64(0)
    rest: Any = np.int64(0)
    carry = np.int64(0)
    for limb in range(first, top + 1):
        value = (sign * words[row, base + limb] if limb <= last else 0) + carry
        carry = value >> 32
        if three:
            rest = 1
        three, two, one = two, one, np.uint64(value & _MASK)
    # 62 bits of it, and whether there is more.
    bits = 0
    while bits < 32 and (one >> np.uint64(bits)) > 0:
        bits += 1
    both, shift = (one << np.uint64(32)) | two, 30 - bits
    if shift >= 0:
        if three & ((np.uint64(1) << np.uint64(32 - shift)) - np.uint64(1)):
            rest = 1
        whole: Any = np.int64((both << np.uint64(shift)) | (three >> np.uint64(32 - shift)))
    else:
        if three or both & ((np.uint64(1) << np.uint64(-shift)) - np.uint64(1)):
            rest = 1
        whole = np.int64(both >> np.uint64(-shift))
    return sign * _scaled(whole | rest, 32 * (top - 1) - shift - 1074)
