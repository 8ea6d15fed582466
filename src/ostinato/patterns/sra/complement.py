"""Completion and complement of windowed automata (SRA paper, Corollary 5.17, Algorithm 9)."""

from __future__ import annotations

from dataclasses import replace

from ostinato.errors import OstinatoError
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.determinise import powerset
from ostinato.patterns.sra.trim import trim


def complement(automaton: Automaton) -> Automaton:
    """The strings within the automaton's window that it does not accept.

    In the power set every event leads somewhere, if only to the dead state q_dead, so that each string has exactly one
    run: flipping the final states flips the answer.
    """
    if automaton.window is None:
        raise OstinatoError(
            "an automaton without a window cannot be complemented: the complement may need to store more events than "
            "any number of registers holds (Theorem 5.10 of the SRA paper)",
            fix="write ~a.determinise(window=n), or WITHIN n EVENTS in the pattern",
        )
    complete = powerset(automaton)
    return trim(replace(complete, final=frozenset(range(complete.states)) - complete.final))
