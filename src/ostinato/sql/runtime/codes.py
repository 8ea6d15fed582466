"""Conditions as codes: one small integer per row, which says to which variables the row may be mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64, UInt8
from ostinato.core.columns.intern import IntegerInterner
from ostinato.sql.automaton.build import Automaton

_WIDTH = 8  # conditions that are taken together


@dataclass(frozen=True)
class Codes:
    """Attributes
    ----------
    of_rows : array
        The code of each row.
    holds : array
        By code and condition: whether it holds.
    """

    of_rows: Int32
    holds: Bools

    def allowed_states(self, automaton: Automaton, condition: Sequence[int]) -> UInt8:
        """By code and state: whether a row may lead to it. `condition` is that of each variable; -1 for none."""
        always = np.concatenate([self.holds, np.ones((len(self.holds), 1), np.bool_)], axis=1)
        of_state = np.array([*condition, -1], np.int64)[automaton.variable]
        found = always[:, of_state]
        found[:, automaton.variable < 0] = False
        return np.ascontiguousarray(found).view(np.uint8)


def combine(conditions: Sequence[UInt8], size: int) -> Codes:
    """The codes of rows for which it is known which conditions hold."""
    codes, holds = np.zeros(size, np.int32), np.zeros((1, 0), np.bool_)
    for first in range(0, len(conditions), _WIDTH):
        together = conditions[first : first + _WIDTH]
        packed = together[0].copy()
        for place, condition in enumerate(together[1:], 1):
            packed |= condition << np.uint8(place)
        if len(conditions) <= _WIDTH:
            return Codes(packed.astype(np.int32), _bits(np.arange(1 << len(together)), len(together)))
        codes, holds = _joined(codes, holds, packed, len(together))
    return Codes(codes, holds)


def _joined(codes: Int32, holds: Bools, packed: UInt8, width: int) -> tuple[Int32, Bools]:
    """Codes that also say what `packed` says."""
    if len(holds) == 1:
        used = np.flatnonzero(np.bincount(packed, minlength=1 << width)) if packed.size else np.array([0])
        numbers = np.zeros(1 << width, np.int32)
        numbers[used] = np.arange(used.size)
        earlier, later, found = np.zeros(used.size, np.int64), used, numbers[packed]
    else:
        interner = IntegerInterner()
        found = interner.encode((codes.astype(np.int64) << 8) | packed)
        pairs = interner.hashed[: interner.size]
        earlier, later = pairs >> 8, pairs & 255
    return found.astype(np.int32, copy=False), np.concatenate([holds[earlier], _bits(later, width)], axis=1)


def _bits(numbers: Int64, width: int) -> Bools:
    """By number: its lowest bits."""
    return ((numbers[:, None] >> np.arange(width)) & 1).astype(np.bool_)
