"""Rows that no condition of a query can hold for, as a filter that Spark may push down to the files it reads.

The filter may keep more than the query needs, never less: what cannot be said in Spark with exactly our meaning is left
out of it. Where a skipped event would matter (STRICT, `:`, WITHIN n EVENTS) there is no filter at all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import reduce
from typing import TYPE_CHECKING, Any

from ostinato.core.conditions import Condition
from ostinato.core.events import StreamColumns
from ostinato.core.expressions import Attribute, Call, Expr, Literal
from ostinato.patterns.compile import CompiledPattern
from ostinato.spark.columns import column

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

_MOST = 24  # conditions that are tested one by one
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge
}  # fmt: skip
_FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def may_skip(compiled: CompiledPattern) -> bool:
    """Whether events that fit no condition change nothing."""
    window = compiled.query.window
    counts = window is not None and window.kind == "events"
    return not (counts or compiled.contiguous or compiled.query.strategy == "STRICT")


def prefilter(queries: Iterable[CompiledPattern], binding: StreamColumns, schema: StructType) -> Column | None:
    """True at least wherever a row can matter to one of the queries; None when every row may."""
    conditions: dict[Condition, None] = {}
    for compiled in queries:
        if not compiled.conditions or not may_skip(compiled):
            return None
        conditions |= dict.fromkeys(compiled.conditions)
    if len(conditions) > _MOST and binding.type is not None and _is_text(schema[binding.type].dataType):
        names = [condition.relation for condition in conditions if condition.relation is not None]
        if len(names) == len(conditions):  # a long test would take Spark longer than the rows that it spares
            return column(binding.type).isin(sorted(set(names)))
    tests = [_condition(condition, binding, schema) for condition in conditions]
    known = [test for test in tests if test is not None]
    return reduce(operator.or_, known) if len(known) == len(tests) else None


def _condition(condition: Condition, binding: StreamColumns, schema: StructType) -> Column | None:
    tests = []
    if condition.relation is not None and binding.type is not None and _is_text(schema[binding.type].dataType):
        tests.append(column(binding.type) == condition.relation)
    if condition.where is not None and (test := _test(condition.where, schema)) is not None:
        tests.append(test)
    return reduce(operator.and_, tests) if tests else None


def _test(expr: Expr, schema: StructType) -> Column | None:
    """A Spark condition that holds wherever the expression does; None when nothing can be said."""
    if not isinstance(expr, Call):
        return None
    if expr.op == "and":
        parts = [part for arg in expr.args if (part := _test(arg, schema)) is not None]
        return reduce(operator.and_, parts) if parts else None
    if expr.op == "or":
        either = [_test(arg, schema) for arg in expr.args]
        known = [part for part in either if part is not None]
        return reduce(operator.or_, known) if len(known) == len(either) else None
    if expr.op == "is_true":
        return _test(expr.args[0], schema)
    if expr.op == "in" and isinstance(expr.args[0], Attribute):
        values = [arg.value for arg in expr.args[1:] if isinstance(arg, Literal)]
        fits = len(values) == len(expr.args) - 1 and all(_fits(value, schema, expr.args[0]) for value in values)
        return column(expr.args[0].name).isin(values) if fits else None
    return _comparison(expr, schema)


def _comparison(expr: Call, schema: StructType) -> Column | None:
    if expr.op not in _FLIPPED:
        return None
    op, (left, right) = expr.op, expr.args
    if isinstance(left, Literal):
        op, left, right = _FLIPPED[op], right, left
    if not isinstance(left, Attribute) or not isinstance(right, Literal) or not _fits(right.value, schema, left):
        return None
    test: Column = _COMPARE[op](column(left.name), right.value)
    return test


def _fits(value: object, schema: StructType, attribute: Attribute) -> bool:
    """Whether Spark compares such a column with such a literal exactly as we do."""
    from pyspark.sql.types import ByteType, DoubleType, IntegerType, LongType, ShortType

    kind = schema[attribute.name].dataType
    if isinstance(value, str):
        return _is_text(kind)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if isinstance(kind, DoubleType):
        return abs(value) < 2**53
    return isinstance(kind, ByteType | ShortType | IntegerType | LongType) and isinstance(value, int)


def _is_text(kind: DataType) -> bool:
    """Text that compares byte by byte: a collation would see equal what is not."""
    from pyspark.sql.types import StringType

    return isinstance(kind, StringType) and kind.collation.upper() == "UTF8_BINARY"
