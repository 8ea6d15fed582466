"""Hash tables that give each distinct value a dense id: 0 for the first seen, 1 for the next new one, and so on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import types

from ostinato.core.arrays import UInt8
from ostinato.core.arrow import NO_MASK, Ids, Ints
from ostinato.core.jit import array, kernel, view
from ostinato.errors import DataError

MOST_KEYS = 2**31 - 1

# state[0] counts the ids given out, state[1] is the id of NULL (-1: none yet). table[2 s] is the key, or the hash of
# the key, in slot s, and table[2 s + 1] its id (-1: free): side by side, so that a look-up touches one cache line.
_COUNT, _NULL = 0, 1


@kernel()
def _mix(value: Any) -> Any:
    """The low bits depend on all bits of an int64."""
    product = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(32))


@kernel(
    types.int64(
        view(types.int64),
        view(types.uint8),
        types.int64,
        array(types.int64),
        array(types.int64),
        array(types.int64),
        array(types.int32),
    )
)
def _intern_ints(values: Ints, valid: UInt8, start: int, table: Ints, keys: Ints, state: Ints, out: Ids) -> int:
    """Ids of values[start:]; returns early, with the place reached, when the table is half full."""
    mask = table.size // 2 - 1
    count, null, limit = state[_COUNT], state[_NULL], keys.size
    place = start
    while place < values.size:
        if valid.size and not valid[place]:
            if null < 0:
                if count >= limit:
                    break
                null = count
                keys[count] = 0
                count += 1
            out[place] = null
        else:
            value = values[place]
            slot = np.int64(_mix(value)) & mask
            found = table[2 * slot + 1]
            while found >= 0 and table[2 * slot] != value:
                slot = (slot + 1) & mask
                found = table[2 * slot + 1]
            if found < 0:
                if count >= limit:
                    break
                found = count
                table[2 * slot], table[2 * slot + 1], keys[count] = value, count, value
                count += 1
            out[place] = found
        place += 1
    state[_COUNT], state[_NULL] = count, null
    return place


@kernel(types.void(array(types.int64), view(types.int64), view(types.int64)))
def _rehash(table: Ints, hashed: Ints, state: Ints) -> None:
    """Put the first state[0] of `hashed` (keys, or hashes of keys) into an empty table."""
    mask = table.size // 2 - 1
    for key in range(state[_COUNT]):
        if key != state[_NULL]:
            slot = np.int64(_mix(hashed[key])) & mask
            while table[2 * slot + 1] >= 0:
                slot = (slot + 1) & mask
            table[2 * slot], table[2 * slot + 1] = hashed[key], key


@kernel()
def _hash_bytes(data: Any, low: Any, high: Any) -> Any:
    """Eight bytes at a time: the compiler makes one load of them."""
    mixed = np.uint64(high - low)
    at = low
    while at + 8 <= high:
        word = np.uint64(0)
        for byte in range(8):
            word |= np.uint64(data[np.uint64(at) + np.uint64(byte)]) << np.uint64(8 * byte)
        mixed = _mix(mixed ^ word)
        at += 8
    while at < high:
        mixed = (mixed ^ np.uint64(data[at])) * np.uint64(0x100000001B3)
        at += 1
    return np.int64(mixed)


@kernel()
def _same_bytes(data: Any, low: Any, store: Any, start: Any, size: Any) -> Any:
    at = 0
    while at < size and data[low + at] == store[start + at]:
        at += 1
    return at == size


_INTERN_BYTES = [
    types.int64(
        view(offset), view(types.uint8), view(types.uint8), types.int64, array(types.int64), array(types.int64),
        array(types.int64), array(types.uint8), array(types.int64), array(types.int32),
    )
    for offset in (types.int32, types.int64)
]  # fmt: skip
_BLOCK = 256


@kernel(*_INTERN_BYTES, allocates=True)
def _intern_bytes(
    offsets: Any,
    data: UInt8,
    valid: UInt8,
    start: int,
    table: Ints,
    hashes: Ints,
    ends: Ints,
    store: UInt8,
    state: Ints,
    out: Ids,
) -> int:
    """As `_intern_ints`, for data[offsets[i] : offsets[i + 1]]; key k is kept in store[ends[k] : ends[k + 1]].

    Known keys are found by three short loops over a block (hash, look up, compare), so that the cache misses of many
    events overlap; what they leave, new keys and clashing hashes, is done one by one and in order.
    """
    mask = table.size // 2 - 1
    count, null, limit = state[_COUNT], state[_NULL], hashes.size
    pending = np.empty(_BLOCK, np.int64)
    place = start
    full = False
    while place < out.size and not full:
        first, end = place, min(place + _BLOCK, out.size)
        for row in range(first, end):
            pending[row - first] = _hash_bytes(data, offsets[row], offsets[row + 1])
        for row in range(first, end):
            hashed = pending[row - first]
            slot = np.int64(_mix(hashed)) & mask
            while table[2 * slot + 1] >= 0 and table[2 * slot] != hashed:
                slot = (slot + 1) & mask
            out[row] = table[2 * slot + 1]
        while place < end:
            if valid.size and not valid[place]:
                if null < 0:
                    if count >= limit:
                        full = True
                        break
                    null = count
                    hashes[count], ends[count + 1] = 0, ends[count]
                    count += 1
                out[place] = null
                place += 1
                continue
            low, size = offsets[place], offsets[place + 1] - offsets[place]
            found = np.int64(out[place])
            if (
                found < 0
                or ends[found + 1] - ends[found] != size
                or not _same_bytes(data, low, store, ends[found], size)
            ):
                hashed = pending[place - first]
                slot = np.int64(_mix(hashed)) & mask
                found = table[2 * slot + 1]
                while found >= 0 and (
                    table[2 * slot] != hashed
                    or ends[found + 1] - ends[found] != size
                    or not _same_bytes(data, low, store, ends[found], size)
                ):
                    slot = (slot + 1) & mask
                    found = table[2 * slot + 1]
                if found < 0:
                    if count >= limit or ends[count] + size > store.size:
                        full = True
                        break
                    found = count
                    table[2 * slot], table[2 * slot + 1], hashes[count] = hashed, count, hashed
                    for at in range(size):
                        store[ends[count] + at] = data[low + at]
                    ends[count + 1] = ends[count] + size
                    count += 1
                out[place] = found
            place += 1
    state[_COUNT], state[_NULL] = count, null
    return place


class Interner:
    """A hash table that grows; `hashed` holds, per id, the key itself or its hash."""

    def __init__(self) -> None:
        self.state: Ints = np.array([0, -1], np.int64)
        self.hashed: Ints = np.empty(512, np.int64)
        self.table: Ints = np.full(4 * self.hashed.size, -1, np.int64)

    @property
    def size(self) -> int:
        return int(self.state[_COUNT])

    def grow(self) -> None:
        if self.size >= MOST_KEYS:
            raise DataError(f"more than {MOST_KEYS:,} distinct partition keys")
        if self.size == self.hashed.size:
            self.hashed = np.concatenate([self.hashed, np.empty_like(self.hashed)])
            self.table = np.full(4 * self.hashed.size, -1, np.int64)
            _rehash(self.table, self.hashed, self.state)

    def valid(self, ids: Ids) -> npt.NDArray[np.bool_] | None:
        """Which ids are not NULL's; None when all are."""
        null = int(self.state[_NULL])
        return None if null < 0 else ids != null


