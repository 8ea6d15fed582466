"""The names of a document in a hash table that the kernels read and write."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

import numpy as np

from ostinato.documents.kernels.names import (
    FREE,
    LONGEST,
    MISSING,
    NAMES,
    NAMES_STATE,
    SHIFT,
    WANTED,
    WORDS,
    intern,
    refill,
)
from ostinato.documents.kernels.utf8 import PAD
from ostinato.documents.tokens import Names
from ostinato.errors import Limit, LimitError, Message

_SEEDS = np.array([secrets.randbits(64) | 1, secrets.randbits(64) | 1], np.uint64)  # others in every process
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
        self.state = np.zeros(NAMES_STATE, np.int64)
        self.state[LONGEST] = longest
        self.state[WANTED] = wanted is None
        self.words = np.zeros(4 << self._bits, np.uint64)
        self.first, self.seen = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.sizes, self.wanted = np.zeros(0, np.int32), np.zeros(0, np.uint8)
        self._make()
        for name in first:
            self.id_of(name)
        for name in wanted or ():
            self.wanted[self.id_of(name)] = 1

    def _make(self) -> None:
        """Arrays for 2^bits slots, half of which may be taken."""
        known = int(self.state[NAMES])
        capacity = min(1 << self._bits - 1, self.most)
        self.state[SHIFT] = 64 - self._bits
        self.table = np.full(2 << self._bits, FREE, np.uint64)
        first, sizes = np.zeros(capacity, np.int64), np.zeros(capacity, np.int32)
        seen, wanted = np.full(capacity, -1, np.int64), np.zeros(capacity, np.uint8)
        first[:known], sizes[:known] = self.first[:known], self.sizes[:known]
        seen[:known], wanted[:known] = self.seen[:known], self.wanted[:known]
        self.first, self.sizes, self.seen, self.wanted = first, sizes, seen, wanted
        self.seeds = _SEEDS
        refill(self.table, self.words, first, sizes, wanted, self.seeds, self.state)

    @property
    def full(self) -> bool:
        return bool(self.state[NAMES] >= self.most)

    def grow(self) -> None:
        """Room for more names, and for one of the longest."""
        if self.full:
            raise LimitError(
                "names",
                self.most,
                reason="there are too many different names of elements and attributes",
                fix=Message("raise the limit, ", Limit("names", "XSeqLimits"), ", if the document is meant to be so"),
            )
        if self.state[NAMES] >= self.sizes.size:
            self._bits += 1
            self._make()
        longest = self.longest // 8 + 2
        if self.words.size - self.state[WORDS] < longest:
            words = np.zeros(2 * self.words.size + longest, np.uint64)
            words[: self.words.size] = self.words
            self.words = words

    def id_of(self, name: bytes) -> int:
        """The number of a name; it gets the next one if it is new."""
        padded = np.frombuffer(name + bytes(PAD), np.uint8)
        while True:
            found = intern(
                padded, len(name), self.table, self.words, self.first, self.sizes, self.wanted, self.seeds, self.state
            )
            if found != MISSING:
                self.sync()
                return int(found)
            self.grow()

    def sync(self) -> None:
        for number in range(len(self.texts), int(self.state[NAMES])):
            word, size = int(self.first[number]), int(self.sizes[number])
            self.texts.append(self.words[word : word + (size + 7) // 8].tobytes()[:size])
