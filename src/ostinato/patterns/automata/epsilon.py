"""ε-removal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ostinato.core.reachability import reachable_states
from ostinato.patterns.automata.transducer import Transducer, Transition


def remove_epsilon(
    states: int, transitions: Sequence[Transition], epsilons: Sequence[tuple[int, int]], accepting: Sequence[int]
) -> Transducer:
    """Each state takes the transitions of every state it reaches by ε (appendix C.2)."""
    after: dict[int, list[int]] = {}
    for source, target in epsilons:
        after.setdefault(source, []).append(target)
    leaving: dict[int, list[Transition]] = {}
    for transition in transitions:
        leaving.setdefault(transition.source, []).append(transition)
    found: dict[Transition, None] = {}
    final = set()
    for state in range(states):
        reached = reachable_states([state], after)
        if state and not reached.isdisjoint(accepting):
            final.add(state)
        for inner in sorted(reached):
            for transition in leaving.get(inner, ()):
                found.setdefault(replace(transition, source=state))
    return Transducer(states, tuple(found), frozenset(final))
