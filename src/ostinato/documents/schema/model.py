"""What can occur in a document: which elements hold which, in what order, with what attributes.

A schema is read from a DTD, an XML Schema or a sample (schema_read.py, schema_xsd.py). It never says that something
must occur, only that other things cannot; so reading it too widely is harmless, too narrowly is not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from ostinato.documents.nested_words import Letter, Mark
from ostinato.errors import DataError

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

    @property
    def allowed(self) -> frozenset[tuple[str, str]]:
        """Each (parent, child), (element, @attribute) and (element, text()) that may occur: what a check looks up."""
        pairs = {(DOCUMENT, root) for root in self.roots}
        for name, kind in self.elements.items():
            pairs |= {(name, child) for child in kind.children}
            pairs |= {(name, f"@{attribute}") for attribute in kind.attributes}
            if kind.text:
                pairs.add((name, "text()"))
        return frozenset(pairs)

    @property
    def successions(self) -> frozenset[tuple[str, str, str]]:
        """Each (parent, child, next child) that may occur; the child before the first is DOCUMENT."""
        triples = set()
        for name, kind in self.elements.items():
            triples |= {(name, DOCUMENT, child) for child in kind.first}
            triples |= {(name, child, after) for child, others in kind.follows.items() for after in others}
        return frozenset(triples)


def check_letters(word: Iterable[Letter], schema: Schema) -> Iterator[Letter]:
    """The letters of a document as they come; DataError at the first that the schema does not allow.

    The order of elements is not checked against a sample, and nothing is concluded from the order in a sample.
    """
    allowed, successions = schema.allowed, schema.successions
    stack: list[tuple[str, str]] = [(DOCUMENT, DOCUMENT)]  # each open element, and the last child seen in it
    for letter in word:
        parent, last = stack[-1]
        match letter.mark:
            case Mark.OPEN:
                if (parent, letter.name) not in allowed:
                    raise _broken(schema, f"`{letter.name}` stands in {_shown(parent)}")
                if not (schema.assumed or parent == DOCUMENT or (parent, last, letter.name) in successions):
                    place = "first" if last == DOCUMENT else f"directly after `{last}`"
                    raise _broken(schema, f"`{letter.name}` stands {place} in {_shown(parent)}")
                stack[-1] = (parent, letter.name)
                stack.append((letter.name, DOCUMENT))
            case Mark.CLOSE:
                stack.pop()
            case Mark.ATTRIBUTE:
                if (parent, f"@{letter.name}") not in allowed and not is_reserved_attribute(letter.name):
                    raise _broken(schema, f"`{parent}` has an attribute `{letter.name}`")
            case Mark.TEXT:
                if (parent, "text()") not in allowed:
                    raise _broken(schema, f"{_shown(parent)} has text")
        yield letter


def _shown(name: str) -> str:
    return "the document" if name == DOCUMENT else f"`{name}`"


def _broken(schema: Schema, what: str) -> DataError:
    if schema.assumed:
        return DataError(
            f"the document is not like the sample {schema.source}: {what}",
            fix="take a sample that shows everything that can occur, or detect without one",
        )
    return DataError(f"the document does not fit {schema.source}: {what}", fix="give the schema of this document")
