"""One type for values of two."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ostinato.rules.relational.kinds import TERM, common_type, logical_type, null_as_text, type_family


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int64(), pa.float64(), pa.float64()),
        (pa.null(), pa.string(), pa.string()),
        (pa.string(), pa.int64(), TERM),
        (TERM, pa.int64(), TERM),
        (pa.list_(pa.int32()), pa.list_(pa.float32()), pa.list_(pa.float64())),
        (pa.struct({"a": pa.int64()}), pa.struct({"b": pa.string()}), pa.struct({"a": pa.int64(), "b": pa.string()})),
        (pa.struct({"a": pa.int64()}), pa.struct({"a": pa.string()}), TERM),
    ],
)
def test_common_types(left: Any, right: Any, expected: Any) -> None:
    assert common_type(left, right) == expected


def test_types_without_how_arrow_stores_them() -> None:
    stored = pa.struct({"a": pa.dictionary(pa.int8(), pa.large_string()), "b": pa.large_list(pa.string_view())})
    assert logical_type(stored) == pa.struct({"a": pa.string(), "b": pa.list_(pa.string())})
    assert null_as_text(pa.list_(pa.null())) == pa.list_(pa.string())
    assert [type_family(kind) for kind in (TERM, pa.int8(), pa.null())] == ["unknown", "number", "null"]
