"""Configurations of an automaton (SRA paper, Definition 4.3), with events known by their places alone.

Unrolling, determinisation and the search for a string all follow configurations. They differ in which places keep
events: one for each position, or as few as possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from ostinato.core.expressions import Expr
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.epsilon import eliminate_epsilon
from ostinato.patterns.sra.live_registers import live_registers
from ostinato.patterns.sra.rename_registers import rename_registers
from ostinato.patterns.theory.satisfiability import is_satisfiable


class Configuration(NamedTuple):
    """A state, and the place of the event that each register holds: only of registers that may still be read."""

    state: int
    registers: tuple[tuple[str, int], ...] = ()

    @property
    def places(self) -> frozenset[int]:
        return frozenset(place for _, place in self.registers)


def place_name(place: int) -> str:
    """The register that keeps the event of a place."""
    return f"e{place}"


class Configurations:
    """The configurations of an automaton and the moves between them. Rules that can never fire are left out."""

    def __init__(self, automaton: Automaton) -> None:
        automaton = eliminate_epsilon(automaton)
        rules = tuple(rule for rule in automaton.rules if is_satisfiable([(rule.test, True)]))
        self.automaton = replace(automaton, rules=rules)
        self.start = Configuration(automaton.start)
        self._live = live_registers(self.automaton)
        self._distance = _distance(self.automaton)

    def is_final(self, configuration: Configuration) -> bool:
        return configuration.state in self.automaton.final

    def fewest(self, state: int) -> int | None:
        """The fewest events from a state to a final one; None if it reaches none."""
        return self._distance.get(state)

    def moves(
        self, source: Configuration, place: int, left: int | None
    ) -> Iterator[tuple[SraRule, Expr, Configuration]]:
        """Each rule that may fire, its test on places, and the configuration after an event that is kept in `place`.

        Rules that read an empty register cannot be satisfied (Definition 3.11); rules after
        which no final state can be reached within the `left` events do not matter.
        """
        registers = dict(source.registers)
        names = {register: place_name(kept) for register, kept in source.registers}
        for rule in self.automaton.rules_from(source.state):
            distance = self.fewest(rule.target)
            if rule.reads <= registers.keys() and distance is not None and (left is None or distance <= left):
                after = {**registers, **dict.fromkeys(rule.writes, place)}
                kept = tuple(sorted((name, at) for name, at in after.items() if name in self._live[rule.target]))
                yield rule, rename_registers(rule.test, names), Configuration(rule.target, kept)


def _distance(automaton: Automaton) -> dict[int, int]:
    """For each state from which a final one can be reached, the fewest events it takes."""
    distance = dict.fromkeys(automaton.final, 0)
    changed = True
    while changed:
        changed = False
        for rule in automaton.rules:
            there = distance.get(rule.target)
            if there is not None and there + 1 < distance.get(rule.source, there + 2):
                distance[rule.source] = there + 1
                changed = True
    return distance
