"""Expressions over Arrow columns, in SQL's three-valued logic. Numbers and times are in arithmetic.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Bools
from ostinato.core.arrow import is_text
from ostinato.core.casts import cast_error
from ostinato.core.columns.arithmetic import (
    COMPARE,
    INT64,
    Value,
    arithmetic,
    as_float,
    compare,
    in_one_unit,
    is_int,
    is_null,
    is_number,
    literal,
    promote,
    round_to,
    round_whole,
)
from ostinato.core.columns.casts import cast_column
from ostinato.core.expressions import (
    ARITHMETIC,
    CASE,
    CASTS,
    FIELD,
    TRUE,
    Attribute,
    Call,
    Expr,
    Literal,
    Variable,
    to_text,
    transform,
    walk,
)
from ostinato.errors import DataError

Fetch = Callable[[Attribute], pa.Array]


class ColumnProgram:
    """Several expressions compiled to one list of steps, each distinct sub-expression once."""

    def __init__(self, exprs: Sequence[Expr]) -> None:
        self._steps: list[tuple[Expr, tuple[int, ...]]] = []
        self._known: dict[Hashable, int] = {}
        self._results = [self._add(expr) for expr in exprs]

    def _add(self, expr: Expr) -> int:
        if isinstance(expr, Call) and expr.op == CASE:
            expr = _shield_casts(expr)
        args = tuple(self._add(arg) for arg in expr.args) if isinstance(expr, Call) else ()
        key: Hashable = expr
        if isinstance(expr, Call):
            key = (expr.op, args)
        elif isinstance(expr, Literal):
            key = (type(expr.value), expr.value)  # to Python, 1 and TRUE are equal
        if key not in self._known:
            self._known[key] = len(self._steps)
            self._steps.append((expr, args))
        return self._known[key]

    def run(self, fetch: Fetch, failures: list[CastFailure] | None = None) -> list[Value]:
        """The value of each expression over the columns that `fetch` gives.

        A CAST that fails is NULL and among `failures`, where these are given; else it is an error.
        """
        values: list[Value] = []
        for expr, args in self._steps:
            found = [values[arg] for arg in args]
            try:
                if isinstance(expr, Call) and expr.op in CASTS:
                    value, failure = _cast(expr, *found)
                    if failure is not None and failures is None:
                        raise failure.error(failure.first())
                    if failure is not None and failures is not None:
                        failures.append(failure)
                    values.append(value)
                else:
                    values.append(_step(expr, found, fetch))
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
                raise DataError(
                    f"cannot evaluate {to_text(expr)}: {error}", fix="cast the columns it reads to fitting types"
                ) from error
        return [values[place] for place in self._results]


@dataclass(frozen=True)
class CastFailure:
    """Where a CAST failed, what it reads, its values and its type."""

    operand: Expr
    where: Bools
    values: pa.Array
    kind: str

    def first(self) -> int:
        return int(np.argmax(self.where))

    def error(self, place: int, row: int | None = None) -> DataError:
        return cast_error(self.values[place].as_py(), self.kind, row)


def _cast(call: Call, value: Value, kind: pa.Scalar, where: Value | None = None) -> tuple[Value, CastFailure | None]:
    """`where` says in which rows the value matters."""
    values = pa.repeat(value, 1) if isinstance(value, pa.Scalar) else value
    cast, failed = cast_column(values, kind.as_py())
    if failed is not None and isinstance(where, pa.Array):
        values = pa.repeat(value, len(where)) if isinstance(value, pa.Scalar) else value
        failed = failed & np.asarray(where.to_numpy(zero_copy_only=False), bool)
    failed = failed if call.op == "cast" and failed is not None and failed.any() else None
    failure = None if failed is None else CastFailure(call.args[0], failed, values, kind.as_py())
    return cast[0] if isinstance(value, pa.Scalar) else cast, failure


def _shield_casts(case: Call) -> Call:
    """In a CASE, a CAST matters only where its branch is reached: that becomes its third argument."""
    if not any(isinstance(node, Call) and node.op in CASTS for node in walk(case)):
        return case
    *branches, otherwise = case.args
    args: list[Expr] = []
    reached: Expr = TRUE
    for condition, value in zip(branches[::2], branches[1::2], strict=True):
        condition = _only_where(reached, condition)
        holds = Call("is_true", (condition,))
        args += [condition, _only_where(Call("and", (reached, holds)), value)]
        reached = Call("and", (reached, Call("not", (holds,))))
    return replace(case, args=(*args, _only_where(reached, otherwise)))


def _only_where(reached: Expr, expr: Expr) -> Expr:
    def shield(node: Expr) -> Expr:
        if not isinstance(node, Call) or node.op not in CASTS:
            return node
        value, kind, *others = node.args
        return replace(node, args=(value, kind, Call("and", (reached, *others))))

    return transform(expr, shield)


def _step(expr: Expr, args: list[Value], fetch: Fetch) -> Value:
    if isinstance(expr, Literal):
        return literal(expr.value)
    if isinstance(expr, Attribute):
        return _normal(fetch(expr))
    if isinstance(expr, Variable):
        raise TypeError(f"the whole variable {expr.name} is not a value")
    if all(isinstance(arg, pa.Scalar) for arg in args):
        return _both_literal(expr.op, *args)
    return _apply(expr.op, args)


def _both_literal(op: str, *args: pa.Scalar) -> pa.Scalar:
    """Evaluate an operator on literals only: operators take arrays, so each literal becomes an array of one value."""
    values = in_one_unit(args) if op in COMPARE or op in ("+", "-") else args  # while they are known as literals
    return _apply(op, [pa.repeat(value, 1) for value in values])[0]


def _normal(column: pa.Array) -> pa.Array:
    """One Arrow type per kind of value, so that the operators have few cases."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _normal(column.cast(kind.value_type))
    if pa.types.is_uint64(kind) and column.null_count < len(column) and pc.max(column).as_py() > INT64[1]:
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
    if op in COMPARE:
        return compare(op, args[0], args[1])
    if op in ARITHMETIC:
        return arithmetic(op, args[0], args[1])
    if op in ("and", "or"):
        join = pc.and_kleene if op == "and" else pc.or_kleene
        result = _boolean(args[0])
        for arg in args[1:]:
            result = join(result, _boolean(arg))
        return result
    if op == "in":
        return _is_in(args[0], args[1:])
    if op == "coalesce":
        args = [arg for arg in args if not pa.types.is_null(arg.type)] or args[:1]  # Arrow has no NULL among texts
        return promote(pc.coalesce, *args) if any(is_number(arg) for arg in args) else pc.coalesce(*args)
    if op == CASE:
        return _case(args)
    if op == "concat":
        return pc.binary_join_element_wise(
            *(arg.cast(pa.large_string()) for arg in args), pa.scalar("", pa.large_string()), null_handling="emit_null"
        )
    if op == "round":
        return _per_constant(round_to, args[0], args[1] if len(args) > 1 else pa.scalar(0))
    if op in ("like", "rlike"):
        return _per_constant(_like if op == "like" else _rlike, args[0], args[1])
    if op == FIELD:
        return _normal(_field(args[0], args[1].as_py()))
    return _UNARY[op](args[0])


