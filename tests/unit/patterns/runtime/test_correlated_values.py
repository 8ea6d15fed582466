"""Values of different events compared: every type of column, every operator, through the public API."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine
from support.correlated import PAIR, Positions, agrees, agrees_at_once, found, positions

pytestmark = pytest.mark.slow

OPERATORS = ("=", "!=", "<", "<=", ">", ">=")

# Types ----------------------------------------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf
NOON = datetime(2026, 3, 1, 12)
WHOLE = [0, 1, None, 100, 1, 2, 0]
TEXTS = ["", "a", None, "ab", "é", "z", "𝄞", "\uffff", "a", "Z", "a\0", "\x00"]
MOMENTS = [NOON, NOON + timedelta(seconds=1), None, datetime(1969, 12, 31), NOON, datetime(2026, 3, 1)]
COLUMNS = {
    **{str(kind): pa.array(WHOLE, kind) for kind in (pa.int8(), pa.int16(), pa.int32(), pa.int64())},
    **{str(kind): pa.array(WHOLE, kind) for kind in (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    "limits of int64": pa.array([-(2**63), 2**63 - 1, -1, 0, 2**63 - 2, None, 2**62], pa.int64()),
    "float64": pa.array([0.0, -0.0, NAN, INF, -INF, None, 1.5, 1.0, NAN, 1e308], pa.float64()),
    "float32": pa.array([0.0, -0.0, NAN, INF, None, 1.5, 0.1, 1.0], pa.float32()),
    "decimal": pa.array([Decimal(text) for text in ("1.50", "0.00", "-1.25", "1.50")] + [None], pa.decimal128(9, 2)),
    "string": pa.array(TEXTS, pa.string()),
    "large_string": pa.array(TEXTS, pa.large_string()),
    "string_view": pa.array(TEXTS, pa.string_view()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "binary": pa.array([b"", b"\xff", None, b"ab", b"a\0", b"ab"], pa.binary()),
    "fixed binary": pa.array([b"ab", b"\xff\0", None, b"ab"], pa.binary(2)),
    "bool": pa.array([True, False, None, True], pa.bool_()),
    "date32": pa.array([date(2026, 3, 1), date(1969, 12, 31), None, date(2026, 3, 1)], pa.date32()),
    "date64": pa.array([date(2026, 3, 1), date(1969, 12, 31), None, date(2026, 3, 1)], pa.date64()),
    **{f"timestamp {unit}": pa.array(MOMENTS, pa.timestamp(unit)) for unit in ("s", "ms", "us")},
    "zoned": pa.array(MOMENTS, pa.timestamp("us", "America/New_York")),
    "duration": pa.array([timedelta(0), timedelta(seconds=-1), None, timedelta(days=1)], pa.duration("ms")),
    "time": pa.array([time(1), time(23, 59, 59), None, time(0)], pa.time64("us")),
    "null": pa.nulls(3),
}  # fmt: skip


def beside(left: pa.Array, right: pa.Array) -> pa.Table:
    """All values of one column before all of the other, and the other way round."""
    empty_left, empty_right = pa.nulls(len(right), left.type), pa.nulls(len(left), right.type)
    a = [*left.to_pylist(), *empty_left.to_pylist(), *left.to_pylist()]
    b = [*empty_right.to_pylist(), *right.to_pylist(), *empty_right.to_pylist()]
    return pa.table({"a": typed(a, left.type), "b": typed(b, right.type)})


def typed(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode()
    return pa.array(values, kind)


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_compared_with_itself(name: str) -> None:
    values = COLUMNS[name].to_pylist()
    rows = pa.table({"a": typed(values, COLUMNS[name].type), "b": typed(values[::-1], COLUMNS[name].type)})
    for operator in OPERATORS:
        check = check_of(operator)
        check(f"{PAIR} x.a {operator} y.a", rows)  # = splits the stream by a
        check(f"{PAIR} x.a {operator} y.b", rows)  # = looks runs up
        check(f"{PAIR} (x.a {operator} y.b OR x.a IS NULL)", rows)


def check_of(operator: str) -> Callable[[str, pa.Table], Positions]:
    """What is kept between batches depends on the types, but on the operator only as far as these two differ."""
    return agrees if operator in ("=", "<") else agrees_at_once


NUMBERS = [name for name in COLUMNS if "int" in name or name in ("float32", "float64", "decimal")]
KINDS = [
    [name for name in NUMBERS if "limits" not in name],
    ["string", "large_string", "string_view", "dictionary"],
    ["binary", "fixed binary"],
    ["date32", "date64", "timestamp s", "timestamp ms", "timestamp us", "zoned"],
]


@pytest.mark.parametrize(("left", "right"), [pair for names in KINDS for pair in combinations(names, 2)])
def test_types_of_one_kind(left: str, right: str) -> None:
    rows = beside(COLUMNS[left], COLUMNS[right])
    some = [check_of(operator)(f"{PAIR} x.a {operator} y.b", rows) for operator in OPERATORS]
    assert all(some)
    agrees(f"{PAIR} x.b = y.a", rows)


def test_the_null_type_compares_with_nothing() -> None:
    for name in ("int64", "string", "float64", "timestamp us", "bool", "decimal"):
        rows = pa.table({"a": pa.nulls(4), "b": COLUMNS[name].slice(0, 4)})
        for operator in OPERATORS:
            assert agrees(f"{PAIR} x.a {operator} y.b", rows) == []
        assert len(agrees(f"{PAIR} (x.a = y.b) IS NULL", rows)) == 6
        agrees(f"{PAIR} x.a < y.b OR x.b != y.b", rows)


def test_order_of_texts_is_that_of_code_points() -> None:
    texts = ["", "\0", "a", "a\0", "aa", "b", "Z", "é", "ß", "ﬀ", "\uffff", "\U00010000", "𝄞", "a" * 300, "a" * 301]
    rows = pa.table({"s": texts + texts})
    expected = [(i, j) for i, j in combinations(range(len(rows)), 2) if (texts + texts)[i] < (texts + texts)[j]]
    assert found(f"{PAIR} x.s < y.s", rows) == expected
    assert found(f"{PAIR} NOT (x.s >= y.s)", rows) == expected


def test_zones_are_points_in_time() -> None:
    rows = pa.table({
        "a": pa.array([datetime(2026, 1, 1, 12), None, None], pa.timestamp("s", "Asia/Tokyo")),  # stored as UTC
        "b": pa.array([None, datetime(2026, 1, 1, 12), datetime(2026, 1, 1, 21)], pa.timestamp("ms")),
    })  # fmt: skip
    assert found(f"{PAIR} x.a = y.b", rows) == [(0, 1)]


def test_differences_of_times() -> None:
    moments = [NOON, NOON + timedelta(seconds=30), NOON + timedelta(seconds=90), None, NOON + timedelta(days=1)]
    for unit in ("s", "ms", "us"):
        rows = pa.table({
            "t": pa.array(moments, pa.timestamp(unit)),
            "u": pa.array(moments, pa.timestamp("us")),
            "d": pa.array([timedelta(seconds=60)] * 5, pa.duration("ms")),
            "day": pa.array([moment and moment.date() for moment in moments], pa.date32()),
        })  # fmt: skip
        assert agrees(f"{PAIR} y.t - x.u = y.d", rows) == [(1, 2)]
        assert agrees(f"{PAIR} y.t - x.t < x.d", rows) == [(0, 1)]
        assert agrees(f"{PAIR} x.t + y.d <= y.u", rows) == [(0, 2), (0, 4), (1, 2), (1, 4), (2, 4)]
        assert agrees(f"{PAIR} y.t - x.d = x.u", rows) == [(1, 2)]
        assert agrees(f"{PAIR} y.day - x.day > x.d", rows) == [(0, 4), (1, 4), (2, 4)]


def test_decimals() -> None:
    amounts = [Decimal("1.50"), Decimal("3.00"), Decimal("-0.25"), None, Decimal("2.25"), Decimal("0.75")]
    rows = pa.table(
        {
            "m": pa.array(amounts, pa.decimal128(12, 2)),
            "i": [3, 1, 0, 2, None, 3],
            "f": [0.75, 3.0, 1.5, 0.0, 2.25, NAN],
        }
    )
    assert agrees(f"{PAIR} 2 * x.m = y.m", rows) == [(0, 1)]
    assert agrees(f"{PAIR} x.m * x.m = y.m", rows) == [(0, 4)]
    for condition in (
        "x.m = y.f",
        "x.m < y.i",
        "x.m + x.i > y.m",
        "x.m + y.m > x.f",
        "x.m / y.m = 2",
        "x.m % y.m = 0",
        "-x.m < y.m",
    ):
        agrees(PAIR + condition, rows)


def test_decimals_that_no_float_can_hold_are_refused() -> None:
    rows = pa.table({"m": pa.array([Decimal("1234567890.1234567")] * 2, pa.decimal128(20, 7))})
    with pytest.raises(ost.DataError, match="15 digits"):
        found(f"{PAIR} x.m < y.m", rows)
    assert found(f"{PAIR} x.m = y.m", rows) == [(0, 1)]  # split by m, where nothing has to be compared


HASHES = [2**63 + 5, 5, 2**63 + 4, None, 2**64 - 1, 2**63 + 5, 0, 5]
LARGE = [2**63 - 1, 5, -(2**63), None, 2**63 - 2, 2**40, 5, -1]


@pytest.mark.parametrize(
    "condition",
    [
        *(f"x.u {op} y.u AND x.k <= y.k" for op in OPERATORS),
        *(f"x.u {op} y.i" for op in OPERATORS),
        "x.i + 1 <= y.i",
        "x.i + 1 > y.u - 1",
        "x.i * x.i <= y.i * y.i",
        "x.i = y.u OR NOT x.u < y.i",
        "-x.i = y.i",
    ],
)
def test_whole_numbers_beyond_64_bits(condition: str) -> None:
    """Also where the first batches have none of them, and in a loop, whose runs hold some when the first one comes."""
    wide = {"u": pa.array(HASHES[::-1], pa.uint64()), "i": pa.array(LARGE[::-1])}
    small = {"u": pa.array([3, None, 9, 5], pa.uint64()), "i": pa.array([7, 3, None, 9])}
    keys = {"k": [0] * 12}
    rows = pa.table({name: pa.concat_arrays([small[name], wide[name]]) for name in wide} | keys)
    agrees(PAIR + condition, rows)
    agrees(f"(ANY AS x ; ANY AS x+ ; ANY AS y) FILTER {condition} WITHIN 4 EVENTS", rows.slice(1, 9))


def test_arithmetic_with_whole_numbers_beyond_64_bits_is_refused() -> None:
    rows = pa.table({"u": pa.array([2**63 + 5, 5], pa.uint64()), "f": [1.5, 2.5]})
    for condition in ("x.u - y.u > 3", "x.u > y.f"):
        with pytest.raises(ost.DataError, match="64-bit"):
            found(PAIR + condition, rows)


@pytest.mark.parametrize("right", [-3, 10, 7, -(2**63), 2**63 - 1])
def test_remainders_of_the_least_number(right: int) -> None:
    rows = pa.table({"a": [-(2**63), right, -(2**63)]})
    for condition in ("x.a % y.a < 0", "x.a % y.a = 0", "x.a % y.a = -8", "-x.a > y.a", "abs(x.a - y.a) >= 1"):
        agrees(PAIR + condition, rows)


def test_a_duration_and_a_time_of_day() -> None:
    """Which counts from midnight, whether one event has both or not."""
    days = [time(0, 0, 1), time(1), None, time(23, 59)]
    spans = [timedelta(seconds=1), timedelta(hours=2), timedelta(0), timedelta(days=1)]
    for kind in (pa.time32("s"), pa.time64("us")):
        rows = pa.table({"d": pa.array(days, kind), "s": pa.array(spans)})
        for op in OPERATORS:
            agrees(f"{PAIR} x.d {op} y.s", rows)
            agrees(f"ANY AS x FILTER x.d {op} x.s", rows)
            agrees(f"ANY AS x FILTER x.s {op} x.d", rows)


def test_times_of_day_of_different_units() -> None:
    rows = pa.table(
        {"a": pa.array([time(0, 0, 1), None], pa.time32("s")), "b": pa.array([None, time(0, 0, 1)], pa.time64("us"))}
    )
    assert found(f"{PAIR} x.a = y.b", rows) == [(0, 1)]


def test_differences_of_times_of_day() -> None:
    rows = pa.table(
        {"a": pa.array([time(0, 0, 1), time(0, 0, 3)], pa.time32("s")), "d": pa.array([timedelta(seconds=2)] * 2)}
    )
    assert found(f"{PAIR} y.a - x.a = x.d", rows) == [(0, 1)]


@pytest.mark.parametrize(
    ("far", "near"),
    [
        (pa.array([datetime(9999, 1, 1), None], pa.timestamp("s")), pa.array([None, 1], pa.timestamp("ns"))),
        (pa.array([date(9999, 1, 1), None], pa.date32()), pa.array([None, 1], pa.timestamp("ns"))),
        (pa.array([2**31 - 1, None], pa.date32()), pa.array([None, 1], pa.timestamp("us"))),
    ],
)
def test_far_times(far: pa.Array, near: pa.Array) -> None:
    assert found("ANY AS x FILTER x.a > x.b", pa.table({"a": far.take([0]), "b": near.take([1])})) == [(0,)]
    with pytest.raises(ost.DataError, match="cannot be compared between events"):
        found(f"{PAIR} x.a > y.b", pa.table({"a": far, "b": near}))


@pytest.mark.parametrize("other", [pa.decimal128(9, 2), pa.decimal128(9, 3), pa.float64()])
def test_three_tenths(other: pa.DataType) -> None:
    tenths = pa.array([Decimal("0.3"), None], pa.decimal128(9, 1))
    value = 0.3 if other == pa.float64() else Decimal("0.3")
    rows = pa.table({"a": tenths, "b": pa.array([None, value], other)})
    assert agrees(f"{PAIR} x.a = y.b", rows) == [(0, 1)]


def test_sums_of_decimals_of_different_events_are_sums_of_floats() -> None:
    """A limit that is documented: a tenth and two tenths are not quite three tenths."""
    rows = pa.table({"m": pa.array([Decimal("0.10"), Decimal("0.20"), Decimal("0.30")], pa.decimal128(9, 2))})
    query = "(ANY AS x ; ANY AS y ; ANY AS z) FILTER "
    assert found(query + "x.m + y.m = z.m", rows) == []
    assert found(query + "abs(x.m + y.m - z.m) < 0.001", rows) == [(0, 1, 2)]


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, 3]),
        pa.array([True, True]),
        pa.array([NOON, NOON]),
        pa.array(["q", "q"]),
        pa.array([1.5, 1.5]),
        pa.array([Decimal("1.5")] * 2),
        pa.array([5, 5], pa.timestamp("ns")),
    ],
    ids=lambda values: str(values.type),
)  # fmt: skip
def test_a_column_gets_its_type_later(values: pa.Array) -> None:
    engine = ost.cel(f"{PAIR} x.a <= y.a AND x.b < y.b").engine()
    first = engine.push(pa.table({"a": pa.nulls(2), "b": [1, 2]}))
    engine = Engine.restore(engine.snapshot())
    assert positions(first, engine.push(pa.table({"a": values, "b": [1, 2]}))) == [(2, 3)]


def test_dictionaries_differ_from_batch_to_batch() -> None:
    engine = ost.cel(f"{PAIR} x.a = y.s AND x.s != y.s").engine()
    answers = [
        engine.push(pa.table({"a": pa.array(letters).dictionary_encode(), "s": texts}))
        for letters, texts in ((["p", "q"], ["z", "y"]), (["q", "r", None], ["p", "q", "q"]))
    ]
    assert positions(*answers) == [(0, 2), (1, 3), (1, 4), (2, 3), (2, 4)]


def test_sliced_and_chunked_columns() -> None:
    rows = pa.table({"a": pa.chunked_array([["p"], ["q", "p", None]]), "b": pa.chunked_array([["p", "q"], ["p", "q"]])})
    assert agrees(f"{PAIR} x.a = y.b", rows) == [(0, 2), (1, 3)]
    assert agrees(f"{PAIR} x.a = y.b", rows.combine_chunks().slice(1)) == [(0, 2)]
    flags = pa.table({"a": [True, False, True, False], "b": [True, True, False, True]}).slice(1)
    assert agrees(f"{PAIR} x.a = y.b", flags) == [(0, 1), (1, 2)]


# Expressions ----------------------------------------------------------------------------------------------------------

MIXED = pa.table({
    "i": [0, 1, 2, None, -3, 2, 7],
    "j": pa.array([2, None, 1, 0, 7, -1, 2], pa.int16()),
    "f": [0.0, 2.5, NAN, 1.0, None, INF, -2.0],
    "s": ["a", "", "b", None, "ab", "a", "é"],
    "b": [True, False, None, True, False, True, None],
})  # fmt: skip


@pytest.mark.parametrize(
    "condition",
    [
        "x.i IN (y.i, y.j, 3)",
        "x.i NOT IN (y.i, y.j)",
        "x.i NOT IN (y.i, NULL)",
        "x.s IN (y.s, 'b')",
        "x.i BETWEEN y.j AND y.i",
        "x.i NOT BETWEEN y.j AND x.j",
        "x.s BETWEEN 'a' AND y.s",
        "(x.i + y.i) IS NULL",
        "(x.i = y.j) IS NOT NULL",
        "NOT (x.i = y.j)",
        "NOT (x.i = y.j AND x.f < y.f)",
        "NOT (x.i = y.j OR x.f < y.f)",
        "x.i = y.i OR x.f < y.f OR x.s = y.s",
        "(x.i = y.i OR x.b) AND (x.s < y.s OR y.b)",
        "x.b = (x.i < y.i)",
        "(x.i < y.i) = (x.f < y.f)",
        "is_true(x.i < y.i) = FALSE",
        "x.b OR y.b",
        "x.i / y.i = 1",
        "(x.i / y.i) IS NULL",
        "x.i % y.j = -1",
        "(x.i % y.j) IS NULL",
        "x.f % y.f = 0",
        "x.f / y.f > 0",
        "abs(x.i - y.j) <= 1",
        "-(x.i + y.i) >= y.j",
        "floor(x.f / y.j) = ceil(y.f)",
        "sqrt(x.i * y.i) = y.j",
        "sqrt(x.i - y.i) != 0",
        "x.f * y.j = x.i",
        "x.f - y.f = 0",
        "length(x.s) < length(y.s)",
        "concat(x.s, 'b') = y.s",
        "lower(x.s) = upper(y.s)",
        "coalesce(x.i, 1) = coalesce(y.j, 1)",
        "round(x.f) = y.i",
        "(x.s LIKE 'a%') = (y.s LIKE '%b')",
        "x.i = y.i AND x.i = 2 AND y.j < 0",
    ],
)
def test_conditions(condition: str) -> None:
    agrees(PAIR + condition, MIXED)
    agrees(f"(ANY AS x ; ANY AS z ; ANY AS y) FILTER ({condition}) AND z.i != x.i", MIXED)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("x.a + y.a > 0", True),
        ("x.a + y.a = x.a + y.a", True),
        ("x.a * y.a > x.a", True),
        ("x.b + y.b < 0", True),
        ("-(x.b + y.c) > 0", True),
        ("abs(x.b + y.c) > 0", True),
        ("x.b - y.a < x.b", True),
        ("x.b % y.d = 0", True),
        ("x.b / y.d > 0", True),
        ("x.a - y.a = 0", True),
        ("x.a + y.d = 9223372036854775806", True),
        ("x.a + y.c = x.a", True),
    ],
)
def test_beyond_64_bits(condition: str, holds: bool) -> None:
    """Where the value leaves 64-bit integers it goes on as a float, and never turns round."""
    rows = pa.table({"a": [2**63 - 1] * 2, "b": [-(2**63)] * 2, "c": [0, 0], "d": [-1, -1]})
    assert found(PAIR + condition, rows) == ([(0, 1)] if holds else [])


def test_conditions_nested_too_deeply_are_refused() -> None:
    deep = "x.a" + "".join(f" + ({owner}.a" for owner in "yx" * 45) + ")" * 90
    with pytest.raises(ost.LimitError, match="deep"):
        found(f"{PAIR} {deep} = 91", pa.table({"a": [1, 1]}))
    deep = "x.a" + "".join(f" + ({owner}.a" for owner in "yx" * 30) + ")" * 60
    assert found(f"{PAIR} {deep} = 61", pa.table({"a": [1, 1]})) == [(0, 1)]


@pytest.mark.parametrize("condition", ["1 < 2", "x.a = y.a AND 1 < 2", "x.a <= y.a AND 'a' = 'a'"])
def test_constant_conditions(condition: str) -> None:
    assert agrees(PAIR + condition, pa.table({"a": [1, 1]})) == [(0, 1)]


def test_functions_of_text_do_not_join_events() -> None:
    for call in ("concat(x.s, y.s) = 'ab'", "round(x.f + y.f) = 1"):
        with pytest.raises(ost.QueryError, match="different events"):
            ost.cel(PAIR + call)


@pytest.mark.parametrize(
    "condition",
    [
        "coalesce(x.i, y.i) = 1",
        "coalesce(x.i, y.f, 5) > y.i",
        "coalesce(x.s, y.s, 'b') < y.s",
        "y.s >= coalesce(x.s, NULL, 'a')",
        "x.s >= coalesce(NULL, y.s)",
        "coalesce(x.i + y.i, x.f) IS NULL",
    ],
)
def test_coalesce_joins_events(condition: str) -> None:
    rows = {"i": [1, None, 2, 0, None], "f": [None, 1.5, -0.5, 2.0, None], "s": ["b", None, "a", "c", "b"]}
    assert agrees(PAIR + condition, pa.table(rows))


def test_as_many_values_as_are_told_apart() -> None:
    columns = {f"c{n}": [n, None] for n in range(63)} | {f"d{n}": [None, n] for n in range(63)}
    condition = " AND ".join(f"x.c{n} = y.d{n}" for n in range(62))
    assert agrees(PAIR + condition, pa.table(columns)) == [(0, 1)]
    assert found(PAIR + condition.replace("x.c61 = ", "x.c60 = "), pa.table(columns)) == []
    with pytest.raises(ost.LimitError, match="63"):
        ost.cel(f"{PAIR} {condition} AND x.c62 = y.d62")


def test_large_whole_numbers_are_not_sent_to_floats() -> None:
    table = pa.table({"type": ["A", "B"], "h": pa.array([2**63 + 1, 2**63 + 5], pa.uint64())})
    with pytest.raises(ost.DataError, match="leaves 64-bit integers") as caught:
        ost.cel("A AS x ; B AS y FILTER y.h - x.h < 2").detect(table)
    assert "float64 would not tell those above 2**53 apart" in (caught.value.fix or "")
