"""Bounds on work and memory. Reaching one raises a LimitError that says which and what to do."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.core.options import check_limits
from ostinato.core.stopwatch import Stopwatch
from ostinato.errors import Limit, LimitError, Message

_NARROWER = "a strategy that gives one match per event (SELECT NXT or LAST), a narrower WITHIN, or raise "
_FEWER = f"use count() to only count them, push_each() to take them piece by piece, {_NARROWER}"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Bounds on a query in CEL or SREM.

    Attributes
    ----------
    matches
        Rows that one call may return.
    states
        Configurations of the machine.
    memory
        Bytes of partial matches, and of the rows that one call returns.
    seconds
        How long one call may take; None for any time.
    """

    matches: int = 50_000_000
    states: int = 100_000
    memory: int = 2 << 30
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_limits(self)

    def clock(self) -> Stopwatch:
        """Started now, for one call."""
        return Stopwatch(self.seconds, "narrow WITHIN or the conditions, read less at a time")

    def check_matches(self, count: float) -> None:
        if count > self.matches:
            raise LimitError(
                "matches",
                self.matches,
                reason="more matches than may be returned at once",
                fix=Message(_FEWER, Limit("matches")),
            )

    def check_answer(self, size: int) -> None:
        if size > self.memory:
            raise LimitError(
                "memory", self.memory, reason=f"the matches take {size:,} bytes", fix=Message(_FEWER, Limit("memory"))
            )

    def check_memory(self, size: int) -> None:
        if size > self.memory:
            raise LimitError(
                "memory",
                self.memory,
                reason=f"partial matches need {size:,} bytes",
                fix=Message("add WITHIN so that old partial matches expire, narrow it, or raise ", Limit("memory")),
            )


def within_many(error: LimitError) -> LimitError:
    """The same error for an engine of many queries, which neither counts matches alone nor gives them in pieces."""
    if not error.fix.startswith(_FEWER):
        return error
    return error.replace(fix=Message(f"push fewer events at a time, use {_NARROWER}", Limit(error.limit)))
