"""What a column takes as it is, and where it stands in time."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from ostinato.core.clock import Clock
from ostinato.core.rows import PlainTables, plain_check, plain_ticks


@pytest.mark.parametrize(
    ("kind", "plain", "not_plain"),
    [
        (pa.int64(), [0, -(2**63), 2**63 - 1], [2**63, 1.0, True, "1"]),
        (pa.uint8(), [0, 255], [-1, 256]),
        (pa.float64(), [0.5, 1, float("nan")], [2**53 + 1, True, "1"]),
        (pa.string(), ["", "ä"], ["\ud800", b"a", 1]),
        (pa.dictionary(pa.int32(), pa.string()), ["a"], [1]),
        (pa.bool_(), [True], [1]),
        (pa.timestamp("us"), [datetime(2026, 1, 1)], [datetime(2026, 1, 1, tzinfo=UTC), "now"]),
        (pa.timestamp("us", "UTC"), [datetime(2026, 1, 1, tzinfo=UTC)], [datetime(2026, 1, 1)]),
        (pa.null(), [], [0, "a"]),
    ],
)
def test_plain_values(kind: pa.DataType, plain: list[Any], not_plain: list[Any]) -> None:
    check = plain_check(kind)
    assert check is not None
    assert all(map(check, [None, *plain]))
    assert not any(map(check, not_plain))
    assert pa.array([None, *plain], kind).null_count == 1


@pytest.mark.parametrize("kind", [pa.decimal128(10, 2), pa.list_(pa.int64()), pa.timestamp("ns"), pa.binary()])
def test_types_that_need_arrow(kind: pa.DataType) -> None:
    assert plain_check(kind) is None


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int64(), [-5, 0, 2**62]),
        (pa.float64(), [-1.5, -0.0, 0.0, 2.5, 7]),
        (pa.timestamp("us"), [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2026, 11, 16, 1, 2, 3, 4)]),
        (pa.timestamp("us", "UTC"), [datetime(2026, 11, 16, tzinfo=UTC)]),
    ],
)
def test_ticks_are_those_of_the_clock(kind: pa.DataType, values: list[Any]) -> None:
    clock = Clock("ts", kind)
    tick_of = plain_ticks(clock)
    assert tick_of is not None
    assert [tick_of(value) for value in values] == clock.ticks(pa.array(values, kind)).tolist()


def test_rows_become_a_table_of_some_columns() -> None:
    schema = pa.schema([("ts", pa.int64()), ("v", pa.float64()), ("note", pa.string())])
    tables = PlainTables(schema, {"ts", "v"}, "ts")
    found = tables.table([{"ts": 1, "v": 2, "note": "a"}, {"ts": 2, "more": 1}])
    assert found is not None
    assert found.schema == schema
    assert found.to_pylist() == [{"ts": 1, "v": 2.0, "note": None}, {"ts": 2, "v": None, "note": None}]


@pytest.mark.parametrize(
    "row", [{"v": 1.0}, {"ts": True}, {"ts": 2**63}, {"ts": 1, "v": "1"}, {"ts": 1, "v": 2**53 + 1}]
)
def test_rows_that_are_not_plain(row: dict[str, Any]) -> None:
    schema = pa.schema([("ts", pa.int64()), ("v", pa.float64())])
    assert PlainTables(schema, {"ts", "v"}, "ts").table([{"ts": 1}, row]) is None


def test_types_that_need_arrow_make_no_table() -> None:
    schema = pa.schema([("ts", pa.int64()), ("v", pa.decimal128(10, 2))])
    assert PlainTables(schema, {"ts", "v"}, None).table([{"ts": 1}]) is None
    assert PlainTables(schema, {"ts"}, None).table([{"ts": 1}]) is not None
