"""Arrow arrays as flat numpy arrays."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ostinato.core import arrow
from ostinato.errors import DataError


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]
)
def test_bytes_of_texts(kind: pa.DataType) -> None:
    words: list[Any] = ["", "α", None, "abc"]
    values = [word.encode() if word is not None and not arrow.is_text(kind) else word for word in words]
    ends, data = arrow.byte_runs(pa.array(["before", *words] if arrow.is_text(kind) else [b"x", *values], kind)[1:])
    found = [bytes(data[low:high]) for low, high in pairwise(ends)]
    assert found == [b"", "α".encode(), b"", b"abc"]
    assert (arrow.is_text(kind), arrow.is_bytes(kind)) == (not arrow.is_bytes(kind), not arrow.is_text(kind))


def test_bytes_of_nothing() -> None:
    ends, data = arrow.byte_runs(pa.array([], pa.string()))
    assert (list(ends)[-1], data.size) == (0, 0)


def test_valid_values() -> None:
    assert arrow.validity(pa.array([1, None, 3])).tolist() == [1, 0, 1]
    assert arrow.validity(pa.array([1, 2])) is arrow.NO_MASK


def test_places_in_a_dictionary() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array(["a", "b"]))
    places, values = arrow.dictionary_indices(column), arrow.dictionary_values(column)
    assert [values[place].as_py() for place in places.tolist()] == ["b", None, "a"]
    assert arrow.plain_type(column.type) == pa.string()
    assert arrow.plain_type(pa.int8()) == pa.int8()


def test_stored_numbers() -> None:
    assert arrow.raw_values(pa.array([1, 2, 3], pa.uint16())[1:]).tolist() == [2, 3]
    assert arrow.raw_values(pa.array([0.5], pa.float32())).dtype == np.float32
    assert arrow.raw_values(pa.array([5], pa.timestamp("s"))).tolist() == [5]
    with pytest.raises(DataError, match="decimal128"):
        arrow.raw_values(pa.array([1], pa.decimal128(20, 0)))


def test_arrays_of_one_memory() -> None:
    values = pa.array([1, 2, 3])
    assert arrow.same_array(values, pa.array(values))
    assert not arrow.same_array(values, values[1:])
    assert not arrow.same_array(values, pa.array([1, 2, 3]))


def test_read_only_arrays_are_views() -> None:
    values = np.arange(3)
    shown = arrow.read_only(values)
    values[0] = 7
    assert shown.tolist() == [7, 1, 2]
    with pytest.raises(ValueError, match="read-only"):
        shown[0] = 1


@pytest.mark.parametrize("kind", [pa.list_(pa.int8()), pa.large_list(pa.int8()), pa.list_(pa.int8(), 2)])
def test_lists(kind: pa.DataType) -> None:
    assert arrow.is_list(kind)
    assert not arrow.is_list(pa.struct([("v", kind)]))
