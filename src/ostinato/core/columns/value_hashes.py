"""A 128-bit hash of each value of a column, the same wherever and however the value is stored: as an integer of any
width or a float without a fraction, as a text or an entry of a dictionary, as a time in any unit.

A hash is two words of 64 bits. Each begins at a seed of its own and takes in word after word of the value, the first of
which says what kind of value it is. patterns/semantics/identity.py says the same of single values.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Float64, Int64, UInt8, UInt64
from ostinato.core.arrow import byte_runs, is_bytes, is_list, is_text
from ostinato.core.jit import array, kernel, view
from ostinato.core.jit.types import int64, uint8, uint64, void
from ostinato.errors import DataError

SEEDS: UInt64 = np.array([[0x6F7374696E61746F], [0x2D6D61746368696E]], np.uint64)
FACTORS = 0x100000001B3, 0x9FB21C651E98DF25  # of the bytes of texts
# Kinds of values: their first words.
NULL, BOOLEAN, INTEGER, LARGE, FLOAT, TEXT, BYTES, MOMENT, DATE, TIME, SPAN, DECIMAL, LIST, STRUCT = range(14)
_NAN = 0x7FF8000000000000
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400_000  # milliseconds


def mix(words: Any) -> Any:
    """splitmix64, so that sums of words are as good as random."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def take_in(hashes: UInt64, words: Any) -> UInt64:
    """The hashes (two rows) after one more word for each, or two where the words have rows as well."""
    found: UInt64 = mix(hashes ^ words)
    return found


def begin(kind: int, count: int) -> UInt64:
    """The hashes of so many values of which only the kind is known."""
    return np.repeat(take_in(SEEDS, np.uint64(kind)), count, axis=1)


@kernel(void(view(int64), view(uint8), uint64, uint64, array(uint64)))
def _hash_runs(offsets: Int64, data: UInt8, first: int, factor: int, out: UInt64) -> None:
    """The bytes between each two offsets, before they are mixed."""
    for run in range(out.size):
        word = np.uint64(first)
        for at in range(offsets[run], offsets[run + 1]):
            word = (word ^ np.uint64(data[at])) * np.uint64(factor)
        out[run] = word


def hash_values(values: pa.Array | pa.ChunkedArray) -> UInt64:
    """Two rows, with a column for each value."""
    if isinstance(values, pa.ChunkedArray):
        parts = [hash_values(chunk) for chunk in values.chunks if len(chunk)]
        return np.concatenate([np.zeros((2, 0), np.uint64), *parts], axis=1)
    hashes = _hash_valid(values)
    if values.null_count:
        missing = np.asarray(values.is_null().to_numpy(zero_copy_only=False), bool)
        hashes[:, missing] = take_in(SEEDS, np.uint64(NULL))
    return hashes


