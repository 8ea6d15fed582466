"""Streaming detection with an SRA (SRA paper, Definition 6.1): a transducer that marks where a segment begins and ends.

Every event may begin a segment. Between its first and its last event nothing is skipped: each event is read by a rule,
which marks nothing, so that runs that began at different events, but are in the same state with the same registers, go
on as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.core.conditions import Condition
from ostinato.patterns.automata.from_formula import split_test
from ostinato.patterns.automata.optimise import merge_alike, trim
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition
from ostinato.patterns.sra.automaton import Automaton, SraRule

FIRST, LAST = "#first", "#last"


def segment_detector(automaton: Automaton) -> Transducer:
    """The automaton has no ε, and writes every register before it reads it (definite_registers.py)."""
    end = automaton.states + 1
    transitions = [START_LOOP, *(t for rule in automaton.rules for t in _transitions(rule, automaton, end))]
    whole = Transducer(automaton.states + 2, tuple(dict.fromkeys(transitions)), frozenset({end}))
    return trim(merge_alike(trim(whole)))


def _transitions(rule: SraRule, automaton: Automaton, end: int) -> Iterator[Transition]:
    """State s of the automaton is state s + 1 here, once a segment has begun."""
    condition, test = split_test(rule.test)
    for source, mark in ((0, FIRST), (rule.source + 1, None)):
        if source == 0 and rule.source != automaton.start:
            continue
        if automaton.rules_from(rule.target):
            whole = Transition(source, rule.target + 1, condition, mark=mark, test=test, writes=rule.writes)
            # An event that only lets a run wait is not one that the pattern looks for.
            waiting = replace(whole, condition=None) if condition == Condition() else whole
            yield waiting if waiting.waits else whole
        if rule.target in automaton.final:
            yield Transition(source, end, condition, mark=mark or LAST, test=test)
