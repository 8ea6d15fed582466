"""Expressions over Arrow columns, in SQL's three-valued logic.

Numbers never wrap and never lose digits without need: integers that overflow go on as decimals, decimals that
outgrow Arrow's widest go on as float64. `/` is true division (a float64), `%` has the sign of the dividend, and both
give NULL where the divisor is zero. Arithmetic with a float is float arithmetic; a float literal compared with a
decimal column means the digits that were written. NaN compares as IEEE says: it equals nothing, not even itself. A
timestamp without a zone is in UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import DataError
from ostinato.kernels.arrays import is_text
from ostinato.lang.expr import ARITHMETIC, COMPARISONS, Attribute, Call, Expr, Literal, Variable, to_text, type_of_literal

Value = pa.Array | pa.Scalar  # a literal, or an expression of literals only, stays a scalar
Fetch = Callable[[Attribute], pa.Array]

_COMPARE = {"=": pc.equal, "!=": pc.not_equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}
_MIRROR = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_EXACT = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
_DIGITS = Context(prec=400)  # enough for every float64 down to its last digit before the point
_INT64 = (-(2**63), 2**63 - 1)


class Program:
    """Several expressions compiled to one list of steps, each distinct sub-expression once."""

    def __init__(self, exprs: Sequence[Expr]) -> None:
        self._steps: list[tuple[Expr, tuple[int, ...]]] = []
        self._known: dict[Expr, int] = {}
        self._results = [self._add(expr) for expr in exprs]

    def _add(self, expr: Expr) -> int:
        if expr not in self._known:
            args = tuple(self._add(arg) for arg in expr.args) if isinstance(expr, Call) else ()
            self._known[expr] = len(self._steps)
            self._steps.append((expr, args))
        return self._known[expr]

    def run(self, fetch: Fetch) -> list[Value]:
        """The value of each expression over the columns that `fetch` gives."""
        values: list[Value] = []
        for expr, args in self._steps:
            try:
                values.append(_step(expr, [values[arg] for arg in args], fetch))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise DataError(f"cannot evaluate {to_text(expr)}: {error}", fix="cast the columns it reads to fitting types") from error
        return [values[place] for place in self._results]


def _step(expr: Expr, args: list[Value], fetch: Fetch) -> Value:
    if isinstance(expr, Literal):
        return literal(expr.value)
    if isinstance(expr, Attribute):
        return _normal(fetch(expr))
    if isinstance(expr, Variable):
        raise TypeError(f"the whole variable {expr.name} is not a value")
    if all(isinstance(arg, pa.Scalar) for arg in args):
        return _apply(expr.op, [pa.array([arg.as_py()], arg.type) for arg in args])[0]
    return _apply(expr.op, args)


def literal(value: type_of_literal) -> pa.Scalar:
    """A literal as an Arrow scalar: timestamps in UTC without a zone, integers beyond int64 as decimals."""
    if isinstance(value, datetime):
        moment = value if value.tzinfo is None else value.astimezone(UTC).replace(tzinfo=None)
        return pa.scalar(moment, pa.timestamp("us"))
    if isinstance(value, int) and not isinstance(value, bool) and not _INT64[0] <= value <= _INT64[1]:
        value = Decimal(value)
    if isinstance(value, Decimal):
        digits = len(value.as_tuple().digits)
        return pa.scalar(value) if value.is_finite() and max(digits, abs(value.adjusted())) < 70 else pa.scalar(float(value))
    return pa.scalar(value)


def _normal(column: pa.Array) -> pa.Array:
    """One Arrow type per kind of value, so that the operators have few cases."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _normal(column.cast(kind.value_type))
    if pa.types.is_uint64(kind) and column.null_count < len(column) and pc.max(column).as_py() > _INT64[1]:
        return column.cast(pa.decimal128(20, 0))
    if pa.types.is_integer(kind):
        return column if pa.types.is_int64(kind) else column.cast(pa.int64())
    if pa.types.is_floating(kind):
        return column if pa.types.is_float64(kind) else column.cast(pa.float64())
    if pa.types.is_decimal(kind) and kind.bit_width < 128:
        return column.cast(pa.decimal128(kind.precision, kind.scale))
    if pa.types.is_string_view(kind):
        return column.cast(pa.large_string())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return column.view(pa.timestamp(kind.unit))
    return column


