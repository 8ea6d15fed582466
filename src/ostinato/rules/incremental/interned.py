"""Texts, terms and other values that are no numbers, each under a small number of its own.

Equal values have one number, as terms are equal (terms.data). A number that no tuple has any more is given to another
value: `sweep` finds those, now and then, so that a stream of ever new keys takes no more room than what is kept.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.null_code import NullCode
from ostinato.rules.kernels.layout import MOMENT, NUMBER, TEXT, TRUTH
from ostinato.rules.terms.data import DataTerm, value_key

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DOUBLE, _BITS = struct.Struct("d"), struct.Struct("q")
_SOME = 10_000  # fewer values are not worth a sweep


class Interned(NullCode):
    """`values` by number. `plain_kinds` and `plains` are what kernels read of them: see ProgramState."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[Hashable, int] = {}
        self.values: list[Any] = []
        self.keys: list[Hashable] = []
        self.plain_kinds = np.zeros(64, np.int64)
        self.plains = np.zeros(64, np.int64)
        self._free: list[int] = []
        self._pinned: set[int] = set()
        self._enough = _SOME

    def number(self, value: Any) -> int:
        """The number of a value that is not absent."""
        key = value if type(value) is str else freeze(value)
        found = self.numbers.get(key)
        return self._add(key, value) if found is None else found

    def pin(self, value: Any) -> int:
        """The number of a value that it keeps for good: a constant of the program."""
        number = self.number(value)
        self._pinned.add(number)
        return number

    def all_of(self, values: Iterable[str]) -> list[int]:
        """The numbers of texts."""
        known, add = self.numbers.get, self._add
        return [add(text, text) if (found := known(text)) is None else found for text in values]

    def _add(self, key: Hashable, value: Any) -> int:
        if self._free:
            number = self._free.pop()
            self.values[number], self.keys[number] = value, key
        else:
            number = len(self.values)
            self.values.append(value)
            self.keys.append(key)
            if number == len(self.plains):
                self.plains = np.concatenate([self.plains, np.zeros_like(self.plains)])
                self.plain_kinds = np.concatenate([self.plain_kinds, np.zeros_like(self.plain_kinds)])
        self.numbers[key] = number
        kind, plain = _plain(value, number)
        self.plain_kinds[number], self.plains[number] = kind, plain
        return number

    @property
    def is_full(self) -> bool:
        """Whether there may be many numbers that no tuple has."""
        return len(self.numbers) > self._enough

    def sweep(self, used: Iterable[Int64]) -> None:
        """Free the numbers that are not among those used."""
        live = np.zeros(len(self.values), np.bool_)
        for codes in used:
            live[codes[codes != self.null]] = True
        live[list(self._pinned)] = True
        for number in np.flatnonzero(~live).tolist():
            if (key := self.keys[number]) is not None:
                del self.numbers[key]
                self.keys[number] = self.values[number] = None
                self._free.append(number)
        self._enough = max(_SOME, 2 * len(self.numbers))


def freeze(value: Any) -> Hashable:
    """The key of a value: values that are not equal as terms differ in it."""
    if isinstance(value, list | tuple):
        return (list, *map(freeze, value))
    if isinstance(value, Mapping):
        return (dict, *((name, freeze(each)) for name, each in value.items()))
    key: Hashable = value_key(value) if value is not None else None
    return (DataTerm, key) if isinstance(value, DataTerm) else key


def microseconds(moment: date) -> int:
    """Since the origin of time; a date is its midnight, and a time without a zone is in UTC."""
    if not isinstance(moment, datetime):
        moment = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return (moment - _EPOCH) // timedelta(microseconds=1)


def float_bits(number: float) -> int:
    """The code of a float that is not NaN; there is one zero."""
    return int(_BITS.unpack(_DOUBLE.pack(number + 0.0))[0])


def _plain(value: Any, number: int) -> tuple[int, int]:
    if isinstance(value, str):
        return TEXT, number
    if isinstance(value, bool):
        return TRUTH, int(value)
    if isinstance(value, date):
        return MOMENT, microseconds(value)
    try:
        return NUMBER, float_bits(float(value))
    except (TypeError, ValueError, OverflowError):
        return 0, 0
