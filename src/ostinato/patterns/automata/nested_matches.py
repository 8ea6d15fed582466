"""Whether a complex event can be a proper part of another with the same last event. If none can, MAX equals ALL."""

from __future__ import annotations

from ostinato.core.conditions import Condition
from ostinato.patterns.automata.transducer import Transducer, Transition

_MAX_STEPS = 50_000  # pairs of transitions to look at before giving up; such a query is matched as MAX

Pair = tuple[int, int, bool]  # states of the smaller and of the larger run, and whether the larger marked more


def never_nested(transducer: Transducer) -> bool:
    """True if no stream has two nested complex events with the same last event; False if one may, or if it is unclear.

    Both runs read the same events, and the larger marks whatever the smaller does: a search through pairs of states for
    one where both accept at once and the larger has marked more. Conditions are assumed to be able to hold together
    unless types or a NOT say otherwise, so that the search misses no real pair.
    """
    leaving: list[list[Transition]] = [[] for _ in range(transducer.states)]
    for transition in transducer.transitions:
        leaving[transition.source].append(transition)
    seen: set[Pair] = {(0, 0, False)}
    todo: list[Pair] = [(0, 0, False)]
    steps = 0
    while todo:
        smaller, larger, more = todo.pop()
        steps += len(leaving[smaller]) * len(leaving[larger])
        if steps > _MAX_STEPS:
            return False
        for one in leaving[smaller]:
            for other in leaving[larger]:
                if (one.mark is not None and other.mark is None) or not _together(one, other):
                    continue
                pair = (one.target, other.target, more or (one.mark is None and other.mark is not None))
                ends = one.mark is not None and {one.target, other.target} <= transducer.final
                if pair[2] and ends:
                    return False
                if pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
    return True


def _together(one: Transition, other: Transition) -> bool:
    """Whether one event may take both transitions."""
    conditions = [t.condition for t in (one, other) if t.condition is not None]
    refused = {condition for t in (one, other) for condition in t.unless}
    implied = {*conditions, *(Condition(condition.relation) for condition in conditions), Condition()}
    return not one.excludes(other) and refused.isdisjoint(implied)
