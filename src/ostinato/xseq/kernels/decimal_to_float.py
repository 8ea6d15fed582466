"""The float64 nearest to a decimal number, ties to even: Eisel and Lemire's product with a power of five.

D. Lemire, "Number parsing at a gigabyte per second" (2021); N. Mushtak and D. Lemire, "Fast number parsing without
fallback" (2022), who show that 128 bits of each power decide for all whole numbers below 2 ** 64. Only of longer ones,
whose first digits do not decide, all digits are looked at (exact_decimal.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import subroutine, types
from ostinato.core.jit.types import float64, int64, uint64

Word = Any  # a uint64

LEAST, MOST = -342, 308  # powers of ten beyond which all are zero, or infinite
LEAST_BINARY, MOST_BINARY = -1074, 972  # those of two that the last bit of a float64 may have; from MOST on infinite
_BITS = np.uint64(0xFFFFFFFFFFFFFFFF)
_HALF = np.uint64(0xFFFFFFFF)
_WIDE = types.results(uint64, uint64)
_SCALED = types.results(int64, int64)


def _powers_of_five() -> Any:
    """Per power from LEAST to MOST the first 128 bits: of its inverse, rounded up, for a negative one."""
    found = []
    for power in range(LEAST, MOST + 1):
        five = 5 ** abs(power)
        if power < 0:
            shift = five.bit_length() + (127 if power >= -27 else 255)
            five = 2**shift // five + 1
        size = five.bit_length()
        five = five << (128 - size) if size <= 128 else five >> (size - 128)
        found += [five >> 64, five & int(_BITS)]
    return np.array(found, np.uint64)


_FIVES = _powers_of_five()
_TENS = np.array([10.0**n for n in range(23)])  # exact
_TWOS = np.array([2.0**n for n in range(LEAST_BINARY, MOST_BINARY)])


@subroutine(_WIDE(uint64, uint64))
def _multiply(one: Word, two: Word) -> tuple[Word, Word]:
    """The high and low halves of a product."""
    half = np.uint64(32)
    low, other_low = one & _HALF, two & _HALF
    high, other_high = one >> half, two >> half
    lows, middle = low * other_low, high * other_low
    middle += lows >> half
    other = (middle & _HALF) + low * other_high
    return high * other_high + (middle >> half) + (other >> half), (other << half) | (lows & _HALF)


@subroutine(int64(uint64))
def _leading_zeros(value: Word) -> int:
    found, width = 0, 32
    while width:
        if value >> np.uint64(64 - width) == np.uint64(0):
            value <<= np.uint64(width)
            found += width
        width >>= 1
    return found


@subroutine(_SCALED(uint64, int64), inline=False)
def nearest_binary(whole: Word, scale: int) -> tuple[int, int]:
    """The float64 nearest to whole * 10 ** scale, as m and n of m * 2 ** n; n is MOST_BINARY if it is infinite."""
    one = np.uint64(1)
    if whole == np.uint64(0) or scale < LEAST:
        return 0, LEAST_BINARY
    if scale > MOST:
        return 1, MOST_BINARY
    zeros = _leading_zeros(whole)
    whole <<= np.uint64(zeros)
    place = 2 * (scale - LEAST)
    high, low = _multiply(whole, _FIVES[place])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # the second half of the power may carry
        more, _ = _multiply(whole, _FIVES[place + 1])
        if more > ~low:
            high += one
            low = more - ~low - one
        else:
            low += more
    upper: Any = np.int64(high >> np.uint64(63))
    shift = np.uint64(upper + 9)
    mantissa = high >> shift
    binary = ((217706 * scale) >> 16) + 63 + upper - zeros - 52  # of the bit that will be last
    if binary < LEAST_BINARY:  # subnormal, or zero
        if binary < LEAST_BINARY - 62:
            return 0, LEAST_BINARY
        mantissa >>= np.uint64(LEAST_BINARY - binary)
        binary = LEAST_BINARY
    elif -4 <= scale <= 23 and low <= one and mantissa & np.uint64(3) == one and mantissa << shift == high:
        mantissa &= ~one  # just between two: to the even one
    mantissa = (mantissa + (mantissa & one)) >> one
    if mantissa == np.uint64(1) << np.uint64(53):
        mantissa >>= one
        binary += 1
    if binary >= MOST_BINARY:
        return 1, MOST_BINARY
    last: Any = np.int64(mantissa)
    return last, binary


@subroutine(float64(int64, int64))
def nearest_float(whole: int, scale: int) -> float:
    """The float64 nearest to whole * 10 ** scale, for a whole number from zero on."""
    if whole <= 9007199254740992 and -22 <= scale <= 22:  # both are exact, and so one operation rounds once
        return whole / _TENS[-scale] if scale < 0 else whole * _TENS[scale]
    mantissa, binary = nearest_binary(np.uint64(whole), scale)
    return to_float(mantissa, binary)


@subroutine(float64(int64, int64))
def to_float(mantissa: int, binary: int) -> float:
    """mantissa * 2 ** binary, which is a float64."""
    return np.inf if binary == MOST_BINARY else mantissa * _TWOS[binary - LEAST_BINARY]
