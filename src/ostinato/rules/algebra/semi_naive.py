"""Recursion in rounds (semi-naive evaluation of Definition 0.10): each round joins only what the one before it made.

Δ is what the last round added to a point, ◦ what was there before it. Points that no rule of the recursion adds to are
complete and stand as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ostinato.core.expressions import Literal, Variable
from ostinato.rules.algebra.nodes import (
    AntiJoin,
    At,
    Definition,
    FixedStream,
    Join,
    Match,
    Node,
    Part,
    Point,
    TemporalJoin,
    TimerStream,
    Union,
    inputs,
    with_inputs,
)
from ostinato.rules.syntax.nodes import Make, Value


@dataclass(frozen=True)
class Rounds:
    """What a round computes: of each definition that recursion adds to, what it adds; of a match, the match itself."""

    labels: tuple[str, ...]  # what the recursion derives
    additions: tuple[tuple[Definition, Node], ...]
    looked_up: frozenset[str]  # points that rounds read again and again

    @property
    def moving(self) -> frozenset[str]:
        return frozenset(definition.name for definition, _ in self.additions)


def rounds_of(definitions: Sequence[Definition], labels: Iterable[str]) -> Rounds:
    """Of the definitions of a recursive group, in order."""
    derived = tuple(sorted(labels))
    moving: set[str] = set()
    additions: list[tuple[Definition, Node]] = []
    for definition in definitions:
        node = definition.node
        added = _added(node, moving) if not isinstance(node, Match) else node if node.stream in derived else None
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


def _added(node: Node, moving: set[str]) -> Node | None:
    """What the round adds to a node; None where that is nothing."""
    if isinstance(node, Point):
        return At("Δ", node) if node.name in moving else None
    if isinstance(node, Match | FixedStream | TimerStream):
        return None
    if isinstance(node, AntiJoin) or (isinstance(node, Join) and isinstance(node.right, TimerStream | FixedStream)):
        left = _added(node.left, moving)  # what is negated is complete (plan.rules_strata)
        return None if left is None else replace(node, left=left)
    if isinstance(node, Join | TemporalJoin):
        left, right = _added(node.left, moving), _added(node.right, moving)
        arms: list[Node] = []
        if left is not None:
            arms.append(replace(node, left=left, right=_part("◦∪Δ", node.right, moving)))
        if right is not None:
            arms.append(replace(node, left=_part("◦", node.left, moving), right=right))
        return None if not arms else arms[0] if len(arms) == 1 else Union(tuple(arms))
    below = _added(inputs(node)[0], moving)
    return None if below is None else with_inputs(node, (below,))


def _part(part: Part, node: Node, moving: set[str]) -> Node:
    """The node over that part of what moves."""
    if isinstance(node, Point):
        return At(part, node) if node.name in moving else node
    return with_inputs(node, tuple(_part(part, below, moving) for below in inputs(node)))


def _looked_up(node: Node) -> set[str]:
    if isinstance(node, At):
        return set() if node.part == "Δ" or not isinstance(node.input, Point) else {node.input.name}
    if isinstance(node, Point):
        return {node.name}
    return {name for below in inputs(node) for name in _looked_up(below)}
