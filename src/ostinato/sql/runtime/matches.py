"""The matches of a clause as flat arrays, and the arrays that kernels write them to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.sql.automaton.build import Automaton
from ostinato.sql.kernels.layout import MATCHES, USED
from ostinato.sql.limits import SqlLimits

UInt16 = npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Matches:
    """Attributes
    ----------
    starts, lengths, numbers : array
        Of each match: its first row in order, how many rows it has, its number in its partition.
    path : array
        The states of the automaton after the rows of all matches, one match after the other.
    """

    automaton: Automaton
    starts: Int64
    lengths: Int64
    numbers: Int64
    path: UInt16

    @property
    def count(self) -> int:
        return self.starts.size

    @cached_property
    def offsets(self) -> Int64:
        """Where the rows of each match begin in the path."""
        found = np.zeros(self.count + 1, np.int64)
        np.cumsum(self.lengths, out=found[1:])
        return found


class MatchArrays:
    """What a kernel fills; full arrays are put aside."""

    def __init__(self, rows: int, limits: SqlLimits) -> None:
        self.limits = limits
        self.matches = max(256, rows // 16)
        self.path = max(256, rows // 4)
        self.found: list[tuple[Int64, Int64, Int64]] = []
        self.paths: list[UInt16] = []
        self.rows = 0
        self.fields: dict[str, npt.NDArray[Any]] = {}
        self.new_matches()
        self.new_path()

    def new_matches(self) -> None:
        names = ("starts", "lengths", "numbers")
        self.fields |= {name: np.empty(self.matches, np.int64) for name in names}

    def new_path(self) -> None:
        self.fields["path"] = np.empty(self.path, np.uint16)

    def put_matches_aside(self, state: Int64) -> None:
        """The next matches go into new arrays."""
        count = int(state[MATCHES])
        starts, lengths, numbers = (self.fields[name][:count] for name in ("starts", "lengths", "numbers"))
        self.found.append((starts, lengths, numbers))
        state[MATCHES] = 0
        self.matches *= 2
        self.new_matches()

    def put_path_aside(self, state: Int64) -> None:
        used = int(state[USED])
        self.paths.append(self.fields["path"][:used])
        self.rows += used
        self.limits.check_rows(self.rows)
        state[USED] = 0
        self.path *= 2
        self.limits.check_memory(2 * self.path)
        self.new_path()

    def result(self, automaton: Automaton, state: Int64) -> Matches:
        last = tuple(self.fields[name][: int(state[MATCHES])] for name in ("starts", "lengths", "numbers"))
        path = self.fields["path"][: int(state[USED])]
        if not self.found:
            starts, lengths, numbers = last
        else:
            starts, lengths, numbers = (np.concatenate(parts) for parts in zip(*self.found, last, strict=True))
        return Matches(automaton, starts, lengths, numbers, np.concatenate([*self.paths, path]) if self.paths else path)
