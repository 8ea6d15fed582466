"""Which events MAX, NXT and LAST need not skip: a run that marks one of them can do all that it could without it."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from ostinato.core.arrays import Bools
from ostinato.patterns.automata.simulation import simulation
from ostinato.patterns.automata.transducer import Transducer, Transition


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


def _simulation(transducer: Transducer) -> Bools:
    """Pairs of states: whatever the first can do with the registers it has, the second can do, and marks as much."""
    related = np.ones((transducer.states, transducer.states), np.bool_)
    related[0, 1:] = related[1:, 0] = False

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
