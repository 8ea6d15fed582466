"""Finite differencing (section 3.4.3, Figure 11): what a step adds, in terms of what it adds to the inputs.

Δ is pushed inwards until it stands before points. ΔQ1 ⋈ ◦Q2 ∪ ΔQ1 ⋈ ΔQ2 is written as one join, ΔQ1 ⋈ (◦∪Δ)Q2.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.rules.algebra.nodes import (
    AntiJoin,
    At,
    FixedStream,
    Join,
    Match,
    Node,
    Part,
    Point,
    Rename,
    TemporalJoin,
    TimerStream,
    Union,
    inputs,
    with_inputs,
)


def difference(node: Node) -> Node:
    """ΔQ."""
    if isinstance(node, Point | Match | FixedStream):
        return At("Δ", node)
    if isinstance(node, Join) and not isinstance(node.right, TimerStream | FixedStream):
        left = replace(node, left=difference(node.left), right=_at("◦∪Δ", node.right))
        right = replace(node, left=_at("◦", node.left), right=difference(node.right))
        return Union((left, right))
    if isinstance(node, Join):
        return replace(node, left=difference(node.left))
    if isinstance(node, TemporalJoin | AntiJoin):
        return replace(node, left=difference(node.left), right=_at("◦∪Δ", node.right))
    return with_inputs(node, (difference(inputs(node)[0]),))


def _at(part: Part, node: Node) -> Node:
    """A part of what a join looks up: a point, maybe renamed."""
    if isinstance(node, Rename):
        return replace(node, input=_at(part, node.input))
    assert isinstance(node, Point), "what is looked up again is materialised"
    return At(part, node)
