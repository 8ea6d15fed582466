"""What CXSeq productions mean: the least fixpoint of section 6.1 of the XSeq paper, on a tree in memory."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from ostinato.xseq.paper.productions import Both, CXSeq, Direction, Label, Starred, Variable, VStep, Walk
from ostinato.xseq.semantics.tree import Node

Pairs = frozenset[tuple[Node, Node]]


def pairs(query: CXSeq, document: Node) -> Pairs:
    """S(v0): from which node to which node the query leads."""
    tree = _Tree(document)
    found: dict[Variable, Pairs] = {variable: frozenset() for variable in query.variables}
    while True:
        larger = {
            variable: frozenset().union(*(_walks(walk, found, tree) for walk in query.of(variable)))
            for variable in found
        }
        if larger == found:
            return found[query.start]
        found = larger


class _Tree:
    """The tree as CXSeq sees it: the attributes of an element are its first children."""

    def __init__(self, document: Node) -> None:
        self.nodes = list(document.subtree())
        self._steps: dict[tuple[Direction, Node], Node] = {}
        for node in self.nodes:
            inside = [*node.attributes, *node.children]
            self._steps[Direction.SELF, node] = node
            if inside:
                self._steps[Direction.FIRST, node] = inside[0]
            for child in inside:
                self._steps[Direction.PARENT, child] = node
            for left, right in pairwise(inside):
                self._steps[Direction.NEXT, left] = right
                self._steps[Direction.PREVIOUS, right] = left

    def step(self, direction: Direction, node: Node) -> Node | None:
        return self._steps.get((direction, node))


def label(node: Node) -> Label:
    return Label(str(node.kind), node.name, tuple((each.name, each.value) for each in node.attributes))


def _walks(walk: Walk, found: Mapping[Variable, Pairs], tree: _Tree) -> Pairs:
    match walk:
        case Both():
            return _walks(walk.left, found, tree) & _walks(walk.right, found, tree)
        case Starred():
            whole = frozenset((node, node) for node in tree.nodes)
            once = _walks(walk.path, found, tree)
            while True:
                longer = whole | _joined(whole, once)
                if longer == whole:
                    return whole
                whole = longer
        case VStep():
            held = None if walk.predicate is None else {start for start, _ in found[walk.predicate]}
            reached: Pairs = frozenset(
                (node, target)
                for node in tree.nodes
                if (target := tree.step(walk.direction, node)) is not None
                and walk.test.passes(label(target))
                and (held is None or target in held)
            )
            for variable in walk.then:
                reached = _joined(reached, found[variable])
            return reached


def _joined(first: Pairs, second: Pairs) -> Pairs:
    after: dict[Node, list[Node]] = {}
    for middle, end in second:
        after.setdefault(middle, []).append(end)
    return frozenset((start, end) for start, middle in first for end in after.get(middle, ()))
