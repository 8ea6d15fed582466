"""Whether a query fits the columns it is bound to: the kinds of its expressions and clauses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ostinato.core.expressions import Variable
from ostinato.core.types import ANY_KIND, TIMES, KindChecker, check_kind
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.patterns.syntax.nodes import Absent, AbsentFormula, Event, Filter, Formula, Query, Segment, children
from ostinato.patterns.syntax.srem.nodes import tests, written_registers


def check_types(query: Query, kinds: Mapping[str, str] | None) -> None:
    """Raise QueryError for an attribute that does not exist or an argument that does not fit its operator.

    Without `kinds` attributes may be anything, and only literals can be wrong.
    """
    checker = KindChecker(kinds, _relations_by_variable(query.formula), _registers(query.formula))
    _check_formula(query.formula, checker)
    for item in query.items or ():
        if not isinstance(item.expr, Variable):
            checker.kind(item.expr)
    if kinds is None:
        return
    for name in query.partition_by:
        if _column(name, kinds, query, "PARTITION BY") == "nested":
            reason = f"PARTITION BY needs plain values, and `{name}` is nested data"
            span = _clause_span(query, "PARTITION BY", name)
            raise QueryError(reason, span=span, fix="partition by another attribute")
    if query.window is not None and query.window.attribute is not None:
        name = query.window.attribute
        kind = _column(name, kinds, query, "WITHIN")
        if kind not in ("number", *ANY_KIND):
            fix = "for event time write WITHIN and a unit, such as WITHIN 10 minutes" if kind in TIMES else None
            reason = f"WITHIN … ON needs a number, and `{name}` is a {kind}"
            raise QueryError(reason, span=_clause_span(query, "WITHIN", name), fix=fix)


def _check_formula(formula: Formula, checker: KindChecker) -> None:
    if isinstance(formula, Filter | Absent) and formula.predicate is not None:
        check_kind("boolean", formula.predicate, checker.kind(formula.predicate), "FILTER needs a condition")
    if isinstance(formula, Segment):
        for test in tests(formula.expression):
            check_kind("boolean", test.test, checker.kind(test.test), "[…] needs a condition")
    below = (formula.body,) if isinstance(formula, AbsentFormula) else children(formula)
    for child in below:
        _check_formula(child, checker)


def _registers(formula: Formula) -> frozenset[str]:
    """The registers of an SREM; a query holds at most one."""
    return written_registers(formula.expression) if isinstance(formula, Segment) else frozenset()


def _column(name: str, kinds: Mapping[str, str], query: Query, clause: str) -> str:
    if name in kinds:
        return kinds[name]
    reason = f"unknown attribute `{name}` in {clause}"
    raise QueryError(reason, span=_clause_span(query, clause, name), fix=did_you_mean(name, kinds))


def _clause_span(query: Query, clause: str, name: str) -> Span | None:
    """Where a clause of the query's text mentions a name."""
    start = re.search(clause.replace(" ", r"\s+"), query.text, re.IGNORECASE)
    found = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)").search(query.text, start.end()) if start else None
    return Span(*found.span()) if found else None


def _relations_by_variable(formula: Formula) -> dict[str, list[str]]:
    """For messages: the event types that each variable may have."""
    found: dict[str, list[str]] = {}
    event = formula.event if isinstance(formula, Absent) else formula
    if isinstance(event, Event):
        found[event.variable] = [event.relation or "any event"]
    below = (formula.body,) if isinstance(formula, AbsentFormula) else children(formula)
    for child in below:
        for name, relations in _relations_by_variable(child).items():
            found[name] = list(dict.fromkeys([*found.get(name, []), *relations]))
    return found
