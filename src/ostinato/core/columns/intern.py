"""Hash tables that give each distinct value a dense id: 0 for the first seen, 1 for the next new one, and so on.

Here are the tables of numbers; those of texts, whose kernels take longer to compile, are in intern_bytes.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import UInt8
from ostinato.core.arrow import NO_MASK, Ids, Ints
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import int32, int64, uint8, uint64, void
from ostinato.errors import DataError

MOST_KEYS = 2**31 - 1

# state[0] counts the ids given out, state[1] is the id of NULL (-1: none yet). slots[2 s] is the key, or the hash of
# the key, in slot s, and slots[2 s + 1] its id (-1: free): side by side, so that a look-up touches one cache line.
COUNT, NULL = 0, 1


@subroutine(uint64(uint64))
def mix(value: Any) -> Any:
    """The low bits depend on all bits."""
    product = value * np.uint64(0x9E3779B97F4A7C15)
    return product ^ (product >> np.uint64(32))


@kernel(int64(view(int64), view(uint8), int64, array(int64), array(int64), array(int64), array(int32)))
def intern_ints(values: Ints, valid: UInt8, start: int, slots: Ints, keys: Ints, state: Ints, out: Ids) -> int:
    """Ids of values[start:]; returns early, with the place reached, when the table is half full."""
    mask = slots.size // 2 - 1
    count, null, limit = state[COUNT], state[NULL], keys.size
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
            slot = np.int64(mix(np.uint64(value))) & mask
            found = slots[2 * slot + 1]
            while found >= 0 and slots[2 * slot] != value:
                slot = (slot + 1) & mask
                found = slots[2 * slot + 1]
            if found < 0:
                if count >= limit:
                    break
                found = count
                slots[2 * slot], slots[2 * slot + 1], keys[count] = value, count, value
                count += 1
            out[place] = found
        place += 1
    state[COUNT], state[NULL] = count, null
    return place


@kernel(void(array(int64), view(int64), view(int64)))
def _rehash(slots: Ints, hashed: Ints, state: Ints) -> None:
    """Put the first state[0] of `hashed` (keys, or hashes of keys) into an empty table."""
    mask = slots.size // 2 - 1
    for key in range(state[COUNT]):
        if key != state[NULL]:
            slot = np.int64(mix(np.uint64(hashed[key]))) & mask
            while slots[2 * slot + 1] >= 0:
                slot = (slot + 1) & mask
            slots[2 * slot], slots[2 * slot + 1] = hashed[key], key


class Interner:
    """A hash table that grows; `hashed` holds, per id, the key itself or its hash."""

    def __init__(self) -> None:
        self.state: Ints = np.array([0, -1], np.int64)
        self.hashed: Ints = np.empty(512, np.int64)
        self.slots: Ints = np.full(4 * self.hashed.size, -1, np.int64)

    @property
    def size(self) -> int:
        return int(self.state[COUNT])

    def grow(self) -> None:
        if self.size >= MOST_KEYS:
            raise DataError(f"more than {MOST_KEYS:,} distinct partition keys")
        if self.size == self.hashed.size:
            self.hashed = np.concatenate([self.hashed, np.empty_like(self.hashed)])
            self.slots = np.full(4 * self.hashed.size, -1, np.int64)
            _rehash(self.slots, self.hashed, self.state)

    def valid(self, ids: Ids) -> npt.NDArray[np.bool_] | None:
        """Which ids are not NULL's; None when all are."""
        null = int(self.state[NULL])
        return None if null < 0 else ids != null


class IntegerInterner(Interner):
    def encode(self, values: Ints, valid: UInt8 = NO_MASK) -> Ids:
        out = np.empty(values.size, np.int32)
        done = intern_ints(values, valid, 0, self.slots, self.hashed, self.state, out)
        while done < values.size:
            self.grow()
            done = intern_ints(values, valid, done, self.slots, self.hashed, self.state, out)
        return out
