"""Equality between events as partitioning. If filters equate one attribute of all variables, all events of a match
agree on it, so the events of each value can be matched on their own.

The answer stays that of the whole stream: contiguity and WITHIN … EVENTS still count every event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from ostinato.core.expressions import Attribute, Call, Expr, conjoin_optional
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula

Tie = tuple[
    str, str, str
]  # attribute, a variable, and another that has the same value of it whenever the first is bound


def partition_by_equalities(query: n.Query) -> n.Query:
    """The query without its equality filters, and `tied_by` set, where they tie all its variables together."""
    if query.partition_by or _has_absent(query.formula):
        return query  # an absent event is not tied, and a partition would have to be split further
    if n.shortest_match(query.formula) < 2:
        return query  # a match of one event compares nothing, so its attribute may be NULL
    definitions = Counter(_definitions(query.formula))
    variables = {variable for variable, _ in definitions}
    if len(variables) < len(definitions):
        return query  # a name used in two scopes is two variables
    ties = _ties(query.formula, definitions)
    for attribute in sorted({name for name, _, _ in ties}):
        arrows = [(left, right) for name, left, right in ties if name == attribute]
        # Under a + every iteration has its own value of a variable, so all must lead to one outside.
        if any(_all_lead_to(root, variables, arrows) for root, scope in definitions if not scope):
            return replace(query, formula=_without(query.formula, attribute), tied_by=attribute)
    return query


def _definitions(formula: Formula, scope: tuple[int, ...] = ()) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Each `R AS x` as the variable and the + it is under."""
    if isinstance(formula, n.Event):
        yield formula.variable, scope
    for number, child in enumerate(n.children(formula)):
        inner = (*scope, id(formula), number) if isinstance(formula, n.Repeat) else scope
        yield from _definitions(child, inner)


def _ties(formula: Formula, definitions: Counter[tuple[str, tuple[int, ...]]]) -> list[Tie]:
    """A filter ties a variable that is defined nowhere but below it: where it is bound, the filter has passed."""
    found = [found for child in n.children(formula) for found in _ties(child, definitions)]
    if isinstance(formula, n.Filter):
        below = Counter(variable for variable, _ in _definitions(formula.body))
        everywhere = {variable: count for (variable, _), count in definitions.items()}
        for conjunct in _conjuncts(formula.predicate):
            if (tied := _tie_of(conjunct)) is not None:
                attribute, left, right = tied
                pairs = ((left, right), (right, left))
                found += [(attribute, one, other) for one, other in pairs if below[one] == everywhere.get(one, -1)]
    return found


def _all_lead_to(root: str, variables: set[str], arrows: list[tuple[str, str]]) -> bool:
    reached = {root}
    while more := {left for left, right in arrows if right in reached} - reached:
        reached |= more
    return variables <= reached


def _tie_of(expr: Expr) -> Tie | None:
    if isinstance(expr, Call) and expr.op == "=":
        left, right = expr.args
        if (
            isinstance(left, Attribute)
            and isinstance(right, Attribute)
            and left.name == right.name
            and left.variable != right.variable
        ):
            return left.name, left.variable, right.variable
    return None


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.op == "and":
        return [conjunct for arg in expr.args for conjunct in _conjuncts(arg)]
    return [expr]


def _without(formula: Formula, attribute: str) -> Formula:
    formula = n.rebuild(formula, lambda child: _without(child, attribute))
    if not isinstance(formula, n.Filter):
        return formula
    kept: Expr | None = None
    for conjunct in _conjuncts(formula.predicate):
        tied = _tie_of(conjunct)
        if tied is None or tied[0] != attribute:
            kept = conjoin_optional(kept, conjunct)
    return formula.body if kept is None else replace(formula, predicate=kept)


def _has_absent(formula: Formula) -> bool:
    follows = isinstance(formula, n.Sequence | n.Repeat) and formula.link == "->"
    return (
        follows
        or isinstance(formula, n.Absent | n.AbsentFormula)
        or any(_has_absent(child) for child in n.children(formula))
    )
