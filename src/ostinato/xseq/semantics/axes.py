"""The axes and tests of XSeq on a tree in memory (XSeq paper, Definition 5.1 and `partition by`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ostinato.xseq.semantics.tree import Node, NodeKind
from ostinato.xseq.syntax.nodes import Axis, Kind, NodeTest

UNKEYED = object()  # what a node outside the partitioned path has for a key: no value of an attribute


@dataclass(frozen=True)
class Axes:
    """R_ax of Definition 5.1; with keys, siblings of different keys do not see each other."""

    keys: Mapping[Node, str | None] = field(default_factory=dict)

    def along(self, axis: Axis, test: NodeTest, node: Node) -> Iterator[Node]:
        """Every m with (n, m) ∈ R_ax that passes the test, in document order."""
        return (other for other in self._follow_axis(axis, node) if _passes(test, axis, other))

    def _follow_axis(self, axis: Axis, node: Node) -> list[Node]:
        match axis:
            case Axis.SELF:
                return [node]
            case Axis.CHILD:
                return node.children
            case Axis.DESCENDANT:
                return [below for below in node.subtree() if below is not node and below.kind is not NodeKind.ATTRIBUTE]
            case Axis.ATTRIBUTE:
                return node.attributes
            case Axis.FIRST_CHILD:
                return node.elements[:1]
            case Axis.PARENT:
                return [] if node.parent is None else [node.parent]
            case Axis.ANCESTOR:
                return [] if node.parent is None else [*self._follow_axis(Axis.ANCESTOR, node.parent), node.parent]
            case Axis.FOLLOWING_SIBLING:
                return [other for other in self._alike(node) if other.position > node.position]
            case Axis.PRECEDING_SIBLING:
                return [other for other in self._alike(node) if other.position < node.position]
            case Axis.IMMEDIATE_FOLLOWING_SIBLING:
                return self._follow_axis(Axis.FOLLOWING_SIBLING, node)[:1]

    def _alike(self, node: Node) -> list[Node]:
        """The siblings of an element that have its key; itself among them."""
        if node.kind is not NodeKind.ELEMENT or node.parent is None:
            return []
        return [other for other in node.parent.elements if self.key(other) == self.key(node)]

    def key(self, node: Node) -> object:
        return self.keys.get(node, UNKEYED)


def _passes(test: NodeTest, axis: Axis, node: Node) -> bool:
    if axis is Axis.ATTRIBUTE:
        return test.kind in (Kind.ANY, Kind.NODE) or (test.kind is Kind.NAME and test.name == node.name)
    if test.kind is Kind.TEXT:
        return node.kind is NodeKind.TEXT
    if test.kind is Kind.NODE:  # `.` may stand anywhere; nothing leads up to the document node
        return axis is Axis.SELF or node.kind in (NodeKind.ELEMENT, NodeKind.TEXT)
    return node.kind is NodeKind.ELEMENT and (test.kind is Kind.ANY or test.name == node.name)
