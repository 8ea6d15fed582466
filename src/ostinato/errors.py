"""Every error a user can meet: what is wrong, where, and the likely fix."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Half-open range of character offsets in a query text."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        return Span(min(self.start, other.start), max(self.end, other.end))


class OstinatoError(Exception):
    """Base of every error raised on purpose by Ostinato."""


class QueryError(OstinatoError):
    """The query itself is wrong: bad syntax, an unbound variable, an unknown attribute, a type clash."""

    def __init__(
        self, reason: str, *, text: str | None = None, span: Span | None = None, fix: str | None = None
    ) -> None:
        self.reason, self.text, self.span, self.fix = reason, text, span, fix
        super().__init__(reason)

    def within(self, text: str) -> QueryError:
        """The same error, knowing the query text it points into."""
        return self if self.text is not None else QueryError(self.reason, text=text, span=self.span, fix=self.fix)

    def __str__(self) -> str:
        parts = [self.reason]
        if self.text is not None and self.span is not None:
            parts.append(_excerpt(self.text, self.span))
        if self.fix:
            parts.append(f"fix: {self.fix}")
        return "\n".join(parts)


class DataError(OstinatoError):
    """The events are wrong: a missing column, a value of the wrong type, an unreadable file."""

    def __init__(
        self, reason: str, *, source: str | None = None, row: int | None = None, fix: str | None = None
    ) -> None:
        self.reason, self.source, self.row, self.fix = reason, source, row, fix
        where = ", ".join(part for part in (source, None if row is None else f"row {row}") if part)
        super().__init__(
            "\n".join(
                part for part in (f"{where}: {reason}" if where else reason, f"fix: {fix}" if fix else "") if part
            )
        )


class LimitError(OstinatoError):
    """A bound on work or memory was reached; nothing was lost but the answer is not complete."""

    def __init__(self, limit: str, bound: int, *, reason: str, fix: str) -> None:
        self.limit, self.bound, self.reason, self.fix = limit, bound, reason, fix
        shown = f"{bound:,}" if bound < 10**15 else f"{bound:.0e}"
        super().__init__(f"{reason} (limit {limit}={shown})\nfix: {fix}")


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
