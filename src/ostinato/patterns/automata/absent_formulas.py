"""NOT of a formula: a gap that skips events for as long as they hold no complex event of the formula.

The formula's transducers, apart from what they mark, are run side by side on the events of the gap and determinised on
the way (the subset construction over minterms of their conditions). A move that would complete one of them is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ostinato.core import expressions as ex
from ostinato.core.conditions import Condition
from ostinato.errors import LimitError
from ostinato.patterns.automata.transducer import Transducer, Transition

MAX_TRANSITIONS = 20_000

_States = frozenset[tuple[int, int]]  # of the machines, by their number


@dataclass(frozen=True)
class _Minterm:
    """An event for which some conditions hold and others do not."""

    relation: str | None = None
    where: tuple[ex.Expr, ...] = ()
    holds: frozenset[Condition] = frozenset()
    unless: tuple[Condition, ...] = ()

    @property
    def condition(self) -> Condition | None:
        if self.relation is None and not self.where:
            return None
        return Condition(self.relation, ex.conjoin(list(self.where)) if self.where else None)


def gap_without(machines: Sequence[Transducer]) -> tuple[int, list[Transition]]:
    """How many states the gap has, and its moves; it begins in state 0, and may end in any of them."""
    leaving = [_leaving(machine) for machine in machines]
    start: _States = frozenset((number, 0) for number in range(len(machines)))
    number, todo, found = {start: 0}, [start], list[Transition]()
    for states in todo:
        moves = [(machine, t) for machine, state in sorted(states) for t in leaving[machine].get(state, ())]
        for minterm in _minterms([t for _, t in moves]):
            taken = [(machine, t) for machine, t in moves if _takes(t, minterm)]
            if any(t.mark is not None and t.target in machines[machine].final for machine, t in taken):
                continue
            target = frozenset((machine, t.target) for machine, t in taken)
            if target not in number:
                number[target] = len(number)
                todo.append(target)
            found.append(Transition(number[states], number[target], minterm.condition, minterm.unless))
        if len(found) > MAX_TRANSITIONS:
            raise LimitError(
                "absent_formula",
                MAX_TRANSITIONS,
                reason="the formula of this NOT can be met in too many ways",
                fix="use a shorter one, or several NOTs of single events",
            )
    return len(number), found


def _leaving(machine: Transducer) -> dict[int, list[Transition]]:
    leaving: dict[int, list[Transition]] = {}
    for t in machine.transitions:
        leaving.setdefault(t.source, []).append(t)
    return leaving


def _takes(t: Transition, minterm: _Minterm) -> bool:
    return (t.condition is None or t.condition in minterm.holds) and minterm.holds.isdisjoint(t.unless)


def _minterms(moves: Sequence[Transition]) -> Iterator[_Minterm]:
    """Every way in which the conditions of the moves can hold or not; types exclude each other."""
    used = dict.fromkeys(c for t in moves for c in (*((t.condition,) if t.condition else ()), *t.unless))
    conditions = sorted(used, key=lambda c: (c.relation is None, c.where is not None))
    todo = [(_Minterm(), 0)]
    while todo:
        minterm, place = todo.pop()
        if place == len(conditions):
            yield minterm
            continue
        condition = conditions[place]
        relation, where = condition.relation, () if condition.where is None else (condition.where,)
        fits = relation is None or minterm.relation in (None, relation)
        known = fits and relation == minterm.relation and not where
        if fits and not (minterm.relation is None and Condition(relation) in minterm.unless):
            own = _Minterm(
                relation or minterm.relation, minterm.where + where, minterm.holds | {condition}, minterm.unless
            )
            todo.append((own, place + 1))
        if not known:
            unless = minterm.unless if not fits else (*minterm.unless, condition)
            todo.append((_Minterm(minterm.relation, minterm.where, minterm.holds, unless), place + 1))
