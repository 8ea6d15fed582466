"""Texts as numbers in the same order, though texts yet to come may belong between them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64

_GAP = 1 << 32
_MOST = 1 << 61


class Renumbered(NamedTuple):
    """Numbers that stood for texts, in order, and those that stand for them now."""

    before: Int64
    after: Int64

    def apply(self, numbers: Int64) -> Int64:
        """Numbers that stand for no text stay as they are."""
        places = np.minimum(np.searchsorted(self.before, numbers), self.before.size - 1)
        return np.where(self.before[places] == numbers, self.after[places], numbers)


class TextOrder:
    """`numbers` are those of `texts`, which are in the order of their bytes."""

    def __init__(self, texts: Iterable[str] = (), numbers: Iterable[int] = ()) -> None:
        self.texts, self.numbers = list(texts), list(numbers)
        self.known = dict(zip(self.texts, self.numbers, strict=True))

    def add(self, texts: Iterable[str]) -> Renumbered | None:
        """Give numbers to new texts; where there is no room between others, all get new ones."""
        new = sorted(set(texts) - self.known.keys())
        for text in new:
            place = bisect_left(self.texts, text)
            low = self.numbers[place - 1] if place else None
            high = self.numbers[place] if place < len(self.numbers) else None
            number = _between(low, high)
            if number is None:
                return self._renumber([each for each in new if each not in self.known])
            self.texts.insert(place, text)
            self.numbers.insert(place, number)
            self.known[text] = number
        return None

    def _renumber(self, new: list[str]) -> Renumbered:
        before, kept = np.array(self.numbers, np.int64), self.texts
        self.texts = sorted([*kept, *new])
        step = min(_GAP, 2 * _MOST // (len(self.texts) + 1))
        first = -step * (len(self.texts) // 2)
        self.numbers = [first + step * place for place in range(len(self.texts))]
        self.known = dict(zip(self.texts, self.numbers, strict=True))
        return Renumbered(before, np.array([self.known[text] for text in kept], np.int64))

    def keep(self, numbers: Int64, texts: Iterable[str]) -> None:
        """Forget all texts but those with these numbers, and these texts."""
        wanted, named = set(numbers.tolist()), set(texts)
        kept = {text: number for text, number in self.known.items() if number in wanted or text in named}
        self.texts = [text for text in self.texts if text in kept]
        self.numbers = [kept[text] for text in self.texts]
        self.known = kept

    def decode(self, numbers: Int64) -> pa.Array:
        """The texts that numbers stand for."""
        return pa.array([self.texts[bisect_left(self.numbers, number)] for number in numbers.tolist()], pa.string())

    def encode(self, column: pa.Array) -> Int64:
        """The numbers of texts that are known; 0 for NULL."""
        distinct = column.dictionary_encode()
        own = np.array([self.known.get(text, 0) for text in distinct.dictionary.to_pylist()] or [0], np.int64)
        places = np.asarray(distinct.indices.fill_null(0).to_numpy(zero_copy_only=False), np.int64)
        valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.bool_)
        return np.where(valid, own[places], np.int64(0))


def _between(low: int | None, high: int | None) -> int | None:
    if low is None or high is None:
        number = 0 if low is None and high is None else high - _GAP if high is not None else (low or 0) + _GAP
        return number if abs(number) < _MOST else None
    return low + (high - low) // 2 if high - low > 1 else None
