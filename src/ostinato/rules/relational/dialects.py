"""SQL text in the two dialects, and the expressions that sqlglot does not know."""

from __future__ import annotations

from typing import Any, ClassVar
from typing import Literal as OneOf

from sqlglot import exp
from sqlglot.generators.duckdb import DuckDBGenerator
from sqlglot.generators.spark import SparkGenerator

Target = OneOf["duckdb", "spark"]


class OrderedList(exp.Expression, exp.Func):
    """The values that are not NULL of a group, as a list, sorted by `keys` (exp.Ordered), NULL last."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "keys": True}


class ListElement(exp.Expression, exp.Func):
    """One element of a list, counted from 1, or from its end with -1."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "place": True}


class Int64Arithmetic(exp.Expression, exp.Func):
    """Arithmetic on whole numbers in 64 bits, however narrow the operands; NULL on overflow. `op` is +, -, * or %."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "op": True, "expression": True}


class Moment(exp.Expression, exp.Func):
    """Ticks of a unit as a timestamp, with or without a zone."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "unit": True, "zone": True}


class Widened(exp.Expression, exp.Func):
    """A nested value in a type with more fields; both types are exp.DataType."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True, "source": True, "to": True}


class Int64Sum(exp.Expression, exp.AggFunc):
    """The sum of whole numbers; NULL where it does not fit 64 bits."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Deviation(exp.Expression, exp.AggFunc):
    """The standard deviation of a sample of floats; NULL where one is so large that its square might be infinite."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


class Median(exp.Expression, exp.AggFunc):
    """Half of each of the two floats in the middle, which may be one."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


_TRY = {"+": "TRY_ADD", "-": "TRY_SUBTRACT", "*": "TRY_MULTIPLY"}


def _duck_whole(generator: Any, node: Int64Arithmetic) -> str:
    """By way of 128 bits: TRY would go through the rows of a failure one by one."""
    left, right = generator.sql(node, "this"), generator.sql(node, "expression")
    return f"TRY_CAST(CAST({left} AS HUGEINT) {node.args['op']} {right} AS BIGINT)"


def _spark_whole(generator: Any, node: Int64Arithmetic) -> str:
    left, right, op = generator.sql(node, "this"), generator.sql(node, "expression"), node.args["op"]
    wide = f"CAST({left} AS BIGINT)"
    return f"({wide} % {right})" if op == "%" else f"{_TRY[op]}({wide}, {right})"


_MICROSECONDS = {"s": " * 1000000", "ms": " * 1000", "us": "", "ns": " // 1000"}


def _duck_moment(generator: Any, node: Moment) -> str:
    ticks, unit = generator.sql(node, "this"), node.args["unit"]
    if unit == "ns" and not node.args["zone"]:
        return f"MAKE_TIMESTAMP_NS({ticks})"
    return f"MAKE_TIMESTAMP{'TZ' if node.args['zone'] else ''}({ticks}{_MICROSECONDS[unit]})"


def _spark_moment(generator: Any, node: Moment) -> str:
    ticks, unit = generator.sql(node, "this"), node.args["unit"]
    micros = f"({ticks} DIV 1000)" if unit == "ns" else f"({ticks}{_MICROSECONDS[unit]})"
    if node.args["zone"]:
        return f"TIMESTAMP_MICROS({micros})"
    # By way of an interval: a cast would go through the time zone of the session.
    seconds = f"CAST(CAST({micros} AS DECIMAL(20, 0)) / 1000000 AS DECIMAL(18, 6))"
    return f"(TIMESTAMP_NTZ '1970-01-01 00:00:00' + MAKE_DT_INTERVAL(0, 0, 0, {seconds}))"


def _duck_sum(generator: Any, node: Int64Sum) -> str:
    return f"TRY_CAST(SUM({generator.sql(node, 'this')}) AS BIGINT)"


def _spark_sum(generator: Any, node: Int64Sum) -> str:
    """Parts of a sum may be larger than all of it."""
    return f"TRY_CAST(SUM(CAST({generator.sql(node, 'this')} AS DECIMAL(38, 0))) AS BIGINT)"


def _deviation(generator: Any, node: Deviation) -> str:
    value = generator.sql(node, "this")
    small = f"ABS({value}) < 1e150"
    return f"CASE WHEN BOOL_AND({small}) THEN STDDEV_SAMP({value}) FILTER (WHERE {small}) END"


def _median(quantile: str) -> Any:
    def write(generator: Any, node: Median) -> str:
        value = generator.sql(node, "this")
        low, high = quantile.format(value), quantile.format(f"-({value})")
        return f"NULLIF({low} / 2 - {high} / 2, CAST('NaN' AS DOUBLE))"

    return write


