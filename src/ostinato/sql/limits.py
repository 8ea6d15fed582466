"""Bounds on what a query with MATCH_RECOGNIZE may take; reaching one is a LimitError that names it."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.core.options import check_limits
from ostinato.core.stopwatch import Stopwatch
from ostinato.errors import Limit, LimitError, Message


@dataclass(frozen=True, kw_only=True)
class SqlLimits:
    """Bounds on a query with MATCH_RECOGNIZE.

    Attributes
    ----------
    rows
        Rows in all matches of one call.
    steps
        Rows that the search for one match may try, where conditions look at the match so far: some ten seconds of them.
    memory
        Bytes of sets of states and of unfinished matches.
    seconds
        How long one call may take; None for any time.
    """

    rows: int = 1_000_000_000
    steps: int = 100_000_000
    memory: int = 2 << 30
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_limits(self)

    def clock(self) -> Stopwatch:
        """Started now, for one call."""
        return Stopwatch(self.seconds, "make the pattern or its conditions stricter", "SqlLimits")

    def check_rows(self, count: int) -> None:
        if count > self.rows:
            fix = Message("skip PAST LAST ROW, bound the pattern, or raise ", Limit("rows", "SqlLimits"))
            raise LimitError("rows", self.rows, reason="the matches have too many rows", fix=fix)

    def check_memory(self, size: int) -> None:
        if size > self.memory:
            fix = Message("make the pattern shorter, or raise ", Limit("memory", "SqlLimits"))
            raise LimitError("memory", self.memory, reason=f"the search needs {size:,} bytes", fix=fix)
