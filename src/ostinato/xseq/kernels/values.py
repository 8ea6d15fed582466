"""Values that are text and perhaps a number, and small programs over them.

All values a kernel works on are in one file of flat arrays: first the constants of the query, then the values of the
current node, then what each run remembers. A code below `base` is a place in that file; a code from `base` on is a slot
of the run at hand, `width` values apart from run to run. Text is a range of bytes: at or above zero in the buffer of
the document, below zero in the pool of texts that outlast it, where constants are too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Float64, Int32, Int64, UInt8
from ostinato.core.jit import kernel, subroutine, types, view
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import boolean, float64, int64, struct_type, uint8, void
from ostinato.xseq.kernels.decimal_to_float import nearest_binary, nearest_float, to_float
from ostinato.xseq.kernels.exact_decimal import is_nearer_to_next
from ostinato.xseq.kernels.value_codes import (
    ADD,
    AND,
    BOTH,
    COMPARE,
    DIV,
    MOD,
    MUL,
    NE,
    NEG,
    NOT,
    NULL,
    NUMBER,
    PUSH,
    SUB,
    TEXT,
)


class Values(ArrayStruct):
    """A file of values, the bytes that its texts point into, and the programs that run on it."""

    kind = Field[UInt8](np.uint8, 1, "per value: UNBOUND, NULL, TEXT, BOTH or NUMBER")
    num = Field[Float64](np.float64, 1, "per value: its number")
    start = Field[Int64](np.int64, 1, "per value: where its text begins; -1 - p is place p of `text_pool`")
    size = Field[Int32](np.int32, 1, "per value: how many bytes its text has")
    buffer = Field[UInt8](np.uint8, 1, "the bytes of the document", constant=True)
    text_pool = Field[UInt8](np.uint8, 1, "texts that are not in the buffer: constants, names, what runs remember")
    code = Field[Int32](np.int32, 1, "the instructions of all programs: operation, argument", constant=True)
    base = Field[int](np.int64, 0, "the first code that is a slot of a run")
    stack = Field[int](np.int64, 0, "where in the file the stack of programs begins")


VALUES = struct_type(Values)

_READ = types.results(boolean, float64)
_RANGE = types.results(int64, int64)
_DIGITS = types.results(int64, int64, int64)


@subroutine(boolean(uint8))
def _is_blank(byte: int) -> bool:
    """Whether a byte is a space, a tab or the end of a line."""
    return byte <= 32 and (1 << np.int64(byte)) & 0x100002600 != 0


@subroutine(_RANGE(view(uint8), int64, int64))
def _trim(data: UInt8, low: int, high: int) -> tuple[int, int]:
    """A range of bytes without the blanks around it."""
    while low < high and _is_blank(data[low]):
        low += 1
    while low < high and _is_blank(data[high - 1]):
        high -= 1
    return low, high


@subroutine(_RANGE(view(uint8), int64, int64))
def _sign(data: UInt8, low: int, high: int) -> tuple[int, int]:
    """1 or -1, and where the digits begin after the sign."""
    first: Any = np.int64(data[low]) if low < high else 0
    if first == 43 or first == 45:
        return 44 - first, low + 1
    return 1, low


@kernel(_READ(view(uint8), int64, int64))
def read_number(data: UInt8, low: int, high: int) -> tuple[bool, float]:
    """Whether a text reads as a number (blanks around it, a sign, digits, a fraction, an exponent), and the nearest."""
    low, high = _trim(data, low, high)
    sign, first = _sign(data, low, high)
    digit: Any
    place, whole, digits, scale, seen, fraction, cut = first, 0, 0, 0, 0, 0, False
    while place < high:
        digit = np.int64(data[place]) - 48
        if 0 <= digit <= 9:
            seen += 1
            if digits < 18:
                whole = whole * 10 + digit
                scale -= fraction
                if whole:
                    digits += 1
            else:
                scale += 1 - fraction
                cut |= digit != 0
        elif digit == -2 and fraction == 0:
            fraction = 1
        else:
            break
        place += 1
    if seen == 0:
        return False, 0.0
    end, power = place, 0
    if place < high:
        if data[place] | 32 != 101:  # e or E
            return False, 0.0
        direction, place = _sign(data, place + 1, high)
        if place >= high:
            return False, 0.0
        while place < high:
            digit = np.int64(data[place]) - 48
            if digit < 0 or digit > 9:
                return False, 0.0
            if power < 100_000:
                power = power * 10 + digit
            place += 1
        power *= direction
    if cut:
        return True, sign * _nearest_of_many(data, first, end, power, whole, scale + power)
    return True, sign * nearest_float(whole, scale + power)


@subroutine(float64(view(uint8), int64, int64, int64, int64, int64), inline=False)
def _nearest_of_many(data: UInt8, low: int, high: int, power: int, whole: int, scale: int) -> float:
    """The float64 nearest to a number of which `whole` has only the first digits."""
    mantissa, binary = nearest_binary(np.uint64(whole), scale)
    next_mantissa, next_binary = nearest_binary(np.uint64(whole + 1), scale)
    if mantissa == next_mantissa and binary == next_binary:
        return to_float(mantissa, binary)
    if is_nearer_to_next(data, low, high, power, mantissa, binary):
        return to_float(next_mantissa, next_binary)
    return to_float(mantissa, binary)


@subroutine(int64(VALUES, int64, int64, int64))
def _byte_order(values: Values, start: int, other: int, size: int) -> int:
    """-1, 0, 1 as the bytes of the first text come before, are, or come after those of the second."""
    for place in range(size):
        byte = values.buffer[start + place] if start >= 0 else values.text_pool[-1 - start + place]
        other_byte = values.buffer[other + place] if other >= 0 else values.text_pool[-1 - other + place]
        if byte != other_byte:
            return -1 if byte < other_byte else 1
    return 0


@subroutine(int64(VALUES, int64, int64))
def _text_order(values: Values, one: int, two: int) -> int:
    """-1, 0, 1 as the first text comes before, is, or comes after the second."""
    size, other = values.size[one], values.size[two]
    order = _byte_order(values, values.start[one], values.start[two], min(size, other))
    if order == 0 and size != other:
        order = 1 if size > other else -1
    return order


_LARGE = 9007199254740992.0  # from here on whole numbers that differ may be the same float64


@subroutine(_DIGITS(VALUES, int64))
def _digits(values: Values, at: int) -> tuple[int, int, int]:
    """Sign, and first and last digit that count, of a whole number that is written plainly; sign 0 of other texts."""
    start = values.start[at]
    data, low = values.buffer, start
    if start < 0:
        data, low = values.text_pool, -1 - start
    low, high = _trim(data, low, low + values.size[at])
    sign, low = _sign(data, low, high)
    for place in range(low, high):
        if data[place] < 48 or data[place] > 57:
            return 0, low, high
    while low < high and data[low] == 48:
        low += 1
    return sign, low, high


@subroutine(int64(VALUES, int64, int64))
def _whole_order(values: Values, one: int, two: int) -> int:
    """-1, 0 or 1 if the first whole number is less than, equal to or more than the second; 2 if either is not one."""
    sign, low, high = _digits(values, one)
    other_sign, other, end = _digits(values, two)
    if sign == 0 or other_sign == 0:
        return 2
    if sign != other_sign:
        return sign
    size = high - low
    if size != end - other:
        return sign if size > end - other else -sign
    if values.start[one] < 0:
        low = -1 - low
    if values.start[two] < 0:
        other = -1 - other
    return sign * _byte_order(values, low, other, size)


@subroutine(boolean(VALUES, int64, int64, int64))
def compare(values: Values, operator: int, one: int, two: int) -> bool:
    """The comparison of two places of the file. Nothing compares with a missing value."""
    kind, other_kind = values.kind[one], values.kind[two]
    if kind >= BOTH and other_kind >= BOTH:
        left, right = values.num[one], values.num[two]
        order: Any = np.int64(left > right) - np.int64(left < right)
        if abs(left) >= _LARGE and abs(right) >= _LARGE and kind == BOTH and other_kind == BOTH:
            exact = _whole_order(values, one, two)
            order = order if exact == 2 else exact
        return (operator >> (1 + order)) & 1 != 0
    if kind >= TEXT and other_kind >= TEXT:
        if kind == NUMBER or other_kind == NUMBER:  # a computed number and a text that is none only differ
            return operator == NE
        return (operator >> (1 + _text_order(values, one, two))) & 1 != 0
    return False


@subroutine(float64(int64, float64, float64))
def _compute(operator: int, left: float, right: float) -> float:
    """The result of arithmetic; not finite where there is none."""
    if operator == ADD:
        return left + right
    if operator == SUB:
        return left - right
    if operator == MUL:
        return left * right
    if right == 0.0:
        return np.nan
    if operator == DIV:
        return left / right
    return left - right * np.trunc(left / right)


@kernel(void(VALUES, int64, int64, int64))
def run_program(values: Values, begin: int, end: int, shift: int) -> None:
    """Run code[begin:end] (pairs of operation and argument); the result is left at file place `stack`.

    `shift` is what to add to the code of a slot to find it in the file. Truth is the number 1, falsehood 0.
    """
    code, kind, num, start, size = values.code, values.kind, values.num, values.start, values.size
    top = values.stack - 1
    for place in range(begin, end):
        operation, argument = code[2 * place], code[2 * place + 1]
        if operation == PUSH:
            source = argument if argument < values.base else argument + shift
            top += 1
            kind[top] = kind[source]
            num[top] = num[source]
            start[top] = start[source]
            size[top] = size[source]
        elif operation <= MOD:
            top -= 1
            if kind[top] >= BOTH and kind[top + 1] >= BOTH:
                num[top] = _compute(operation, num[top], num[top + 1])
                kind[top] = NUMBER if np.isfinite(num[top]) else NULL
            else:
                kind[top] = NULL
        elif operation == NEG:
            num[top] = -num[top]
            kind[top] = NUMBER if kind[top] >= BOTH and np.isfinite(num[top]) else NULL
        elif operation == COMPARE:
            top -= 1
            num[top] = 1.0 if compare(values, argument, top, top + 1) else 0.0
            kind[top] = NUMBER
        elif operation == NOT:
            num[top] = 1.0 - num[top]
        else:
            top -= 1
            both = num[top] + num[top + 1]
            num[top] = 1.0 if (both == 2.0 if operation == AND else both > 0.0) else 0.0
