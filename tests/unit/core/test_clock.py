"""Times and other growing attributes as ticks."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.clock import Clock, find_step_back
from ostinato.core.window_bounds import lower_bounds
from ostinato.errors import DataError


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
    return [[bool(tick >= low) for tick in ticks] for low in lower_bounds(measured, ticks, amount)]


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
    low = lower_bounds(measured, np.array([-(2**63), -5, 2**63 - 1]), 2**62)
    assert low.tolist() == [-(2**63), -(2**62) - 5, 2**62 - 1]
    assert lower_bounds(measured, np.array([0]), 1e300).tolist() == [-(2**63) + 1]
    infinite = clock(pa.float64()).ticks(pa.array([-math.inf, 0.0, math.inf]))
    assert lower_bounds(clock(pa.float64()), infinite, SECOND)[[0, 2]].tolist() == infinite[[0, 2]].tolist()


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
    schema = pa.schema([("ts", pa.timestamp("us")), ("tags", pa.list_(pa.string()))])
    with pytest.raises(DataError, match=r"no column `tt`.*\n.*`ts`"):
        Clock.of(schema, "tt")
    with pytest.raises(DataError, match="cannot measure a window along `tags`"):
        Clock.of(schema, "tags", attribute=True)


@pytest.mark.parametrize(
    ("ticks", "before", "place"),
    [([], 5, None), ([5, 5, 6], 5, None), ([4, 6], 5, 0), ([5, 7, 6, 3], 5, 2), ([1], -(2**63), None)],
)
def test_where_time_goes_back(ticks: list[int], before: int, place: int | None) -> None:
    assert find_step_back(np.array(ticks, np.int64), before) == place
