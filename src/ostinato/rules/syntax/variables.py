"""Which variables the parts of event rules bind and use, each with the place where it does."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.core.expressions import Variable, walk
from ostinato.errors import Span
from ostinato.rules.syntax import nodes as n

Names = dict[str, Span]  # variable -> its first place


def bound_variables(literal: n.Atom) -> Names:
    """The variables that a literal binds, those of optional terms among them."""
    return {**definite_variables(literal), **optional_variables(literal)}


def definite_variables(literal: n.Atom) -> Names:
    """Those that have a value whenever the literal matches."""
    return {name: span for name, span, optional in _binds_of(literal) if not optional}


def optional_variables(literal: n.Atom) -> Names:
    """Those that stand in optional terms alone, and may be left without a value."""
    sure = definite_variables(literal)
    return {name: span for name, span, _ in _binds_of(literal) if name not in sure}


def _binds_of(literal: n.Atom) -> Iterator[tuple[str, Span, bool]]:
    if isinstance(literal, n.Timer):
        return
    if not isinstance(literal, n.CelPattern) and literal.bound is not None:
        yield literal.bound, literal.span, False
    yield from _binds(literal.term, False)


def term_variables(term: n.ChildQuery, bound: str | None = None) -> tuple[str, ...]:
    """Every variable that a term may bind, in the order of the text; `bound` is X of `var X -> term`."""
    names = (name for name, _, _ in _binds(term, False))
    return tuple(dict.fromkeys([*([] if bound is None else [bound]), *names]))


def _binds(term: n.ChildQuery, optional: bool) -> Iterator[tuple[str, Span, bool]]:
    if isinstance(term, n.Const | n.Fitting | n.Without):
        return
    if isinstance(term, n.Position):
        if isinstance(term.place, str):
            yield term.place, term.span, optional
        yield from _binds(term.term, optional)
        return
    if isinstance(term, n.Element):
        for child in term.children:
            yield from _binds(child, optional)
        return
    if isinstance(term, n.Bind):
        yield term.name, term.span, optional
    if isinstance(term, n.Desc | n.Optional) or term.term is not None:
        assert term.term is not None
        yield from _binds(term.term, optional or isinstance(term, n.Optional))


def walk_query_terms(term: n.ChildQuery) -> Iterator[n.ChildQuery]:
    """The term and all below it, outermost first."""
    yield term
    inner: tuple[n.ChildQuery | None, ...] = ()
    if isinstance(term, n.Element):
        inner = term.children
    elif not isinstance(term, n.Const | n.Fitting):
        inner = (term.term,)
    for each in inner:
        if each is not None:
            yield from walk_query_terms(each)


def used_variables(term: n.ConstructTerm | n.Condition) -> Names:
    """The variables that a head or a condition mentions."""
    return dict(reversed(list(_uses(term))))


def _uses(term: n.ConstructTerm | n.Condition) -> Iterator[tuple[str, Span]]:
    if isinstance(term, n.Value | n.Data | n.Aggregate):
        yield from ((node.name, node.span) for node in walk(term.expr) if isinstance(node, Variable))
    if isinstance(term, n.Combined):
        own = (node for node in walk(term.expr) if isinstance(node, Variable) and node.name not in term.by_variable)
        yield from ((node.name, node.span) for node in own)
        for aggregate in term.aggregates:
            yield from _uses(aggregate)
    if isinstance(term, n.Make | n.Formula):
        for part in term.children if isinstance(term, n.Make) else term.parts:
            yield from _uses(part)
    if isinstance(term, n.All):
        yield from _uses(term.term)
        yield from ((name, term.span) for name in term.group_by)
    if isinstance(term, n.All | n.Aggregate):
        yield from ((order.name, order.span) for order in term.order_by)


def used_times(rule: n.NormalRule) -> tuple[tuple[str, str], ...]:
    """Side and identifier of each time of an event that the head or a condition reads as a value."""
    names = [name for part in (rule.head, *rule.where) for name in used_variables(part)]
    return tuple(time for name in dict.fromkeys(names) if (time := n.as_time(name)) is not None)


def outer_variables(term: n.ConstructTerm | n.Condition) -> list[str]:
    """The variables outside of `all` and aggregates, in the order of the text."""
    if isinstance(term, n.Value | n.Data):
        return list(dict.fromkeys(node.name for node in walk(term.expr) if isinstance(node, Variable)))
    if isinstance(term, n.Make | n.Formula):
        parts = term.children if isinstance(term, n.Make) else term.parts
        return list(dict.fromkeys(name for part in parts for name in outer_variables(part)))
    if isinstance(term, n.Combined):
        return [name for name in outer_variables(n.Value(term.expr)) if name not in term.by_variable]
    return []
