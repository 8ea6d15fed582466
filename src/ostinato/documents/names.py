"""The names of a document in a hash table that the kernels read and write."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.documents.kernels.names import (
    ENTRY,
    FIRST,
    HANDED_ON,
    LONGEST,
    MISSING,
    NAMES,
    NAMES_STATE,
    SEED,
    SHIFT,
    SIZE,
    WANTED,
    WORDS,
    NameArrays,
    intern,
    refill,
)
from ostinato.documents.kernels.utf8 import PAD
from ostinato.documents.tokens import Names
from ostinato.errors import Limit, LimitError, Message

# Others in every process.
_SEEDS = np.array([secrets.randbits(64) | 1, secrets.randbits(64) | 1], np.uint64).view(np.int64)
_FIRST_BITS = 10


class NameTable(Names):
    """Names numbered from 0, those that are given first coming first; `texts` is brought up to date by `sync`.

    `wanted` are the only names of attributes to hand on (None: all).
    """

    def __init__(
        self,
        first: Iterable[bytes] = (),
        *,
        wanted: Iterable[bytes] | None = None,
        most: int = 1_000_000,
        longest: int = 1 << 16,
    ) -> None:
        self.most, self.longest = most, longest
        self.texts: list[bytes] = []
        self._bits = _FIRST_BITS
        state = np.zeros(NAMES_STATE, np.int64)
        state[SHIFT], state[WANTED], state[LONGEST] = 64 - self._bits, wanted is None, longest
        state[SEED:] = _SEEDS
        self.arrays = NameArrays(
            table=np.zeros(2 << self._bits, np.uint64),
            letters=np.zeros(4 << self._bits, np.uint64),
            entries=np.zeros(ENTRY * min(1 << self._bits - 1, most), np.int64),
            state=state,
        )
        for name in first:
            self.id_of(name)
        for name in wanted or ():
            self.arrays.entries[ENTRY * self.id_of(name) + HANDED_ON] = 1

    @property
    def capacity(self) -> int:
        """How many names there is room for."""
        return self.arrays.entries.size // ENTRY

    @property
    def full(self) -> bool:
        return bool(self.arrays.state[NAMES] >= self.most)

    def grow(self) -> None:
        """Room for more names, and for one of the longest."""
        if self.full:
            raise LimitError(
                "names",
                self.most,
                reason="there are too many different names of elements and attributes",
                fix=Message("raise the limit, ", Limit("names", "XSeqLimits"), ", if the document is meant to be so"),
            )
        state, letters = self.arrays.state, self.arrays.letters
        if state[NAMES] >= self.capacity:
            self._widen()
        longest = self.longest // 8 + 2
        if letters.size - state[WORDS] < longest:
            self.arrays.letters = _extended(letters, 2 * letters.size + longest)

    def _widen(self) -> None:
        """Twice as many slots, half of which may be taken."""
        self._bits += 1
        arrays, capacity = self.arrays, min(1 << self._bits - 1, self.most)
        arrays.state[SHIFT] = 64 - self._bits
        arrays.table = np.zeros(2 << self._bits, np.uint64)
        arrays.entries = _extended(arrays.entries, ENTRY * capacity)
        refill(arrays)

    def id_of(self, name: bytes) -> int:
        """The number of a name; it gets the next one if it is new."""
        padded = np.frombuffer(name + bytes(PAD), np.uint8)
        while True:
            found = intern(self.arrays, padded, len(name))
            if found != MISSING:
                if found == len(self.texts):
                    self.texts.append(name)
                elif found > len(self.texts):
                    self.sync()
                return int(found)
            self.grow()

    def sync(self) -> None:
        arrays, known = self.arrays, len(self.texts)
        count = int(arrays.state[NAMES])
        if known == count:
            return
        entries = arrays.entries[ENTRY * known : ENTRY * count]
        firsts, sizes = entries[FIRST::ENTRY].tolist(), entries[SIZE::ENTRY].tolist()
        letters = arrays.letters[firsts[0] : int(arrays.state[WORDS])].tobytes()
        for word, size in zip(firsts, sizes, strict=True):
            at = 8 * (word - firsts[0])
            self.texts.append(letters[at : at + size])


def _extended(values: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    longer = np.zeros(size, values.dtype)
    longer[: values.size] = values
    return longer
