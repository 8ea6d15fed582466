"""What can occur in a document: which elements hold which, in what order, with what attributes.

A schema is read from a DTD, an XML Schema or a sample (dtd.py, xsd.py, sample.py). It never says that something
must occur, only that other things cannot; so reading it too widely is harmless, too narrowly is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

DOCUMENT = ""  # as the name of a parent: the document node
_RESERVED = ("xmlns", "xml:", "xsi:")


def is_reserved_attribute(attribute: str) -> bool:
    """Attributes that speak of namespaces and schemas: any element may have them, declared or not."""
    return attribute.startswith(_RESERVED)


@dataclass(frozen=True)
class ElementType:
    """What may stand inside the elements of one name, wherever they stand."""

    children: frozenset[str] = frozenset()
    many: frozenset[str] = frozenset()  # children that may occur more than once
    first: frozenset[str] = frozenset()  # children that may come first
    follows: Mapping[str, frozenset[str]] = field(default_factory=dict)  # what may come directly after a child
    attributes: frozenset[str] = frozenset()
    text: bool = False  # text nodes, white space between elements included

    def after(self, child: str) -> frozenset[str]:
        """The children that may stand anywhere after that child."""
        seen: set[str] = set()
        todo = [child]
        while todo:
            new = self.follows.get(todo.pop(), frozenset()) - seen
            seen |= new
            todo += new
        return frozenset(seen)

    def __or__(self, other: ElementType) -> ElementType:
        """What the elements of either type may hold."""
        names = {*self.follows, *other.follows}
        nothing: frozenset[str] = frozenset()
        return ElementType(
            self.children | other.children,
            self.many | other.many,
            self.first | other.first,
            {name: self.follows.get(name, nothing) | other.follows.get(name, nothing) for name in names},
            self.attributes | other.attributes,
            self.text or other.text,
        )


_NOTHING = ElementType()


@dataclass(frozen=True)
class Schema:
    """The elements of a kind of document. `assumed`: seen in a sample, so every document has to be checked."""

    roots: frozenset[str]
    elements: Mapping[str, ElementType]
    source: str
    assumed: bool = False

    def __hash__(self) -> int:
        return hash((self.roots, frozenset(self.elements), self.source, self.assumed))

    def of(self, name: str) -> ElementType:
        """The type of the elements of that name; DOCUMENT holds the root elements."""
        if name == DOCUMENT:
            return ElementType(children=self.roots, first=self.roots)
        return self.elements.get(name, _NOTHING)

    def below(self, names: Iterable[str]) -> frozenset[str]:
        """Every element that can occur at any depth inside elements of those names."""
        seen: set[str] = set()
        todo = list(names)
        while todo:
            new = self.of(todo.pop()).children - seen
            seen |= new
            todo += new
        return frozenset(seen)

    def above(self, names: Iterable[str]) -> frozenset[str]:
        """Every element inside which, at any depth, elements of those names can occur; DOCUMENT among them."""
        seen: set[str] = set()
        todo = list(names)
        while todo:
            new = self.parents(todo.pop()) - seen
            seen |= new
            todo += new
        return frozenset(seen)

    def parents(self, name: str) -> frozenset[str]:
        """The elements that may hold an element of that name; DOCUMENT for a root."""
        found = {parent for parent, kind in self.elements.items() if name in kind.children}
        return frozenset(found | ({DOCUMENT} if name in self.roots else set()))
