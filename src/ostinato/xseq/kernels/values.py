"""Values that are text and perhaps a number, and small programs over them.

All values a kernel works on are in one file of flat arrays: first the constants of the query, then the values of the
current node, then what each run remembers. A code below `base` is a place in that file; a code from `base` on is a slot
of the run at hand, `width` values apart from run to run. Text is a range of bytes: at or above zero in the buffer of
the document, below zero in the bytes that were put aside (`held`), where constants are too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ostinato.core.jit import array, inlined, kernel, view
from ostinato.xseq.kernels.value_codes import NE

_POWERS = np.array([10.0**n for n in range(23)])  # exact
_HIGH = np.array([float(f"1e{n}") for n in range(-345, 310)])


_READ = types.Tuple((types.boolean, types.float64))  # type: ignore[no-untyped-call]


@kernel(_READ(view(types.uint8), types.int64, types.int64))
def read_number(data: Any, low: int, high: int) -> Any:
    """Whether a text reads as a number (blanks around it, a sign, digits, a fraction, an exponent), and which."""
    place = low
    while place < high and (data[place] == 32 or (9 <= data[place] <= 13 and data[place] != 11 and data[place] != 12)):
        place += 1
    while high > place and (
        data[high - 1] == 32 or data[high - 1] == 9 or data[high - 1] == 10 or data[high - 1] == 13
    ):
        high -= 1
    negative = False
    if place < high and (data[place] == 43 or data[place] == 45):
        negative = data[place] == 45
        place += 1
    whole = np.int64(0)
    digits, scale, seen = 0, 0, 0
    while place < high and 48 <= data[place] <= 57:
        seen += 1
        if digits < 18:
            whole = whole * 10 + (np.int64(data[place]) - 48)
            if whole:
                digits += 1
        else:
            scale += 1
        place += 1
    if place < high and data[place] == 46:
        place += 1
        while place < high and 48 <= data[place] <= 57:
            seen += 1
            if digits < 18:
                whole = whole * 10 + (np.int64(data[place]) - 48)
                scale -= 1
                if whole:
                    digits += 1
            place += 1
    if seen == 0:
        return False, 0.0
    if place < high and (data[place] == 101 or data[place] == 69):
        place += 1
        down = False
        if place < high and (data[place] == 43 or data[place] == 45):
            down = data[place] == 45
            place += 1
        if place >= high or not 48 <= data[place] <= 57:
            return False, 0.0
        power: Any = 0
        while place < high and 48 <= data[place] <= 57:
            if power < 100_000:
                power = power * 10 + (np.int64(data[place]) - 48)
            place += 1
        scale += -power if down else power
    if place < high:
        return False, 0.0
    if whole == 0:
        value = 0.0
    elif -22 <= scale <= 22 and whole < 9007199254740992:
        value = whole / _POWERS[-scale] if scale < 0 else whole * _POWERS[scale]
    elif scale > 309:
        value = np.inf
    elif scale < -345:
        value = 0.0
    else:
        value = whole * _HIGH[scale + 345]  # may be off by the last bit
    return True, -value if negative else value


@kernel(types.int64(view(types.uint8), array(types.uint8), *[types.int64] * 4))
def text_order(buffer: Any, held: Any, start: int, size: int, other: int, others: int) -> int:
    """-1, 0, 1 as the first text comes before, is, or comes after the second."""
    for place in range(min(size, others)):
        one = buffer[start + place] if start >= 0 else held[-1 - start + place]
        two = buffer[other + place] if other >= 0 else held[-1 - other + place]
        if one != two:
            return -1 if one < two else 1
    return 0 if size == others else (-1 if size < others else 1)


_LARGE = 9007199254740992.0  # from here on whole numbers that differ may be the same float64
_DIGITS = types.UniTuple(types.int64, 3)  # type: ignore[no-untyped-call]


@kernel(_DIGITS(view(types.uint8), types.int64, types.int64))
def _digits(data: Any, low: int, high: int) -> Any:
    """Sign, and first and last digit that count, of a whole number that is written plainly; sign 0 of other texts."""
    while low < high and (data[low] == 32 or data[low] == 9 or data[low] == 10 or data[low] == 13):
        low += 1
    while high > low and (data[high - 1] == 32 or data[high - 1] == 9 or data[high - 1] == 10 or data[high - 1] == 13):
        high -= 1
    sign: Any = 1
    if low < high and (data[low] == 43 or data[low] == 45):
        sign = 44 - np.int64(data[low])
        low += 1
    for place in range(low, high):
        if not 48 <= data[place] <= 57:
            return 0, low, high
    while low < high and data[low] == 48:
        low += 1
    return sign, low, high


@kernel(types.int64(view(types.uint8), view(types.uint8), *[types.int64] * 4))
def _order_of_digits(data: Any, others: Any, low: int, high: int, other: int, end: int) -> int:
    if high - low != end - other:
        return 1 if high - low > end - other else -1
    for place in range(high - low):
        if data[low + place] != others[other + place]:
            return 1 if data[low + place] > others[other + place] else -1
    return 0


@kernel(types.int64(view(types.uint8), array(types.uint8), *[types.int64] * 4))
def whole_order(buffer: Any, held: Any, start: int, size: int, other: int, others: int) -> Any:
    """-1, 0 or 1 if the first whole number is less than, equal to or more than the second; 2 if either is not one."""
    one, two = start if start >= 0 else -1 - start, other if other >= 0 else -1 - other
    sign, low, high = _digits(buffer, one, one + size) if start >= 0 else _digits(held, one, one + size)
    second, first, end = _digits(buffer, two, two + others) if other >= 0 else _digits(held, two, two + others)
    if sign == 0 or second == 0:
        return 2
    if sign != second:
        return sign
    if start >= 0:
        order = _order_of_digits(buffer, buffer if other >= 0 else held, low, high, first, end)
    else:
        order = _order_of_digits(held, buffer if other >= 0 else held, low, high, first, end)
    return sign * order


@inlined
def compare(
    operator: Any, one: Any, two: Any, kind: Any, num: Any, start: Any, size: Any, buffer: Any, held: Any
) -> Any:
    """The comparison of two places of the file. Nothing compares with a missing value."""
    result = False
    if kind[one] >= 3 and kind[two] >= 3:
        order: Any = np.int64(num[one] > num[two]) - np.int64(num[one] < num[two])
        if abs(num[one]) >= _LARGE and abs(num[two]) >= _LARGE and kind[one] == 3 and kind[two] == 3:
            exact = whole_order(buffer, held, start[one], size[one], start[two], size[two])
            order = order if exact == 2 else exact
        result = (operator >> (1 + order)) & 1 != 0
    elif kind[one] >= 2 and kind[two] >= 2:
        if kind[one] == 4 or kind[two] == 4:  # a computed number and a text that is none only differ
            result = operator == NE
        else:
            order = text_order(buffer, held, start[one], size[one], start[two], size[two])
            result = (operator >> (1 + order)) & 1 != 0
    return result


@inlined
def arithmetic(operator: Any, left: Any, right: Any) -> Any:
    """(whether there is a result, the result)."""
    value = 0.0
    known = True
    if operator == 1:
        value = left + right
    elif operator == 2:
        value = left - right
    elif operator == 3:
        value = left * right
    elif right == 0.0:
        known = False
    elif operator == 4:
        value = left / right
    else:
        value = left - right * np.trunc(left / right)
    return known and np.isfinite(value), value


_I = types.int64


def _signature(place: Any) -> Any:
    """Where texts start is an int64 in streams and an int32 in trees, which fit into memory."""
    file = (array(types.uint8), array(types.float64), array(place), array(types.int32))
    return types.void(array(types.int32), _I, _I, _I, _I, _I, *file, view(types.uint8), array(types.uint8))


@kernel(_signature(types.int64), _signature(types.int32))
def run_program(
    code: Any, begin: Any, end: Any, shift: Any, base: Any, stack: Any, kind: Any, num: Any, start: Any, size: Any,
    buffer: Any, held: Any,
) -> Any:  # fmt: skip
    """Run code[begin:end] (pairs of operation and argument); the result is left at file place `stack`.

    `shift` is what to add to the code of a slot to find it in the file. Truth is the number 1, falsehood 0.
    """
    top = stack - 1
    place = begin
    while place < end:
        operation, argument = code[2 * place], code[2 * place + 1]
        place += 1
        if operation == 0:
            source = argument if argument < base else argument + shift
            top += 1
            kind[top], num[top], start[top], size[top] = kind[source], num[source], start[source], size[source]
        elif operation <= 5:
            top -= 1
            if kind[top] >= 3 and kind[top + 1] >= 3:
                known, value = arithmetic(operation, num[top], num[top + 1])
                kind[top] = 4 if known else 1
                num[top] = value
            else:
                kind[top] = 1
        elif operation == 6:
            num[top] = -num[top]
            kind[top] = 4 if kind[top] >= 3 else 1
        elif operation == 7:
            top -= 1
            result = compare(argument, top, top + 1, kind, num, start, size, buffer, held)
            kind[top] = 4
            num[top] = 1.0 if result else 0.0
        elif operation == 10:
            num[top] = 1.0 - num[top]
        else:
            top -= 1
            both = num[top] + num[top + 1]
            num[top] = 1.0 if (both == 2.0 if operation == 8 else both > 0.0) else 0.0
