"""Matches that are found, and the rows that they show."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.sql.live.bound_clause import BoundClause
from ostinato.sql.live.kept_rows import KeptRows
from ostinato.sql.live.partitions import Partitions, stretches
from ostinato.sql.runtime.clause import rows_of_matches
from ostinato.sql.runtime.matches import Matches, UInt16


@dataclass
class FoundMatches:
    """Attributes
    ----------
    parts, starts, lengths, numbers : array
        Of each match: its partition, the place of its first row, how many rows it has, its number there.
    reads : array
        Of each match: the last place that its measures read.
    path : array
        The states of the rows of all matches, one match after the other.
    """

    parts: Int64
    starts: Int64
    lengths: Int64
    numbers: Int64
    reads: Int64
    path: UInt16

    @staticmethod
    def none() -> FoundMatches:
        empty = np.zeros(0, np.int64)
        return FoundMatches(empty, empty, empty, empty, empty, np.zeros(0, np.uint16))

    @property
    def count(self) -> int:
        return self.starts.size

    def __add__(self, other: FoundMatches) -> FoundMatches:
        if not self.count:
            return other
        names = [field.name for field in fields(self)]
        return FoundMatches(*(np.concatenate([getattr(self, name), getattr(other, name)]) for name in names))

    def pick(self, chosen: Int64) -> FoundMatches:
        offsets = np.concatenate([[0], np.cumsum(self.lengths)])
        path = self.path[stretches(offsets[:-1][chosen], self.lengths[chosen])]
        return FoundMatches(
            self.parts[chosen],
            self.starts[chosen],
            self.lengths[chosen],
            self.numbers[chosen],
            self.reads[chosen],
            path,
        )

    def shift(self, delta: Int64) -> None:
        """Rows have moved."""
        self.starts = self.starts + delta[self.parts]
        self.reads = self.reads + delta[self.parts]


def last_reads(bound: BoundClause, found: Matches) -> Int64:
    """The last place that the measures of each match read."""
    reads = found.starts + np.maximum(found.lengths, 1) - 1
    for term in bound.looking_on:
        names = bound.match.members(term.variable)
        own = np.array([*(name in names for name in found.automaton.variables), False])[found.automaton.variable]
        for number in range(found.count):
            places = np.flatnonzero(own[found.path[found.offsets[number] : found.offsets[number + 1]]])
            if term.skip < places.size:
                place = places[term.skip] if term.end == "FIRST" else places[-1 - term.skip]
                reads[number] = max(reads[number], found.starts[number] + place + term.step)
    return reads


def show(bound: BoundClause, kept: KeptRows, partitions: Partitions, found: FoundMatches) -> pa.Table:
    """What the clause shows of matches."""
    ends = found.starts + np.maximum(found.lengths, 1)
    first = np.maximum(found.starts - bound.back, partitions["needed"][found.parts])
    last = np.minimum(ends + bound.furthest, partitions["last"][found.parts])
    counts = last - first
    bounds = np.concatenate([[0], np.cumsum(counts)])
    table = kept.take(partitions.of_rows["row_ids"][stretches(first, counts)])
    starts = bounds[:-1] + found.starts - first
    matches = Matches(bound.automaton, starts, found.lengths, found.numbers, found.path)
    match = bound.match
    if match.rows == "ALL ROWS WITH UNMATCHED":  # of which there are some around matches
        match = replace(match, rows="ALL ROWS SHOW EMPTY")
    return rows_of_matches(match, bound.ordered(table, bounds), matches)


def show_unmatched(bound: BoundClause, kept: KeptRows, partitions: Partitions, places: Int64) -> pa.Table:
    """What the clause shows of rows that are in no match."""
    table = kept.take(partitions.of_rows["row_ids"][places])
    empty = np.zeros(0, np.int64)
    nothing = Matches(bound.automaton, empty, empty, empty, np.zeros(0, np.uint16))
    return rows_of_matches(bound.match, bound.ordered(table, np.array([0, len(table)])), nothing)
