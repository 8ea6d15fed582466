"""Maps in events are like structs."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.rules.runtime.map_columns import check_maps, has_map, maps_to_dicts

KIND = pa.struct({"m": pa.list_(pa.map_(pa.string(), pa.int64()))})


def test_maps_become_dicts_at_any_depth() -> None:
    (value,) = pa.array([{"m": [[("a", 1), ("b", None)], None]}], KIND).to_pylist()
    assert maps_to_dicts(value, KIND) == {"m": [{"a": 1, "b": None}, None]}
    assert has_map(KIND) and not has_map(pa.list_(pa.int64()))


def test_keys_are_labels() -> None:
    check_maps("c", KIND)
    with pytest.raises(DataError, match=r"`c\.m` is a map with keys of type int64"):
        check_maps("c", pa.struct({"m": pa.map_(pa.int64(), pa.int64())}))
