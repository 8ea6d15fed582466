"""Plain conditions over Arrow arrays: comparisons of columns of one type with each other and with constants.

They mean there what they mean in DuckDB, which takes a millisecond for the smallest batch. NaN alone is another matter:
DuckDB holds it equal to itself and greater than all others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import sqlglot
from sqlglot import exp

Arrays = Mapping[str, pa.Array]
Evaluate = Callable[[Arrays], pa.Array]
_COMPARISONS: dict[type[exp.Expression], Callable[..., pa.Array]] = {
    exp.LT: pc.less,
    exp.LTE: pc.less_equal,
    exp.GT: pc.greater,
    exp.GTE: pc.greater_equal,
    exp.EQ: pc.equal,
    exp.NEQ: pc.not_equal,
}

_EXACT = 15  # characters of a number of which every way makes the same float


class _Unsupported(Exception):
    """This is for DuckDB."""


class PlainExpression:
    """Attributes
    ----------
    names : set
        The columns that it reads.
    floats : set
        Those in which no NaN may be.
    """

    def __init__(self, evaluate: Evaluate, names: set[str], floats: set[str]) -> None:
        self.evaluate, self.names, self.floats = evaluate, names, floats

    def __call__(self, arrays: Arrays) -> pa.Array | None:
        """The values; None where there is NaN."""
        for name in self.floats:
            if pc.any(pc.is_nan(arrays[name])).as_py():
                return None
        return self.evaluate(arrays)


def plain_condition(text: str, types: Mapping[str, pa.DataType], alias: str) -> PlainExpression | None:
    """A condition over columns of these types; None where only DuckDB can evaluate it."""
    compiler = _Compiler(types, alias)
    try:
        found = compiler.condition(sqlglot.parse_one(text, read="duckdb"))
        return PlainExpression(found, compiler.used, compiler.floats)
    except (_Unsupported, sqlglot.errors.SqlglotError, RecursionError):
        return None


def plain_column(text: str, types: Mapping[str, pa.DataType], alias: str) -> str | None:
    """The column that an expression is."""
    try:
        node = sqlglot.parse_one(text, read="duckdb").unnest()
        return _Compiler(types, alias).column(node)
    except (_Unsupported, sqlglot.errors.SqlglotError, RecursionError):
        return None


class _Compiler:
    def __init__(self, types: Mapping[str, pa.DataType], alias: str) -> None:
        self.types, self.alias = types, alias.lower()
        self.names = {name.lower(): name for name in types}
        self.used: set[str] = set()
        self.floats: set[str] = set()

    def condition(self, node: Any) -> Evaluate:
        node = node.unnest()
        if isinstance(node, exp.And | exp.Or):
            left, right = self.condition(node.this), self.condition(node.expression)
            connect = pc.and_kleene if isinstance(node, exp.And) else pc.or_kleene
            return lambda arrays: connect(left(arrays), right(arrays))
        if isinstance(node, exp.Not):
            inner = self.condition(node.this)
            return lambda arrays: pc.invert(inner(arrays))
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            tested = self.column(node.this)
            return lambda arrays: pc.is_null(arrays[tested])
        if type(node) in _COMPARISONS:
            return self.comparison(_COMPARISONS[type(node)], node.this.unnest(), node.expression.unnest())
        raise _Unsupported

    def comparison(self, compare: Callable[..., pa.Array], left: Any, right: Any) -> Evaluate:
        if isinstance(left, exp.Column):
            name = self.column(left)
            kind = self.comparable(name)
            if isinstance(right, exp.Column):
                other = self.column(right)
                if self.comparable(other) != kind:
                    raise _Unsupported
                return lambda arrays: compare(arrays[name], arrays[other])
            value = _constant(right, kind)
            return lambda arrays: compare(arrays[name], value)
        name = self.column(right)
        value = _constant(left, self.comparable(name))
        return lambda arrays: compare(value, arrays[name])

    def column(self, node: Any) -> str:
        qualified = node.table.lower() if isinstance(node, exp.Column) else "?"
        if qualified not in ("", self.alias) or node.name.lower() not in self.names or node.args.get("db"):
            raise _Unsupported
        name = self.names[node.name.lower()]
        self.used.add(name)
        return name

    def comparable(self, name: str) -> pa.DataType:
        kind = self.types[name]
        if pa.types.is_float64(kind):
            self.floats.add(name)
        elif not (pa.types.is_signed_integer(kind) or pa.types.is_string(kind) or pa.types.is_timestamp(kind)):
            raise _Unsupported
        return kind


def _constant(node: Any, kind: pa.DataType) -> pa.Scalar:
    sign = ""
    if isinstance(node, exp.Neg):
        node, sign = node.this.unnest(), "-"
    if not isinstance(node, exp.Literal):
        raise _Unsupported
    if node.is_string:
        if not pa.types.is_string(kind) or sign:
            raise _Unsupported
        return pa.scalar(node.this, kind)
    try:
        if pa.types.is_float64(kind) and len(node.this) <= _EXACT:
            return pa.scalar(float(sign + node.this), kind)
        if pa.types.is_signed_integer(kind):
            return pa.scalar(int(sign + node.this), kind)
    except (ValueError, OverflowError, pa.ArrowException):
        pass
    raise _Unsupported
