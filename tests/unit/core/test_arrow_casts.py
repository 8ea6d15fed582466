"""Nested Arrow values of one type as of another."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ostinato.core.arrow_casts import cast_column, cast_nested

ROWS: list[Any] = [{"a": [1, None], "s": {"x": 1}}, None, {"a": None, "s": None}, {"a": [], "s": {"x": None}}]
NARROW = pa.struct([("a", pa.list_(pa.int32())), ("s", pa.struct([("x", pa.int32())]))])
WIDE = pa.struct(
    [("a", pa.list_(pa.float64())), ("s", pa.struct([("y", pa.string()), ("x", pa.int64())])), ("n", pa.null())]
)


def widened(row: Any) -> Any:
    inner = row and row["s"]
    return row and {"a": row["a"], "s": inner and {"y": None, "x": inner["x"]}, "n": None}


@pytest.mark.parametrize("start", range(len(ROWS)))
def test_parts_are_cast_at_every_depth_and_new_fields_are_null(start: int) -> None:
    values = pa.array(ROWS, NARROW)[start:]
    found = cast_nested(values, WIDE)
    found.validate(full=True)
    assert (found.type, found.to_pylist()) == (WIDE, [widened(row) for row in ROWS[start:]])


def test_chunks_stay_chunks() -> None:
    chunked = pa.chunked_array([pa.array(ROWS[:1], NARROW), pa.array(ROWS[1:], NARROW)])
    found = cast_nested(chunked, WIDE)
    assert [len(chunk) for chunk in found.chunks] == [1, 3]
    assert found.to_pylist() == [widened(row) for row in ROWS]
    assert cast_nested(pa.chunked_array([], NARROW), WIDE).type == WIDE


@pytest.mark.parametrize("kind", [pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)])
def test_any_kind_of_list_becomes_a_plain_one(kind: pa.DataType) -> None:
    values: list[Any] = [[1, 2], None, [3, 4]]
    found = cast_nested(pa.array(values, kind)[1:], pa.list_(pa.int64()))
    found.validate(full=True)
    assert (found.type, found.to_pylist()) == (pa.list_(pa.int64()), values[1:])


def test_what_lies_below_a_null_does_not_count() -> None:
    below = pa.array([300, 1], pa.int64())
    values = pa.StructArray.from_arrays([below], ["x"], mask=pa.array([True, False]))
    assert cast_nested(values, pa.struct([("x", pa.int8())])).to_pylist() == [None, {"x": 1}]


def test_nulls_have_any_type() -> None:
    assert cast_nested(pa.array([None, None], pa.string()), WIDE).to_pylist() == [None, None]


def test_a_value_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(pa.ArrowInvalid):
        cast_nested(pa.array([[300]], pa.list_(pa.int64())), pa.list_(pa.int8()))


def test_a_column_that_is_not_there_is_null() -> None:
    rows = pa.table({"v": [1, 2]})
    assert cast_column(rows, pa.field("v", pa.string())).to_pylist() == ["1", "2"]
    assert cast_column(rows, pa.field("w", WIDE)).to_pylist() == [None, None]
