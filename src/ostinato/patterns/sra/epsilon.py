"""ε-elimination (SRA paper, Lemma 5.3, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.explore import Move, explore
from ostinato.patterns.sra.trim import trim


def eliminate_epsilon(automaton: Automaton) -> Automaton:
    """The same strings without ε-transitions. A new state is the enclosure of an old one."""
    if not automaton.epsilons:
        return automaton

    def moves(states: frozenset[int]) -> Iterator[Move[frozenset[int]]]:
        for state in sorted(states):
            for rule in automaton.rules_from(state):
                yield rule.test, rule.writes, automaton.enclose(rule.target)

    return trim(
        explore(
            automaton.enclose(automaton.start), moves, lambda states: bool(states & automaton.final), automaton.window
        )
    )
