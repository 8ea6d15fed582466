"""Codes of rows that stay the same from batch to batch: which conditions hold there, as one small number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64, UInt8

MOST_PACKED = 8  # conditions whose truth values are the bits of a code


class CodeBook:
    """`holds` says by code and condition whether it holds there."""

    def __init__(self, conditions: int, holds: Bools | None = None) -> None:
        self.conditions = conditions
        self.packed = conditions <= MOST_PACKED
        if self.packed:
            numbers = np.arange(1 << conditions)
            holds = ((numbers[:, None] >> np.arange(conditions)) & 1).astype(np.bool_)
        self.holds: Bools = np.zeros((0, conditions), np.bool_) if holds is None else holds
        self.numbers = {row.tobytes(): number for number, row in enumerate(self.holds)}

    def encode(self, conditions: Sequence[UInt8], size: int) -> Int32:
        """The codes of rows; there may be more codes than before."""
        if self.packed:
            codes = np.zeros(size, np.int32)
            for place, holds in enumerate(conditions):
                codes |= holds.astype(np.int32) << place
            return codes
        rows = np.stack(conditions, axis=1).astype(np.bool_)
        distinct, places = np.unique(rows, axis=0, return_inverse=True)
        new = [row for row in distinct if row.tobytes() not in self.numbers]
        self.numbers |= {row.tobytes(): len(self.numbers) + number for number, row in enumerate(new)}
        if new:
            self.holds = np.concatenate([self.holds, new])
        own = np.array([self.numbers[row.tobytes()] for row in distinct], np.int32)
        return own[places.reshape(-1)]

    def allowed_states(self, variable: Int64, condition: Sequence[int]) -> UInt8:
        """By code and state: whether a row may lead to it. `variable` is that of each state, `condition` that of each
        variable; -1 for none."""
        always = np.concatenate([self.holds, np.ones((len(self.holds), 1), np.bool_)], axis=1)
        found = always[:, np.array([*condition, -1], np.int64)[variable]]
        found[:, variable < 0] = False
        return np.ascontiguousarray(found).view(np.uint8)
