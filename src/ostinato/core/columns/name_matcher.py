"""Finds which of a few names each value of a column is: the test of an event's type, in a few nanoseconds per event."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import UInt8, UInt64
from ostinato.core.arrow import (
    Ids,
    Ints,
    byte_runs,
    dictionary_indices,
    dictionary_values,
    is_text,
    same_array,
    validity,
)
from ostinato.core.columns.batch_layout import NameTables
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import int32, int64, uint8, uint64, void

_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], np.uint64)  # all bits of so many bytes
_NO_NARROW, _NO_WIDE = np.empty(0, np.int32), np.empty(0, np.int64)


@subroutine(uint64(view(uint8), int64))
def _word(data: Any, at: Any) -> Any:
    """Eight bytes as one number; the compiler makes it one load."""
    word = np.uint64(0)
    for byte in range(8):
        word |= np.uint64(data[np.uint64(at) + np.uint64(byte)]) << np.uint64(8 * byte)
    return word


@kernel(int64(uint64, uint64, int64))
def _bucket(head: Any, tail: Any, size: Any) -> Any:
    mixed = (head ^ (tail * np.uint64(0x9E3779B97F4A7C15)) ^ np.uint64(size)) * np.uint64(0xBF58476D1CE4E5B9)
    return np.int64(mixed >> np.uint64(56))


@kernel(
    void(
        view(int32), view(int64), view(uint8), view(uint8), view(uint64), view(uint8), view(int64), view(int64),
        view(int64), array(int32),
    )
)  # fmt: skip
def match_names(
    narrow: Ids, wide: Ints, data: UInt8, valid: UInt8, words: UInt64, names: UInt8, starts: Ints, heads: Ints,
    chain: Ints, out: Ids,
) -> None:  # fmt: skip
    """out[i] = which name data[offsets[i] : offsets[i + 1]] is, from 1; 0 for none. The offsets are in `narrow` or in
    `wide`, whichever is not empty.

    Name k is names[starts[k] : starts[k + 1]]; words[2 k] and words[2 k + 1] are its first and last eight bytes. Types
    come in random order, so the usual case, up to 16 bytes, has no branch that depends on them. Name 0 is the empty one
    that ends every chain.
    """
    high = wide[0] if wide.size else np.int64(narrow[0])
    for row in range(out.size):
        low: Any = high
        high = wide[row + 1] if wide.size else np.int64(narrow[row + 1])
        size: Any = high - low
        beyond: Any = max(size - 8, 0)
        if low + beyond + 8 <= data.size:
            mask = _MASKS[min(size, 8)]
            head, tail = _word(data, low) & mask, _word(data, low + beyond) & mask
        else:  # the last few strings of the buffer
            head, tail = np.uint64(0), np.uint64(0)
            for at in range(min(size, 8)):
                head |= np.uint64(data[low + at]) << np.uint64(8 * at)
                tail |= np.uint64(data[low + beyond + at]) << np.uint64(8 * at)
        name = heads[_bucket(head, tail, size)]
        same = (words[2 * name] == head) & (words[2 * name + 1] == tail) & (starts[name + 1] - starts[name] == size)
        if size > 16 or (chain[name] != 0 and not same):
            while name > 0:
                if starts[name + 1] - starts[name] == size:
                    at = 0
                    while at < size and data[low + at] == names[starts[name] + at]:
                        at += 1
                    if at == size:
                        break
                name = chain[name]
            out[row] = name
        else:
            out[row] = name * same
    for row in range(valid.size):
        if not valid[row]:
            out[row] = 0


@kernel(int32(view(int32), view(int32), array(int32)))
def look_up(places: Ids, table: Ids, out: Ids) -> Any:
    """out[i] = table[places[i]]; returns the least of them, which is negative if one is still unknown."""
    lowest = np.int32(0)
    for row in range(out.size):
        found = table[places[row]]
        out[row] = found
        lowest = min(lowest, found)
    return lowest


class NameMatcher:
    """Numbers values by the names they equal, from 1; 0 stands for any other value."""

    def __init__(self, names: list[str]) -> None:
        self._values = pa.array(names, pa.large_string())
        encoded = [b"", *(name.encode() for name in names)]
        self._bytes = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
        self._starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
        ends = [(int.from_bytes(name[:8], "little"), int.from_bytes(name[-8:], "little")) for name in encoded]
        self._words = np.array(ends, np.uint64).reshape(-1)
        self._heads, self._chain = np.zeros(256, np.int64), np.zeros(len(encoded), np.int64)
        for place, name in enumerate(encoded[1:], 1):
            bucket = _bucket(self._words[2 * place], self._words[2 * place + 1], len(name))
            self._chain[place], self._heads[bucket] = self._heads[bucket], place
        self._dictionary: pa.Array = None  # the last one seen, and what its values are
        self._of_dictionary: Ids = np.empty(0, np.int32)

    def match_runs(self, offsets: npt.NDArray[Any], data: UInt8, valid: UInt8, out: Ids) -> None:
        """For texts as they are stored."""
        narrow, wide = (offsets, _NO_WIDE) if offsets.itemsize == 4 else (_NO_NARROW, offsets)
        match_names(
            narrow, wide, data, valid, self._words, self._bytes, self._starts, self._heads, self._chain, out
        )  # fmt: skip

    def tables(self) -> NameTables:
        """For a kernel that matches texts among other things."""
        return NameTables(
            edges=self._words, names=self._bytes, starts=self._starts, heads=self._heads, chain=self._chain
        )

    def match(self, column: pa.Array, out: Ids) -> None:
        if is_text(column.type):
            self.match_runs(*byte_runs(column), validity(column), out)
            return
        if not isinstance(column, pa.DictionaryArray):
            column = column.dictionary_encode()
        if self._dictionary is None or not same_array(self._dictionary, column.dictionary):
            self._dictionary = column.dictionary
            values = dictionary_values(column)
            texts = values if pa.types.is_large_string(values.type) else values.cast(pa.large_string())
            found = pc.index_in(texts, value_set=self._values).cast(pa.int32())
            self._of_dictionary = pc.add(found, 1).fill_null(0).cast(pa.int32()).to_numpy()
        look_up(dictionary_indices(column), self._of_dictionary, out)
