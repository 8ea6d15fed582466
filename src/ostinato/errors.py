"""Every error that a user can meet, as data: what is wrong, where, and the likely fix.

Each surface writes errors in its own words. `str(error)` is Python's; the command line calls `error.render` with a
function that writes an option of Python as one of its own (`overwrite=True` as `--overwrite`).
"""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True)
class Span:
    """Half-open range of character offsets in a query text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class Position:
    """Where in the data: the file or document, and the row."""

    source: str | None = None
    row: int | None = None

    def __str__(self) -> str:
        if self.row is None:
            return self.source or ""
        # Beside a file, whose lines count from 1, a row says from where it counts: as positions do, from 0.
        return f"row {self.row}" if self.source is None else f"{self.source}, row {self.row} (from 0)"


_FIX = "\nfix: "
ANY = "…"  # a value that is for the user to choose


@dataclass(frozen=True)
class Option:
    """An option that a message names, with the value to give it: None names the option alone."""

    name: str
    value: object = ANY

    def __str__(self) -> str:
        if self.value is None or self.value == ANY:
            return self.name if self.value is None else f"{self.name}={ANY}"
        return f'{self.name}="{self.value}"' if isinstance(self.value, str) else f"{self.name}={self.value}"


@dataclass(frozen=True)
class Limit:
    """A limit that a message names, as a field of the class `owner`."""

    name: str
    owner: str = "Limits"

    def __str__(self) -> str:
        return f"{self.owner}({self.name}={ANY})"


@dataclass(frozen=True)
class Verb:
    """What a message says to call: in Python, and as a verb of the command line."""

    python: str
    verb: str

    def __str__(self) -> str:
        return self.python


Part = str | Option | Limit | Verb


# How Python writes limits and options.
_NAMED = re.compile(rf'\b(\w*Limits)\((\w+)={ANY}\)|\b([a-z_]+)=(?:({ANY}|True|False)|"([^"]*)")')


class Message(str):
    """Text with options and limits in it. As a string it reads as in Python; `render` writes them in another way."""

    parts: tuple[Part, ...]

    def __new__(cls, *parts: Part) -> Message:
        flat = [inner for part in parts for inner in (part.parts if isinstance(part, Message) else (part,))]
        made = super().__new__(cls, "".join(map(str, flat)))
        made.parts = tuple(flat)
        return made

    @classmethod
    def parse(cls, text: str) -> Message:
        """A message from its text: options and limits are found by how they are written."""
        parts: list[Part] = []
        end = 0
        for found in _NAMED.finditer(text):
            owner, limit, option, word, quoted = found.groups()
            value: object = quoted if word is None else {"True": True, "False": False}.get(word, ANY)
            parts += [text[end : found.start()], Option(option, value) if option else Limit(limit, owner)]
            end = found.end()
        return cls(*parts, text[end:])

    def __getnewargs__(self) -> tuple[Part, ...]:  # type: ignore[override]
        return self.parts

    def format(self, *args: object, **names: object) -> Message:
        return Message(*(part.format(*args, **names) if isinstance(part, str) else part for part in self.parts))

    def render(self, write: Callable[[Part], str]) -> str:
        return "".join(map(write, self.parts))


class OstinatoError(Exception):
    """Base of every error raised on purpose by Ostinato.

    Attributes
    ----------
    reason : str
        What is wrong.
    fix : str or None
        What to do about it.
    option : str or None
        The option whose value is wrong.
    limit : str or None
        The limit that was reached, or whose value is wrong.
    position : Span, Position or None
        Where in the query, or in the data.
    """

    limit: str | None = None

    def __init__(self, reason: str, *, fix: str | None = None, option: str | None = None) -> None:
        self.reason, self.fix, self.option = reason, fix, option
        super().__init__(reason)

    @property
    def position(self) -> Span | Position | None:
        return None

    def render(self, write: Callable[[Part], str] = str) -> str:
        """The whole message; `write` puts its options and limits into the words of a surface."""
        text = "\n".join(self._lines(_render(self.reason, write)))
        return f"{text}{_FIX}{_render(self.fix, write)}" if self.fix else text

    def _lines(self, reason: str) -> list[str]:
        """The lines before the fix."""
        return [reason]

    def replace(self, **fields: Any) -> Self:
        """The same error with other values of some of its fields."""
        other = copy.copy(self)
        other.__dict__.update(fields)
        return other

    @classmethod
    def parse(cls, text: str) -> OstinatoError:
        """An error from its text: snapshots keep them so, and Spark tells no more of what a task raised."""
        reason, _, fix = text.partition(_FIX)
        return OstinatoError(reason, fix=Message.parse(fix) if fix else None)

    def __str__(self) -> str:
        return self.render()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.__dict__)  # children take arguments that Exception does not keep


def _rebuild(kind: type[OstinatoError], fields: dict[str, Any]) -> OstinatoError:
    error = kind.__new__(kind, fields["reason"])
    error.__dict__.update(fields)
    return error


def _render(text: str, write: Callable[[Part], str]) -> str:
    return text.render(write) if isinstance(text, Message) else text


class QueryError(OstinatoError):
    """The query itself is wrong: bad syntax, an unbound variable, an unknown attribute, a type clash."""

    def __init__(
        self,
        reason: str,
        *,
        text: str | None = None,
        span: Span | None = None,
        fix: str | None = None,
        option: str | None = None,
    ) -> None:
        self.text, self.span = text, span
        super().__init__(reason, fix=fix, option=option)

    @property
    def position(self) -> Span | None:
        return self.span

    def within(self, text: str) -> QueryError:
        """The same error, knowing the query text it points into."""
        return self if self.text is not None else self.replace(text=text)

    def _lines(self, reason: str) -> list[str]:
        if self.text is None or self.span is None:
            return [reason]
        return [reason, _excerpt(self.text, self.span)]


class DataError(OstinatoError):
    """The events are wrong: a missing column, a value of the wrong type, an unreadable file."""

    def __init__(
        self,
        reason: str,
        *,
        source: str | None = None,
        row: int | None = None,
        fix: str | None = None,
        option: str | None = None,
    ) -> None:
        self.source, self.row = source, row
        super().__init__(reason, fix=fix, option=option)

    @property
    def position(self) -> Position | None:
        return None if self.source is None and self.row is None else Position(self.source, self.row)

    def _lines(self, reason: str) -> list[str]:
        return [reason if self.position is None else f"{self.position}: {reason}"]


class LimitError(OstinatoError):
    """A bound on work or memory was reached; nothing was lost but the answer is not complete."""

    limit: str
    fix: str

    def __init__(self, limit: str, bound: float, *, reason: str, fix: str, option: str | None = None) -> None:
        self.limit, self.bound = limit, bound
        super().__init__(reason, fix=fix, option=option)

    def _lines(self, reason: str) -> list[str]:
        shown = f"{self.bound:,}" if self.bound < 10**15 else f"{self.bound:.0e}"
        return [f"{reason} (limit {self.limit}={shown})"]


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """A fix that offers the nearest known names, or lists them when none is near."""
    names = sorted(set(known))
    close = difflib.get_close_matches(name, names, n=2, cutoff=0.5)
    folded = [other for other in names if other.lower() == name.lower() and other not in close]
    if folded or close:
        return "did you mean " + " or ".join(f"`{other}`" for other in (folded + close)[:2]) + "?"
    return "known names: " + ", ".join(f"`{other}`" for other in names[:12]) if names else None


_WIDEST = 110  # characters of a query line shown; longer lines are clipped around the caret


def _excerpt(text: str, span: Span) -> str:
    """The line of `text` that `span` starts in, with a caret line under it."""
    start = min(span.start, len(text))
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    shown_from = max(line_start, min(start - _WIDEST // 2, line_end - _WIDEST))
    shown_to = min(line_end, shown_from + _WIDEST)
    line = text[shown_from:shown_to].replace("\t", " ")
    prefix = f"{text.count(chr(10), 0, start) + 1:>4} | " + ("…" if shown_from > line_start else "")
    width = max(1, min(span.end, shown_to) - start)
    carets = " " * (len(prefix) + start - shown_from) + "^" * width
    return f"{prefix}{line}{'…' if shown_to < line_end else ''}\n{carets}"
