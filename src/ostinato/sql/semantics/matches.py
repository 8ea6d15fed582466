"""Which rows match: ISO/IEC 19075-5, sections 4 and 7, by backtracking in the order of preferment.

A way to match is a tuple of mapped rows, one after the other from the row where the match starts. `ways` yields all of
them, preferred ones first, and the first is the match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

from ostinato.errors import DataError
from ostinato.sql.syntax import nodes as n


class Mapped(NamedTuple):
    """A row of a match: its pattern variable, and whether it stands in an exclusion."""

    variable: str
    excluded: bool = False


Way = tuple[Mapped, ...]


@dataclass(frozen=True)
class Match:
    start: int  # the place of its first row in the partition
    number: int
    mapped: Way

    @property
    def end(self) -> int:
        """The place after its last row."""
        return self.start + len(self.mapped)


# Whether a row may be mapped: the match with that row as its last, which is the current row.
Holds = Callable[[Match], bool]


def find_matches(match: n.MatchRecognize, size: int, holds: Holds) -> list[Match]:
    """The matches in a partition of `size` rows, in the order in which they are found."""
    found: list[Match] = []
    start = 0
    while start < size:
        number = len(found) + 1
        way = next(ways(match.pattern, (), False, Attempt(start, number, size, holds)), None)
        if way is None:
            start += 1
            continue
        found.append(Match(start, number, way))
        start = _resume(match, found[-1])
    return found


class Attempt(NamedTuple):
    """A search that begins at one row."""

    start: int
    number: int
    size: int
    holds: Holds


def ways(pattern: n.Pattern, before: Way, excluded: bool, attempt: Attempt) -> Iterator[Way]:
    """All ways to go on from `before` through the pattern, in the order of preferment."""
    here = attempt.start + len(before)
    if isinstance(pattern, n.Symbol):
        after = (*before, Mapped(pattern.name, excluded))
        if here < attempt.size and attempt.holds(Match(attempt.start, attempt.number, after)):
            yield after
    elif isinstance(pattern, n.Sequence):
        yield from _sequence(pattern.parts, before, excluded, attempt)
    elif isinstance(pattern, n.Alternation):
        for part in pattern.parts:
            yield from ways(part, before, excluded, attempt)
    elif isinstance(pattern, n.Permute):
        for order in permutations(pattern.parts):  # as written, in lexicographic order of the places
            yield from _sequence(order, before, excluded, attempt)
    elif isinstance(pattern, n.Repeat):
        yield from _repeat(pattern, 0, False, before, excluded, attempt)
    elif isinstance(pattern, n.Exclude):
        yield from ways(pattern.body, before, True, attempt)
    elif here == (0 if pattern.at == "^" else attempt.size):
        yield before


def _sequence(parts: tuple[n.Pattern, ...], before: Way, excluded: bool, attempt: Attempt) -> Iterator[Way]:
    if not parts:
        yield before
        return
    for after in ways(parts[0], before, excluded, attempt):
        yield from _sequence(parts[1:], after, excluded, attempt)


def _repeat(repeat: n.Repeat, rounds: int, empty: bool, before: Way, excluded: bool, attempt: Attempt) -> Iterator[Way]:
    """After so many rounds, the last of which was empty or not.

    Perl's rule: rounds that must be are made in any case; an empty round after them, or as the last of them, ends the
    repetition.
    """
    done = rounds >= repeat.least
    more = not done or (not empty and (repeat.most is None or rounds < repeat.most))
    if done and not repeat.greedy:
        yield before
    if more:
        for after in ways(repeat.body, before, excluded, attempt):
            yield from _repeat(repeat, rounds + 1, len(after) == len(before), after, excluded, attempt)
    if done and repeat.greedy:
        yield before


def _resume(match: n.MatchRecognize, found: Match) -> int:
    """Where the search goes on after a match (section 4.12). An empty match is followed by the next row."""
    skip = match.skip
    if not found.mapped or skip.to == "NEXT ROW":
        return found.start + 1
    if skip.to == "PAST LAST ROW":
        return found.end
    assert skip.variable is not None
    members = match.members(skip.variable)
    rows = [found.start + place for place, mapped in enumerate(found.mapped) if mapped.variable in members]
    if not rows:
        reason = f"AFTER MATCH SKIP TO {skip.variable}: a match has no row of {skip.variable}"
        raise DataError(reason)
    row = rows[0] if skip.to == "FIRST" else rows[-1]
    if row == found.start:
        reason = f"AFTER MATCH SKIP TO {skip.variable} leads to the first row of a match, which would be found again"
        raise DataError(reason)
    return row
