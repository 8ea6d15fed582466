"""JSON text of whole columns: what `json.dumps` writes a value at a time, and what `json.loads` reads back."""

from __future__ import annotations

import base64
import json
import math
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.files.render import json_lines, json_texts


def texts(column: pa.Array) -> list[str]:
    return list(json_texts(column).to_pylist())


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@given(
    st.lists(st.none() | st.text() | st.sampled_from(['"', "\\", "\x00", "\x1f", "\x7f", "\u2028", "é\n😀", "\\u0041"]))
)
def test_strings(values: list[str | None]) -> None:
    for kind in (pa.string(), pa.large_string(), pa.string_view()):
        assert texts(pa.array(values, kind)) == [dumped(value) for value in values]
    assert texts(pa.array(values, pa.string()).dictionary_encode()) == [dumped(value) for value in values]


@given(
    st.lists(st.none() | st.floats() | st.sampled_from([0.0, -0.0, 1.0, 1e15, 1e16, 1e-4, 9.99e-5, 1e22, 5e-324, 0.1]))
)
def test_floats(values: list[float | None]) -> None:
    shown = [None if value is None or not math.isfinite(value) else value for value in values]
    assert texts(pa.array(values, pa.float64())) == [dumped(value) for value in shown]


def test_short_floats_are_written_as_what_they_are() -> None:
    column = pa.array([0.1, 3.0, None], pa.float32())
    assert texts(column) == [dumped(value) for value in column.to_pylist()]


ZONES = [None, "UTC", "Europe/Berlin", "America/St_Johns", "+05:30"]
moments = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)) | st.just(datetime(2026, 7, 1, 10))


@pytest.mark.parametrize("zone", ZONES)
@given(values=st.lists(st.none() | moments))
def test_times(zone: str | None, values: list[datetime | None]) -> None:
    for unit in ("s", "ms", "us"):
        whole = [value if value is None or unit == "us" else value.replace(microsecond=0) for value in values]
        column = pa.array(whole, pa.timestamp("us")).cast(pa.timestamp(unit, zone))
        assert texts(column) == ["null" if at is None else f'"{shown(at)}"' for at in column.to_pylist()]


def shown(moment: datetime) -> str:
    text = moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


def test_nanoseconds() -> None:
    column = pa.array([0, 1, 1_000, 1_500_000_000, -1, None], pa.timestamp("ns"))
    assert [json.loads(text) for text in texts(column)] == [
        "1970-01-01T00:00:00",
        "1970-01-01T00:00:00.000000001",
        "1970-01-01T00:00:00.000001",
        "1970-01-01T00:00:01.500000",
        "1969-12-31T23:59:59.999999999",
        None,
    ]


NESTED = pa.struct(
    {"a": pa.list_(pa.struct({"b": pa.string(), "c": pa.list_(pa.float64(), 2)})), 'q"': pa.large_list(pa.int8())}
)
items = st.fixed_dictionaries(
    {
        "b": st.none() | st.text(max_size=3),
        "c": st.none() | st.lists(st.none() | st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2),
    }
)
nested = st.fixed_dictionaries(
    {
        "a": st.none() | st.lists(st.none() | items, max_size=3),
        'q"': st.none() | st.lists(st.none() | st.integers(-5, 5), max_size=3),
    }
)


@given(st.lists(st.none() | nested), st.integers(0, 3))
def test_nested_values(values: list[Any], start: int) -> None:
    column = pa.array(values, NESTED)[start:]
    assert texts(column) == [dumped(value) for value in column.to_pylist()]


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array([True, None, False]), [True, None, False]),
        (pa.array([2**64 - 1, 0], pa.uint64()), [2**64 - 1, 0]),
        (pa.nulls(2), [None, None]),
        (pa.array([date(2026, 1, 1), None]), ["2026-01-01", None]),
        (pa.array([date(2026, 1, 1), None], pa.date64()), ["2026-01-01", None]),
        (pa.array([time(10, 0, 1), None]), ["10:00:01", None]),
        (pa.array([timedelta(seconds=2.5), None]), [2.5, None]),
        (pa.array([1, 3_000_000_001, -86_400_000_000_000], pa.duration("ns")), [1e-9, 3.000000001, -86400.0]),
        (pa.array([Decimal("1.50"), Decimal("3.00"), None]), [1.5, 3, None]),
        (pa.array([b"\x00\xff", None]), [base64.b64encode(b"\x00\xff").decode(), None]),
        (pa.array([[("k", 1)], None], pa.map_(pa.string(), pa.int64())), [[["k", 1]], None]),
        (pa.array([(1, 2, 3), None], pa.month_day_nano_interval()), [[1, 2, 3], None]),
        (pa.array([UUID(int=7).bytes, None], pa.uuid()), [str(UUID(int=7)), None]),
        (pa.array([{}, None], pa.struct([])), [{}, None]),
        (pa.array([[], None, [None]], pa.list_(pa.null())), [[], None, [None]]),
        (pa.array([datetime(2026, 1, 1, tzinfo=UTC)]).cast(pa.timestamp("ms", "UTC")), ["2026-01-01T00:00:00Z"]),
    ],
)
def test_other_types(column: pa.Array, expected: list[Any]) -> None:
    assert [json.loads(text) for text in texts(column)] == expected
    assert [json.loads(text) for text in texts(column[1:])] == expected[1:]


def test_lines() -> None:
    batch = pa.record_batch({'a"b': [1, 2], "c": [["x\ny"], None]})
    assert json_lines(batch).to_pybytes().decode() == '{"a\\"b": 1, "c": ["x\\ny"]}\n{"a\\"b": 2, "c": null}\n'
    assert json_lines(batch[:0]).to_pybytes() == b""
    assert json_lines(pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))).to_pybytes() == b"{}\n{}\n"
