"""Which events MAX, NXT and LAST need not skip: a run that marks one of them can do all that it could without it."""

from __future__ import annotations

from ostinato.patterns.automata.transducer import Transducer, Transition


def covering_transitions(transducer: Transducer) -> frozenset[Transition]:
    """Transitions that mark one more event of a match that has begun, keep its registers, and lose no way to go on.

    A run that skips the event instead can only find parts of what a run that marks it finds with the same last event.
    """
    simulates = _simulation(transducer)
    return frozenset(
        t
        for t in transducer.transitions
        if t.source != 0 and t.mark is not None and not t.writes and (t.source, t.target) in simulates
    )


def _simulation(transducer: Transducer) -> set[tuple[int, int]]:
    """Pairs of states: whatever the first can do with the registers it has, the second can do, and marks as much."""
    leaving: list[list[Transition]] = [[] for _ in range(transducer.states)]
    for t in transducer.transitions:
        leaving[t.source].append(t)
    states = range(1, transducer.states)
    pairs = {(one, other) for one in states for other in states}

    def follows(one: Transition, other: Transition) -> bool:
        return (
            (one.condition, one.test, one.writes, one.folds) == (other.condition, other.test, other.writes, other.folds)
            and (one.mark is None) == (other.mark is None)
            and set(other.unless) <= set(one.unless)
            and set(other.barred) <= set(one.barred)
            and (one.mark is None or one.target not in transducer.final or other.target in transducer.final)
            and (one.target, other.target) in pairs
        )

    while True:
        kept = {
            (one, other)
            for one, other in pairs
            if all(any(follows(t, u) for u in leaving[other]) for t in leaving[one])
        }
        if kept == pairs:
            return pairs
        pairs = kept
