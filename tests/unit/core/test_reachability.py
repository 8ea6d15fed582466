"""Reachable states."""

from __future__ import annotations

from ostinato.core.reachability import reachable_states


def test_what_edges_lead_to() -> None:
    edges = {0: [1, 2], 1: [0], 2: [3], 4: [0]}
    assert reachable_states([0], edges) == {0, 1, 2, 3}
    assert reachable_states([3, 4], edges) == {0, 1, 2, 3, 4}
    assert reachable_states([5], edges) == {5}
    assert reachable_states([], edges) == frozenset()
