"""User data into Arrow, bound to columns, with a clock and an order."""

from __future__ import annotations

import math
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.events import Clock, StreamColumns, column_kinds, time_order, to_arrow
from ostinato.errors import DataError

ROWS = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
TABLE = pa.table({"ts": [1, 2], "type": ["A", "B"]})


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        TABLE.to_pandas(),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).lazy(),
        ROWS,
        TABLE.replace_schema_metadata({"pandas": "{}"}),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "lazy", "dicts", "metadata"],
)
def test_to_arrow(data: Any) -> None:
    table = to_arrow(data)
    assert table.to_pylist() == ROWS
    assert table.schema.metadata is None


def test_to_arrow_takes_anything_that_exports_arrow() -> None:
    class Exporter:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return TABLE.__arrow_c_stream__(requested_schema)

    assert to_arrow(Exporter()).to_pylist() == ROWS


def test_string_views_become_strings() -> None:
    table = to_arrow(pa.table({"a": pa.array(["x", None], pa.string_view()), "b": [1, 2]}))
    assert table.schema.field("a").type == pa.large_string()
    assert table.to_pydict() == {"a": ["x", None], "b": [1, 2]}


def test_dicts_with_different_keys() -> None:
    assert to_arrow([{"a": 1}, {"b": "x"}, {}]).to_pydict() == {"a": [1, None, None], "b": [None, "x", None]}
    assert to_arrow([]).num_columns == 0


def test_pandas_named_index_is_a_column() -> None:
    frame = pd.DataFrame({"v": [1, 2]}, index=pd.Index([10, 20], name="ts"))
    assert to_arrow(frame).to_pydict() == {"v": [1, 2], "ts": [10, 20]}
    assert to_arrow(frame.reset_index(drop=True)).column_names == ["v"]


@pytest.mark.parametrize("data", [42, "events.csv", [1, 2], {"a": [1]}, None])
def test_to_arrow_says_what_is_accepted(data: Any) -> None:
    with pytest.raises(DataError, match="pandas or polars DataFrame, or a list of dicts"):
        to_arrow(data)


