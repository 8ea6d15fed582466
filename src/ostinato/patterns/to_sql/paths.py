"""The ways through a pattern as pairs of places that follow each other (Glushkov's automaton): how many matches begin
and end with one row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf

from ostinato.patterns.to_sql.differs import Differs

_MOST = 60  # places, once loops are written out


@dataclass(frozen=True)
class Paths:
    """A part of a pattern. Places are numbers: a loop that is written out has several of one event."""

    first: frozenset[int] = frozenset()
    last: frozenset[int] = frozenset()
    pairs: frozenset[tuple[int, int]] = frozenset()
    shortest: float = 0
    longest: float = 0

    def then(self, other: Paths) -> Paths:
        return Paths(
            self.first | (frozenset() if self.shortest else other.first),
            other.last | (frozenset() if other.shortest else self.last),
            self.pairs | other.pairs | _all_pairs(self.last, other.first),
            self.shortest + other.shortest,
            self.longest + other.longest,
        )

    def or_else(self, other: Paths) -> Paths:
        shortest, longest = min(self.shortest, other.shortest), max(self.longest, other.longest)
        return Paths(self.first | other.first, self.last | other.last, self.pairs | other.pairs, shortest, longest)

    def looped(self) -> Paths:
        return Paths(self.first, self.last, self.pairs | _all_pairs(self.last, self.first), self.shortest, inf)

    def follow(self, place: int) -> frozenset[int]:
        return frozenset(after for before, after in self.pairs if before == place)

    def one_per_start(self, fits: Callable[[int, int], bool]) -> bool:
        """Whether no match is the beginning of another: two ways through the same rows, which must fit both, never
        come to where one ends and the other goes on."""
        waiting = [(one, other) for one in self.first for other in self.first if fits(one, other)]
        seen = set(waiting)
        while waiting:
            one, other = waiting.pop()
            if one in self.last and self.follow(other):
                return False
            more = {(a, b) for a in self.follow(one) for b in self.follow(other) if fits(a, b)} - seen
            seen |= more
            waiting += more
        return True

    def one_way(self, fits: Callable[[int, int], bool]) -> bool:
        """Whether each row can only go on to one place."""
        choices = [self.first, *(self.follow(place) for place in self.first | {after for _, after in self.pairs})]
        return not any(fits(one, other) for among in choices for one in among for other in among if one < other)

    def overlap(self, fits: Callable[[int, int], bool]) -> bool:
        """Whether a match may begin inside of another."""
        return any(fits(later, first) for _, later in self.pairs for first in self.first)


class Writer:
    """Gives numbers to places, and copies to the rounds of loops."""

    def __init__(self) -> None:
        self.events: list[int] = []  # of each place: the number of its event in the text

    def event(self, number: int) -> Paths:
        place = self._take(number)
        return Paths(frozenset({place}), frozenset({place}), frozenset(), 1, 1)

    def rounds(self, body: Paths, least: int, most: int | None) -> Paths:
        """The body from `least` to `most` times."""
        if not body.shortest:
            raise Differs  # rounds without a row
        copies = [body, *(self._copy(body) for _ in range((most or max(least, 1)) - 1))]
        if most is None:
            copies[-1] = copies[-1].looped()
        rest = Paths()
        for number, copy in reversed(list(enumerate(copies))):
            rest = copy.then(rest) if number < least else copy.then(rest).or_else(Paths())
        return rest

    def _copy(self, paths: Paths) -> Paths:
        places = sorted(paths.first | paths.last | {place for pair in paths.pairs for place in pair})
        fresh = {place: self._take(self.events[place]) for place in places}
        return Paths(
            frozenset(fresh[place] for place in paths.first),
            frozenset(fresh[place] for place in paths.last),
            frozenset((fresh[before], fresh[after]) for before, after in paths.pairs),
            paths.shortest,
            paths.longest,
        )

    def _take(self, event: int) -> int:
        if len(self.events) == _MOST:
            raise Differs
        self.events.append(event)
        return len(self.events) - 1


def _all_pairs(before: frozenset[int], after: frozenset[int]) -> frozenset[tuple[int, int]]:
    return frozenset((one, other) for one in before for other in after)
