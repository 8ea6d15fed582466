"""Dense ids for texts and other runs of bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import UInt8
from ostinato.core.arrow import Ids, Ints
from ostinato.core.columns.intern import COUNT, NULL, Interner, mix
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import boolean, int32, int64, uint8

_BLOCK = 256
_NO_NARROW, _NO_WIDE = np.empty(0, np.int32), np.empty(0, np.int64)


@subroutine(int64(view(uint8), int64, int64))
def _hash_bytes(data: Any, low: Any, high: Any) -> Any:
    """Eight bytes at a time: the compiler makes one load of them."""
    mixed = np.uint64(high - low)
    at = low
    while at + 8 <= high:
        word = np.uint64(0)
        for byte in range(8):
            word |= np.uint64(data[np.uint64(at) + np.uint64(byte)]) << np.uint64(8 * byte)
        mixed = mix(mixed ^ word)
        at += 8
    while at < high:
        mixed = (mixed ^ np.uint64(data[np.uint64(at)])) * np.uint64(0x100000001B3)
        at += 1
    return np.int64(mixed)


@subroutine(boolean(array(int64), array(uint8), int64, view(uint8), int64, int64))
def _is_key(ends: Ints, store: UInt8, key: Any, data: UInt8, low: Any, size: Any) -> bool:
    """Whether data[low : low + size] is the key of this id."""
    start = ends[key]
    if ends[key + 1] - start != size:
        return False
    at = 0
    while at < size and data[low + at] == store[start + at]:
        at += 1
    return bool(at == size)


@kernel(
    int64(
        view(int32), view(int64), view(uint8), view(uint8), int64, array(int64), array(int64), array(int64),
        array(int64), array(uint8), array(int64), array(int32),
    )
)  # fmt: skip
def intern_bytes(
    narrow: Ids, wide: Ints, data: UInt8, valid: UInt8, start: int, block: Ints, slots: Ints, hashes: Ints, ends: Ints,
    store: UInt8, state: Ints, out: Ids,
) -> int:  # fmt: skip
    """As `intern_ints`, for data[offsets[i] : offsets[i + 1]], where `narrow` or `wide`, whichever is not empty, are
    the offsets. It also returns early when `store` is full.

    Known keys are found by three short loops over a block (hash, look up, compare), so that the cache misses of many
    events overlap; what they leave, new keys and clashing hashes, is done one by one and in order.
    """
    mask = slots.size // 2 - 1
    count, null, limit = state[COUNT], state[NULL], hashes.size
    place = start
    full = False
    while place < out.size and not full:
        first, end = place, min(place + _BLOCK, out.size)
        if wide.size:
            for row in range(first, end + 1):
                block[row - first] = wide[row]
        else:
            for row in range(first, end + 1):
                block[row - first] = narrow[row]
        for row in range(end - first):
            block[_BLOCK + 1 + row] = _hash_bytes(data, block[row], block[row + 1])
        for row in range(first, end):
            hashed = block[_BLOCK + 1 + row - first]
            slot = np.int64(mix(np.uint64(hashed))) & mask
            while slots[2 * slot + 1] >= 0 and slots[2 * slot] != hashed:
                slot = (slot + 1) & mask
            out[row] = slots[2 * slot + 1]
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
            low = block[place - first]
            size = block[place - first + 1] - low
            found = np.int64(out[place])
            if found < 0 or not _is_key(ends, store, found, data, low, size):
                hashed = block[_BLOCK + 1 + place - first]
                slot = np.int64(mix(np.uint64(hashed))) & mask
                found = slots[2 * slot + 1]
                while found >= 0 and (slots[2 * slot] != hashed or not _is_key(ends, store, found, data, low, size)):
                    slot = (slot + 1) & mask
                    found = slots[2 * slot + 1]
                if found < 0:
                    if count >= limit or ends[count] + size > store.size:
                        full = True
                        break
                    found = count
                    slots[2 * slot], slots[2 * slot + 1], hashes[count] = hashed, count, hashed
                    for at in range(size):
                        store[ends[count] + at] = data[low + at]
                    ends[count + 1] = ends[count] + size
                    count += 1
                out[place] = found
            place += 1
    state[COUNT], state[NULL] = count, null
    return place


class ByteStringInterner(Interner):
    """`ends[k]` and `ends[k + 1]` are where the key with id k begins and ends in `store`."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: Ints = np.zeros(self.hashed.size + 1, np.int64)
        self.store: UInt8 = np.empty(1 << 14, np.uint8)
        self.block: Ints = np.empty(2 * _BLOCK + 1, np.int64)

    def grow(self) -> None:
        super().grow()
        if self.ends.size != self.hashed.size + 1:
            self.ends = np.concatenate([self.ends, np.zeros(self.hashed.size + 1 - self.ends.size, np.int64)])

    def encode(self, offsets: npt.NDArray[Any], data: UInt8, valid: UInt8) -> Ids:
        """Ids of data[offsets[i] : offsets[i + 1]]; the offsets have 32 or 64 bits."""
        out = np.empty(offsets.size - 1, np.int32)
        narrow, wide = (offsets, _NO_WIDE) if offsets.itemsize == 4 else (_NO_NARROW, offsets)
        done = 0
        while True:
            done = intern_bytes(
                narrow, wide, data, valid, done, self.block, self.slots, self.hashed, self.ends, self.store,
                self.state, out,
            )  # fmt: skip
            if done == out.size:
                return out
            self.grow()
            room = int(self.ends[self.size]) + int(offsets[done + 1]) - int(offsets[done])
            if room > self.store.size:
                self.store = np.concatenate([self.store, np.empty(room, np.uint8)])
