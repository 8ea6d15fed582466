"""Limits on the evaluation of rules; reaching one raises a LimitError that names it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ostinato.core.options import bad_option
from ostinato.errors import Limit


@dataclass(frozen=True, kw_only=True)
class RuleLimits:
    """rounds: how many rounds a recursion may take if it makes new values, and so may never end. (A recursion that only
    passes values on always ends.)"""

    rounds: int = 10_000

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise bad_option(Limit(each.name, "RuleLimits"), value, "a whole number from 1 on")
