"""Which columns hold the times of events, and times as ticks."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.rules.relational.operators import MAX_TICK
from ostinato.rules.runtime.times import TimeColumns


def resolved(types: dict[str, Any], **options: str) -> TimeColumns:
    return TimeColumns.resolve(pa.schema(types), **{"begin": None, "end": None, "time": None} | options)


@pytest.mark.parametrize(
    ("types", "options", "columns"),
    [
        ({"begin": pa.int64(), "end": pa.int64(), "ts": pa.int64()}, {}, ("begin", "end")),
        ({"ts": pa.int64(), "begin": pa.int64()}, {}, ("ts", "ts")),
        ({"end": pa.int64()}, {}, ("end", "end")),
        ({"at": pa.int64(), "ts": pa.int64()}, {"time": "at"}, ("at", "at")),
        ({"a": pa.int64(), "b": pa.int64()}, {"begin": "a", "end": "b"}, ("a", "b")),
    ],
)
def test_columns(types: dict[str, Any], options: dict[str, str], columns: tuple[str, str]) -> None:
    found = resolved(types, **options)
    assert (found.begin, found.end) == columns
    assert found.points == (columns[0] == columns[1])


@pytest.mark.parametrize(
    ("types", "options", "reason"),
    [
        ({"x": pa.string()}, {}, "rules need to know when events happened"),
        ({"ts": pa.int64()}, {"time": "t"}, "time is `t`, but there is no such column"),
        ({"a": pa.int64()}, {"begin": "a"}, "an event has a begin and an end"),
        ({"a": pa.int64(), "b": pa.int64()}, {"begin": "a", "time": "b"}, "for events that happen at once"),
        ({"begin": pa.int64(), "end": pa.timestamp("s")}, {}, "`begin` is int64, and `end` is timestamp"),
        ({"begin": pa.timestamp("s"), "end": pa.timestamp("s", "UTC")}, {}, "`end` has a time zone"),
    ],
)
def test_columns_that_are_refused(types: dict[str, Any], options: dict[str, str], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        resolved(types, **options)


def test_ticks_are_the_finest_unit_of_both() -> None:
    found = resolved({"begin": pa.timestamp("s"), "end": pa.timestamp("ms")})
    assert found.ticks_per_second == 1_000
    rows = pa.table({"begin": pa.array([1], pa.timestamp("s")), "end": pa.array([1_500], pa.timestamp("ms"))})
    assert [each.tolist() for each in found.ticks(rows)] == [[1_000], [1_500]]


def test_numbers_of_seconds_are_microseconds() -> None:
    found = resolved({"ts": pa.float64()})
    assert found.ticks(pa.table({"ts": [0.1]}))[0].tolist() == [100_000]
    assert found.tick(2) == 2_000_000
    assert found.tick(1e300) == MAX_TICK
    assert found.values(pa.array([1_500_000]), whole=True).to_pylist() == [1.5]
    assert resolved({"ts": pa.int64()}).values(pa.array([2_000_000]), whole=True).to_pylist() == [2]


def test_dates_are_their_midnight() -> None:
    found = resolved({"ts": pa.date32()})
    rows = pa.table({"ts": pa.array([date(1970, 1, 2)])})
    assert found.values(pa.array(found.ticks(rows)[0]), whole=True).to_pylist() == [datetime(1970, 1, 2)]


def test_an_event_ends_after_it_begins() -> None:
    found = resolved({"begin": pa.int64(), "end": pa.int64()})
    with pytest.raises(DataError, match="the event ends before it begins: `begin` is 5, `end` 3") as error:
        found.ticks(pa.table({"begin": [1, 5], "end": [2, 3]}), first_row=10)
    assert error.value.row == 11
