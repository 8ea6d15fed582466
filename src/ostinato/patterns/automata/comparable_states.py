"""Classes of states whose strings can ever be compared; among other strings the order does not matter."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, product

from ostinato.patterns.automata.transducer import Transducer, Transition


@lru_cache(maxsize=16)  # both halves of a window call this
def comparable_states(transducer: Transducer, *, latest: bool) -> tuple[int, ...]:
    """The class of each state. NXT: states that two strings that are equal so far may reach; LAST: states that they may
    come from.

    States of one class lead to (or, for LAST, come from) states of one class on the same event: a congruence.
    """
    names = list(range(transducer.states))

    def unite(one: int, other: int) -> bool:
        old, new = sorted((names[one], names[other]), reverse=True)
        names[:] = [new if name == old else name for name in names]
        return old != new

    # A match is compared with all that end at the same event, whichever final states they reach.
    for one, other in pairwise(sorted(transducer.final) if latest else ()):
        unite(one, other)
    pairs = [pair for pair in product(transducer.transitions, repeat=2) if _together(*pair)]
    changed = True
    while changed:
        changed = False
        for first, second in pairs:
            if latest and names[first.target] == names[second.target]:
                changed |= unite(first.source, second.source)
            elif not latest and names[first.source] == names[second.source]:
                changed |= unite(first.target, second.target)
    return tuple(names)


def _together(one: Transition, other: Transition) -> bool:
    """Whether one event may take both transitions with the same mark."""
    return (one.mark is None) == (other.mark is None) and not one.excludes(other)
