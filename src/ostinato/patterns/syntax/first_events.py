"""The events that a formula can begin with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.core.expressions import Attribute, Expr, conjoin, conjuncts, transform, variables
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import first_round
from ostinato.patterns.syntax.nodes import Formula


def first_events(formula: Formula) -> tuple[n.Absent, ...]:
    """The events that the formula can begin with, as what `->` skips none of.

    Of its conditions those count that are known at once: they read that event and others from outside the formula.
    """
    inside = n.vdef(formula)

    def visit(part: Formula, tests: tuple[Expr, ...]) -> Iterator[n.Absent]:
        if isinstance(part, n.Event):
            name = f"#next {part.variable}"
            known = [test for test in tests if inside & variables(test) <= {part.variable}]
            own = [transform(test, lambda node: _renamed(node, part.variable, name)) for test in known]
            yield n.Absent(n.Event(part.relation, name, part.span), conjoin(own) if own else None, part.span)
        elif isinstance(part, n.Filter):
            yield from visit(part.body, (*tests, *conjuncts(part.predicate)))
        elif isinstance(part, n.Sequence):
            for each in part.parts:
                yield from visit(each, tests)
                if not n.nullable(each):
                    break
        elif isinstance(part, n.Repeat):
            yield from visit(first_round(part.body, n.loop_variables(part)), tests)
        else:
            for child in n.children(part):
                yield from visit(child, tests)

    return tuple(dict.fromkeys(visit(formula, ())))


def first_variables(formula: Formula) -> frozenset[str]:
    """The variables of the events that the formula can begin with."""
    return frozenset(absent.event.variable.removeprefix("#next ") for absent in first_events(formula))


def _renamed(node: Expr, old: str, new: str) -> Expr:
    return replace(node, variable=new) if isinstance(node, Attribute) and node.variable == old else node
