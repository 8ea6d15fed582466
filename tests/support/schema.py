"""What a schema allows, checked letter by letter: the declarative twin of `xseq/runtime/conformance.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ostinato.documents.nested_words import Letter, Mark
from ostinato.documents.schema.model import DOCUMENT, Schema, is_reserved_attribute
from ostinato.errors import DataError


def allowed_pairs(schema: Schema) -> frozenset[tuple[str, str]]:
    """Each (parent, child), (element, @attribute) and (element, text()) that may occur: what a check looks up."""
    pairs = {(DOCUMENT, root) for root in schema.roots}
    for name, kind in schema.elements.items():
        pairs |= {(name, child) for child in kind.children}
        pairs |= {(name, f"@{attribute}") for attribute in kind.attributes}
        if kind.text:
            pairs.add((name, "text()"))
    return frozenset(pairs)


def allowed_successions(schema: Schema) -> frozenset[tuple[str, str, str]]:
    """Each (parent, child, next child) that may occur; the child before the first is DOCUMENT."""
    triples = set()
    for name, kind in schema.elements.items():
        triples |= {(name, DOCUMENT, child) for child in kind.first}
        triples |= {(name, child, after) for child, others in kind.follows.items() for after in others}
    return frozenset(triples)


def check_letters(word: Iterable[Letter], schema: Schema) -> Iterator[Letter]:
    """The letters of a document as they come; DataError at the first that the schema does not allow.

    The order of elements is not checked against a sample, and nothing is concluded from the order in a sample.
    """
    allowed, successions = allowed_pairs(schema), allowed_successions(schema)
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
