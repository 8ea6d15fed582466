"""ε-elimination (SRA paper, Lemma 5.3, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.explore import Move, explore
from ostinato.patterns.sra.trim import trim

MAX_TRANSITIONS = 20_000  # of the result
MAX_STEPS = 3_000_000  # ε-transitions followed for it


def eliminate_epsilon(automaton: Automaton) -> Automaton:
    """The same strings without ε-transitions. A new state is the enclosure of an old one."""
    if not automaton.epsilons:
        return automaton
    transitions = steps = 0

    def moves(states: frozenset[int]) -> Iterator[Move[frozenset[int]]]:
        nonlocal transitions, steps
        for state in sorted(states):
            for rule in automaton.rules_from(state):
                reached = automaton.enclose(rule.target)
                transitions, steps = transitions + 1, steps + len(reached)
                if transitions > MAX_TRANSITIONS:
                    raise too_large("automaton_transitions", MAX_TRANSITIONS)
                if steps > MAX_STEPS:
                    raise too_large("automaton_steps", MAX_STEPS)
                yield rule.test, rule.writes, reached

    return trim(
        explore(
            automaton.enclose(automaton.start), moves, lambda states: bool(states & automaton.final), automaton.window
        )
    )


def too_large(limit: str, bound: int) -> LimitError:
    return LimitError(
        limit,
        bound,
        reason="the automaton of this expression is too large",
        fix="let loops count to less, or use + or * and bound it by WITHIN … EVENTS",
    )
