"""Bounds on what rules may take; reaching one is a LimitError that names it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ostinato.core.options import bad_option
from ostinato.errors import Limit


@dataclass(frozen=True, kw_only=True)
class RuleLimits:
    """rounds: of a recursion that makes new values, and so may have no end. One that only passes values on has one."""

    rounds: int = 10_000

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise bad_option(Limit(each.name, "RuleLimits"), value, "a whole number from 1 on")
