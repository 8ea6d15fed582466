"""Places in matches, at which measures are evaluated, and the rows that navigations lead to from there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64, UInt8
from ostinato.sql.kernels.measures import navigate
from ostinato.sql.runtime.input import OrderedRows
from ostinato.sql.runtime.matches import Matches
from ostinato.sql.syntax import nodes as n


@dataclass(frozen=True)
class Output:
    """The places in matches at which measures are evaluated, match by match and in order.

    Attributes
    ----------
    match_of : array
        The match of each output row.
    places : array
        The place of its current row in the match; -1 in an empty match.
    one_row : bool
        Whether all of them are the last rows of their matches.
    """

    match: n.MatchRecognize
    rows: OrderedRows
    matches: Matches
    match_of: Int64
    places: Int64
    one_row: bool

    @property
    def size(self) -> int:
        return self.match_of.size

    @cached_property
    def starts(self) -> Int64:
        return self.matches.starts[self.match_of]

    @cached_property
    def current(self) -> Int64:
        """The current row of each; -1 where there is none."""
        return np.where(self.places < 0, -1, self.starts + self.places)

    @cached_property
    def numbers(self) -> pa.Array:
        return pa.array(self.matches.numbers[self.match_of])

    @cached_property
    def longest(self) -> int:
        return int(self.matches.lengths.max(initial=0))

    def members(self, variable: str) -> UInt8:
        """By state: whether its row belongs to a variable."""
        automaton = self.matches.automaton
        names = self.match.members(variable)
        return np.array([*(name in names for name in automaton.variables), False], np.uint8)[automaton.variable]

    def rows_of(self, term: n.Navigation) -> tuple[Int64, Int64]:
        """The row that a navigation leads to, and its place in the match; -1 where there is none."""
        final = term.mode == "FINAL" or self.one_row
        members = self.members(term.variable)
        if members[2:].all():
            known = self.matches.lengths[self.match_of] if final else self.places + 1
            found = np.where(term.skip >= known, -1, term.skip if term.end == "FIRST" else known - 1 - term.skip)
        else:
            found = np.empty(self.size, np.int64)
            own = np.empty(self.longest, np.int64)
            from_first = int(term.end == "FIRST")
            path, offsets = self.matches.path, self.matches.offsets
            navigate(path, offsets, members, self.match_of, self.places, from_first, term.skip, final, own, found)
        rows = np.where(found < 0, -1, self.starts + found + term.step)
        if term.step:
            partitions = np.searchsorted(self.rows.bounds, self.starts, "right")
            outside = (rows < self.rows.bounds[partitions - 1]) | (rows >= self.rows.bounds[partitions])
            rows = np.where(outside, -1, rows)
            found = np.where(rows < 0, -1, found + term.step)
        return rows, found

    def labels(self, places: Int64) -> pa.Array:
        """The variables of the rows at places in the matches; NULL outside them."""
        inside = (places >= 0) & (places < self.matches.lengths[self.match_of])
        at = np.where(inside, self.matches.offsets[self.match_of] + places, 0)
        path = self.matches.path
        states = path[at] if path.size else np.zeros(self.size, np.int64)
        variables = self.matches.automaton.variable[states]
        return pa.array(self.matches.automaton.variables, pa.string()).take(pa.array(variables, mask=~inside))