def test_duplicate_and_mixed_columns() -> None:
    with pytest.raises(DataError, match="two columns are named `a`"):
        to_arrow(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(DataError, match="two columns are named `a`"):
        to_arrow(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="values of one type"):
        to_arrow([{"a": 1}, {"a": "x"}])


def test_other_libraries_are_not_imported() -> None:
    code = """
import sys, pyarrow as pa
from ostinato.core.events import to_arrow
to_arrow(pa.table({"a": [1]}))
to_arrow([{"a": 1}])
print([name for name in ("polars", "numba") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- binding

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us")), ("type", pa.string()), ("value", pa.float64()), ("tags", pa.list_(pa.string()))]
)


def test_defaults() -> None:
    assert StreamColumns.resolve(SCHEMA, needs_time=True) == StreamColumns("ts", "type", ())
    assert StreamColumns.resolve(pa.schema([("value", pa.int64())])) == StreamColumns(None, None, ())
    assert StreamColumns.resolve(pa.schema([("value", pa.int64())]), relations=["S"]) == StreamColumns(
        None, None, (), "S"
    )
    assert StreamColumns.resolve(SCHEMA, relations=["S"]).relation is None


def test_named_columns() -> None:
    assert StreamColumns.resolve(SCHEMA, time="value", type="ts", order_by=["value"]) == StreamColumns(
        "value", "ts", ("value",)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time": "tz"}, "time is `tz`, but there is no such column.*\n.*did you mean `ts`"),
        ({"type": "Type"}, "did you mean `type`"),
        ({"order_by": ["valu"]}, "order_by is `valu`.*\n.*`value`"),
        ({"time": "type"}, "cannot order events by `type`: its type is string"),
        ({"type": "tags"}, "`tags` cannot be the event type"),
    ],
)
def test_wrong_columns(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        StreamColumns.resolve(SCHEMA, **arguments)


def test_needed_time() -> None:
    with pytest.raises(DataError, match="time='when'"):
        StreamColumns.resolve(pa.schema([("value", pa.int64()), ("when", pa.date32())]), needs_time=True)


def test_several_relations_need_a_type_column() -> None:
    with pytest.raises(DataError, match="tells H, T apart"):
        StreamColumns.resolve(pa.schema([("kind", pa.string())]), relations=["T", "H"])


def test_kinds() -> None:
    types = {
        "number": [pa.int8(), pa.uint64(), pa.float16(), pa.decimal128(5, 2), pa.dictionary(pa.int8(), pa.int64())],
        "string": [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
        "boolean": [pa.bool_()],
        "timestamp": [pa.timestamp("s"), pa.timestamp("ns", "UTC")],
        "date": [pa.date32(), pa.date64()],
        "duration": [pa.duration("s"), pa.time32("s")],
        "binary": [pa.binary(), pa.binary(4), pa.large_binary()],
        "nested": [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())],
        "null": [pa.null()],
    }
    for expected, members in types.items():
        assert column_kinds(pa.schema([(str(place), kind) for place, kind in enumerate(members)])) == {
            str(place): expected for place in range(len(members))
        }


# -- clocks


def clock(kind: pa.DataType, *, attribute: bool = False) -> Clock:
    return Clock.of(pa.schema([("t", kind)]), "t", attribute=attribute)


START = datetime(2026, 1, 1)
MOMENTS = [START, START + timedelta(seconds=1), START + timedelta(seconds=61), START - timedelta(days=20_000)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (MOMENTS, pa.timestamp("s")),
        (MOMENTS, pa.timestamp("ms", "Asia/Tokyo")),
        (MOMENTS, pa.timestamp("ns", "UTC")),
        ([date(2026, 1, 1), date(1960, 1, 1)], pa.date32()),
        ([date(2026, 1, 1), date(1960, 1, 1)], pa.date64()),
        ([3, -5, 127], pa.int8()),
        ([3, 2**63 - 1, 0], pa.uint64()),
        ([1.5, -2.5, 0.0, -math.inf, 1e300, 5e-324, -5e-324], pa.float64()),
        ([1.5, -2.5], pa.float32()),
        ([Decimal("1.25"), Decimal("-3.50")], pa.decimal128(10, 2)),
        ([Decimal("1.25"), Decimal("-3.50")], pa.decimal128(30, 2)),
        ([START, START], pa.dictionary(pa.int32(), pa.timestamp("us"))),
    ],
    ids=lambda value: str(value) if isinstance(value, pa.DataType) else "",
)
def test_ticks_keep_the_order_and_come_back(values: list[Any], kind: pa.DataType) -> None:
    if pa.types.is_dictionary(kind):
        column = pa.array(values, kind.value_type).dictionary_encode()
    else:
        column = pa.array(values, kind)
    measured = clock(kind)
    ticks = measured.ticks(pa.chunked_array([column.slice(0, 1), column.slice(1), column.slice(0, 0)]))
    assert ticks.dtype == np.int64
    assert np.argsort(ticks, kind="stable").tolist() == sorted(range(len(values)), key=values.__getitem__)
    back = measured.values(ticks)
    assert back.type == (kind.value_type if pa.types.is_dictionary(kind) else kind)
    assert back.to_pylist() == column.to_pylist()


def test_zero_has_one_tick() -> None:
    assert clock(pa.float64()).ticks(pa.array([0.0, -0.0])).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([START, None]), "row 11: `t` is NULL"),
        (pa.array([1.0, math.nan]), "row 11: `t` is NaN"),
        (pa.array([1, 2**63], pa.uint64()), "row 11: `t` is too large"),
    ],
)
def test_values_without_a_place_in_time(column: pa.Array, message: str) -> None:
    with pytest.raises(DataError, match=message):
        clock(column.type).ticks(column, first_row=10)


def within(kind: pa.DataType, values: list[Any], amount: float, *, attribute: bool = False) -> list[list[bool]]:
    """For each value, which values are at or above its lower bound."""
    measured = clock(kind, attribute=attribute)
    ticks = measured.ticks(pa.array(values, kind))
    return [[bool(tick >= low) for tick in ticks] for low in measured.lower_bounds(ticks, amount)]


SECOND = 10**9


@pytest.mark.parametrize("kind", [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us", "UTC"), pa.timestamp("ns")])
@pytest.mark.parametrize("seconds", [1, 60, 61, 0.5, 59.999999999])
def test_time_windows(kind: pa.DataType, seconds: float) -> None:
    moments = [START + timedelta(seconds=second) for second in (0, 1, 60, 61)]
    expected = [[(last - first).total_seconds() <= seconds for first in moments] for last in moments]
    assert within(kind, moments, round(seconds * SECOND)) == expected


def test_windows_over_days_and_plain_numbers() -> None:
    days = [date(2026, 1, 1), date(2026, 1, 2)]
    assert within(pa.date32(), days, 86_400 * SECOND)[1] == [True, True]
    assert within(pa.date32(), days, 86_399 * SECOND)[1] == [False, True]
    assert within(pa.int32(), [0, 1, 2], 1_999_999_999)[2] == [False, True, True]
    assert within(pa.decimal128(5, 1), [Decimal("0.5"), Decimal("1.0")], SECOND // 2)[1] == [True, True]
    assert within(pa.decimal128(5, 1), [Decimal("0.5"), Decimal("1.0")], SECOND // 2 - 1)[1] == [False, True]


def test_float_seconds_are_taken_to_the_nanosecond() -> None:
    assert 0.8 - 0.7 > 0.1
    assert within(pa.float64(), [0.7, 0.8], SECOND // 10)[1] == [True, True]
    assert within(pa.float64(), [0.7, 0.8], SECOND // 10 - 1)[1] == [False, True]
    epoch = 1_767_225_600.0
    assert within(pa.float64(), [epoch, epoch + 1], SECOND)[1] == [True, True]
    assert within(pa.float64(), [epoch - 1e-3, epoch + 1], SECOND)[1] == [False, True]


def test_attribute_windows_use_the_attributes_own_unit() -> None:
    assert within(pa.int64(), [0, 1, 2], 1.5, attribute=True)[2] == [False, True, True]
    assert within(pa.float64(), [0.2, 0.9], 0.7, attribute=True)[1] == [True, True]
    assert within(pa.float64(), [0.2, 0.9], 0.6, attribute=True)[1] == [False, True]
    assert within(pa.decimal128(9, 2), [Decimal("0.10"), Decimal("0.20")], 0.1, attribute=True)[1] == [True, True]
    assert within(pa.timestamp("ms"), [START, START + timedelta(seconds=2)], 2, attribute=True)[1] == [True, True]


def test_bounds_saturate() -> None:
    measured = clock(pa.int64(), attribute=True)
    low = measured.lower_bounds(np.array([-(2**63), -5, 2**63 - 1]), 2**62)
    assert low.tolist() == [-(2**63), -(2**62) - 5, 2**62 - 1]
    assert measured.lower_bounds(np.array([0]), 1e300).tolist() == [-(2**63) + 1]
    infinite = clock(pa.float64()).ticks(pa.array([-math.inf, 0.0, math.inf]))
    assert clock(pa.float64()).lower_bounds(infinite, SECOND)[[0, 2]].tolist() == infinite[[0, 2]].tolist()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8), st.floats(1e-6, 1e6))
def test_float_bounds_are_those_of_float_subtraction(values: list[float], amount: float) -> None:
    values = [value + 0.0 for value in values]
    found = within(pa.float64(), values, amount, attribute=True)
    for last, row in zip(values, found, strict=True):
        for first, inside in zip(values, row, strict=True):
            # Between the exact difference and the rounded one both answers are right.
            exact = Fraction(last) - Fraction(first) <= Fraction(amount)
            assert inside in (exact, last - first <= amount)


@pytest.mark.parametrize(
    ("kind", "value", "tick"),
    [
        (pa.timestamp("s"), datetime(1970, 1, 1, 0, 0, 5, 900_000), 5),
        (pa.timestamp("s"), datetime(1969, 12, 31, 23, 59, 59, 500_000), -1),
        (pa.timestamp("ms", "Asia/Tokyo"), datetime(1970, 1, 1, 0, 0, 1), 1000),
        (pa.timestamp("us"), datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 10**6),
        (pa.timestamp("ns"), pd.Timestamp(7), 7),
        (pa.timestamp("ns"), np.datetime64(7, "ns"), 7),
        (pa.timestamp("s"), date(1970, 1, 2), 86_400),
        (pa.timestamp("s"), pa.scalar(3000, pa.timestamp("ms")), 3),
        (pa.date32(), datetime(1970, 1, 2, 12), 1),
        (pa.int64(), 5, 5),
        (pa.int64(), 5.9, 5),
        (pa.int64(), -5.1, -6),
        (pa.int64(), math.inf, 2**63 - 1),
        (pa.int64(), 10**30, 2**63 - 1),
        (pa.decimal128(9, 2), Decimal("1.259"), 125),
        (pa.float64(), 0, 0),
        (pa.int64(), np.int32(4), 4),
        (pa.int64(), np.float64(4.5), 4),
    ],
)
def test_tick_of_a_given_time(kind: pa.DataType, value: Any, tick: int) -> None:
    assert clock(kind).tick(value) == tick


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.timestamp("s"), 5),
        (pa.timestamp("s"), "noon"),
        (pa.int64(), START),
        (pa.int64(), None),
        (pa.int64(), True),
        (pa.float64(), math.nan),
        (pa.int64(), object()),
    ],
)
def test_not_a_time(kind: pa.DataType, value: Any) -> None:
    with pytest.raises(DataError, match="is not a point in the time of this stream"):
        clock(kind).tick(value)


def test_clock_of_a_missing_or_wrong_column() -> None:
    with pytest.raises(DataError, match=r"no column `tt`.*\n.*`ts`"):
        Clock.of(SCHEMA, "tt")
    with pytest.raises(DataError, match="cannot measure a window along `tags`"):
        Clock.of(SCHEMA, "tags", attribute=True)


# -- order


def order(table: pa.Table, *order_by: str, time: str | None = "ts") -> list[int] | None:
    found = time_order(table, StreamColumns(time, None, order_by))
    return None if found is None else found.tolist()


def test_sorted_data_is_left_alone() -> None:
    assert order(pa.table({"ts": [1, 1, 2]})) is None
    assert order(pa.table({"ts": pa.array([], pa.int64())})) is None
    assert order(pa.table({"v": [3, 1]}), time=None) is None


def test_ties_stay_as_they_came() -> None:
    assert order(pa.table({"ts": [2, 1, 2, 1]})) == [1, 3, 0, 2]
    assert order(pa.table({"ts": pa.chunked_array([[2.5], [1.5, 2.5]])})) == [1, 0, 2]


def test_order_by_breaks_ties() -> None:
    table = pa.table({"ts": [1, 1, 1, 2, 0], "a": [2, None, 1, 9, 9], "b": ["x", "y", "z", None, None]})
    assert order(table, "a") == [4, 2, 0, 1, 3]
    assert order(table.slice(0, 4), "b") is None
    assert order(table.slice(0, 4), "a") == [2, 0, 1, 3]
    assert order(table.slice(2, 2), "a") is None
    assert order(table, "a", "b", time=None) == [2, 0, 3, 4, 1]


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int8(), pa.string()), pa.large_string()])
def test_order_by_any_string(kind: pa.DataType) -> None:
    assert order(pa.table({"ts": [1, 1], "a": pa.array(["b", "a"]).cast(kind)}), "a") == [1, 0]


def test_order_by_nested_is_refused() -> None:
    with pytest.raises(DataError, match="cannot order by a"):
        order(pa.table({"ts": [1, 1], "a": [[1], [0]]}), "a")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, 0, 1])), max_size=8))
def test_order_is_pythons(rows: list[tuple[int, int | None]]) -> None:
    table = pa.table(
        {"ts": pa.array([row[0] for row in rows], pa.int64()), "a": pa.array([row[1] for row in rows], pa.int64())}
    )
    expected = sorted(range(len(rows)), key=lambda place: (rows[place][0], rows[place][1] is None, rows[place][1] or 0))
    assert (order(table, "a") or list(range(len(rows)))) == expected
