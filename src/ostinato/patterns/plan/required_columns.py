"""The columns of the input that a query reads; no others need to be loaded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ostinato.core.expressions import Expr, Variable, attributes
from ostinato.patterns.syntax.nodes import Absent, AbsentFormula, Filter, Formula, Query, Segment, children
from ostinato.patterns.syntax.srem.nodes import tests


def required_columns(query: Query) -> set[str] | None:
    """Columns besides time and type; None when SELECT gives whole rows (`SELECT x`), so that all are read."""
    items = [item.expr for item in query.items or ()]
    if any(isinstance(expr, Variable) for expr in items):
        return None
    names = {attribute.name for expr in [*items, *_predicates(query.formula)] for attribute in attributes(expr)}
    names |= set(query.partition_by)
    if query.window is not None and query.window.attribute is not None:
        names.add(query.window.attribute)
    return names


def required_attributes(query: Query) -> set[str]:
    """The columns that conditions, clauses and expressions read, even where SELECT gives whole rows as well."""
    return required_columns(query) or required_columns(replace(query, items=None)) or set()


def _predicates(formula: Formula) -> Iterator[Expr]:
    if isinstance(formula, Filter | Absent) and formula.predicate is not None:
        yield formula.predicate
    if isinstance(formula, Segment):
        yield from (test.test for test in tests(formula.expression))
    if isinstance(formula, AbsentFormula):
        yield from _predicates(formula.body)
    for child in children(formula):
        yield from _predicates(child)