def _apply(op: str, args: list[Value]) -> Value:
    if op in _COMPARE:
        return _compare(op, args[0], args[1])
    if op in ARITHMETIC:
        return _arithmetic(op, args[0], args[1])
    if op in ("and", "or"):
        join = pc.and_kleene if op == "and" else pc.or_kleene
        result = _boolean(args[0])
        for arg in args[1:]:
            result = join(result, _boolean(arg))
        return result
    if op == "in":
        return _is_in(args[0], args[1:])
    if op == "coalesce":
        return _promoted(pc.coalesce, *args) if any(_is_number(arg) for arg in args) else pc.coalesce(*args)
    if op == "concat":
        return pc.binary_join_element_wise(*(arg.cast(pa.large_string()) for arg in args), pa.scalar("", pa.large_string()), null_handling="emit_null")
    if op == "round":
        return _round(args[0], 0 if len(args) == 1 else _constant(args[1], "the number of digits"))
    if op == "like":
        return _like(args[0], args[1])
    return _UNARY[op](args[0])


# -- numbers


def _is_float(value: Value) -> bool:
    return bool(pa.types.is_floating(value.type))


def _is_decimal(value: Value) -> bool:
    return bool(pa.types.is_decimal(value.type))


def _is_int(value: Value) -> bool:
    return bool(pa.types.is_integer(value.type))


def _is_number(value: Value) -> bool:
    return _is_int(value) or _is_float(value) or _is_decimal(value)


def _is_null(value: Value) -> bool:
    return bool(pa.types.is_null(value.type))


def _float(value: Value) -> Value:
    return value if _is_float(value) else value.cast(pa.float64(), safe=False)


def _wide(value: Value) -> Value:
    """As a decimal with room to grow."""
    if _is_int(value):
        return value.cast(pa.decimal256(19, 0))
    return value.cast(pa.decimal256(value.type.precision, value.type.scale)) if _is_decimal(value) else value


def _as_written(value: Value, other: Value) -> Value:
    """A float literal beside a decimal means the digits that were written."""
    if isinstance(value, pa.Scalar) and _is_float(value) and _is_decimal(other) and value.is_valid and np.isfinite(value.as_py()):
        exact = literal(Decimal(repr(value.as_py())))
        return exact if _is_decimal(exact) else value
    return value


def _promoted(function: Callable[..., Any], *args: Value) -> Value:
    """Exact where Arrow can hold the result, float64 otherwise."""
    if any(_is_null(arg) for arg in args):
        args = tuple(arg.cast(pa.float64()) if _is_null(arg) else arg for arg in args)
    if not any(_is_float(arg) for arg in args):
        for widen in (lambda arg: arg, _wide):
            try:
                return function(*(widen(arg) for arg in args))
            except pa.ArrowInvalid:
                continue
    return function(*(_float(arg) for arg in args))


def _arithmetic(op: str, left: Value, right: Value) -> Value:
    if op in _EXACT:
        if pa.types.is_temporal(left.type) or pa.types.is_temporal(right.type):
            return _EXACT[op](left, right)
        return _promoted(_EXACT[op], left, right)
    if op == "/":
        return pc.divide(_float(left), _unless(_float(right), lambda divisor: pc.equal(divisor, 0.0)))
    return _remainder(left, right)


def _unless(value: Value, test: Callable[[Value], Value]) -> Value:
    """NULL where the test holds."""
    return pc.if_else(test(value), pa.scalar(None, value.type), value)


def _remainder(left: Value, right: Value) -> Value:
    """a % b with the sign of a: over integers, over decimals as integers of one scale, else over floats."""
    scale = max((arg.type.scale for arg in (left, right) if _is_decimal(arg)), default=0)
    if all(_is_int(arg) or _is_decimal(arg) for arg in (left, right)):
        a, b = _unscaled(left, scale), _unscaled(right, scale)
        if a is None or b is None:
            return _remainder_of_giants(left, right)
    else:
        a, b, scale = _float(left), _float(right), 0
    b = _unless(b, lambda divisor: pc.equal(divisor, pa.scalar(0, divisor.type)))
    with np.errstate(all="ignore"):
        rest = pa.array(np.fmod(_numpy(a, 0), _numpy(b, 1)))
    result = pc.if_else(pc.and_(pc.is_valid(a), pc.is_valid(b)), rest, pa.scalar(None, rest.type))
    return result if not scale else pc.multiply(result, pa.scalar(Decimal(1).scaleb(-scale)))