def _case(args: list[Value]) -> Value:
    *branches, otherwise = args
    size = next(len(arg) for arg in args if isinstance(arg, pa.Array))
    conditions = [pc.fill_null(_boolean(condition), False) for condition in branches[::2]]
    conditions = [pa.repeat(each, size) if isinstance(each, pa.Scalar) else each for each in conditions]

    def choose(*values: Value) -> Value:
        return pc.case_when(pc.make_struct(*conditions), *values)

    values = [*branches[1::2], otherwise]
    known = [value.type for value in values if not is_null(value)]
    if any(map(is_number, values)):  # NULL is of their type, else whole numbers would become floats
        return promote(choose, *(value.cast(known[0]) if is_null(value) else value for value in values))
    if any(map(is_text, known)):
        known = [pa.large_string()]
    elif known and pa.types.is_temporal(known[0]):
        known = [pc.coalesce(*(pa.nulls(0, kind) for kind in known)).type]
    return choose(*(value.cast(known[0]) for value in values)) if known else pa.nulls(size)


def _boolean(value: Value) -> Value:
    return value.cast(pa.bool_()) if is_null(value) else value


def _is_in(value: Value, items: list[Value]) -> Value:
    """x IN (a, b) is x = a OR x = b; a long list of plain literals is looked up instead."""
    known = all(isinstance(item, pa.Scalar) and item.is_valid for item in items)
    if known and isinstance(value, pa.Array):
        same = (is_text(value.type) and all(is_text(item.type) for item in items)) or (
            is_int(value) and all(is_int(item) for item in items)
        )
        if same:
            found = pc.is_in(value, value_set=pa.array([item.as_py() for item in items], value.type))
            return pc.if_else(pc.is_valid(value), found, pa.scalar(None, pa.bool_()))
    result: Value = pa.scalar(False)
    for item in items:
        equal = (
            _both_literal("=", value, item) if isinstance(value, pa.Scalar) and isinstance(item, pa.Scalar) else None
        )
        result = pc.or_kleene(result, compare("=", value, item) if equal is None else equal)
    return result


