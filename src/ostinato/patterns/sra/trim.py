"""Smaller automata with the same strings: without useless states, and with states merged that behave alike."""

from __future__ import annotations

from dataclasses import replace

from ostinato.core.expressions import FALSE
from ostinato.core.reachability import reachable_states
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.bisimulation import bisimulation_blocks


def trim(automaton: Automaton) -> Automaton:
    """Drop states that the start does not reach or that reach no final one, and merge states that behave alike.

    The start becomes 0. The automaton must have no ε-transitions.
    """
    assert not automaton.epsilons, "ε-transitions are eliminated first"
    return _merge_alike(_useful(automaton))


def _useful(automaton: Automaton) -> Automaton:
    forward: dict[int, list[int]] = {}
    backward: dict[int, list[int]] = {}
    for rule in automaton.rules:
        if rule.test != FALSE:
            forward.setdefault(rule.source, []).append(rule.target)
            backward.setdefault(rule.target, []).append(rule.source)
    reached = reachable_states([automaton.start], forward)
    useful = (reached & reachable_states(automaton.final, backward)) | {automaton.start}
    order = [automaton.start, *sorted(useful - {automaton.start})]
    return _renumber(automaton, {state: number for number, state in enumerate(order)})


def _merge_alike(automaton: Automaton) -> Automaton:
    block = bisimulation_blocks(automaton)
    first = dict.fromkeys(block)  # blocks are numbered by their first state, so that the start stays 0
    number = {name: index for index, name in enumerate(first)}
    return _renumber(automaton, {state: number[name] for state, name in enumerate(block)})


def _renumber(automaton: Automaton, number: dict[int, int]) -> Automaton:
    """Keep the states that have a number; drop the others, and rules that never fire."""
    rules: dict[SraRule, None] = {}
    for rule in automaton.rules:
        if rule.source in number and rule.target in number and rule.test != FALSE:
            rules.setdefault(replace(rule, source=number[rule.source], target=number[rule.target]))
    final = frozenset(number[state] for state in automaton.final if state in number)
    return replace(
        automaton,
        states=max(number.values()) + 1,
        start=number[automaton.start],
        final=final,
        rules=tuple(rules),
    )