def _unscaled(value: Value, scale: int) -> Value | None:
    """value · 10^scale as int64, or None where it does not fit."""
    try:
        return (pc.multiply_checked(value, literal(10**scale)) if scale else value).cast(pa.int64())
    except pa.ArrowInvalid:
        return None


def _remainder_of_giants(left: Value, right: Value) -> pa.Array:
    """One by one, for numbers beyond int64: hashes and ids stored as unsigned integers."""
    size = len(left) if isinstance(left, pa.Array) else len(right)
    sides = [side.to_pylist() if isinstance(side, pa.Array) else [side.as_py()] * size for side in (left, right)]
    rests = [
        None if a is None or not b else _DIGITS.remainder(Decimal(a), Decimal(b))  # Decimal's has the sign of the dividend
        for a, b in zip(*sides, strict=True)
    ]
    whole = max(arg.type.precision - arg.type.scale if _is_decimal(arg) else 19 for arg in (left, right))
    scale = max(arg.type.scale if _is_decimal(arg) else 0 for arg in (left, right))
    return pa.array(rests, pa.decimal256(min(whole + scale, 76), scale))


def _numpy(value: Value, instead: int) -> Any:
    """As numpy, with `instead` at NULL."""
    if isinstance(value, pa.Scalar):
        return np.asarray(value.as_py() if value.is_valid else instead, value.type.to_pandas_dtype())
    return value.fill_null(pa.scalar(instead, value.type)).to_numpy(zero_copy_only=False)


def _round(value: Value, digits: int | None) -> Value:
    """Ties go away from zero, as in SQL."""
    if digits is None or _is_null(value):
        return pc.if_else(pc.is_valid(value), pa.scalar(None, pa.float64()), pa.scalar(None, pa.float64()))
    if _is_int(value) and digits >= 0:
        return value
    if _is_float(value) and digits != 0:
        return _round_floats(value, digits)
    return pc.round(_roomy(value), ndigits=digits, round_mode="half_towards_infinity")


def _round_floats(value: pa.Array, digits: int) -> pa.Array:
    """By the decimal digits a float is written with: 2.675 is a tie, though no float64 is exactly 2.675."""
    numbers = _numpy(value, 0)
    with np.errstate(all="ignore"):
        scaled = numbers * 10.0**digits
        whole = np.copysign(np.floor(np.abs(scaled) + 0.5), scaled)
        rounded = whole / 10.0**digits if digits > 0 else whole * 10.0**-digits
        # Near a tie, and beyond the integers that float64 holds, scaling itself rounds: look at the digits there.
        doubtful = (np.abs(np.abs(scaled) % 1.0 - 0.5) < 1e-3) | (np.abs(scaled) > 2.0**50) | (abs(digits) > 22)
    for place in np.flatnonzero(doubtful & np.isfinite(numbers)):
        exact = Decimal(repr(float(numbers[place])))
        if -exact.as_tuple().exponent > digits:
            rounded[place] = float(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, _DIGITS))
        else:
            rounded[place] = numbers[place]
    return pc.if_else(pc.is_valid(value), pa.array(rounded), pa.scalar(None, pa.float64()))


