"""Which states' strings can ever be compared: the order of all others need not be known or told apart."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, product

from ostinato.patterns.automata.transducer import Transducer, Transition


@lru_cache(maxsize=16)  # both halves ask
def comparable_states(transducer: Transducer, *, latest: bool) -> tuple[int, ...]:
    """The kin of each state. NXT: what two strings may reach that are equal so far; LAST: what they may come from.

    The same kin for two states means the same for wherever one event may take them (back): a congruence.
    """
    names = list(range(transducer.states))

    def unite(one: int, other: int) -> bool:
        old, new = sorted((names[one], names[other]), reverse=True)
        names[:] = [new if name == old else name for name in names]
        return old != new

    # Whichever final state a match reaches, it is compared with all that end at the same event.
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
    relations = {t.condition.relation for t in (one, other) if t.condition is not None} - {None}
    return (one.mark is None) == (other.mark is None) and len(relations) < 2
