"""Arithmetic and comparison of Arrow values that never wrap and never lose digits without need.

Integers that overflow go on as decimals, decimals that outgrow Arrow's widest go on as float64. `/` is true division
(a float64), `%` has the sign of the dividend, and both give NULL where the divisor is zero. Arithmetic with a float is
float arithmetic; a float literal compared with a decimal column means the digits that were written. NaN compares as
IEEE says: it equals nothing, not even itself. A timestamp without a zone is in UTC. A literal duration beside a number
is its number of seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.expressions import MIRROR, Duration, type_of_literal

Value: TypeAlias = "pa.Array | pa.Scalar"  # a literal, or an expression of literals only, stays a scalar

COMPARE = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_EXACT = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DIGITS = Context(prec=1000)  # all digits of every float64
INT64 = (-(2**63), 2**63 - 1)
_EXACT_DIGITS, _EXACT_POWER = 2**53, 22  # whole numbers and powers of ten up to here are float64s


def literal(value: type_of_literal) -> pa.Scalar:
    """A literal as an Arrow scalar: timestamps in UTC without a zone, integers beyond int64 as decimals."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return pa.scalar(moment, pa.timestamp("us"))
    if isinstance(value, Duration):
        whole, rest = divmod(value.nanoseconds, 1000)
        return pa.scalar(value.nanoseconds if rest else whole).cast(pa.duration("ns" if rest else "us"))
    if isinstance(value, int) and not isinstance(value, bool) and not INT64[0] <= value <= INT64[1]:
        value = Decimal(value)
    if isinstance(value, Decimal):
        digits = len(value.as_tuple().digits)
        return (
            pa.scalar(value)
            if value.is_finite() and max(digits, abs(value.adjusted())) < 70
            else pa.scalar(float(value))
        )
    return pa.scalar(value)


def is_float(value: Value) -> bool:
    return bool(pa.types.is_floating(value.type))


def is_decimal(value: Value) -> bool:
    return bool(pa.types.is_decimal(value.type))


def is_int(value: Value) -> bool:
    return bool(pa.types.is_integer(value.type))


def is_number(value: Value) -> bool:
    return is_int(value) or is_float(value) or is_decimal(value)


def is_null(value: Value) -> bool:
    return bool(pa.types.is_null(value.type))


def in_one_unit(args: Iterable[Value]) -> list[Value]:
    """Literal durations beside numbers as their seconds."""
    args = list(args)
    return [_seconds(arg) for arg in args] if any(map(is_number, args)) else args


def _seconds(value: Value) -> Value:
    if not isinstance(value, pa.Scalar) or not pa.types.is_duration(value.type) or not value.is_valid:
        return value
    return literal(Duration(value.value * _NANOSECONDS[value.type.unit]).seconds)


def as_float(value: Value) -> Value:
    if is_decimal(value) and isinstance(value, pa.Array):
        return _decimal_as_float(value)
    return value if is_float(value) else value.cast(pa.float64(), safe=False)


def _decimal_as_float(value: pa.Array) -> pa.Array:
    """The nearest float64, if all digits fit in one. (Arrow multiplies by a tenth repeatedly, rounding each time.)"""
    wide = value.cast(pa.decimal128(38, value.type.scale)) if value.type.precision <= 38 else value
    digits = unscaled_integers(wide) if pa.types.is_decimal128(wide.type) else None
    if digits is None or value.type.scale > _EXACT_POWER or (len(digits) and np.abs(digits).max() > _EXACT_DIGITS):
        return value.cast(pa.float64(), safe=False)
    numbers = digits.astype(np.float64) / 10.0**value.type.scale
    return pa.array(numbers, mask=np.asarray(value.is_null().to_numpy(zero_copy_only=False), bool))


def unscaled_integers(decimals: pa.Array) -> npt.NDArray[np.int64] | None:
    """The digits of 128-bit decimals as integers, 0 for NULL; None where one has more than 64 bits."""
    data = decimals.buffers()[1]
    words = np.frombuffer(data, np.int64)[2 * decimals.offset : 2 * (decimals.offset + len(decimals))]
    low, high = words[::2].copy(), words[1::2].copy()
    if decimals.null_count:
        empty = np.asarray(decimals.is_null().to_numpy(zero_copy_only=False), bool)
        low[empty] = high[empty] = 0
    return low if bool((high == low >> 63).all()) else None


def _widen(value: Value) -> Value:
    """As a decimal with room to grow."""
    if is_int(value):
        return value.cast(pa.decimal256(19, 0))
    return value.cast(pa.decimal256(value.type.precision, value.type.scale)) if is_decimal(value) else value


def _exact_literal(value: Value, other: Value) -> Value:
    """A float literal beside a decimal means the digits that were written."""
    if (
        isinstance(value, pa.Scalar)
        and is_float(value)
        and is_decimal(other)
        and value.is_valid
        and np.isfinite(value.as_py())
    ):
        exact = literal(Decimal(repr(value.as_py())))
        return exact if is_decimal(exact) else value
    return value


