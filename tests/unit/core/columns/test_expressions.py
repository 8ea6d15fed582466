"""Expressions over Arrow columns: SQL's NULL, numbers without surprises, the same as the declarative evaluator."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.columns.expressions import ColumnProgram
from ostinato.core.expression_interpreter import evaluate_expression as declared
from ostinato.core.expressions import Attribute, Call, Duration, Expr, Literal
from ostinato.errors import DataError

X = Attribute("~", "x")
Y = Attribute("~", "y")


def call(op: str, *args: Any) -> Call:
    return Call(op, tuple(arg if isinstance(arg, Attribute | Call | Literal) else Literal(arg) for arg in args))


def run(expr: Expr, x: Any, y: Any = None) -> list[Any]:
    """The expression over the columns x and y, as Python values."""
    columns = {"x": x if isinstance(x, pa.Array) else pa.array(x)}
    columns["y"] = pa.nulls(len(columns["x"])) if y is None else y if isinstance(y, pa.Array) else pa.array(y)
    (found,) = ColumnProgram([expr]).run(lambda attribute: columns[attribute.name])
    return [found.as_py()] * len(columns["x"]) if isinstance(found, pa.Scalar) else found.to_pylist()


@pytest.mark.parametrize(
    ("op", "x", "y", "expected"),
    [
        ("and", [True, True, False, False, None], [False, None, False, None, None], [False, None, False, False, None]),
        ("or", [True, True, False, False, None], [False, None, False, None, None], [True, True, False, None, None]),
        ("/", [7, 7, None], [2, 0, 1], [3.5, None, None]),
        ("/", [7.0, -1.0], [0.0, 0.0], [None, None]),
        ("%", [7, -7, 7, 5, None], [3, 3, -3, 0, 1], [1, -1, 1, None, None]),
        ("%", [7.5, -7.5], [2.0, 0.0], [1.5, None]),
        ("=", [1, None], [1.0, 1.0], [True, None]),
        ("!=", [math.nan, math.nan], [1.0, math.nan], [True, True]),
        ("<", [math.nan, 1.0], [1.0, math.nan], [False, False]),
        ("+", [2**63 - 1, 1], [1, 1], [2**63, 2]),
        ("*", [2**62, 3], [2**62, 3], [2**124, 9]),
        ("-", [-(2**63), 0], [1, 5], [-(2**63) - 1, -5]),
        ("coalesce", [None, 1], [2.5, 3.5], [2.5, 1.0]),
        ("concat", ["a", None], ["b", "c"], ["ab", None]),
        ("<=", ["a", "b"], ["b", "a"], [True, False]),
    ],
)  # fmt: skip
def test_two_columns(op: str, x: list[Any], y: list[Any], expected: list[Any]) -> None:
    assert run(call(op, X, Y), x, y) == expected


@pytest.mark.parametrize(
    ("expr", "x", "expected"),
    [
        (call("not", X), [True, False, None], [False, True, None]),
        (call("is_null", X), [1, None], [False, True]),
        (call("is_true", X), [True, False, None], [True, False, False]),
        (call("in", X, 1, 2), [1, 3, None], [True, False, None]),
        (call("in", X, 1, None), [1, 3], [True, None]),
        (call("in", X, "a", "b"), ["a", "c", None], [True, False, None]),
        (call("in", X, 1, 2.5), [1.0, 2.5, 3.0], [True, True, False]),
        (call("neg", X), [-(2**63), 3], [2**63, -3]),
        (call("abs", X), [-(2**63), -3], [2**63, 3]),
        (call("round", X), [2.5, -2.5, 0.4, None], [3.0, -3.0, 0.0, None]),
        (call("round", X, 2), [2.675, -2.675, 1e300, math.inf], [2.68, -2.68, 1e300, math.inf]),
        (call("round", X, -1), [15, 2**63 - 1], [20, 9223372036854775810]),
        (call("floor", X), [2.5, -2.5], [2.0, -3.0]),
        (call("ceil", X), [2, None], [2, None]),
        (call("sqrt", X), [4, None], [2.0, None]),
        (call("length", call("trim", call("upper", X))), [" äb ", None], [2, None]),
        (call("lower", X), ["ÄB"], ["äb"]),
        (call("like", X, "a%"), ["abc", "bac", "a\nb", None], [True, False, True, None]),
        (call("like", X, "a_c"), ["abc", "ac", "aéc", "ABC"], [True, False, True, False]),
        (call("like", X, "a\\%c"), ["a%c", "abc"], [True, False]),
        (call("like", X, "\\a."), ["a.", "ab"], [True, False]),
        (call("like", X, None), ["a"], [None]),
        (call("rlike", X, "b+$"), ["abb", "bba", "", None], [True, False, False, None]),
        (call("rlike", X, "(?i)^É."), ["éa", "a", "é"], [True, False, False]),
        (call("rlike", X, None), ["a"], [None]),
        (call("field", X, "a"), [{"a": 1}, {"a": None}, None], [1, None, None]),
        (call("field", call("field", X, "a"), "b"), [{"a": {"b": "c"}}, {"a": None}, None], ["c", None, None]),
        (call("and", True, X), [True, None], [True, None]),
        (call(">", call("+", 1, 2), call("*", X, 1)), [2, 3], [True, False]),
        (call("and", call("=", X, 1), call("=", call("=", 1, 1), True)), [1, 2], [True, False]),
    ],
)  # fmt: skip
def test_one_column(expr: Expr, x: list[Any], expected: list[Any]) -> None:
    assert run(expr, x) == expected


def test_sqrt_below_zero_is_not_a_number() -> None:
    assert math.isnan(run(call("sqrt", X), [-1.0])[0])


def test_pattern_and_digits_may_be_columns() -> None:
    assert run(call("like", X, Y), ["abc", "abc", "abc"], ["a%", "b%", None]) == [True, False, None]
    assert run(call("round", X, Y), [2.75, 2.75, 2.75], [1, 0, None]) == [2.8, 3.0, None]


@pytest.mark.parametrize("op", ["=", "!=", "<", "<=", ">", ">="])
@pytest.mark.parametrize(
    "bound", [2**53 + 0.0, 2.5, -2.5, 2.0**63, -(2.0**63), 1e300, Decimal("0.1"), Decimal(2**64), 10**25]
)
def test_integers_compare_exactly_with_any_literal(op: str, bound: Any) -> None:
    numbers = [-(2**63), -3, -2, 0, 2, 3, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1]
    expected = [declared(call(op, X, bound), {"~": {"x": number}}) for number in numbers]
    assert run(call(op, X, bound), numbers) == expected
    assert run(call(op, bound, X), numbers) == [
        declared(call(op, bound, X), {"~": {"x": number}}) for number in numbers
    ]


def test_decimals() -> None:
    prices = [Decimal("1.10"), Decimal("1.11"), None]
    assert run(call("=", X, 1.1), prices) == [True, False, None]  # the digits that were written
    assert run(call("<", X, 2), prices) == [True, True, None]
    assert run(call("+", X, 1), prices) == [Decimal("2.10"), Decimal("2.11"), None]
    assert run(call("*", X, 2.0), prices)[0] == pytest.approx(2.2)
    assert run(call("%", X, Y), [Decimal("0.15"), Decimal("-0.16")], [Decimal("0.05"), Decimal("0.05")]) == [
        0,
        Decimal("-0.01"),
    ]
    wide = pa.array([Decimal("1.5")], pa.decimal128(38, 30))
    assert run(call("<", X, 10**12), wide) == [True]
    assert run(call("=", X, Y), wide, [1.5]) == [True]


def test_unsigned_beyond_int64() -> None:
    hashes = pa.array([2**64 - 1, 5, None], pa.uint64())
    assert run(call("%", X, 10), hashes) == [5, 5, None]
    assert run(call(">", X, 2**63 - 1), hashes) == [True, False, None]
    assert run(call("=", X, -1), hashes) == [False, False, None]


def test_times() -> None:
    noon = datetime(2026, 1, 1, 12)
    for kind in (pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.timestamp("us", "Asia/Tokyo")):
        column = pa.array([noon.replace(tzinfo=UTC), None]).cast(kind)
        assert run(call("=", X, noon), column) == [True, None]
        assert run(call("<", X, noon.replace(microsecond=1)), column) == [True, None]
        assert run(call(">=", X, noon.replace(tzinfo=UTC)), column) == [True, None]
    days = pa.array([date(2026, 1, 1), date(2026, 1, 2)])
    assert run(call("<", X, noon), days) == [True, False]
    assert run(call("=", X, Y), days, pa.array([datetime(2026, 1, 1)] * 2, pa.timestamp("ns"))) == [True, False]
    far = pa.array([datetime(3000, 1, 1)] * 2, pa.timestamp("s"))
    assert run(call("<", X, Y), days, far) == [True, True]
    assert run(call(">", X, Y), far, pa.array([noon] * 2, pa.timestamp("ns"))) == [
        True,
        True,
    ]  # beyond what ns can hold
    assert run(call("<", X, datetime(9000, 1, 1)), pa.array([noon], pa.timestamp("ns"))) == [True]


def test_durations() -> None:
    minute, hour = Duration(60 * 10**9), Duration(3600 * 10**9)
    spans = [timedelta(seconds=59), timedelta(minutes=1), timedelta(days=400), None]
    for unit in ("s", "ms", "us", "ns"):
        column = pa.array(spans, pa.duration(unit))
        assert run(call("<=", X, minute), column) == [True, True, False, None]
        assert run(call("=", call("abs", call("-", minute, X)), Duration(10**9)), column) == [True, False, False, None]
        assert run(call("<", call("neg", X), minute), column) == [True, True, True, None]
    noon = datetime(2026, 1, 1, 12)
    times = [noon, noon + timedelta(hours=1), None]
    for kind in (pa.timestamp("s"), pa.timestamp("ns", "UTC")):
        column = pa.array(times, pa.timestamp("us")).cast(kind)
        assert run(call("<", call("-", X, noon), hour), column) == [True, False, None]
        assert run(call("=", call("+", X, hour), times[1]), column) == [True, False, None]
        assert run(call("=", call("+", Duration(1), X), times[0]), column) == [False, False, None]  # a nanosecond
    days = pa.array([date(2026, 1, 1), None])
    assert run(call("=", call("+", X, Duration(43200 * 10**9)), noon), days) == [True, None]


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64(), pa.decimal128(9, 2)])
def test_durations_beside_numbers_are_seconds(kind: pa.DataType) -> None:
    column = pa.array([59, 60, 61, None], kind)
    minute = Duration(60 * 10**9)
    assert run(call("<=", X, minute), column) == [True, True, False, None]
    assert run(call("<=", minute, X), column) == [False, True, True, None]
    assert run(call("=", call("-", X, minute), Duration(10**9)), column) == [False, False, True, None]
    assert run(call("<", X, Duration(59_500_000_000)), column) == [True, False, False, None]
    both = call("<", 59, minute), call("=", call("-", minute, 60), 0)
    assert [run(each, column)[:1] for each in both] == [[True], [True]]
    assert run(call("in", X, minute, Duration(10**9)), column) == [False, True, False, None]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_every_kind_of_string(kind: pa.DataType) -> None:
    column = pa.array(["abc", None, "b"], kind)
    assert run(call("=", X, "abc"), column) == [True, None, False]
    assert run(call("in", X, "b", "c"), column) == [False, None, True]
    assert run(call("like", call("upper", X), "A%"), column) == [True, None, False]
    assert run(call("=", call("concat", X, "!"), "b!"), column) == [False, None, True]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint16(), pa.int32(), pa.uint64(), pa.float32(), pa.float16()])
def test_small_numbers_do_not_wrap(kind: pa.DataType) -> None:
    assert run(call("*", X, 100), pa.array([100, None], kind)) == [10_000, None]


def test_null_columns() -> None:
    nothing = pa.nulls(2)
    for expr in (
        call("=", X, 1),
        call("+", X, 1),
        call("not", X),
        call("lower", X),
        call("in", X, "a"),
        call("round", X, 1),
    ):
        assert run(expr, nothing) == [None, None]
    assert run(call("is_null", X), nothing) == [True, True]


def test_cases() -> None:
    expr = call("case", call(">", X, 2), "high", call(">", X, 0), "low", None)
    assert run(expr, [3, 1, 0, None]) == ["high", "low", None, None]
    assert run(call("case", X, 1, Y), [True, False, None], [2.5, 3.5, None]) == [1.0, 3.5, None]
    assert run(call("case", X, "a", Y), [True, False], pa.array(["b", "c"], pa.string_view())) == ["a", "c"]
    day, noon = date(2026, 1, 1), datetime(2026, 1, 1, 12)
    assert run(call("case", call("=", X, day), X, noon), pa.array([day, None])) == [datetime(2026, 1, 1), noon]
    assert run(call("case", True, X, None), [1, 2]) == [1, 2]
    assert run(call("case", call("=", 1, 2), 3, 4), [1]) == [4]
    assert run(call("case", X, None, None), [True]) == [None]
    large = 2**53 + 1  # which no float is
    assert run(call("case", True, X, None), [large, None]) == [large, None]
    assert run(call("=", call("case", True, X, None), large - 1), [large]) == [False]
    assert run(call("case", call(">", X, large), None, X), [large, large + 1]) == [large, None]


@pytest.mark.parametrize(
    ("kind", "x", "expected"),
    [
        ("int", ["12", " -7 ", "+1", "1.5", "", "9223372036854775808", None], [12, -7, 1, None, None, None, None]),
        ("int", ["12", "-7"], [12, -7]),
        ("int", [1.9, -1.9, 1e300, math.nan, None], [1, -1, None, None, None]),
        ("int", [1.9, -1.9], [1, -1]),
        ("int", [Decimal("-1.99"), None], [-1, None]),
        ("int", [Decimal(10**19), Decimal(3)], [None, 3]),
        ("int", [True, False, None], [1, 0, None]),
        ("float", ["1.5", "-2", ".5", "1e3", "5.", "nan", "1e999", "x"], [1.5, -2.0, 0.5, 1e3, 5.0, None, None, None]),
        ("float", ["1.5", "-2"], [1.5, -2.0]),
        ("float", [1, None], [1.0, None]),
        ("float", [Decimal("0.1"), None], [0.1, None]),
        ("text", [1, -2, None], ["1", "-2", None]),
        ("text", [1.0, 1e20, 0.1, math.nan], ["1.0", "1e+20", "0.1", "nan"]),
        ("text", [Decimal("1.10"), Decimal("0.00000001")], ["1.10000000", "0.00000001"]),
        ("text", [True, False], ["true", "false"]),
        ("text", [datetime(2026, 1, 31, 23, 59, 59, 500000)], ["2026-01-31 23:59:59.500000"]),
        ("text", [date(2026, 1, 31), None], ["2026-01-31", None]),
        ("boolean", ["true", " FALSE ", "1", None], [True, False, None, None]),
        ("boolean", [0, 2, None], [False, True, None]),
        ("boolean", [0.0, math.nan], [False, True]),
        ("timestamp", ["2026-01-31", "2026-01-31T23:59"], [datetime(2026, 1, 31), datetime(2026, 1, 31, 23, 59)]),
        ("timestamp", ["2026-01-31 01:00:00+02:00", "2026-13-01 00:00:00"], [datetime(2026, 1, 30, 23), None]),
        ("timestamp", ["2026-01-31 01:00:00.5"], [datetime(2026, 1, 31, 1, 0, 0, 500000)]),
        ("timestamp", [date(2026, 1, 31)], [datetime(2026, 1, 31)]),
        ("date", ["2026-01-31", "20260131", "2026-02-30"], [date(2026, 1, 31), None, None]),
        ("date", [datetime(1969, 12, 31, 23), None], [date(1969, 12, 31), None]),
    ],
)  # fmt: skip
def test_casts(kind: str, x: list[Any], expected: list[Any]) -> None:
    expr = call("try_cast", X, kind)
    assert run(expr, x) == expected
    assert [declared(expr, {"~": {"x": value}}) for value in pa.array(x).to_pylist()] == expected
    failing = [value for value, cast in zip(x, expected, strict=True) if cast is None and value is not None]
    if failing:
        with pytest.raises(DataError, match=f"cannot be cast to {kind}"):
            run(call("cast", X, kind), x)
        with pytest.raises(DataError, match=f"cannot be cast to {kind}"):
            declared(call("cast", X, kind), {"~": {"x": failing[0]}})
    else:
        assert run(call("cast", X, kind), x) == expected


def test_a_case_tries_only_casts_of_its_branch() -> None:
    digits = call(
        "case", call("rlike", X, "^[0-9]+$"), call("cast", X, "int"), call("=", X, "-"), 0, call("cast", X, "int")
    )
    assert run(digits, ["12", "-", None]) == [12, 0, None]
    with pytest.raises(DataError, match="'x' cannot be cast to int"):
        run(digits, ["12", "x"])
    nested = call("case", call("is_null", X), 0, call("case", call("like", X, "n%"), -1, call("cast", X, "int")))
    assert run(nested, [None, "no", "5"]) == [0, -1, 5]
    later = call("case", call("=", X, "x"), 0, call(">", call("cast", X, "int"), 3), 1, 2)
    assert run(later, ["x", "4", "1"]) == [0, 1, 2]
    assert run(call("case", call("=", X, "x"), call("cast", "y", "int"), 0), ["a"]) == [0]


def test_empty_columns() -> None:
    for expr in (call(">", call("%", X, 2), 1), call("round", X, Y), call("in", X, 1, 2)):
        assert run(expr, pa.array([], pa.int64()), pa.array([], pa.int64())) == []


def test_impossible_operation_is_a_data_error() -> None:
    with pytest.raises(DataError, match=r"cannot evaluate x \+ 1"):
        run(call("+", X, 1), ["a"])


def test_equal_sub_expressions_are_evaluated_once() -> None:
    fetched: list[str] = []

    def fetch(attribute: Attribute) -> pa.Array:
        fetched.append(attribute.name)
        return pa.array([1, 2])

    shared = call("+", X, 1)
    first, second = ColumnProgram([call(">", shared, 2), call("<", shared, 3)]).run(fetch)
    assert (first.to_pylist(), second.to_pylist(), fetched) == ([False, True], [True, False], ["x"])


# Whole random predicates over small values, where floats are exact and so every evaluator must say the same.

numbers = st.sampled_from([None, -7, -2, 0, 1, 3, 12])
halves = st.sampled_from([None, -7.25, -0.0, 0.0, 0.5, 2.5, math.nan, math.inf])
words = st.sampled_from([None, "", "a", "ab", "B%", " a", " 12 ", "-0.5", "TRUE", "1e3"])
START = datetime(2026, 1, 1)
moments = st.sampled_from([None, START, START + timedelta(seconds=90), START - timedelta(days=1)])
spans = st.sampled_from([None, timedelta(0), timedelta(minutes=1), timedelta(seconds=-90)])
nested = st.none() | st.fixed_dictionaries({"i": numbers, "p": st.none() | st.fixed_dictionaries({"s": words})})
SCHEMA = pa.schema(
    {
        "i": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "b": pa.bool_(),
        "t": pa.timestamp("us"),
        "d": pa.duration("us"),
        "o": pa.struct({"i": pa.int64(), "p": pa.struct({"s": pa.string()})}),
    }
)
truths = st.sampled_from([None, True, False])
columns = {"i": numbers, "f": halves, "s": words, "b": truths, "t": moments, "d": spans, "o": nested}
rows = st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=6)


def exprs(*leaves: st.SearchStrategy[Expr], ops: dict[str, int]) -> st.SearchStrategy[Expr]:
    def grow(children: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        return st.one_of(*(st.tuples(*[children] * count).map(partial(Call, op)) for op, count in ops.items()))

    return st.recursive(st.one_of(*leaves), grow, max_leaves=4)


NESTED = Attribute("~", "o")
number = exprs(
    st.sampled_from([Attribute("~", "i"), Attribute("~", "f"), call("field", NESTED, "i")]),
    st.sampled_from([0, 2, 0.5, -3]).map(Literal),
    ops={"+": 2, "-": 2, "*": 2, "/": 2, "%": 2, "neg": 1, "abs": 1, "round": 1, "floor": 1, "coalesce": 2},
)  # fmt: skip
durations = st.sampled_from([0, 60, -90, 0.5]).map(lambda seconds: Literal(Duration(int(seconds * 10**9))))
time: st.SearchStrategy[Expr] = st.sampled_from([Attribute("~", "t"), Literal(START)])
plain_span = st.just(Attribute("~", "d")) | st.builds(lambda a, b: call("-", a, b), st.just(Attribute("~", "t")), time)
span = exprs(plain_span, ops={"+": 2, "-": 2, "neg": 1, "abs": 1, "coalesce": 2}) | durations
truth: st.SearchStrategy[Expr] = st.just(Attribute("~", "b")) | st.builds(lambda a: call(">", a, 0), number)


def branches(value: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    one = st.builds(
        lambda when, then, other: call("case", when, then, other), truth, value, value | st.just(Literal(None))
    )
    return one | st.builds(lambda when, then, more: Call("case", (when, then, *more.args)), truth, value, one)


text = exprs(
    st.sampled_from([Attribute("~", "s"), call("field", call("field", NESTED, "p"), "s")]),
    st.sampled_from(["a", ""]).map(Literal),
    ops={"lower": 1, "trim": 1, "concat": 2},
)
text |= branches(text) | st.builds(lambda a: call("cast", a, "text"), text | truth | time)
number |= branches(number)
number |= st.builds(
    lambda op, a, to: call(op, a, to), st.just("try_cast"), number | text | truth, st.sampled_from(["int", "float"])
)
time |= st.builds(lambda a: call("cast", a, "date"), time) | branches(time)
span |= branches(span)
comparison = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])
condition = exprs(
    st.just(Attribute("~", "b")),
    st.builds(lambda op, a, b: Call(op, (a, b)), comparison, number, number),
    st.builds(lambda op, a, b: Call(op, (a, b)), comparison, text, text),
    st.builds(lambda a, pattern: Call("like", (a, Literal(pattern))), text, st.sampled_from(["a%", "%", "_", "\\%"])),
    st.builds(lambda a, items: Call("in", (a, *map(Literal, items))), number, st.sampled_from([[1], [None, 0.5]])),
    st.builds(lambda a: Call("is_null", (a,)), number),
    st.builds(lambda a, pattern: call("rlike", a, pattern), text, st.sampled_from(["a", "^$", "[ B]", "b|^a"])),
    st.builds(lambda op, a, b: Call(op, (a, b)), comparison, span, span),
    st.builds(lambda a: call("try_cast", a, "boolean"), text | number | truth),
    branches(truth),
    st.builds(lambda op, a, b: Call(op, (a, b)), comparison, number, durations),
    st.builds(lambda op, a, b: call("<", call(op, a, b), START), st.sampled_from(["+", "-"]), time, span),
    ops={"and": 2, "or": 2, "not": 1, "is_true": 1},
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(condition, rows)
def test_agrees_with_the_declarative_evaluator(expr: Expr, events: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(events, SCHEMA)
    (found,) = ColumnProgram([expr]).run(lambda attribute: table[attribute.name].combine_chunks())
    got = [found.as_py()] * len(events) if isinstance(found, pa.Scalar) else found.to_pylist()
    assert got == [declared(expr, {"~": event}) for event in events]