def _per_constant(function: Callable[[Value, Any], Value], value: Value, constant: Value) -> Value:
    """function(value, c) for a Python value c: nearly always a literal, else each distinct value in turn."""
    if isinstance(constant, pa.Scalar):
        return function(value, constant.as_py())
    if isinstance(value, pa.Scalar):
        value = pa.repeat(value, len(constant))
    result = function(value, None)
    for item in constant.unique():
        if item.is_valid:
            result = pc.if_else(pc.fill_null(pc.equal(constant, item), False), function(value, item.as_py()), result)
    return result


def _like(value: Value, pattern: str | None) -> Value:
    if pattern is None or is_null(value):
        return pa.nulls(len(value), pa.bool_())
    # A backslash takes the next character literally; Arrow accepts that only before characters that need it.
    pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
    return pc.match_like(value, "".join(piece if piece in "%_" else _escape(piece[-1]) for piece in pieces))


def _rlike(value: Value, pattern: str | None) -> Value:
    if pattern is None or is_null(value):
        return pa.nulls(len(value), pa.bool_())
    return pc.match_substring_regex(value, pattern)


def _field(value: pa.Array, name: str) -> pa.Array:
    """A field of structs; NULL where the struct is."""
    return value if is_null(value) else pc.struct_field(value, [name])


def _escape(character: str) -> str:
    return f"\\{character}" if character in "%_\\" else character


def _text(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda value: function(value.cast(pa.string()) if is_null(value) else value)


def _signed(function: Callable[[Value], Value], value: Value) -> Value:
    return function(value) if pa.types.is_duration(value.type) else promote(function, value)


_UNARY: dict[str, Callable[[Value], Value]] = {
    "not": lambda value: pc.invert(_boolean(value)),
    "is_null": pc.is_null,
    "is_true": lambda value: pc.fill_null(_boolean(value), False),
    "neg": lambda value: _signed(pc.negate_checked, value),
    "abs": lambda value: _signed(pc.abs_checked, value),
    "floor": round_whole(pc.floor),
    "ceil": round_whole(pc.ceil),
    "sqrt": lambda value: pc.sqrt(as_float(value)),
    "lower": _text(pc.utf8_lower),
    "upper": _text(pc.utf8_upper),
    "trim": _text(pc.utf8_trim_whitespace),
    "length": _text(lambda value: pc.utf8_length(value).cast(pa.int64())),
}