def promote(function: Callable[..., Any], *args: Value) -> Value:
    """Exact where Arrow can hold the result, float64 otherwise."""
    if any(is_null(arg) for arg in args):
        args = tuple(arg.cast(pa.float64()) if is_null(arg) else arg for arg in args)
    if not any(is_float(arg) for arg in args):
        for tried in (args, map(_widen, args)):
            try:
                return function(*tried)
            except pa.ArrowInvalid:
                continue
    return function(*(as_float(arg) for arg in args))


def arithmetic(op: str, left: Value, right: Value) -> Value:
    if op in _EXACT:
        left, right = in_one_unit((left, right))
        if pa.types.is_temporal(left.type) or pa.types.is_temporal(right.type):
            return _EXACT[op](left, right)
        return promote(_EXACT[op], left, right)
    if op == "/":
        return pc.divide(as_float(left), _null_where(as_float(right), lambda divisor: pc.equal(divisor, 0.0)))
    return _remainder(left, right)


def _null_where(value: Value, test: Callable[[Value], Value]) -> Value:
    """NULL where the test holds."""
    return pc.if_else(test(value), pa.scalar(None, value.type), value)


def _remainder(left: Value, right: Value) -> Value:
    """a % b with the sign of a: over integers, over decimals as integers of one scale, else over floats."""
    scale = max((arg.type.scale for arg in (left, right) if is_decimal(arg)), default=0)
    if all(is_int(arg) or is_decimal(arg) for arg in (left, right)):
        a, b = _scale_to_ints(left, scale), _scale_to_ints(right, scale)
        if a is None or b is None:
            return _remainder_beyond_int64(left, right)
    else:
        a, b, scale = as_float(left), as_float(right), 0
    b = _null_where(b, lambda divisor: pc.equal(divisor, pa.scalar(0, divisor.type)))
    with np.errstate(all="ignore"):
        rest = pa.array(np.fmod(_numpy(a, 0), _numpy(b, 1)))
    result = pc.if_else(pc.and_(pc.is_valid(a), pc.is_valid(b)), rest, pa.scalar(None, rest.type))
    return result if not scale else pc.multiply(result, pa.scalar(Decimal(1).scaleb(-scale)))


def _scale_to_ints(value: Value, scale: int) -> Value | None:
    """value · 10^scale as int64, or None where it does not fit."""
    try:
        return (pc.multiply_checked(value, literal(10**scale)) if scale else value).cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _remainder_beyond_int64(left: Value, right: Value) -> pa.Array:
    """One by one, for numbers beyond int64: hashes and ids stored as unsigned integers."""
    size = len(left) if isinstance(left, pa.Array) else len(right)
    sides = [side.to_pylist() if isinstance(side, pa.Array) else [side.as_py()] * size for side in (left, right)]
    rests = [
        None
        if a is None or not b
        else _DIGITS.remainder(Decimal(a), Decimal(b))  # Decimal's has the sign of the dividend
        for a, b in zip(*sides, strict=True)
    ]
    whole = max(arg.type.precision - arg.type.scale if is_decimal(arg) else 19 for arg in (left, right))
    scale = max(arg.type.scale if is_decimal(arg) else 0 for arg in (left, right))
    return pa.array(rests, pa.decimal256(min(whole + scale, 76), scale))


def _numpy(value: Value, instead: int) -> Any:
    """As numpy, with `instead` at NULL."""
    if isinstance(value, pa.Scalar):
        return np.asarray(value.as_py() if value.is_valid else instead, value.type.to_pandas_dtype())
    return value.fill_null(pa.scalar(instead, value.type)).to_numpy(zero_copy_only=False)


def round_to(value: Value, digits: int | None) -> Value:
    """Round to so many digits; ties go away from zero, as in SQL."""
    if digits is None or is_null(value):
        return pa.nulls(len(value), value.type)
    if is_float(value):
        return _round_floats(value, digits) if digits else pc.round(value, round_mode="half_towards_infinity")
    if digits >= (value.type.scale if is_decimal(value) else 0):
        return value
    roomy = _add_digit(_widen(value))
    if digits <= roomy.type.scale - roomy.type.precision:  # more places than it has digits
        return arithmetic("*", value, pa.scalar(0))
    rounded = pc.round(roomy, ndigits=digits, round_mode="half_towards_infinity")
    if not is_int(value):
        return rounded
    try:
        return rounded.cast(pa.int64())
    except pa.ArrowInvalid:
        return rounded  # the largest integers round up beyond themselves


