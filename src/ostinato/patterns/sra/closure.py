"""Union, intersection, concatenation and star (SRA paper, Theorem 5.9, appendix 10.5), windows included.

A window limits the length of a whole string. The strings of a union, a concatenation or a star may be longer than the
windows of its parts, so their windows are first moved into the states, which then count events.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.definite_registers import make_registers_definite
from ostinato.patterns.sra.epsilon import eliminate_epsilon
from ostinato.patterns.sra.explore import Move, explore
from ostinato.patterns.sra.rename_registers import rename_apart
from ostinato.patterns.sra.trim import trim
from ostinato.patterns.theory.conjunction import conjunction
from ostinato.patterns.theory.satisfiability import is_satisfiable


def union(left: Automaton, right: Automaton) -> Automaton:
    """L(left) ∪ L(right). A run is in one of the two from its start, so that they may share registers."""
    window = left.window if left.window == right.window else None
    if window is None:
        left, right = count_events_in_states(left), count_events_in_states(right)
    both = _side_by_side(left, right)
    start, offset = both.states, left.states
    return eliminate_epsilon(
        replace(
            both,
            states=both.states + 1,
            start=start,
            final=left.final | {offset + state for state in right.final},
            epsilons=(*both.epsilons, (start, left.start), (start, offset + right.start)),
            window=window,
        )
    )


def intersection(left: Automaton, right: Automaton) -> Automaton:
    """L(left) ∩ L(right): the product, each side with registers of its own. The narrower window holds.

    Rules whose tests exclude each other never fire together; without them whole parts of the product are not reached.
    """
    left, right = eliminate_epsilon(left), eliminate_epsilon(rename_apart(right, left.registers))

    def moves(state: tuple[int, int]) -> Iterator[Move[tuple[int, int]]]:
        for one in left.rules_from(state[0]):
            for other in right.rules_from(state[1]):
                test = conjunction((one.test, other.test))
                if is_satisfiable([(test, True)]):
                    yield test, tuple(sorted({*one.writes, *other.writes})), (one.target, other.target)

    def final(state: tuple[int, int]) -> bool:
        return state[0] in left.final and state[1] in right.final

    windows = [automaton.window for automaton in (left, right) if automaton.window is not None]
    return trim(explore((left.start, right.start), moves, final, min(windows, default=None)))


def concatenation(left: Automaton, right: Automaton) -> Automaton:
    """L(left) · L(right). The right side has registers of its own, so that it starts with empty ones."""
    left, right = count_events_in_states(left), count_events_in_states(rename_apart(right, left.registers))
    both, offset = _side_by_side(left, right), left.states
    return eliminate_epsilon(
        replace(
            both,
            start=left.start,
            final=frozenset(offset + state for state in right.final),
            epsilons=(*both.epsilons, *((state, offset + right.start) for state in sorted(left.final))),
        )
    )


def star(automaton: Automaton) -> Automaton:
    """L(automaton)*. Unlike `e*` of an SREM, each round starts with empty registers (Definition 5.8).

    The definite automaton reads only what the same round has written, so what an earlier round left behind makes no
    difference.
    """
    inner = make_registers_definite(count_events_in_states(automaton))
    start = inner.states
    return eliminate_epsilon(
        replace(
            inner,
            states=inner.states + 1,
            start=start,
            final=frozenset({start}),
            epsilons=((start, inner.start), *((state, start) for state in sorted(inner.final))),
        )
    )


def count_events_in_states(automaton: Automaton) -> Automaton:
    """The same strings without a window: the states count events, and those after the last event have no rules."""
    if automaton.window is None:
        return automaton
    width, automaton = automaton.window, eliminate_epsilon(automaton)

    def moves(state: tuple[int, int]) -> Iterator[Move[tuple[int, int]]]:
        here, count = state
        for rule in automaton.rules_from(here) if count < width else ():
            yield rule.test, rule.writes, (rule.target, count + 1)

    return trim(explore((automaton.start, 0), moves, lambda state: state[0] in automaton.final, None))


def _side_by_side(left: Automaton, right: Automaton) -> Automaton:
    """Both in one, not yet connected: the states of the right one follow those of the left one."""
    moved = tuple(
        replace(rule, source=rule.source + left.states, target=rule.target + left.states) for rule in right.rules
    )
    epsilons = tuple((source + left.states, target + left.states) for source, target in right.epsilons)
    return Automaton(left.states + right.states, left.start, frozenset(), left.rules + moved, left.epsilons + epsilons)
