"""An event: a data term and the interval in which it happened (CERA paper, section 4.2)."""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.rules.terms.data import DataTerm


@dataclass(frozen=True)
class IntervalEvent:
    """e^t with t = [begin, end], in whole ticks. Events are a set: equal ones are one."""

    begin: int
    end: int
    term: DataTerm
