"""Which events MAX, NXT and LAST need not skip: a run that marks one of them can do all that it could without it.

Where that is so of all events, an event completes one largest match at most, which is the one that NXT takes.
"""

from __future__ import annotations

from collections.abc import Hashable
from itertools import combinations

import numpy as np

from ostinato.core.arrays import Bools
from ostinato.patterns.automata.simulation import simulation
from ostinato.patterns.automata.transducer import Transducer, Transition

_MAX_STATES = 512  # to look for a largest match; the start of a stream should not wait for that


def covering_transitions(transducer: Transducer) -> frozenset[Transition]:
    """Transitions that mark one more event of a match that has begun, keep its registers, and lose no way to go on.

    A run that skips the event instead can only find parts of what a run that marks it finds with the same last event.
    """
    simulates = _simulation(transducer)
    return frozenset(
        t
        for t in transducer.transitions
        if t.source != 0 and t.mark is not None and not t.writes and simulates[t.source, t.target]
    )


def has_one_largest(transducer: Transducer) -> bool:
    """Whether of the matches with the same last event one has all events of the others; False also where it is unclear.

    Of two transitions that one event may take from a state, one must lead to where all can be done that the other
    leads to, and it must be the one that marks. Then one run follows all others, and marks what any of them does. What
    leads to the end of a run is left to the last event. Of a transducer without registers.
    """
    if transducer.states > _MAX_STATES:
        return False
    simulates = _simulation(transducer)
    leaving: list[list[Transition]] = [[] for _ in range(transducer.states)]
    lasting = {t.source for t in transducer.transitions}
    for t in transducer.transitions:
        if t.target in lasting:
            leaving[t.source].append(t)

    def are_ordered(one: Transition, other: Transition) -> bool:
        one_stands, other_stands = simulates[other.target, one.target], simulates[one.target, other.target]
        if (one.mark is None) == (other.mark is None):
            return bool(one_stands or other_stands)
        return bool(other_stands if one.mark is None else one_stands)

    return all(
        one.excludes(other) or are_ordered(one, other) for group in leaving for one, other in combinations(group, 2)
    )


def _simulation(transducer: Transducer) -> Bools:
    """Pairs of states: whatever the first can do with the registers it has, the second can do, and marks as much."""
    related = np.ones((transducer.states, transducer.states), np.bool_)
    if transducer.registers:
        related[0, 1:] = related[1:, 0] = False  # the start has no registers yet

    def completes(t: Transition) -> bool:
        return t.mark is not None and t.target in transducer.final

    def label(t: Transition) -> Hashable:
        return t.condition, t.unless, t.mark is None, t.test, t.barred, t.writes, t.folds, completes(t)

    def follows(one: Transition, other: Transition) -> bool:
        return (
            (one.condition, one.test, one.writes, one.folds) == (other.condition, other.test, other.writes, other.folds)
            and (one.mark is None) == (other.mark is None)
            and set(other.unless) <= set(one.unless)
            and set(other.barred) <= set(one.barred)
            and (completes(other) or not completes(one))
        )

    return simulation(transducer.transitions, related, label, follows)
