"""Tables that kernels read, to which rows come while rules come."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ostinato.core.arrays import Int64


class KernelTable:
    """Rows of whole numbers, as kernels read them; more may come."""

    def __init__(self, width: int, rows: Sequence[Sequence[int]] = ()) -> None:
        self._made, self._new = np.zeros((0, width), np.int64), list(rows)

    def __len__(self) -> int:
        return len(self._made) + len(self._new)

    def append(self, row: Sequence[int]) -> None:
        self._new.append(row)

    def extend(self, rows: Iterable[Sequence[int]]) -> None:
        self._new += rows

    @property
    def table(self) -> Int64:
        if self._new:
            self._made = np.concatenate([self._made, np.array(self._new, np.int64).reshape(-1, self._made.shape[1])])
            self._new = []
        return self._made


class KernelList:
    """The same for single numbers; there is always one."""

    def __init__(self, numbers: Sequence[int] = (0,)) -> None:
        self._made, self._new = np.zeros(0, np.int64), list(numbers)

    def __len__(self) -> int:
        return len(self._made) + len(self._new)

    def extend(self, numbers: Iterable[int]) -> tuple[int, int]:
        """Gives their range."""
        first = len(self)
        self._new += numbers
        return first, len(self)

    @property
    def array(self) -> Int64:
        if self._new:
            self._made = np.concatenate([self._made, np.array(self._new, np.int64)])
            self._new = []
        return self._made
