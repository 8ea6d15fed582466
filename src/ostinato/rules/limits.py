"""Limits on the evaluation of rules; reaching one raises a LimitError that names it."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.core.options import check_limits


@dataclass(frozen=True, kw_only=True)
class RuleLimits:
    """Bounds on a program of rules.

    Attributes
    ----------
    rounds
        How many rounds a recursion may take if it makes new values, and so may never end. (A recursion that only passes
        values on always ends.)
    periods
        How many times a periodic timer may go off in a table, or at once live.
    """

    rounds: int = 10_000
    periods: int = 1_000_000

    def __post_init__(self) -> None:
        check_limits(self)
