"""Content models: what may stand in an element, as a regular expression over the names of its children."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ostinato.documents.schema.model import ElementType


@dataclass(frozen=True)
class ChildName:
    name: str


@dataclass(frozen=True)
class ContentSequence:
    parts: tuple[Content, ...]


@dataclass(frozen=True)
class ContentChoice:
    """One of the parts; without parts, none can be."""

    parts: tuple[Content, ...]


@dataclass(frozen=True)
class RepeatedContent:
    body: Content
    least: int = 0  # 0 or more than 0
    many: bool = False


Content = ChildName | ContentSequence | ContentChoice | RepeatedContent
EMPTY = ContentSequence(())


@dataclass(frozen=True)
class _Facts:
    """What Glushkov's construction needs, with names for positions: it may say too much, never too little."""

    nullable: bool
    first: frozenset[str]
    last: frozenset[str]
    follows: frozenset[tuple[str, str]]
    counts: Counter[str]  # how often a name may occur, 2 for more than once


def element_type(content: Content, *, attributes: frozenset[str] = frozenset(), text: bool = False) -> ElementType:
    """What the content model lets occur, where and how often."""
    facts = _facts(content)
    follows: dict[str, set[str]] = {}
    for before, after in facts.follows:
        follows.setdefault(before, set()).add(after)
    return ElementType(
        frozenset(facts.counts),
        frozenset(name for name, count in facts.counts.items() if count > 1),
        facts.first,
        {name: frozenset(after) for name, after in follows.items()},
        attributes,
        text,
    )


def any_order(names: frozenset[str]) -> Content:
    """Any number of those elements in any order."""
    return (
        RepeatedContent(ContentChoice(tuple(ChildName(name) for name in sorted(names))), many=True) if names else EMPTY
    )


_NONE: frozenset[str] = frozenset()


def _facts(content: Content) -> _Facts:
    match content:
        case ChildName():
            one = frozenset({content.name})
            return _Facts(False, one, one, frozenset(), Counter(one))
        case ContentSequence():
            whole = _Facts(True, _NONE, _NONE, frozenset(), Counter())
            for part in map(_facts, content.parts):
                between = frozenset((before, after) for before in whole.last for after in part.first)
                whole = _Facts(
                    whole.nullable and part.nullable,
                    whole.first | (part.first if whole.nullable else _NONE),
                    part.last | (whole.last if part.nullable else _NONE),
                    whole.follows | part.follows | between,
                    whole.counts + part.counts,
                )
            return whole
        case ContentChoice():
            inner = [_facts(part) for part in content.parts]
            counts: Counter[str] = Counter()
            for part in inner:
                counts |= part.counts
            return _Facts(
                any(part.nullable for part in inner),
                _NONE.union(*(part.first for part in inner)),
                _NONE.union(*(part.last for part in inner)),
                frozenset().union(*(part.follows for part in inner)),
                counts,
            )
        case RepeatedContent():
            body = _facts(content.body)
            nullable = body.nullable or content.least == 0
            if not content.many:
                return _Facts(nullable, body.first, body.last, body.follows, body.counts)
            again = frozenset((before, after) for before in body.last for after in body.first)
            return _Facts(nullable, body.first, body.last, body.follows | again, body.counts + body.counts)
