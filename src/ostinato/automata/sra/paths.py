"""Ways through an automaton, as far as the tests on the way can hold together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ostinato.automata.sra.automaton import Automaton, Rule
from ostinato.automata.sra.configurations import Configuration, Configurations, place_name
from ostinato.automata.sra.rename import renamed
from ostinato.automata.sra.satisfy import model, satisfiable
from ostinato.errors import LimitError
from ostinato.lang.expr import CURRENT, Expr, variables

MAX_PATHS = 5_000


@dataclass(frozen=True)
class Path:
    """A walk through the automaton: its rules, and what their tests say of the events e1, e2, … that they read."""

    end: Configuration
    rules: tuple[Rule, ...] = ()
    tests: tuple[Expr, ...] = ()

    def longer(self, rule: Rule, test: Expr, end: Configuration) -> Path:
        current = place_name(len(self.rules) + 1)
        return Path(end, (*self.rules, rule), (*self.tests, renamed(test, {CURRENT: current})))

    def is_possible(self) -> bool:
        return satisfiable((test, True) for test in self.tests)

    def rows(self) -> list[dict[str, Any]] | None:
        """Events that pass all tests, where some can be found."""
        found = model((test, True) for test in self.tests)
        return None if found is None else [found.get(place_name(at + 1), {}) for at in range(len(self.rules))]

    def key(self) -> tuple[Configuration, frozenset[Expr]]:
        """Equal for paths that can go on alike: the numbers of events do not matter, only their order."""
        tests = self._bearing()
        events = {place_name(place) for place in self.end.places}.union(*map(variables, tests))
        order = sorted(int(name.removeprefix("e")) for name in events)
        number = {old: new for new, old in enumerate(order)}
        names = {place_name(old): place_name(new) for old, new in number.items()}
        held = tuple((register, number[place]) for register, place in self.end.held)
        return Configuration(self.end.state, held), frozenset(renamed(test, names) for test in tests)

    def _bearing(self) -> set[Expr]:
        """The tests that bear on what is to come: those on stored events, and on events compared with these."""
        bearing: set[Expr] = set()
        events = {place_name(place) for place in self.end.places}
        while more := {test for test in self.tests if test not in bearing and events & variables(test)}:
            bearing |= more
            events.update(*map(variables, more))
        return bearing


class Search:
    """All paths, shortest first, as far as their tests can hold together; one of those that can go on alike."""

    def __init__(self, automaton: Automaton) -> None:
        self.configurations = Configurations(automaton)
        self.dead_ends: list[Path] = []  # paths whose last test cannot hold after those before it

    def paths(self) -> Iterator[Path]:
        window = self.configurations.automaton.window
        todo = [Path(self.configurations.start)]
        seen = {todo[0].key()}
        for path in todo:
            yield path
            length = len(path.rules) + 1
            if window is not None and length > window:
                continue
            left = None if window is None else window - length
            for move in self.configurations.moves(path.end, length, left):
                longer = path.longer(*move)
                if not longer.is_possible():
                    self.dead_ends.append(longer)
                elif (key := longer.key()) not in seen:
                    if len(todo) >= MAX_PATHS:
                        raise undecided("paths", MAX_PATHS, "too many ways through the automaton")
                    seen.add(key)
                    todo.append(longer)


def undecided(limit: str, bound: int, why: str) -> LimitError:
    """The search ended without an answer."""
    return LimitError(
        limit,
        bound,
        reason=f"neither a string that is accepted was found, nor that there is none: {why}",
        fix="narrow the window, or make the conditions simpler",
    )