def _element(function: str) -> Any:
    return lambda generator, node: f"{function}({generator.sql(node, 'this')}, {generator.sql(node, 'place')})"


def _duck_widened(generator: Any, node: Widened) -> str:
    return f"CAST({generator.sql(node, 'this')} AS {generator.sql(node, 'to')})"


def _spark_widened(generator: Any, node: Widened) -> str:
    """Spark casts no structs that differ in their fields: they are built anew, field by field."""

    def widened(text: str, source: exp.DataType, to: exp.DataType, depth: int) -> str:
        if source == to:
            return text
        if source.this == to.this == exp.DType.ARRAY:
            inner = widened(f"each{depth}", source.expressions[0], to.expressions[0], depth + 1)
            return f"TRANSFORM({text}, each{depth} -> {inner})"
        if source.this == to.this == exp.DType.STRUCT:
            known = {field.name: field.args["kind"] for field in source.expressions}
            fields = []
            for field in to.expressions:
                name, kind = generator.sql(field, "this"), field.args["kind"]
                value = f"CAST(NULL AS {generator.sql(kind)})"
                if field.name in known:
                    value = widened(f"{text}.{name}", known[field.name], kind, depth)
                fields.append(f"{value} AS {name}")
            return f"CASE WHEN {text} IS NOT NULL THEN STRUCT({', '.join(fields)}) END"
        return f"CAST({text} AS {generator.sql(to)})"

    return widened(generator.sql(node, "this"), node.args["source"], node.args["to"], 0)


def _spark_try_cast(generator: Any, node: exp.TryCast) -> str:
    """sqlglot writes a plain CAST, which stops the query where a text is no number."""
    return f"TRY_CAST({generator.sql(node, 'this')} AS {generator.sql(node, 'to')})"


def _duck_list(generator: Any, node: OrderedList) -> str:
    value = generator.sql(node, "this")
    keys = ", ".join(
        f"{generator.sql(key.this)} {'DESC' if key.args.get('desc') else 'ASC'} NULLS LAST" for key in node.args["keys"]
    )
    return f"LIST({value} ORDER BY {keys}) FILTER (WHERE {value} IS NOT NULL)"


def _spark_list(generator: Any, node: OrderedList) -> str:
    """Spark's lists have no order of their own: they are made with their keys, sorted, and the keys dropped."""
    value = generator.sql(node, "this")
    keys = node.args["keys"]
    fields = ", ".join(f"{generator.sql(key.this)} AS k{place}" for place, key in enumerate(keys))
    cases = []
    for place, key in enumerate(keys):
        one, other = f"one.k{place}", f"other.k{place}"
        less, more = ("1", "-1") if key.args.get("desc") else ("-1", "1")
        cases.append(f"WHEN {one} IS NULL AND {other} IS NOT NULL THEN 1")
        cases.append(f"WHEN {one} IS NOT NULL AND {other} IS NULL THEN -1")
        cases.append(f"WHEN {one} < {other} THEN {less} WHEN {one} > {other} THEN {more}")
    compared = f"(one, other) -> CASE {' '.join(cases)} ELSE 0 END"
    collected = f"COLLECT_LIST(STRUCT({value} AS v, {fields})) FILTER (WHERE {value} IS NOT NULL)"
    return f"CASE WHEN COUNT({value}) > 0 THEN TRANSFORM(ARRAY_SORT({collected}, {compared}), each -> each.v) END"


class _DuckGenerator(DuckDBGenerator):
    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **DuckDBGenerator.TRANSFORMS,
        OrderedList: _duck_list,
        ListElement: _element("LIST_EXTRACT"),
        Int64Arithmetic: _duck_whole,
        Int64Sum: _duck_sum,
        Deviation: _deviation,
        Median: _median("QUANTILE_DISC({}, 0.5)"),
        Moment: _duck_moment,
        Widened: _duck_widened,
    }


class _SparkGenerator(SparkGenerator):
    TRANSFORMS: ClassVar[dict[Any, Any]] = {
        **SparkGenerator.TRANSFORMS,
        OrderedList: _spark_list,
        ListElement: _element("TRY_ELEMENT_AT"),
        Int64Arithmetic: _spark_whole,
        Int64Sum: _spark_sum,
        Deviation: _deviation,
        Median: _median("PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY {})"),
        Moment: _spark_moment,
        Widened: _spark_widened,
        exp.TryCast: _spark_try_cast,
    }


def write_sql(query: exp.Expr, target: Target) -> str:
    """The query as text in the dialect."""
    made = _DuckGenerator(dialect="duckdb") if target == "duckdb" else _SparkGenerator(dialect="spark")
    return made.generate(query)
