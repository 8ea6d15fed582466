"""Which types a column may go on with."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.core.stream_schema import check_wider, is_wider
from ostinato.errors import DataError


@pytest.mark.parametrize(
    ("before", "now", "goes_on"),
    [
        (pa.int8(), pa.int64(), True),
        (pa.int64(), pa.int32(), False),
        (pa.int32(), pa.uint64(), False),
        (pa.int32(), pa.float64(), False),
        (pa.float32(), pa.float64(), True),
        (pa.float64(), pa.float32(), False),
        (pa.decimal128(5, 2), pa.decimal128(9, 3), True),
        (pa.decimal128(5, 2), pa.decimal128(5, 3), False),
        (pa.null(), pa.string(), True),
        (pa.string(), pa.int64(), False),
        (pa.date32(), pa.timestamp("us"), False),
        (pa.struct({"a": pa.int8()}), pa.struct({"b": pa.string(), "a": pa.int16()}), True),
        (pa.struct({"a": pa.int8(), "b": pa.string()}), pa.struct({"a": pa.int8()}), False),
        (pa.list_(pa.int32()), pa.list_(pa.int64()), True),
        (pa.list_(pa.int64()), pa.list_(pa.int32()), False),
    ],
)
def test_wider_types(before: pa.DataType, now: pa.DataType, goes_on: bool) -> None:
    assert is_wider(now, before) is goes_on


def test_the_column_that_does_not_go_on() -> None:
    before = pa.schema({"a": pa.int32(), "gone": pa.int32(), "b": pa.int64()})
    now = pa.schema({"new": pa.string(), "b": pa.int32(), "a": pa.int64()})
    with pytest.raises(DataError, match="`b` was int64 in the state to go on from, now it is int32") as caught:
        check_wider(before, now)
    assert "cast it to int64" in str(caught.value.fix)
    check_wider(before.remove(2), now)
