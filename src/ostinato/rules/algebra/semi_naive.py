"""Recursion in rounds (semi-naive evaluation of Definition 0.10): each round joins only what the one before it made.

Δ is what the last round added to a point, ◦ what was there before it. Points that no rule of the recursion adds to are
complete and stand as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ostinato.core.expressions import Literal, Variable
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.syntax.nodes import Make, Value


@dataclass(frozen=True)
class Rounds:
    """What a round computes: of each definition that recursion adds to, what it adds; of a match, the match itself."""

    labels: tuple[str, ...]  # what the recursion derives
    additions: tuple[tuple[cera.Definition, cera.Node], ...]
    looked_up: frozenset[str]  # points that rounds read again and again


def plan_rounds(definitions: Sequence[cera.Definition], labels: Iterable[str]) -> Rounds:
    """The rounds of a recursive group, from its definitions in order."""
    derived = tuple(sorted(labels))
    moving: set[str] = set()
    additions: list[tuple[cera.Definition, cera.Node]] = []
    for definition in definitions:
        node = definition.node
        added = (
            _additions(node, moving) if not isinstance(node, cera.Match) else node if node.stream in derived else None
        )
        if added is not None:
            moving.add(definition.name)
            additions.append((definition, added))
    read = {point for _, node in additions for point in _looked_up(node)}
    return Rounds(derived, tuple(additions), frozenset(read))


def is_finite(head: Make, plain: Iterable[str]) -> bool:
    """Whether the head puts together only values that are there already: recursion through it ends by itself.

    `plain` are the variables that hold a value, and no element.
    """
    made: list[object] = [head]
    while made:
        term = made.pop()
        if isinstance(term, Make):
            made += term.children
        elif not isinstance(term, Value) or not _is_copied(term, frozenset(plain)):
            return False
    return True


def _is_copied(term: Value, plain: frozenset[str]) -> bool:
    return isinstance(term.expr, Literal) or (isinstance(term.expr, Variable) and term.expr.name in plain)


def _additions(node: cera.Node, moving: set[str]) -> cera.Node | None:
    """What the round adds to a node; None where that is nothing."""
    if isinstance(node, cera.Point):
        return cera.At("Δ", node) if node.name in moving else None
    if isinstance(node, cera.Match | cera.FixedStream | cera.TimerStream):
        return None
    if isinstance(node, cera.AntiJoin) or (isinstance(node, cera.Join) and isinstance(node.right, cera.AnyTimer)):
        left = _additions(node.left, moving)  # what is negated is complete (plan.strata)
        return None if left is None else replace(node, left=left)
    if isinstance(node, cera.Join | cera.TemporalJoin):
        left, right = _additions(node.left, moving), _additions(node.right, moving)
        operands: list[cera.Node] = []
        if left is not None:
            operands.append(replace(node, left=left, right=_part("◦∪Δ", node.right, moving)))
        if right is not None:
            operands.append(replace(node, left=_part("◦", node.left, moving), right=right))
        return None if not operands else operands[0] if len(operands) == 1 else cera.Union(tuple(operands))
    below = _additions(cera.inputs(node)[0], moving)
    return None if below is None else cera.with_inputs(node, (below,))


def _part(part: cera.Part, node: cera.Node, moving: set[str]) -> cera.Node:
    """The node over that part of what moves."""
    if isinstance(node, cera.Point):
        return cera.At(part, node) if node.name in moving else node
    return cera.with_inputs(node, tuple(_part(part, below, moving) for below in cera.inputs(node)))


def _looked_up(node: cera.Node) -> set[str]:
    if isinstance(node, cera.At):
        return set() if node.part == "Δ" or not isinstance(node.input, cera.Point) else {node.input.name}
    if isinstance(node, cera.Point):
        return {node.name}
    return {name for below in cera.inputs(node) for name in _looked_up(below)}
