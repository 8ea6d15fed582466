"""Live registers: those that some later rule reads before they are written again."""

from __future__ import annotations

from dataclasses import replace

from ostinato.patterns.sra.automaton import Automaton


def live_registers(automaton: Automaton) -> tuple[frozenset[str], ...]:
    """For each state, the registers whose contents can still make a difference."""
    assert not automaton.epsilons, "ε-transitions are eliminated first"
    found = [frozenset[str]()] * automaton.states
    changed = True
    while changed:
        changed = False
        for rule in reversed(automaton.rules):  # targets tend to come after sources
            now = found[rule.source] | rule.reads | (found[rule.target] - set(rule.writes))
            changed |= now != found[rule.source]
            found[rule.source] = now
    return tuple(found)


def drop_idle_writes(automaton: Automaton) -> Automaton:
    """The same strings; an event is stored only where it may be read."""
    read = live_registers(automaton)
    rules = (
        replace(rule, writes=tuple(name for name in rule.writes if name in read[rule.target]))
        for rule in automaton.rules
    )
    return replace(automaton, rules=tuple(dict.fromkeys(rules)))
