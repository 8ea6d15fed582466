"""Faults that show in the text of a query alone, without data: well-formed filters, NOT, SELECT, FROM, windows.

Filters are checked in checks/, and what needs the columns of the data in types.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.errors import QueryError, did_you_mean
from ostinato.patterns.plan.checks.absences import check_absences
from ostinato.patterns.plan.checks.aggregates import check_aggregate
from ostinato.patterns.plan.checks.filters import check_filters, check_groups, check_predicates
from ostinato.patterns.plan.checks.timeout import check_timeout
from ostinato.patterns.plan.loop_aggregates import place_aggregates
from ostinato.patterns.plan.types import check_types
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import name_whole
from ostinato.patterns.syntax.nodes import Formula

_STRATEGIES = ("ALL", "STRICT", "NXT", "LAST", "MAX")


def check_query(query: n.Query) -> None:
    """Raise QueryError for the first structural fault."""
    try:
        check_groups(query)
        check_predicates(query.formula)
        named = name_whole(query.formula)
        check_filters(named, named, frozenset())
        place_aggregates(named)
        check_absences(query)
        _check_skip(query)
        check_timeout(query)
        _check_items(query)
        _check_relations(query)
        check_types(query, None)
    except QueryError as error:
        raise error.within(query.text) from None


def check_schema(query: n.Query, kinds: Mapping[str, str], types: Collection[str] | None = None) -> None:
    """Raise QueryError where names or types do not fit the data.

    `kinds` maps each column to number, string, boolean, timestamp, date, duration, binary, nested or null; `types` are
    the event types that can occur, where that is known.
    """
    try:
        if types is not None:
            _known_relations(query.formula, types, "among the event types of the data")
        check_types(query, kinds)
    except QueryError as error:
        raise error.within(query.text) from None


def _check_skip(query: n.Query) -> None:
    target = query.skip.variable if query.skip is not None else None
    known = frozenset().union(*(query.names(variable) for variable in n.vdef(query.formula)))
    if query.skip is not None and target is not None and target not in known:
        fix = did_you_mean(target, known) or "name an event of the formula with AS, and skip to it"
        raise QueryError(f"no event is called `{target}`", span=query.skip.span, fix=fix)


# SELECT and FROM ----------------------------------------------------------------------------------------------------


def _check_items(query: n.Query) -> None:
    many, known = query.lists, n.vdef(query.formula) | query.lists
    absent = {part.event.variable for part in n.subformulas(query.formula) if isinstance(part, n.Absent)}
    for item in query.items or ():
        for node in ex.walk(item.expr):
            name = (
                node.name
                if isinstance(node, ex.Variable)
                else node.variable
                if isinstance(node, ex.Attribute)
                else None
            )
            if name is None or name in known:
                continue
            if name in absent:
                reason = f"`{name}` is the event that must not come, so there is nothing to select"
                raise QueryError(reason, span=node.span, fix=f"remove `{name}` from SELECT")
            fix = did_you_mean(name, [other for other in known if not other.startswith("#")])
            if name.upper() in _STRATEGIES:
                fix = f"write SELECT {name.upper()} * for the strategy"
            raise QueryError(f"unknown variable `{name}` in SELECT", span=node.span, fix=fix)
        _check_item(item, many, {name: "a group" for name, _ in query.groups})


def _check_item(item: n.Item, many: frozenset[str], why: Mapping[str, str]) -> None:
    """`many` are the names that stand for several events, `why` says so of those that are not inside a loop."""
    if not ex.variables(item.expr):
        raise QueryError("this SELECT item mentions no event", span=item.span, fix="select a variable or an attribute")
    if isinstance(item.expr, ex.Variable) or ex.is_attribute(item.expr):
        return

    def visit(expr: Expr) -> None:
        if isinstance(expr, ex.Variable):
            fix = f"name an attribute: {expr.name}.attr, or count({expr.name})"
            raise QueryError(f"`{expr.name}` is a whole event, not a value", span=expr.span, fix=fix)
        if ex.is_attribute(expr) and (repeated := ex.variables(expr) & many):
            name = min(repeated)
            raise QueryError(
                f"`{ex.to_text(expr)}` is a list of values, since {name} is {why.get(name, 'inside a loop')}",
                span=expr.span,
                fix=f"aggregate it, such as avg({ex.to_text(expr)}), or select it alone",
            )
        if isinstance(expr, ex.Call) and expr.op in ex.AGGREGATES:
            if expr.op == ex.PREV:
                reason, fix = "prev(…) stands in a FILTER inside a loop", "SELECT has first, last and other aggregates"
                raise QueryError(reason, span=expr.span, fix=fix)
            check_aggregate(expr)
        elif isinstance(expr, ex.Call):
            for arg in expr.args:
                visit(arg)

    visit(item.expr)


def _check_relations(query: n.Query) -> None:
    if query.relations:
        _known_relations(query.formula, query.relations, "in FROM")


def _known_relations(formula: Formula, known: Collection[str], where: str) -> None:
    for part in n.subformulas(formula):
        event = part.event if isinstance(part, n.Absent) else part
        if isinstance(event, n.Event) and event.relation is not None and event.relation not in known:
            raise QueryError(
                f"`{event.relation}` is not {where}", span=event.span, fix=did_you_mean(event.relation, known)
            )
