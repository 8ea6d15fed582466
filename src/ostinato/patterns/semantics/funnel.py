"""What a funnel means, straight from its definition, for small streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

from ostinato.core.expression_interpreter import Row


def furthest_chain(
    rows: Sequence[Row], steps: Sequence[Callable[[Row], bool]], times: Sequence[float], within: float | None
) -> tuple[int, ...]:
    """The places of the furthest chain of one key, whose rows are in stream order; empty where it took no step.

    A chain is a sequence of places, one after the other, the first a first step, the next a second one, and so on, all
    of them within the window. Of the longest, the one that is complete first; of those, the one that begins last; and
    then the one that takes each step as early as it can.
    """
    for length in range(len(steps), 0, -1):
        found = [
            chain
            for chain in combinations(range(len(rows)), length)
            if all(step(rows[place]) for step, place in zip(steps, chain, strict=False))
            and (within is None or times[chain[-1]] - times[chain[0]] <= within)
        ]
        if found:
            return min(found, key=lambda chain: (chain[-1], -chain[0], chain))
    return ()