class IntegerInterner(Interner):
    def encode(self, values: Ints, valid: UInt8 = NO_MASK) -> Ids:
        out = np.empty(values.size, np.int32)
        done = _intern_ints(values, valid, 0, self.table, self.hashed, self.state, out)
        while done < values.size:
            self.grow()
            done = _intern_ints(values, valid, done, self.table, self.hashed, self.state, out)
        return out


class ByteStringInterner(Interner):
    def __init__(self) -> None:
        super().__init__()
        self.ends: Ints = np.zeros(self.hashed.size + 1, np.int64)
        self.store: UInt8 = np.empty(1 << 14, np.uint8)

    def grow(self) -> None:
        super().grow()
        if self.ends.size != self.hashed.size + 1:
            self.ends = np.concatenate([self.ends, np.zeros(self.hashed.size + 1 - self.ends.size, np.int64)])

    def encode(self, offsets: npt.NDArray[Any], data: UInt8, valid: UInt8) -> Ids:
        out = np.empty(offsets.size - 1, np.int32)
        done = 0
        while True:
            done = _intern_bytes(
                offsets, data, valid, done, self.table, self.hashed, self.ends, self.store, self.state, out
            )
            if done == out.size:
                return out
            self.grow()
            room = int(self.ends[self.size]) + int(offsets[done + 1]) - int(offsets[done])
            if room > self.store.size:
                self.store = np.concatenate([self.store, np.empty(room, np.uint8)])
