"""Paths through an automaton, as far as the tests on them can hold together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ostinato.core.expressions import CURRENT, Expr, variables
from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.configurations import Configuration, Configurations, place_name
from ostinato.patterns.sra.rename_registers import rename_registers
from ostinato.patterns.theory.attribute_kinds import Kinds, attribute_kinds
from ostinato.patterns.theory.budget import Effort
from ostinato.patterns.theory.satisfiability import decide_satisfiability, find_model

MAX_STEPS = 200_000


@dataclass(frozen=True)
class Path:
    """A walk through the automaton: its rules, and what their tests say of the events e1, e2, … that they read."""

    end: Configuration
    rules: tuple[SraRule, ...] = ()
    tests: tuple[Expr, ...] = ()

    def extend(self, rule: SraRule, test: Expr, end: Configuration) -> Path:
        current = place_name(len(self.rules) + 1)
        return Path(end, (*self.rules, rule), (*self.tests, rename_registers(test, {CURRENT: current})))

    def decide(self) -> tuple[bool, int]:
        """Whether its tests can hold together if those before the last one can, and how many steps that took."""
        bearing = self._bearing({place_name(len(self.tests))})
        return decide_satisfiability((test, True) for test in self.tests if test in bearing)

    def rows(self, kinds: Kinds, effort: Effort) -> list[dict[str, Any]] | None:
        """Events that pass all tests, where some can be found."""
        found = find_model(((test, True) for test in self.tests), kinds, effort)
        return None if found is None else [found.get(place_name(at + 1), {}) for at in range(len(self.rules))]

    def key(self) -> tuple[Configuration, frozenset[Expr]]:
        """Equal for paths that can go on alike: of the events that bear on stored ones, only their order matters."""
        tests = self._bearing({place_name(place) for place in self.end.places})
        events = {place_name(place) for place in self.end.places}.union(*map(variables, tests))
        order = sorted(int(name.removeprefix("e")) for name in events)
        number = {old: new for new, old in enumerate(order)}
        names = {place_name(old): place_name(new) for old, new in number.items()}
        registers = tuple((register, number[place]) for register, place in self.end.registers)
        return Configuration(self.end.state, registers), frozenset(rename_registers(test, names) for test in tests)

    def _bearing(self, events: set[str]) -> set[Expr]:
        """The tests on these events, and on events compared with them."""
        bearing: set[Expr] = set()
        events = set(events)
        while more := {test for test in self.tests if test not in bearing and events & variables(test)}:
            bearing |= more
            events.update(*map(variables, more))
        return bearing


class PathSearch:
    """All paths, shortest first, as far as their tests can hold together; one of those that can go on alike.

    Loops may make them endless, so the whole search takes at most a given number of steps.
    """

    def __init__(self, automaton: Automaton, steps: int = MAX_STEPS) -> None:
        self.configurations = Configurations(automaton)
        self.steps = steps
        self._effort = Effort(steps)
        self._kinds = attribute_kinds(rule.test for rule in self.configurations.automaton.rules)
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
                longer = path.extend(*move)
                possible, steps = longer.decide()
                self._spend(steps)
                if not possible:
                    self.dead_ends.append(longer)
                elif (key := longer.key()) not in seen:
                    seen.add(key)
                    todo.append(longer)

    def rows(self, path: Path) -> list[dict[str, Any]] | None:
        """Events that take the path, where some can be found; each path may use only a part of the effort."""
        share = self.steps // 4
        effort = Effort(share)
        found = path.rows(self._kinds, effort)
        if found is None:
            self._spend(share - effort.left)
        else:  # always tried, whatever the search has used so far
            self._effort.spend(share - effort.left)
        return found

    def _spend(self, steps: int) -> None:
        if not self._effort.spend(steps):
            raise self.undecided_error("the search takes too long")

    def undecided_error(self, why: str) -> LimitError:
        """The search ended without an answer."""
        return LimitError(
            "steps",
            self.steps,
            reason=f"the search found neither a string that is accepted nor a proof that there is none: {why}",
            fix="narrow the window, or make the conditions simpler",
        )