def _whole(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda value: value if _is_int(value) else function(_roomy(value))


def _roomy(value: Value) -> Value:
    """9.99 rounds to 10.0, which takes one more digit."""
    if _is_null(value):
        return value.cast(pa.float64())
    return value.cast(pa.decimal256(min(value.type.precision + 1, 76), value.type.scale)) if _is_decimal(value) else value


# -- comparisons


def _compare(op: str, left: Value, right: Value) -> Value:
    if isinstance(left, pa.Scalar) and not isinstance(right, pa.Scalar):
        return _compare(_MIRROR[op], right, left)
    if _is_null(left) or _is_null(right):
        return pa.nulls(len(left), pa.bool_())
    if _is_moment(left) and _is_moment(right):
        return _compare_moments(op, left, right)
    if _is_int(left) and isinstance(right, pa.Scalar) and right.is_valid and (_is_float(right) or _is_decimal(right)) and _is_finite(right):
        return _compare_exactly(op, left, Fraction(right.as_py()))
    if _is_number(left) or _is_number(right):
        return _promoted(_COMPARE[op], left, _as_written(right, left))
    return _COMPARE[op](left, right)


def _is_finite(number: pa.Scalar) -> bool:
    return bool(np.isfinite(float(number.as_py())))


def _compare_exactly(op: str, ints: pa.Array, bound: Fraction) -> pa.Array:
    """An int64 column against any rational number, without rounding either."""
    floor = bound.numerator // bound.denominator
    if floor == bound and _INT64[0] <= floor <= _INT64[1]:
        return _COMPARE[op](ints, pa.scalar(floor, pa.int64()))
    if op in ("=", "!="):
        return pc.if_else(pc.is_valid(ints), op == "!=", pa.scalar(None, pa.bool_()))
    # No integer equals the bound, so < and <= are the same test, and > and >= its opposite.
    if floor < _INT64[0] or floor > _INT64[1]:
        return pc.if_else(pc.is_valid(ints), (floor > 0) == (op in ("<", "<=")), pa.scalar(None, pa.bool_()))
    return (pc.less_equal if op in ("<", "<=") else pc.greater)(ints, pa.scalar(floor, pa.int64()))


def _is_moment(value: Value) -> bool:
    return bool(pa.types.is_timestamp(value.type) or pa.types.is_date(value.type))


def _compare_moments(op: str, left: Value, right: Value) -> Value:
    if left.type == right.type:
        return _COMPARE[op](left, right)
    (a, step_a), (b, step_b) = _instants(left), _instants(right)
    if isinstance(b, pa.Scalar):
        return _compare_exactly(op, a, Fraction(b.as_py() * step_b, step_a)) if b.is_valid else pa.nulls(len(a), pa.bool_())
    finer = min(step_a, step_b)
    return _promoted(
        _COMPARE[op], _arithmetic("*", a, pa.scalar(step_a // finer)), _arithmetic("*", b, pa.scalar(step_b // finer))
    )


def _instants(value: Value) -> tuple[Value, int]:
    """Integers since 1970 and the nanoseconds that one of them stands for."""
    if pa.types.is_date32(value.type):
        return value.cast(pa.int32()).cast(pa.int64()), 86_400 * 10**9
    return value.cast(pa.int64()), _NANOSECONDS["ms" if pa.types.is_date64(value.type) else value.type.unit]


# -- tests, strings and the rest


def _boolean(value: Value) -> Value:
    return value.cast(pa.bool_()) if _is_null(value) else value


def _is_in(value: Value, items: list[Value]) -> Value:
    """x IN (a, b) is x = a OR x = b; a long list of plain literals is looked up instead."""
    known = all(isinstance(item, pa.Scalar) and item.is_valid for item in items)
    if known and isinstance(value, pa.Array):
        same = (is_text(value.type) and all(is_text(item.type) for item in items)) or (_is_int(value) and all(_is_int(item) for item in items))
        if same:
            found = pc.is_in(value, value_set=pa.array([item.as_py() for item in items], value.type))
            return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))
    result = _compare("=", value, items[0])
    for item in items[1:]:
        result = pc.or_kleene(result, _compare("=", value, item))
    return result


def _like(value: Value, pattern: Value) -> Value:
    text = _constant(pattern, "the pattern of LIKE")
    if text is None or _is_null(value):
        return pa.nulls(len(value), pa.bool_())
    # A backslash takes the next character as it is; Arrow knows that only of the characters that need it.
    pieces = re.findall(r"\\.|.", text, re.DOTALL)
    return pc.match_like(value, "".join(piece if piece in "%_" else _escaped(piece[-1]) for piece in pieces))


def _escaped(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character


def _constant(value: Value, what: str) -> Any:
    """The value of an argument that must be a literal."""
    if isinstance(value, pa.Scalar):
        return value.as_py()
    if len(value) == 1:  # all arguments are literals, made arrays of one
        return value[0].as_py()
    raise DataError(f"{what} must be a literal, not an attribute")


def _text(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda value: function(value.cast(pa.string()) if _is_null(value) else value)


_UNARY: dict[str, Callable[[Value], Value]] = {
    "not": lambda value: pc.invert(_boolean(value)),
    "is_null": pc.is_null,
    "is_true": lambda value: pc.fill_null(_boolean(value), False),
    "neg": lambda value: _promoted(pc.negate_checked, value),
    "abs": lambda value: _promoted(pc.abs_checked, value),
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "sqrt": lambda value: pc.sqrt(_float(value)),
    "lower": _text(pc.utf8_lower),
    "upper": _text(pc.utf8_upper),
    "trim": _text(pc.utf8_trim_whitespace),
    "length": _text(lambda value: pc.utf8_length(value).cast(pa.int64())),
}

assert set(COMPARISONS) == set(_COMPARE)
