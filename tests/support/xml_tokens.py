"""Tokens as plain values that tests can compare."""

from __future__ import annotations

from typing import Any

from ostinato.documents.tokens import CLOSE, OPEN
from ostinato.documents.xml.tokeniser import XmlSource
from ostinato.errors import DataError, LimitError
from support.expat_tokens import ExpatSource

NOTHING = 1 << 31  # to be kept of the last buffer


def listed(source: XmlSource | ExpatSource) -> list[tuple[Any, ...]]:
    """(kind, name, place in the document) of tags, (kind, name, value) of attributes and text."""
    found: list[tuple[Any, ...]] = []
    front = 0
    while (tokens := source.read(NOTHING)) is not None:
        front += getattr(source, "moved", 0)
        columns = (column.tolist() for column in (tokens.kind, tokens.name, tokens.start, tokens.end))
        for kind, number, start, end in zip(*columns, strict=True):
            name = source.names.texts[number] if number >= 0 else None
            if kind in (OPEN, CLOSE):
                found.append((kind, name, front + start, front + end))
            else:
                found.append((kind, name, tokens.buffer[start:end].tobytes()))
    return found


def xml(document: Any, **options: Any) -> list[tuple[Any, ...]]:
    return listed(XmlSource(document, **options))


def or_refused(
    kind: type[XmlSource] | type[ExpatSource], document: bytes, **options: Any
) -> list[tuple[Any, ...]] | None:
    """The tokens, or None when there is something wrong with the document."""
    try:
        return listed(kind(document, **options))
    except (DataError, LimitError):
        return None
