"""How a live engine runs, and what it counts."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from ostinato.core.options import OnLate
from ostinato.rules.limits import RuleLimits


@dataclass(frozen=True)
class RuleOptions:
    """The options of a run. `lateness` and `longest` are in nanoseconds, `rounds` and `periods` those of RuleLimits."""

    columns: dict[str, str | None]
    lateness: int | None = 0  # None: events wait for `advance`
    on_late: OnLate = "count"
    longest: float = inf
    rounds: int = RuleLimits.rounds
    periods: int = RuleLimits.periods

    @property
    def limits(self) -> RuleLimits:
        return RuleLimits(rounds=self.rounds, periods=self.periods)


@dataclass(frozen=True)
class RuleStatistics:
    """events: rows pushed; derived: events given; late: rows that came too late, or lasted too long; unread: rows whose
    label no rule reads; waiting: rows that time has not reached yet; kept: tuples of each materialisation point,
    including expired ones that are not cleared away yet."""

    events: int
    derived: int
    late: int
    unread: int
    waiting: int
    kept: dict[str, int]
