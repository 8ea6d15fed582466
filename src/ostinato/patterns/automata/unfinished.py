"""WITH TIMEOUT ROWS: runs that do not finish, as matches of branches of their own.

An event that leads to a state from which a run can go on also ends a branch. Its matches wait for their window to pass:
those that a longer one begins with are dropped (patterns/runtime/absence.py), and so are those that an event has ended.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from ostinato.core.conditions import Condition
from ostinato.core.expressions import CURRENT, variables
from ostinato.errors import QueryError
from ostinato.patterns.automata.from_formula import TrailingAbsence
from ostinato.patterns.automata.transducer import Barred, Transducer, Transition
from ostinato.patterns.syntax.nodes import Timeout

Bars = tuple[Barred, ...]  # what ends a run that waits
_ANYTHING: Bars = ((Condition(None), None),)


@dataclass(frozen=True)
class Unfinished:
    """The transducer with these branches, what ends the runs of each, and the number of the part where it stops."""

    transducer: Transducer
    absences: tuple[TrailingAbsence, ...]
    parts: Mapping[int, int]


def add_unfinished(
    transducer: Transducer, part: Mapping[str, int], first: int, named: Collection[str], timeout: Timeout
) -> Unfinished:
    """`part` numbers the variables, `first` is the number of the first branch. `named` are the variables that stand for
    one event each, so that what ends a run may be compared with them."""
    leaving: dict[int, list[Transition]] = {}
    for t in transducer.transitions:
        leaving.setdefault(t.source, []).append(t)
    numbers: dict[tuple[Bars, int], int] = {}
    end, ends = transducer.states, dict[Transition, None]()
    for t in transducer.transitions:
        if t.mark is None or t.target in transducer.final:
            continue
        for bars in _ways_to_wait(t.target, leaving, timeout):
            number = numbers.setdefault((bars, part[t.mark]), first + len(numbers))
            ends.setdefault(replace(t, target=end, writes=(), folds=(), branch=number))
    absences = []
    for (bars, _), number in numbers.items():
        for condition, test in bars:
            if test is not None and not variables(test) - {CURRENT} <= set(named):
                raise QueryError(
                    "a NOT or a `->` that compares with events of a loop cannot go with WITH TIMEOUT ROWS",
                    span=timeout.span,
                    fix="compare with an event outside of the loop, or leave WITH TIMEOUT ROWS out",
                )
            absences.append(TrailingAbsence(condition, test, None, branch=number))
        if not bars:
            absences.append(TrailingAbsence(None, None, None, branch=number))
    whole = Transducer(end + 1, (*transducer.transitions, *ends), transducer.final | {end})
    return Unfinished(whole, tuple(absences), {number: stop for (_, stop), number in numbers.items()})


def _ways_to_wait(state: int, leaving: Mapping[int, list[Transition]], timeout: Timeout) -> list[Bars]:
    """For each place where a run waits after it has come to a state, the events that end it there."""
    found = []
    for t in leaving.get(state, ()):
        if t.mark is not None:
            continue
        own = [each for each in leaving.get(t.target, ()) if each.mark is None]
        if len(own) != 1 or not own[0].waits or _bars(own[0]) != _bars(t):
            raise QueryError(
                "what a match waits for changes with events that are no part of it, so that WITH TIMEOUT ROWS cannot "
                "say what still waits",
                span=timeout.span,
                fix="leave WITH TIMEOUT ROWS out, or a NOT or UNTIL in the formula",
            )
        found.append(_bars(t))
    return list(dict.fromkeys(found)) or [_ANYTHING]


def _bars(t: Transition) -> Bars:
    return (*((condition, None) for condition in t.unless), *t.barred)
