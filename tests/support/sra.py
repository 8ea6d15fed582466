"""What must hold of symbolic register automata."""

from __future__ import annotations

from itertools import combinations

from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.theory.satisfiability import is_satisfiable


def is_deterministic(automaton: Automaton) -> bool:
    """Whether it is certain that no two rules of a state fire on the same event and registers (Definition 5.7)."""
    return not automaton.epsilons and not any(
        is_satisfiable([(one.test, True), (other.test, True)])
        for state in range(automaton.states)
        for one, other in combinations(automaton.rules_from(state), 2)
    )
