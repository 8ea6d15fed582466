"""Whether every match of a pattern is known with its last row, whatever rows follow.

The search prefers some ways through the pattern to others, and matches that begin earlier. A match is known with its
last row where by then no preferred way is still open. So the ways that are open after each row are followed, in the
order of preference, as in the simulation of Pike: those of one match, and of two that begin at different rows. Of what
conditions compare, only contradictions count: a row cannot pass `price > 5` and `price <= 5`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, product
from typing import TypeVar

from ostinato.errors import QueryError
from ostinato.sql.automaton.nodes import Node, build, successors
from ostinato.sql.plan.contradictions import contradict
from ostinato.sql.plan.row_terms import is_local
from ostinato.sql.syntax import nodes as n

_MOST_WAYS = 12  # that are open at once
_MOST_STATES = 2_000

T = TypeVar("T")
Ways = tuple[int, ...]  # the symbols that may take the next row, preferred ones first


def check_decided(match: n.MatchRecognize) -> None:
    """Raise QueryError where a match may be known only after its last row."""
    for part in n.walk(match.pattern):
        if isinstance(part, n.Anchor) and part.at == "$":
            raise QueryError("`$` waits for the end of the partition", span=part.span, fix="leave it out")
    values = [(each.name, each.condition) for each in match.definitions]
    for name, value in [*values, *((each.name, each.value) for each in match.measures)]:
        for term in value.terms:
            if isinstance(term, n.Navigation) and term.step > 0:
                reason = f"`{name}` reads a row after the one at hand, which is not known yet"
                raise QueryError(reason, span=term.span, fix="give that row a pattern variable of its own")
    _Search(match).run()


class _Search:
    def __init__(self, match: n.MatchRecognize) -> None:
        self.match = match
        made = build(match.pattern)
        self.symbols = made.symbols
        self.following = [self._following(symbol.then) for symbol in made.symbols]
        self.start = self._following(made.start)[0]

    def _following(self, node: Node | None) -> tuple[Ways, bool]:
        """The symbols that may come next, and whether the pattern may end instead, as the least preferred way."""
        assert node is not None
        found = [each for each, _ in successors(node, True)]
        return tuple(each.number for each in found if each.kind == "symbol"), any(
            each.kind == "accept" for each in found
        )

    @cached_property
    def conditions(self) -> Mapping[str, n.Sql]:
        return {each.name: each.condition for each in self.match.definitions}

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(n.symbols(self.match.pattern))

    @cached_property
    def by_row(self) -> frozenset[str]:
        """The variables whose conditions look at rows alone, so that all matches agree about a row."""
        conditions = self.conditions
        return frozenset(
            name for name in self.names if name not in conditions or is_local(self.match, name, conditions[name])
        )

    @cached_property
    def apart(self) -> frozenset[frozenset[str]]:
        """Pairs of variables that no row can be mapped to at once."""
        local = [name for name in self.conditions if name in self.by_row]
        pairs = combinations(local, 2)
        return frozenset(
            frozenset(pair) for pair in pairs if contradict(*((name, self.conditions[name]) for name in pair))
        )

    def run(self) -> None:
        """Follow one match from its first row, and each way of it beside a match that begins later."""
        seen: set[tuple[Ways, Ways | None]] = set()
        stack: list[tuple[Ways, Ways | None]] = [(self.start, None)]
        while stack:
            state = stack.pop()
            if state in seen or () in state:
                continue
            seen.add(state)
            older, newer = state
            if len(seen) > _MOST_STATES or len(older) + len(newer or ()) > _MOST_WAYS:
                raise self._undecided(older[0], "the pattern has too many ways to tell when its matches are known")
            for taken, also in self._rows(older, newer or ()):
                ways = self._step(taken)
                if not ways:
                    continue  # it is over: what begins later goes on as one that begins first
                if newer is None:
                    stack += [(ways, None), (ways, self.start)]
                elif (after := self._step(also)) is None:
                    raise self._undecided(also[0], self._later(ways))
                else:
                    stack.append((ways, after))

    def _step(self, taken: Sequence[int]) -> Ways | None:
        """The ways that are open after those that a row has taken; None where the match is complete."""
        open_: list[int] = []
        for each in taken:
            following, ends = self.following[each]
            open_ += following
            if ends and open_:
                raise self._undecided(each, self._more(open_))
            if ends:
                return None
        # Of ways that go on alike only the first counts; but where conditions read the match, they may differ.
        return tuple(dict.fromkeys(open_) if self.by_row >= self.names else open_)

    def _rows(self, older: Ways, newer: Ways) -> Iterator[tuple[list[int], list[int]]]:
        """Which of the ways of two matches a row can take."""
        both = [*older, *newer]
        shared = sorted({self.variable(each) for each in both} & self.by_row & self.conditions.keys())
        own = [place for place, each in enumerate(both) if self.variable(each) not in self.by_row]
        for holds in _subsets(shared):
            if any(frozenset(pair) in self.apart for pair in combinations(holds, 2)):
                continue
            passed = {*holds, *(self.by_row - self.conditions.keys())}
            for places in _subsets(own):
                chosen = set(places)
                taken = [place for place, each in enumerate(both) if place in chosen or self.variable(each) in passed]
                size = len(older)
                yield [both[at] for at in taken if at < size], [both[at] for at in taken if at >= size]

    def variable(self, symbol: int) -> str:
        return self.symbols[symbol].variable

    def _more(self, ways: Sequence[int]) -> str:
        return f"a row of `{self.variable(ways[0])}` may follow, which is preferred"

    def _later(self, ways: Sequence[int]) -> str:
        return f"a match that began before it may still take a row of `{self.variable(ways[0])}`"

    def _undecided(self, symbol: int, why: str) -> QueryError:
        name = self.variable(symbol)
        span = next(
            part.span for part in n.walk(self.match.pattern) if isinstance(part, n.Symbol) and part.name == name
        )
        return QueryError(
            f"a match is not known with its last row, of `{name}`: {why}",
            span=span,
            fix="end the pattern with a row that decides it, whose condition contradicts the one before: "
            "PATTERN (UP+ TURN) DEFINE UP AS v > PREV(v), TURN AS v <= PREV(v); or take as few rows as can be: UP+?",
        )


def _subsets(items: Sequence[T]) -> Iterator[list[T]]:
    for chosen in product((False, True), repeat=len(items)):
        yield [item for item, is_chosen in zip(items, chosen, strict=True) if is_chosen]
