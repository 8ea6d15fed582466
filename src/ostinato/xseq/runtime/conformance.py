"""Whether a document is what a schema says: what was left out of a query because of the schema depends on it.

Checked is what the answer can depend on: which elements stand in which and, unless the schema is a sample, directly
after which; attributes and texts as far as the query has steps to them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ostinato.documents.schema.model import DOCUMENT, Schema, is_reserved_attribute
from ostinato.documents.tokens import ATTR, OPEN, Names, Tokens
from ostinato.errors import DataError, Message, Option
from ostinato.xseq.kernels.conform import Rules, first_break
from ostinato.xseq.syntax import nodes as n

if TYPE_CHECKING:
    from ostinato.documents.chunked_source import ChunkedSource


@dataclass(frozen=True)
class RequiredParts:
    """The attributes that a path has steps to (None: any), and whether it has some to texts."""

    attributes: frozenset[str] | None
    text: bool


def required_parts(path: n.Path) -> RequiredParts:
    steps = [each for each in n.subpaths(path) if isinstance(each, n.Step)]
    to_attributes = [step.test for step in steps if step.axis is n.Axis.ATTRIBUTE]
    named = all(test.kind is n.Kind.NAME for test in to_attributes)
    text = any(step.test.kind in (n.Kind.TEXT, n.Kind.NODE) for step in steps)
    return RequiredParts(frozenset(test.name for test in to_attributes) if named else None, text)


class ConformanceCheck:
    """Checks every token, a few nanoseconds each."""

    def __init__(self, schema: Schema, what: RequiredParts) -> None:
        self.schema, self.what = schema, what
        known = sorted({*schema.elements, *(child for _, child in _holds(schema)), DOCUMENT})
        self.element = {name: place for place, name in enumerate(known)}
        named = sorted({name for kind in schema.elements.values() for name in kind.attributes})
        self.attribute = {name: place for place, name in enumerate(named)}
        self.rules = self._rules()
        self.rules.open_name[0] = self.element[DOCUMENT]

    def _rules(self) -> Rules:
        """The last element and attribute stand for those that the schema does not know, the attribute after it for
        those that are not checked."""
        schema, size = self.schema, len(self.element) + 1
        child = np.zeros((size, size), np.int32)
        attributes = np.zeros((size, len(self.attribute) + 2), np.uint8)
        attributes[:, -1] = 1
        text = np.full(size, not self.what.text, np.uint8)
        begin, width, tables = np.zeros(size, np.int64), np.ones(size, np.int32), [np.zeros(1, np.uint8)]
        free = 1
        for name, place in self.element.items():
            kind = schema.of(name)
            number = {inner: 1 + at for at, inner in enumerate(sorted(kind.children))}
            table = np.full((1 + len(number), 1 + len(number)), schema.assumed or name == DOCUMENT, np.uint8)
            for inner in kind.first:
                table[0, number[inner]] = 1
            for inner, others in kind.follows.items():
                for other in others:
                    table[number[inner], number[other]] = 1
            for inner, at in number.items():
                child[place, self.element[inner]] = at
            begin[place], width[place] = free, 1 + len(number)
            free += table.size
            tables.append(table.reshape(-1))
            attributes[place, [self.attribute[each] for each in kind.attributes]] = 1
            text[place] |= kind.text
        return Rules(
            element_of=np.zeros(0, np.int32),
            attribute_of=np.zeros(0, np.int32),
            child=child,
            begin=begin,
            width=width,
            follows=np.concatenate(tables),
            attributes=attributes,
            text=text,
            open_name=np.zeros(64, np.int32),
            open_last=np.zeros(64, np.int32),
            depth=np.zeros(1, np.int64),
        )

    def push(self, tokens: Tokens, source: ChunkedSource[Any]) -> None:
        """Raises DataError at the first token that the schema does not have there."""
        names: Names = source.names
        rules = self.rules
        if len(names.texts) > rules.element_of.size:
            texts = [text.decode() for text in names.texts]
            rules.element_of = np.array([self.element.get(text, len(self.element)) for text in texts], np.int32)
            rules.attribute_of = np.array([self._attribute(text) for text in texts], np.int32)
        at = -1
        while at < 0:
            at = first_break(rules, tokens.kind, tokens.name, -1 - at)
            if at < 0:
                rules.open_name = np.concatenate([rules.open_name, np.zeros_like(rules.open_name)])
                rules.open_last = np.concatenate([rules.open_last, np.zeros_like(rules.open_last)])
        if at < tokens.kind.size:
            raise DataError(
                source.locate_message(
                    f"{self._broken(tokens, names, at)}, which {self.schema.source} does not have", _where(tokens, at)
                ),
                fix=Message("leave out ", Option("schema", None), ", or give one that fits"),
            )

    def _attribute(self, name: str) -> int:
        if is_reserved_attribute(name) or (self.what.attributes is not None and name not in self.what.attributes):
            return len(self.attribute) + 1
        return self.attribute.get(name, len(self.attribute))

    def _broken(self, tokens: Tokens, names: Names, at: int) -> str:
        rules = self.rules
        depth = int(rules.depth[0])
        parent = self._named(int(rules.open_name[depth]))
        if tokens.kind[at] != OPEN:
            what = f"an attribute `{names.texts[tokens.name[at]].decode()}`" if tokens.kind[at] == ATTR else "text"
            return f"<{parent}> has {what}"
        child = names.texts[tokens.name[at]].decode()
        place = "as the root" if parent == DOCUMENT else f"inside <{parent}>"
        number, last = int(rules.element_of[tokens.name[at]]), int(rules.open_last[depth])
        row = rules.child[rules.open_name[depth]]
        if row[number]:  # it may be there, but not now
            before = f"directly after <{self._named(int(np.flatnonzero(row == last)[0]))}>" if last else "first"
            place = f"{before} {place}"
        return f"<{child}> stands {place}"

    def _named(self, number: int) -> str:
        return next(name for name, place in self.element.items() if place == number)


def _holds(schema: Schema) -> list[tuple[str, str]]:
    return [(parent, child) for parent in (DOCUMENT, *schema.elements) for child in schema.of(parent).children]


def _where(tokens: Tokens, at: int) -> int:
    """Where a token stands in the document; of a value that is written otherwise there, where its element begins."""
    while at and tokens.start[at] >= tokens.used:
        at -= 1
    return min(int(tokens.start[at]), tokens.used)
