"""Classes of states whose strings can ever be compared; among other strings the order does not matter."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

from ostinato.patterns.automata.transducer import Transducer, Transition

# Per kind of transition (whether it skips, and the type it asks for, None for any) the states beyond.
_Beyond = dict[tuple[bool, str | None], set[int]]


@lru_cache(maxsize=16)  # both halves of a window call this
def comparable_states(transducer: Transducer, *, latest: bool) -> tuple[int, ...]:
    """The class of each state, by its first state. NXT: states that two strings that are equal so far may reach; LAST:
    states that they may come from.

    States of one class lead to (or, for LAST, come from) states of one class on the same event: a congruence.
    """
    names = list(range(transducer.states))
    members = [{state} for state in names]
    beyond: list[_Beyond] = [{} for _ in names]
    for t in transducer.transitions:
        near, far = (t.target, t.source) if latest else (t.source, t.target)
        beyond[near].setdefault((t.mark is None, _relation(t)), set()).add(far)
    # A match is compared with all that end at the same event, whichever final states they reach.
    pairs = list(pairwise(sorted(transducer.final) if latest else ()))
    pending = set(names)
    while pairs or pending:
        for one, other in pairs:
            small, large = sorted((names[one], names[other]), key=lambda name: len(members[name]))
            if small == large:
                continue
            for state in members[small]:
                names[state] = large
            members[large] |= members[small]
            for kind, states in beyond[small].items():
                beyond[large].setdefault(kind, set()).update(states)
            pending.discard(small)
            pending.add(large)
        pairs = _together(beyond[pending.pop()]) if pending else []
    first: dict[int, int] = {}
    return tuple(first.setdefault(name, state) for state, name in enumerate(names))


def _relation(t: Transition) -> str | None:
    return t.condition.relation if t.condition is not None else None


def _together(beyond: _Beyond) -> list[tuple[int, int]]:
    """Pairs of states that one event may lead to, by transitions with the same mark; one state of them is left."""
    pairs: list[tuple[int, int]] = []
    for skips in (False, True):
        kinds = [kind for kind in beyond if kind[0] is skips]
        groups = [kinds] if (skips, None) in beyond else [[kind] for kind in kinds]
        for group in groups:
            states = sorted(set().union(*(beyond[kind] for kind in group)))
            pairs += pairwise(states)
            for kind in group:
                beyond[kind] = set(states[:1])
    return pairs
