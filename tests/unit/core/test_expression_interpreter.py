"""SQL's three-valued logic over Python values."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from ostinato.core import expression_interpreter as values
from ostinato.core.expressions import CASE, OPERATORS, Attribute, Call, Expr, Literal


def call(op: str, *args: Any) -> Any:
    return values.evaluate_expression(
        Call(op, tuple(arg if isinstance(arg, Call) else Literal(arg) for arg in args)), {}
    )


def test_logic_tables() -> None:
    tables = {"and": min, "or": max}  # with FALSE < NULL < TRUE
    rank = {False: 0, None: 1, True: 2}
    for op, least in tables.items():
        for left in rank:
            for right in rank:
                assert call(op, left, right) is least(left, right, key=lambda each: rank[each])
    assert [call("not", each) for each in (True, False, None)] == [False, True, None]


def test_and_or_take_any_number_of_arguments() -> None:
    assert call("and", True, None, False) is False
    assert call("or", False, None, True) is True
    assert call("or", False, False, None) is None


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "like", "concat"])
def test_null_in_null_out(op: str) -> None:
    assert call(op, None, "a" if op in ("like", "concat") else 1) is None
    assert call(op, "a" if op in ("like", "concat") else 1, None) is None


def test_missing_attribute_is_null() -> None:
    expr: Expr = Attribute("x", "gone")
    assert values.evaluate_expression(expr, {"x": {"here": 1}}) is None
    assert values.passes(Call("is_null", (expr,)), {"x": {"here": 1}})


def test_filter_passes_only_on_true() -> None:
    assert values.passes(Literal(True), {})
    assert not values.passes(Literal(False), {})
    assert not values.passes(Literal(None), {})
    assert not values.passes(Literal(1), {})


def test_is_true_is_never_null() -> None:
    assert [call("is_true", each) for each in (True, False, None)] == [True, False, False]


@pytest.mark.parametrize(
    ("needle", "choices", "expected"),
    [(1, (1, 2), True), (3, (1, 2), False), (3, (1, None), None), (1, (1, None), True), (None, (1, 2), None)],
)
def test_in(needle: Any, choices: tuple[Any, ...], expected: bool | None) -> None:
    assert call("in", needle, *choices) is expected


@pytest.mark.parametrize(
    ("text", "pattern", "expected"),
    [
        ("abc", "a%", True),
        ("abc", "%c", True),
        ("abc", "b%", False),
        ("abc", "a_c", True),
        ("abc", "a_", False),
        ("", "%", True),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("a\nc", "a%c", True),
        ("a%", r"a\%", True),
        ("ab", r"a\%", False),
        ("ABC", "abc", False),
    ],
)
def test_like(text: str, pattern: str, expected: bool) -> None:
    assert call("like", text, pattern) is expected


def test_numbers_of_all_kinds_compare_by_value() -> None:
    assert call("=", 1, 1.0)
    assert call("<", 1, 1.5)
    assert call("=", Decimal("1.5"), 1.5)
    assert call("=", Decimal("0.1"), 0.1)
    assert call(">", 0.2, Decimal("0.1"))
    assert call("<", Decimal("0.1"), math.inf)
    assert call("=", Decimal("0.1"), math.nan) is False
    assert call("!=", 2**53 + 1, float(2**53))


@pytest.mark.parametrize("op", ["=", "<", "<=", ">", ">="])
def test_nan_compares_false(op: str) -> None:
    assert call(op, math.nan, math.nan) is False
    assert call(op, math.nan, 1.0) is False
    assert call("!=", math.nan, 1.0) is True
    assert call("is_null", math.nan) is False


def test_division() -> None:
    assert call("/", 7, 2) == 3.5
    assert call("/", 7, 0) is None
    assert call("/", 7.0, 0.0) is None
    assert call("%", 7, 3) == 1
    assert call("%", -7, 3) == -1
    assert call("%", 7, -3) == 1
    assert call("%", -7.5, 2) == -1.5
    assert call("%", 7, 0) is None
    assert call("+", Decimal("0.5"), 1.0) == 1.5


def test_functions() -> None:
    assert [call("round", each) for each in (0.5, 1.5, 2.5, -2.5)] == [1, 2, 3, -3]
    assert call("round", 2.345, 2) == 2.35
    assert call("round", 7) == 7
    assert (call("floor", -1.5), call("ceil", -1.5)) == (-2, -1)
    assert math.isnan(call("floor", math.nan))
    assert call("sqrt", 9) == 3
    assert math.isnan(call("sqrt", -1))
    assert (call("abs", -2), call("neg", 2)) == (2, -2)
    assert (call("lower", "Ab"), call("upper", "Ab"), call("trim", " a "), call("length", "äb")) == ("ab", "AB", "a", 2)
    assert call("concat", "a", "b", "c") == "abc"
    assert call("coalesce", None, 2, 3) == 2
    assert call("coalesce", None, None) is None


def test_times_compare_in_utc() -> None:
    noon = datetime(2026, 1, 1, 12)
    assert call("=", noon, noon.replace(tzinfo=UTC))
    assert call("<", date(2026, 1, 1), noon)
    assert call("<=", date(2026, 1, 1), date(2026, 1, 1))


def test_every_operator_is_defined() -> None:
    # The tables are what the language offers, no more and no less.
    assert {*values._STRICT, *values._KNOW_NULL, CASE} == set(OPERATORS)  # CASE looks at some of its arguments only
