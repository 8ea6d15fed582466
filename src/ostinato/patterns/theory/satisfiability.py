"""Can tests hold together? Prunes minterms (Algorithm 8) and finds strings that an automaton accepts.

A literal is a test and whether it holds. A test that does not hold is *not TRUE*, that is FALSE or NULL: a rule fires
only on TRUE, and its complement is `NOT is_true(test)`. So `x > 5` fails also where x is NULL (or not a number), and
fails as `x <= 5` only where something else makes x a value.

"No" is certain, "yes" is not: what the reasoning does not understand may hold. Numbers are taken as dense, and the
search for a way to meet every OR gives up with "yes" after a bounded effort.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import Call, Expr, Literal, transform
from ostinato.errors import DataError
from ostinato.patterns.theory.assignments import Assignment, find_assignment
from ostinato.patterns.theory.attribute_kinds import Kinds
from ostinato.patterns.theory.attribute_kinds import attribute_kinds as kinds_of
from ostinato.patterns.theory.budget import Effort
from ostinato.patterns.theory.comparisons import FALSE, NULL, TRUE, is_consistent

Literals = tuple[tuple[Expr, bool], ...]  # each test, and whether it holds

_ANY = TRUE | FALSE | NULL
_STEPS = 50_000  # before the answer is "maybe"
_STEPS_PER_FACT = 10


def is_satisfiable(literals: Iterable[tuple[Expr, bool]]) -> bool:
    """False only if no events can make every positive test TRUE and no negative one."""
    return decide_satisfiability(literals)[0]


def decide_satisfiability(literals: Iterable[tuple[Expr, bool]]) -> tuple[bool, int]:
    """Whether they are satisfiable, and how many steps the decision took."""
    return _decide(tuple(dict.fromkeys(literals)))


@lru_cache(maxsize=50_000)
def _decide(literals: Literals) -> tuple[bool, int]:
    effort = Effort(_STEPS)
    try:
        possible = next(_worlds(literals, effort), None) is not None
    except _GaveUp:
        possible = True
    return possible, _STEPS - effort.left


def find_model(
    literals: Iterable[tuple[Expr, bool]], kinds: Kinds | None = None, effort: Effort | None = None
) -> Assignment | None:
    """For each variable a row such that all literals hold, or None where none was found."""
    wanted = tuple(literals)
    kinds = kinds_of(test for test, _ in wanted) if kinds is None else kinds
    effort = Effort(_STEPS) if effort is None else effort
    whole = {test: TRUE if holds else FALSE | NULL for test, holds in wanted}
    try:
        for world in _worlds(wanted, effort):
            if (found := find_assignment({**whole, **world}, kinds, effort)) is not None:
                return found
    except _GaveUp:
        pass
    return None


class _GaveUp(Exception):
    """The ORs can be met in more ways than the effort allows to try."""


# Boolean structure ----------------------------------------------------------------------------------------------------


@dataclass
class _Demand:
    """What must hold: outcomes still possible for each atom, and choices of which at least one must be met."""

    facts: dict[Expr, int] = field(default_factory=dict)
    choices: list[list[_Demand]] = field(default_factory=list)

    def fact(self, atom: Expr, outcomes: int) -> bool:
        left = self.facts.get(atom, _ANY) & outcomes
        self.facts[atom] = left
        return left != 0

    def merge(self, other: _Demand) -> _Demand | None:
        """Both demands at once; None where they contradict each other."""
        result = _Demand(dict(self.facts), [*self.choices])
        return result if result.add(other) else None

    def add(self, other: _Demand) -> bool:
        """Demand this, too; False where that is a contradiction."""
        self.choices += other.choices
        return all(self.fact(atom, outcomes) for atom, outcomes in other.facts.items())

    def implies(self, other: _Demand) -> bool:
        return not other.choices and all(
            self.facts.get(atom, _ANY) & ~outcomes == 0 for atom, outcomes in other.facts.items()
        )


def _worlds(literals: Literals, effort: Effort) -> Iterator[Mapping[Expr, int]]:
    """The consistent ways to meet all literals, each as the possible outcomes of atoms."""
    demand: _Demand | None = _Demand()
    for test, holds in literals:
        more = _literal(test, holds)
        if more is None or demand is None:
            return
        demand = demand.merge(more)
    if demand is not None:
        yield from _resolve(demand, effort)


def _resolve(demand: _Demand, effort: Effort) -> Iterator[Mapping[Expr, int]]:
    """Meet the open choices one by one, the narrowest first; those that leave no choice before any reasoning."""
    if not effort.spend(_STEPS_PER_FACT * (1 + len(demand.facts))):
        raise _GaveUp
    narrowest: list[_Demand] = []
    others: list[list[_Demand]] = []
    while demand.choices:
        choices = [
            [way for way in choice if _fits(demand.facts, way.facts)]
            for choice in demand.choices
            if not any(demand.implies(way) for way in choice)
        ]
        narrowest, *others = sorted(choices, key=len) or [[]]
        if not choices or len(narrowest) > 1:
            break
        merged = _Demand(demand.facts, others).merge(narrowest[0]) if narrowest else None
        if merged is None:
            return
        demand, narrowest = merged, []
    if not is_consistent(demand.facts):
        return
    if not narrowest:
        yield demand.facts
    for way in narrowest:
        merged = _Demand(demand.facts, others).merge(way)
        if merged is not None:
            yield from _resolve(merged, effort)


def _fits(facts: Mapping[Expr, int], more: Mapping[Expr, int]) -> bool:
    return all(facts.get(atom, _ANY) & outcomes for atom, outcomes in more.items())


@lru_cache(maxsize=10_000)
def _literal(test: Expr, holds: bool) -> _Demand | None:
    return _demand(transform(test, _fold), TRUE if holds else FALSE | NULL)


def _demand(expr: Expr, outcomes: int) -> _Demand | None:
    """What it takes for the expression to have one of the outcomes; None where it cannot."""
    if outcomes == _ANY:
        return _Demand()
    if isinstance(expr, Literal):
        return _Demand() if outcomes & (TRUE if expr.value is True else NULL if expr.value is None else FALSE) else None
    if isinstance(expr, Call):
        if expr.op == "not":
            return _demand(expr.args[0], _swap(outcomes))
        if expr.op == "is_true":  # never NULL
            inner = (TRUE if outcomes & TRUE else 0) | (FALSE | NULL if outcomes & FALSE else 0)
            return _demand(expr.args[0], inner) if inner else None
        if expr.op == "in":
            needle, *members = expr.args
            return _demand(Call("or", tuple(Call("=", (needle, member)) for member in members)), outcomes)
        if expr.op in ("and", "or"):
            return _demand_of_many(expr, outcomes)
    demand = _Demand()
    return demand if demand.fact(*_atom(expr, outcomes)) else None


def _demand_of_many(expr: Call, outcomes: int) -> _Demand | None:
    """AND is FALSE as soon as one part is, else NULL as soon as one is; OR is the same with TRUE for FALSE."""
    ends = TRUE if expr.op == "or" else FALSE
    if outcomes == TRUE | FALSE:
        return _some(_demand(expr, TRUE), _demand(expr, FALSE))
    if outcomes & ends:
        return _some(*(_demand(arg, outcomes) for arg in expr.args))
    parts = [_demand(arg, _ANY & ~ends if outcomes == NULL else outcomes) for arg in expr.args]
    if outcomes == NULL:
        parts.append(_some(*(_demand(arg, NULL) for arg in expr.args)))
    result = _Demand()
    for part in parts:
        if part is None or not result.add(part):
            return None
    return result


def _some(*ways: _Demand | None) -> _Demand | None:
    """At least one of the ways."""
    possible = [way for way in ways if way is not None]
    if len(possible) < 2:
        return possible[0] if possible else None
    return _Demand(choices=[possible])


def _swap(outcomes: int) -> int:
    return (outcomes & NULL) | (FALSE if outcomes & TRUE else 0) | (TRUE if outcomes & FALSE else 0)


def _atom(expr: Expr, outcomes: int) -> tuple[Expr, int]:
    """Comparisons as one of = < <= between terms in a fixed order, so that what says the same is one atom."""
    if isinstance(expr, Call):
        if expr.op in (">", ">="):
            return Call({">": "<", ">=": "<="}[expr.op], expr.args[::-1]), outcomes
        if expr.op in ("=", "!="):
            equality = Call("=", tuple(sorted(expr.args, key=repr)))
            return equality, outcomes if expr.op == "=" else _swap(outcomes)
        if expr.op == "is_null":
            return expr, outcomes & ~NULL
    return expr, outcomes


def _fold(expr: Expr) -> Expr:
    """Constants for calls of constants."""
    if isinstance(expr, Call) and all(isinstance(arg, Literal) for arg in expr.args):
        try:
            return Literal(evaluate_expression(expr, {}))
        except (TypeError, ValueError, ArithmeticError, DataError):
            pass  # evaluation will fail; reporting that is not the task here
    return expr
