"""Completion and complement of windowed automata (SRA paper, Corollary 5.17, Algorithm 9)."""

from __future__ import annotations

from dataclasses import replace

from ostinato.automata.sra.automaton import Automaton
from ostinato.automata.sra.determinise import powerset
from ostinato.automata.sra.trim import trim
from ostinato.automata.sra.unroll import window_of


def complement(automaton: Automaton, window: int | None = None) -> Automaton:
    """The strings of at most `window` events that the automaton does not accept.

    In the power set every event leads somewhere, if only to the dead state q_dead, so that each string has exactly one
    run: flipping the final states flips the answer.
    """
    complete = powerset(automaton, window_of(automaton, window, "complemented"))
    return trim(replace(complete, final=frozenset(range(complete.states)) - complete.final))
