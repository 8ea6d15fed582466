"""Automata whose states tell which registers hold an event, so that an engine needs no empty registers."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.epsilon import eliminate_epsilon
from ostinato.patterns.sra.explore import Move, explore
from ostinato.patterns.sra.live_registers import drop_idle_writes
from ostinato.patterns.sra.trim import trim


def make_registers_definite(automaton: Automaton) -> Automaton:
    """The same strings, where every register that a rule reads has been written on every way to the rule.

    A state becomes a pair of a state and the registers that have been written on the way to it; a rule that reads
    another one cannot be satisfied (Definition 3.11) and goes. Events that are never read are not stored.
    """
    automaton = drop_idle_writes(eliminate_epsilon(automaton))

    def moves(state: tuple[int, frozenset[str]]) -> Iterator[Move[tuple[int, frozenset[str]]]]:
        here, held = state
        for rule in automaton.rules_from(here):
            if rule.reads <= held:
                yield rule.test, rule.writes, (rule.target, held | set(rule.writes))

    told_apart = explore(
        (automaton.start, frozenset[str]()), moves, lambda state: state[0] in automaton.final, automaton.window
    )
    return trim(drop_idle_writes(trim(told_apart)))
