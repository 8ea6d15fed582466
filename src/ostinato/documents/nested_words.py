"""Documents as nested words (XSeq paper, Appendix A): an open tag calls, a close tag returns, the rest is internal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ostinato.documents.tokens import ATTR, CLOSE, OPEN, TokenSource


class Mark(StrEnum):
    """What a letter does to the stack, and what it stands for."""

    OPEN = "open"  # Σc
    CLOSE = "close"  # Σr
    ATTRIBUTE = "attribute"  # Σi
    TEXT = "text"  # Σi

    @property
    def internal(self) -> bool:
        return self in (Mark.ATTRIBUTE, Mark.TEXT)


@dataclass(frozen=True)
class Letter:
    """One tag, attribute or text. An open tag knows its attributes, so that a test on it can be made at once."""

    mark: Mark
    name: str = ""  # "" for a text
    value: str = ""  # of an attribute or text
    attributes: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        match self.mark:
            case Mark.OPEN:
                return f"<{self.name}>"
            case Mark.CLOSE:
                return f"</{self.name}>"
            case Mark.ATTRIBUTE:
                return f"@{self.name}"
            case _:
                return "text()"


def letters_of_source(source: TokenSource) -> Iterator[Letter]:
    """The letters of a tokenised document. An open tag waits for its attributes, also those of the next chunk."""
    stack: list[str] = []
    waiting: Letter | None = None
    known: dict[str, str] = {}
    keep = 0
    while (tokens := source.read(keep)) is not None:
        keep = tokens.used
        data = tokens.buffer.tobytes()
        places = zip(
            tokens.kind.tolist(), tokens.name.tolist(), tokens.start.tolist(), tokens.end.tolist(), strict=True
        )
        for kind, number, start, end in places:
            name = source.names.texts[number].decode() if number >= 0 else ""
            if kind == ATTR:
                known[name] = data[start:end].decode()
                continue
            if waiting is not None:
                yield from open_letters(waiting, known)
                waiting, known = None, {}
            if kind == OPEN:
                stack.append(name)
                waiting = Letter(Mark.OPEN, name, attributes=known)
            elif kind == CLOSE:
                yield Letter(Mark.CLOSE, stack.pop())
            else:
                yield Letter(Mark.TEXT, value=data[start:end].decode())


def open_letters(letter: Letter, known: Mapping[str, str]) -> Iterator[Letter]:
    """An open tag and its attributes."""
    yield letter
    yield from (Letter(Mark.ATTRIBUTE, name, value) for name, value in known.items())
