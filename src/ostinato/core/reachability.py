"""Reachable states of a graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def reachable_states(start: Iterable[int], edges: Mapping[int, Iterable[int]]) -> frozenset[int]:
    """The states that the edges lead to from the start states, including those."""
    seen = dict.fromkeys(start)
    todo = list(seen)
    for state in todo:
        for target in edges.get(state, ()):
            if target not in seen:
                seen[target] = None
                todo.append(target)
    return frozenset(seen)