def _hash_valid(values: pa.Array) -> UInt64:
    """Those of NULLs are anything."""
    kind = values.type
    if pa.types.is_null(kind) or not len(values):
        return begin(NULL, len(values))
    if pa.types.is_dictionary(kind):
        return np.asarray(hash_values(values.dictionary)[:, values.indices.fill_null(0).to_numpy()])
    if pa.types.is_boolean(kind):
        return _take_all(BOOLEAN, values.cast(pa.uint8()).fill_null(0).to_numpy().astype(np.uint64))
    if pa.types.is_integer(kind):
        return _integers(values.fill_null(0).to_numpy())
    if pa.types.is_floating(kind):
        return _floats(values.cast(pa.float64()).fill_null(0.0).to_numpy())
    if is_text(kind):
        return _runs(TEXT, values)
    if is_bytes(kind) or pa.types.is_fixed_size_binary(kind):
        return _runs(BYTES, values.cast(pa.large_binary()))
    if pa.types.is_decimal(kind):
        return _runs(DECIMAL, _shortest(values))
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        whole = values.cast(pa.int64()).fill_null(0).to_numpy()
        seconds, rest = np.divmod(whole, _PER_SECOND[kind.unit])
        nanoseconds = rest * (10**9 // _PER_SECOND[kind.unit])
        return _take_all(MOMENT if pa.types.is_timestamp(kind) else SPAN, _bits(seconds), _bits(nanoseconds))
    if pa.types.is_date(kind):
        days = values.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64()).fill_null(0).to_numpy()
        return _take_all(DATE, _bits(days if pa.types.is_date32(kind) else days // _DAY))
    if pa.types.is_time(kind):
        whole = values.cast(pa.int64() if pa.types.is_time64(kind) else pa.int32()).fill_null(0).to_numpy()
        return _take_all(TIME, _bits(whole.astype(np.int64) * (10**9 // _PER_SECOND[kind.unit])))
    return _nested(values)


def _nested(values: pa.Array) -> UInt64:
    kind = values.type
    if pa.types.is_struct(kind):
        hashes = begin(STRUCT, len(values))
        for part in values.flatten():
            hashes = take_in(hashes, hash_values(part))
        return hashes
    if pa.types.is_map(kind):
        pairs = pa.StructArray.from_arrays([values.keys, values.items], names=["key", "value"])
        return _lists(np.asarray(values.offsets.to_numpy(), np.int64), pairs)
    if is_list(kind):
        plain = values.cast(pa.list_(kind.value_type)) if pa.types.is_fixed_size_list(kind) else values
        return _lists(np.asarray(plain.offsets.to_numpy(), np.int64), plain.values)
    raise DataError(f"a match cannot be identified by a column of {kind}", fix="cast it to a plain type")


def _take_all(kind: int, *words: UInt64) -> UInt64:
    hashes = begin(kind, len(words[0]))
    for each in words:
        hashes = take_in(hashes, each)
    return hashes


def _bits(whole: Any) -> UInt64:
    return np.ascontiguousarray(whole, np.int64).view(np.uint64)


def _integers(whole: Any) -> UInt64:
    if whole.dtype != np.uint64:
        return _take_all(INTEGER, _bits(whole))
    large = whole > np.uint64(2**63 - 1)
    return np.where(large, _take_all(LARGE, whole), _take_all(INTEGER, whole))


def _floats(values: Float64) -> UInt64:
    """Those without a fraction are integers."""
    whole = (np.abs(values) < 2.0**63) & (values == np.floor(values))
    integers = _bits(np.where(whole, values, 0.0).astype(np.int64))
    bits = np.where(np.isnan(values), np.uint64(_NAN), np.ascontiguousarray(values).view(np.uint64))
    return np.where(whole, _take_all(INTEGER, integers), _take_all(FLOAT, bits))


def _runs(kind: int, values: pa.Array) -> UInt64:
    offsets, data = byte_runs(values)
    wide, hashes = offsets.astype(np.int64), begin(kind, len(values))
    for lane, factor in enumerate(FACTORS):
        word: UInt64 = np.empty(len(values), np.uint64)
        _hash_runs(wide, data, int(hashes[lane, 0]), factor, word)
        hashes[lane] = word
    return take_in(hashes, _bits(np.diff(wide)))


def _shortest(values: pa.Array) -> pa.Array:
    """Decimals as text, without zeros at the end."""
    if values.type.scale < 0:
        values = values.cast(pa.decimal256(76, 0))
    text = values.cast(pa.string())
    if values.type.scale == 0:
        return text
    return pc.utf8_rtrim(pc.utf8_rtrim(text, "0"), ".")


def _lists(offsets: Int64, parts: pa.Array) -> UInt64:
    """The sum of what is in each list, with its place there."""
    begins, lengths = offsets[:-1], np.diff(offsets)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    inside = np.arange(offsets[0], offsets[-1])
    places = _bits(inside - begins[rows] + 1)
    words = mix(hash_values(parts.slice(offsets[0], offsets[-1] - offsets[0])) ^ mix(places))
    totals = np.concatenate([np.zeros((2, 1), np.uint64), np.cumsum(words, axis=1, dtype=np.uint64)], axis=1)
    sums = totals[:, offsets[1:] - offsets[0]] - totals[:, begins - offsets[0]]
    return take_in(take_in(begin(LIST, len(lengths)), _bits(lengths)), sums)
