"""Nested words made by hand, and those of trees in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ostinato.documents.nested_words import Letter, Mark, open_letters
from ostinato.xseq.semantics.tree import Node, NodeKind


def element_word(
    name: str, attributes: Mapping[str, str] | None = None, inside: Iterable[Iterable[Letter]] = ()
) -> list[Letter]:
    """The word of one element, from the words of what it holds."""
    known = dict(attributes or {})
    letters = [Letter(Mark.OPEN, name, attributes=known)]
    letters += [Letter(Mark.ATTRIBUTE, key, value) for key, value in known.items()]
    letters += [letter for word in inside for letter in word]
    return [*letters, Letter(Mark.CLOSE, name)]


def text_word(value: str) -> list[Letter]:
    return [Letter(Mark.TEXT, value=value)]


def letters_of_tree(node: Node) -> Iterator[Letter]:
    """The letters of a tree; the document node itself has none."""
    todo: list[Node | Letter] = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, Letter):
            yield item
        elif item.kind is NodeKind.TEXT:
            yield Letter(Mark.TEXT, value=item.value)
        else:
            if item.kind is NodeKind.ELEMENT:
                known = {attribute.name: attribute.value for attribute in item.attributes}
                yield from open_letters(Letter(Mark.OPEN, item.name, attributes=known), known)
                todo.append(Letter(Mark.CLOSE, item.name))
            todo.extend(reversed(item.children))
