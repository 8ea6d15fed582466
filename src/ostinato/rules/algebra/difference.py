"""Finite differencing (section 3.4.3, Figure 11): what a step adds, in terms of what it adds to the inputs.

Δ is pushed inwards until it stands before points. ΔQ1 ⋈ ◦Q2 ∪ ΔQ1 ⋈ ΔQ2 is written as one join, ΔQ1 ⋈ (◦∪Δ)Q2.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.rules.algebra import nodes as cera


def difference(node: cera.Node) -> cera.Node:
    """ΔQ."""
    if isinstance(node, cera.Point | cera.Match | cera.FixedStream):
        return cera.At("Δ", node)
    if isinstance(node, cera.Join) and not isinstance(node.right, cera.AnyTimer):
        left = replace(node, left=difference(node.left), right=_at("◦∪Δ", node.right))
        right = replace(node, left=_at("◦", node.left), right=difference(node.right))
        return cera.Union((left, right))
    if isinstance(node, cera.Join):
        return replace(node, left=difference(node.left))
    if isinstance(node, cera.Rows):
        return cera.Rows(difference(node.left), difference(node.versions))
    if isinstance(node, cera.TemporalJoin | cera.AntiJoin):
        return replace(node, left=difference(node.left), right=_at("◦∪Δ", node.right))
    return cera.with_inputs(node, (difference(cera.inputs(node)[0]),))


def _at(part: cera.Part, node: cera.Node) -> cera.Node:
    """A part of what a join looks up: a point, maybe renamed."""
    if isinstance(node, cera.Rename):
        return replace(node, input=_at(part, node.input))
    assert isinstance(node, cera.Point), "what is looked up again is materialised"
    return cera.At(part, node)
