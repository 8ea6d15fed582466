"""Aggregates over columns of every type give what plain Python computes, or an error: never a wrong value."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost

INTS = [100, None, -3, 100, 7]
COUNTS = [5, None, 1, 7, 7]
FLOATS = [0.5, None, -2.25, 1024.0, 3.0]
TENTHS = [Decimal("0.1"), None, Decimal("0.1"), Decimal("-0.2"), Decimal("9.7")]
TEXTS = ["b", None, "a", "ç", "B"]
DAYS = [date(2020, 1, day) if day else None for day in (2, 0, 1, 31, 5)]
TIMES = [time(hour, 30) if hour else None for hour in (3, 0, 1, 23, 2)]
MOMENTS = [datetime(2020, 1, day, 7, tzinfo=UTC) if day else None for day in (2, 0, 1, 31, 5)]
SPANS = [timedelta(hours) if hours else None for hours in (3, 0, -1, 23, 2)]
BYTES = [text and text.encode() for text in TEXTS]

NUMBERS = {
    "int8": pa.array(INTS, pa.int8()),
    "int64": pa.array(INTS, pa.int64()),
    "int64 at its ends": pa.array([2**63 - 1, None, -(2**63), 2**62, 2**62], pa.int64()),
    "uint32": pa.array([2**32 - 1, None, 0, 2**32 - 1, 7], pa.uint32()),
    "uint64": pa.array(COUNTS, pa.uint64()),
    "uint64 beyond int64": pa.array([2**64 - 1, None, 1, 2**63, 7], pa.uint64()),
    "float16": pa.array(np.array([60000, 60000, 0.5, -2, 7], np.float16)),
    "float32": pa.array(FLOATS, pa.float32()),
    "float64": pa.array([1e308, None, 1e308, -1e308, 0.1]),
    "decimal32": pa.array(TENTHS, pa.decimal32(3, 1)),
    "decimal64": pa.array(TENTHS, pa.decimal64(3, 1)),
    "decimal128": pa.array(TENTHS, pa.decimal128(3, 1)),
    "decimal128 full": pa.array(
        [Decimal("9" * 38), None, Decimal("9" * 38), Decimal("-9e37"), 1], pa.decimal128(38, 0)
    ),
    "decimal128 of hundreds": pa.array([Decimal(1200), None, Decimal(100), Decimal(3400)], pa.decimal128(3, -2)),
    "decimal128 of digits": pa.array([Decimal("0.7"), None, Decimal("0.00001")], pa.decimal128(38, 30)),
    "decimal256": pa.array(TENTHS, pa.decimal256(50, 1)),
    "decimal256 full": pa.array([Decimal("9" * 76), None, Decimal("9" * 76), Decimal("-9e75")], pa.decimal256(76, 0)),
    "dictionary of decimals": pa.array(TENTHS, pa.decimal128(3, 1)).dictionary_encode(),
    "dictionary of ints": pa.array(INTS).dictionary_encode(),
    "ints, all NULL": pa.nulls(3, pa.int64()),
    "decimals, all NULL": pa.nulls(3, pa.decimal128(5, 2)),
    "no type": pa.nulls(3),
    "no rows": pa.array([], pa.int64()),
}
OTHERS = {
    "date32": pa.array(DAYS, pa.date32()),
    "date64": pa.array(DAYS, pa.date64()),
    "time32": pa.array(TIMES, pa.time32("s")),
    "time64": pa.array(TIMES, pa.time64("us")),
    "timestamp": pa.array(MOMENTS, pa.timestamp("us")),
    "timestamp with zone": pa.array(MOMENTS, pa.timestamp("ms", "Europe/Paris")),
    "duration": pa.array(SPANS, pa.duration("ms")),
    "boolean": pa.array([True, None, False, True, True]),
    "string": pa.array(TEXTS),
    "large_string": pa.array(TEXTS, pa.large_string()),
    "string_view": pa.array(TEXTS, pa.string_view()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "binary": pa.array(BYTES),
    "large_binary": pa.array(BYTES, pa.large_binary()),
    "binary of one byte": pa.array([b"b", None, b"a", b"\xff"], pa.binary(1)),
    "strings, all NULL": pa.nulls(3, pa.string()),
    "no strings": pa.array([], pa.string()),
}
AGGREGATES = ["min", "max", "first", "last", "sum", "avg", "count"]


def plain(op: str, every: list[Any]) -> Any:
    """The aggregate of one match in plain Python; its values are as they stand in the column."""
    if op in ("first", "last"):
        return every[0 if op == "first" else -1]
    values = [value for value in every if value is not None]
    if op == "count":
        return len(values)
    if not values:
        return None
    if op in ("min", "max"):
        return min(values) if op == "min" else max(values)
    if isinstance(values[0], float):
        return sum(values) / (len(values) if op == "avg" else 1)
    total = sum(map(Fraction, values), Fraction(0))
    return float(total / len(values)) if op == "avg" else total


def answered(op: str, column: pa.Array) -> pa.ChunkedArray:
    """The aggregate over each run of events; the types are those of the empty answer."""
    query = ost.cel(f"SELECT STRICT {op}(x.v) AS r, count(x) AS n WHERE (A AS x)+")
    table = pa.table({"type": pa.array(["A"] * len(column), pa.string()), "v": column})
    found = query.detect(table)
    assert found.schema == query.detect(table.slice(0, 0)).schema
    engine = query.engine()
    batches = [engine.push(table.slice(at, 1)) for at in range(len(table))]
    assert sorted(map(repr, found.to_pylist())) == sorted(repr(row) for batch in batches for row in batch.to_pylist())
    return found


def runs(values: list[Any]) -> list[list[Any]]:
    return [values[begin:end] for begin in range(len(values)) for end in range(begin + 1, len(values) + 1)]


def fits(total: Any, kind: pa.DataType) -> bool:
    if isinstance(total, Fraction) and pa.types.is_decimal(kind):
        return abs(total) < 10 ** ((76 if kind.bit_width == 256 else 38) - kind.scale)
    return not isinstance(total, Fraction) or -(2**63) < total < 2**63


def same(found: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(found, float):
        return math.isclose(found, expected, rel_tol=1e-15)
    return bool(found == expected)


@pytest.mark.parametrize("name", [*NUMBERS, *OTHERS])
@pytest.mark.parametrize("op", AGGREGATES)
def test_aggregates_are_those_of_plain_python(op: str, name: str) -> None:
    column = (NUMBERS | OTHERS)[name]
    if name in OTHERS and op in ("sum", "avg"):
        with pytest.raises(ost.QueryError, match=f"{op} needs numbers"):
            answered(op, column)
        return
    expected = [plain(op, every) for every in runs(column.to_pylist())]
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not all(fits(value, kind) for value in expected if op == "sum"):
        with pytest.raises(ost.DataError, match=r"beyond|too large"):
            answered(op, column)
        return
    found = answered(op, column)["r"].to_pylist()
    assert len(found) == len(expected)
    for value in expected:
        place = next((place for place, other in enumerate(found) if same(other, value)), None)
        assert place is not None, (value, found)
        del found[place]


def test_the_extreme_values_have_the_type_of_their_column() -> None:
    for name, column in (NUMBERS | OTHERS).items():
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        kind = pa.large_string() if pa.types.is_string_view(kind) else kind
        assert answered("max", column).schema.field("r").type == kind, name


def test_the_average_of_decimals_is_not_cut_to_their_scale() -> None:
    tenths = pa.array([Decimal("0.1"), Decimal("0.1"), Decimal("0.2")], pa.decimal128(3, 1))
    table = pa.table({"type": ["A"] * 3, "v": tenths})
    found = ost.cel("SELECT MAX avg(x.v) AS mean WHERE (A AS x)+").detect(table)
    assert found["mean"].to_pylist()[-1] == 0.4 / 3
    assert found.schema.field("mean").type == pa.float64()


@pytest.mark.parametrize("kind", [pa.decimal128(38, 0), pa.decimal256(76, 0)])
def test_sums_of_decimals_do_not_wrap_around(kind: pa.DataType) -> None:
    most = Decimal("9" * kind.precision)
    table = pa.table({"type": ["A"] * 2, "v": pa.array([most, most], kind)})
    with pytest.raises(ost.DataError, match=rf"sum\(x.v\) is beyond {kind.precision} digits\nfix: .*sum\(1.0 \* x.v\)"):
        ost.cel("SELECT sum(x.v) WHERE (A AS x)+").detect(table)
    found = ost.cel("SELECT MAX sum(1.0 * x.v) AS s WHERE (A AS x)+").detect(table)
    assert found["s"].to_pylist()[-1] == pytest.approx(2 * float(most))


def test_a_sum_that_fits_may_pass_through_some_that_do_not() -> None:
    """The sizes of these alone are beyond 64 bits, but not their sum."""
    events = [{"type": "A", "v": value} for value in (2**62, -(2**62), 2**62, 2**62 - 1)]
    found = ost.cel("SELECT sum(x.v) AS s WHERE A AS a : A AS b : A AS c : A AS x").detect(events)
    assert found["s"].to_pylist() == [2**62 - 1]
    found = ost.cel("SELECT STRICT sum(x.v) AS s, count(x) AS n WHERE (A AS x)+").detect(events[:3] + events[1:2])
    assert {(row["n"], row["s"]) for row in found.to_pylist()} >= {(3, 2**62), (4, 0)}


def test_nan_is_left_out_of_extremes_unless_there_is_nothing_else() -> None:
    events = [{"type": "A", "v": value} for value in (math.nan, 2.0)]
    found = ost.cel("SELECT min(x.v) AS low, max(x.v) AS high, count(x) AS n WHERE (A AS x)+").detect(events)
    assert sorted(repr(row) for row in found.to_pylist()) == [
        "{'low': 2.0, 'high': 2.0, 'n': 1}",
        "{'low': 2.0, 'high': 2.0, 'n': 2}",
        "{'low': nan, 'high': nan, 'n': 1}",
    ]


def test_what_arrow_cannot_do_is_an_error_that_says_so() -> None:
    table = pa.table({"type": ["A"], "v": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(ost.DataError, match=r"min\(x.v\): its values are month_day_nano_interval"):
        ost.cel("SELECT min(x.v) WHERE A AS x").detect(table)
    table = pa.table({"type": ["A"], "v": pa.array([["a"]], pa.list_(pa.string_view()))})
    with pytest.raises(ost.DataError, match="cannot show v"):
        ost.cel("SELECT x.v WHERE A AS x").detect(table)


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("x.v + sum(x.v)", 6),
        ("sum(x.v) - x.v", 0),
        ("x.v + x.v * max(x.v + x.v)", 21),
        ("count(x) + x.v", 4),
        ("coalesce(x.w, min(x.v))", 3),
    ],
)
def test_an_attribute_beside_an_aggregate_of_it(item: str, value: int) -> None:
    query = ost.cel(f"SELECT {item} AS c WHERE A AS x")
    assert query.detect([{"type": "A", "v": 3, "w": None}]).to_pylist() == [{"c": value}]
