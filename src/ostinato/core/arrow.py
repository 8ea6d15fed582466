"""Arrow arrays as the flat numpy arrays that kernels read, without copying where Arrow already has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrays import UInt8
from ostinato.errors import DataError

Ints = npt.NDArray[np.int64]
Ids = npt.NDArray[np.int32]

_NARROW, _WIDE = np.dtype(np.int32), np.dtype(np.int64)
NO_MASK: UInt8 = np.empty(0, np.uint8)  # stands for: every value is valid


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A view that cannot be written: one array type for all callers, so that kernels are compiled once."""
    shown = array.view()
    shown.flags.writeable = False
    return shown


def validity(chunk: pa.Array) -> UInt8:
    """One byte per value, 0 for NULL; empty when there is no NULL."""
    return np.asarray(chunk.is_valid().to_numpy(zero_copy_only=False)).view(np.uint8) if chunk.null_count else NO_MASK


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_bytes(kind: pa.DataType) -> bool:
    """Binary values of any length."""
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind))


def is_list(kind: pa.DataType) -> bool:
    """Lists of any length, whatever the size of their offsets, and lists of one fixed length."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values of a dictionary type; any other type itself."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def byte_runs(chunk: pa.Array) -> tuple[npt.NDArray[Any], UInt8]:
    """Offsets (int32 or int64) and bytes of a string or binary array."""
    if pa.types.is_string_view(chunk.type) or pa.types.is_binary_view(chunk.type):
        chunk = chunk.cast(pa.large_string() if is_text(chunk.type) else pa.large_binary())
    wide = pa.types.is_large_string(chunk.type) or pa.types.is_large_binary(chunk.type)
    return stored_runs(chunk, _WIDE if wide else _NARROW)


def stored_runs(chunk: pa.Array, offset_type: np.dtype[Any]) -> tuple[npt.NDArray[Any], UInt8]:
    """The same where it is known that its offsets are stored, and how."""
    _, offsets, data = chunk.buffers()
    if offsets is None or not offsets.size:  # Arrow allows an empty array to have no offsets
        return np.zeros(1, np.int32), NO_MASK
    start = chunk.offset
    ends = np.frombuffer(offsets, offset_type)[start : start + len(chunk) + 1]
    return ends, np.frombuffer(data, np.uint8) if data is not None and data.size else NO_MASK


def dictionary_indices(chunk: pa.DictionaryArray) -> Ids:
    """The index of each value in the dictionary; NULL is one past its end."""
    places = chunk.indices.cast(pa.int32())
    return np.asarray((places.fill_null(len(chunk.dictionary)) if places.null_count else places).to_numpy())


def dictionary_values(chunk: pa.DictionaryArray) -> pa.Array:
    """The dictionary with a NULL after it, so that `dictionary_indices` points into it."""
    return pa.concat_arrays([chunk.dictionary, pa.nulls(1, chunk.dictionary.type)])


def raw_dtype(kind: pa.DataType) -> np.dtype[Any]:
    """The numpy integer or float that a fixed-width type is stored as."""
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not number and kind.bit_width > 64:
        raise DataError(f"values of type {kind} cannot be keys", fix="cast the column to text or a number")
    return np.dtype(kind.to_pandas_dtype()) if number else np.dtype(f"i{kind.bit_width // 8}")


def raw_values(chunk: pa.Array, dtype: np.dtype[Any] | None = None) -> npt.NDArray[Any]:
    """The stored numbers of a fixed-width array, as its own numpy integer or float; anything may stand at a NULL.

    `dtype` is that of its type, where it is known already.
    """
    dtype = raw_dtype(chunk.type) if dtype is None else dtype
    data = chunk.buffers()[1]
    if data is None:
        return np.empty(0, dtype)
    start = chunk.offset
    return np.frombuffer(data, dtype)[start : start + len(chunk)]


def same_array(left: pa.Array, right: pa.Array) -> bool:
    """Whether two arrays share their memory. Cheap: equal arrays in different memory are not found."""
    return bool(
        len(left) == len(right)
        and left.offset == right.offset
        and left.type == right.type
        and [b and b.address for b in left.buffers()] == [b and b.address for b in right.buffers()]
    )
