"""Schemas from sample documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ostinato.documents.nested_words import Letter, Mark
from ostinato.documents.schema.model import DOCUMENT, ElementType, Schema


@dataclass
class _Seen:
    """What was seen in the elements of one name so far."""

    children: set[str] = field(default_factory=set)
    many: set[str] = field(default_factory=set)
    first: set[str] = field(default_factory=set)
    follows: dict[str, set[str]] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)
    text: bool = False

    def child(self, name: str, before: list[str]) -> None:
        """An element of that name after those of the list, each once, the last at the end."""
        self.children.add(name)
        if not before:
            self.first.add(name)
        else:
            self.follows.setdefault(before[-1], set()).add(name)
        if name in before:
            self.many.add(name)
            before.remove(name)
        before.append(name)

    def type(self) -> ElementType:
        follows = {name: frozenset(after) for name, after in self.follows.items()}
        return ElementType(
            frozenset(self.children),
            frozenset(self.many),
            frozenset(self.first),
            follows,
            frozenset(self.attributes),
            self.text,
        )


def from_sample(words: Iterable[Iterable[Letter]], *, source: str = "sample") -> Schema:
    """What occurs in the documents of a sample; assumed of others, so that these must be checked."""
    seen: dict[str, _Seen] = {DOCUMENT: _Seen()}
    for word in words:
        stack: list[tuple[_Seen, list[str]]] = [(seen[DOCUMENT], [])]
        for letter in word:
            parent, before = stack[-1]
            match letter.mark:
                case Mark.OPEN:
                    parent.child(letter.name, before)
                    stack.append((seen.setdefault(letter.name, _Seen()), []))
                case Mark.CLOSE:
                    stack.pop()
                case Mark.ATTRIBUTE:
                    parent.attributes.add(letter.name)
                case Mark.TEXT:
                    parent.text = True
    roots = frozenset(seen.pop(DOCUMENT).children)
    return Schema(roots, {name: each.type() for name, each in seen.items()}, source, assumed=True)
