"""Conditions on all events of a loop, `(A AS x)+ ; B AS y FILTER y.v > avg(x.v)`: onto a part after the loop.

A register holds what they ask for when the loop has ended; so a later event must test it.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.core.expressions import Earlier, Expr, attributes, conjoin, conjuncts, variables
from ostinato.errors import QueryError
from ostinato.patterns.plan.rewrite import merge_filters
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula


def place_aggregates(formula: Formula) -> Formula:
    formula = n.rebuild(formula, place_aggregates)
    if not isinstance(formula, n.Filter):
        return formula
    below = n.whole_loops(formula.body)
    rest, body = list[Expr](), formula.body
    for test in conjuncts(formula.predicate):
        if variables(test).isdisjoint(below):
            rest.append(test)
            continue
        placed = _place(body, test)
        if placed is None:
            raise _too_early(test, below)
        body = placed
    return merge_filters(replace(formula, body=body, predicate=conjoin(rest))) if rest else body


def _place(formula: Formula, test: Expr) -> Formula | None:
    """The formula with the test on what comes after the loops that it asks for; None where nothing does."""
    names = variables(test)
    if isinstance(formula, n.Filter | n.Guarded | n.Quiet):
        body = _place(formula.body, test)
        return None if body is None else replace(formula, body=body)
    if isinstance(formula, n.And):
        owners = [part for part in formula.parts if not names.isdisjoint(n.vdef_plus(part) | n.whole_loops(part))]
        placed = _place(owners[0], test) if len(owners) == 1 else None
        if placed is None:
            return None
        return replace(formula, parts=tuple(placed if part is owners[0] else part for part in formula.parts))
    if not isinstance(formula, n.Sequence):
        return None
    parts = list(formula.parts)
    last = max(at for at, part in enumerate(parts) if not names.isdisjoint(n.vdef_plus(part) | n.whole_loops(part)))
    if not names.isdisjoint(n.whole_loops(parts[last])):
        inside = _place(parts[last], test)
        if inside is not None:
            return replace(formula, parts=(*parts[:last], inside, *parts[last + 1 :]))
        later = (at for at in range(last + 1, len(parts)) if _has_events(parts[at]))
        last = next(later, -1)
        if last < 0:
            return None
    parts[last] = n.Filter(parts[last], test, test.span)
    return replace(formula, parts=tuple(parts))


def _has_events(part: Formula) -> bool:
    return not isinstance(part, n.Absent | n.AbsentFormula) and not n.nullable(part)


def _too_early(test: Expr, below: frozenset[str]) -> QueryError:
    asked = next(node for node in attributes(test) if isinstance(node, Earlier) and node.variable in below)
    name = asked.variable.removeprefix(n.whole_name(""))
    fix = "test it with an event that comes after the loop"
    if asked.op == "count":
        fix = f"say how many rounds there are, as in (T AS {name}){{3,}}, or {fix}"
    return QueryError(
        f"{asked.name} is known when the loop has ended, and no event after it can test it", span=asked.span, fix=fix
    )
