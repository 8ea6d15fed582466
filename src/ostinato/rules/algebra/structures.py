"""What tells points apart whatever they are called: the same relation in two plans has the same structure."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.canonical_names import canonicalise


def structures(plan: cera.Plan) -> dict[str, Hashable]:
    """The structure of each point of a plan that is not the result of a rule."""
    found: dict[str, Hashable] = {}
    for definition in plan.definitions:
        if definition.rule is None:
            found[definition.name] = canonicalise(_over(definition.node, found))[0]
    return found


def _over(node: cera.Node, known: dict[str, Hashable]) -> cera.Node:
    """The node with structures in place of the names of points."""
    if isinstance(node, cera.Point):
        return replace(node, name=known[node.name])  # type: ignore[arg-type]
    return cera.with_inputs(node, tuple(_over(below, known) for below in cera.inputs(node)))