def _round_floats(value: pa.Array, digits: int) -> pa.Array:
    """By the decimal digits a float is written with: 2.675 is a tie, though no float64 is exactly 2.675."""
    digits = max(-400, min(400, digits))  # no float64 reaches further
    numbers, power = _numpy(value, 0), float(f"1e{abs(digits)}")
    with np.errstate(all="ignore"):
        scaled = numbers * power if digits > 0 else numbers / power
        nearest = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
        rounded = nearest / power if digits > 0 else nearest * power
        # Near a tie, and beyond the integers that float64 holds, scaling itself rounds: look at the digits there.
        doubtful = (np.abs(np.abs(scaled) % 1.0 - 0.5) < 1e-3) | (np.abs(scaled) > 2.0**50) | (abs(digits) > 22)
    for place in np.flatnonzero(doubtful & np.isfinite(numbers)):
        exact = Decimal(repr(float(numbers[place])))
        rounded[place] = float(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _DIGITS))
    rounded = np.where(np.isfinite(numbers), rounded, numbers)
    return pc.if_else(pc.is_valid(value), pa.array(rounded), pa.scalar(None, pa.float64()))


def round_whole(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda value: value if is_int(value) else function(_add_digit(value))


def _add_digit(value: Value) -> Value:
    """9.99 rounds to 10.0, which takes one more digit."""
    if is_null(value):
        return value.cast(pa.float64())
    return (
        value.cast(pa.decimal256(min(value.type.precision + 1, 76), value.type.scale)) if is_decimal(value) else value
    )


# -- comparisons


def compare(op: str, left: Value, right: Value) -> Value:
    if isinstance(left, pa.Scalar) and not isinstance(right, pa.Scalar):
        return compare(MIRROR[op], right, left)
    if is_null(left) or is_null(right):
        return pa.nulls(len(left), pa.bool_())
    left, right = in_one_unit((left, right))
    if _is_moment(left) and _is_moment(right):
        return _compare_moments(op, left, right)
    if (
        is_int(left)
        and isinstance(right, pa.Scalar)
        and right.is_valid
        and (is_float(right) or is_decimal(right))
        and _is_finite(right)
    ):
        return _compare_exactly(op, left, Fraction(right.as_py()))
    if is_number(left) or is_number(right):
        return promote(COMPARE[op], left, _exact_literal(right, left))
    return COMPARE[op](_since_midnight(left, right), _since_midnight(right, left))


def _since_midnight(value: Value, other: Value) -> Value:
    """A time of day beside a duration counts from midnight."""
    if not pa.types.is_time(value.type) or not pa.types.is_duration(other.type):
        return value
    ticks = value.cast(pa.int32() if value.type.bit_width == 32 else pa.int64()).cast(pa.int64())
    return ticks.cast(pa.duration(value.type.unit))


def _is_finite(number: pa.Scalar) -> bool:
    return bool(np.isfinite(float(number.as_py())))


def _compare_exactly(op: str, ints: pa.Array, bound: Fraction) -> pa.Array:
    """An int64 column against any rational number, without rounding either."""
    floor = bound.numerator // bound.denominator
    if floor == bound and INT64[0] <= floor <= INT64[1]:
        return COMPARE[op](ints, pa.scalar(floor, pa.int64()))
    if op in ("=", "!="):
        return pc.if_else(pc.is_valid(ints), op == "!=", pa.scalar(None, pa.bool_()))
    # No integer equals the bound, so < and <= are the same test, and > and >= its opposite.
    if floor < INT64[0] or floor > INT64[1]:
        return pc.if_else(pc.is_valid(ints), (floor > 0) == (op in ("<", "<=")), pa.scalar(None, pa.bool_()))
    return (pc.less_equal if op in ("<", "<=") else pc.greater)(ints, pa.scalar(floor, pa.int64()))


def _is_moment(value: Value) -> bool:
    return bool(pa.types.is_timestamp(value.type) or pa.types.is_date(value.type))


def _compare_moments(op: str, left: Value, right: Value) -> Value:
    if left.type == right.type:
        return COMPARE[op](left, right)
    (a, step_a), (b, step_b) = _instants(left), _instants(right)
    if isinstance(b, pa.Scalar):
        return (
            _compare_exactly(op, a, Fraction(b.as_py() * step_b, step_a))
            if b.is_valid
            else pa.nulls(len(a), pa.bool_())
        )
    finer = min(step_a, step_b)
    return promote(
        COMPARE[op], arithmetic("*", a, pa.scalar(step_a // finer)), arithmetic("*", b, pa.scalar(step_b // finer))
    )


def _instants(value: Value) -> tuple[Value, int]:
    """Integers since 1970 and the nanoseconds that one of them stands for."""
    if pa.types.is_date32(value.type):
        return value.cast(pa.int32()).cast(pa.int64()), 86_400 * 10**9
    return value.cast(pa.int64()), _NANOSECONDS["ms" if pa.types.is_date64(value.type) else value.type.unit]
