"""The last value of each key: its place in the stream, or the attribute that a window is measured along."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64


class LastPerKey:
    """One value per key, `none` where the key has not been seen."""

    def __init__(self, none: int) -> None:
        self.none = none
        self.values: Int64 = np.zeros(0, np.int64)

    def before(self, keys: Int32, values: Int64, key_count: int) -> Int64:
        """For each event the value of the event of the same key before it; the last of each key is remembered."""
        unseen = np.full(max(0, key_count - len(self.values)), self.none, np.int64)
        self.values = np.concatenate([self.values, unseen])
        order = np.argsort(keys, kind="stable")
        in_order = keys[order]
        first = np.concatenate([[True], in_order[1:] != in_order[:-1]])[: len(keys)]
        earlier = np.concatenate([[self.none], values[order][:-1]])[: len(keys)]
        before = np.empty(len(keys), np.int64)
        before[order] = np.where(first, self.values[in_order], earlier)
        last = order[np.concatenate([first[1:], [True]])[: len(keys)]]
        self.values[keys[last]] = values[last]
        return before

    def keep(self, kept: Int64) -> None:
        """Forget all keys but these, and renumber those in this order; a key not seen yet stays unseen."""
        values = np.full(len(kept), self.none, np.int64)
        known = kept < len(self.values)
        values[known] = self.values[kept[known]]
        self.values = values
