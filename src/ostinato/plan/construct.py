"""What construct terms say: their variables, and whether they group."""

from __future__ import annotations

from ostinato.lang.expr import variables
from ostinato.plan.rules import Aggregate, All, ConstructTerm, Make, Value


def free_variables(term: ConstructTerm) -> frozenset[str]:
    """Every variable that the term reads, also inside `all`."""
    if isinstance(term, Value):
        return variables(term.expr)
    if isinstance(term, Aggregate):
        return variables(term.expr) | {order.name for order in term.order_by}
    if isinstance(term, All):
        return free_variables(term.term) | set(term.group_by) | {order.name for order in term.order_by}
    return frozenset().union(*map(free_variables, term.children))


def outer_variables(term: ConstructTerm) -> frozenset[str]:
    """The variables outside `all`: the explicit grouping is by them."""
    if isinstance(term, Value):
        return variables(term.expr)
    if isinstance(term, Make):
        return frozenset().union(*map(outer_variables, term.children))
    return frozenset()


def groups(term: ConstructTerm) -> bool:
    """Whether the term has `all` or an aggregate in it."""
    return isinstance(term, All | Aggregate) or (isinstance(term, Make) and any(map(groups, term.children)))


def asks_for_ends(term: ConstructTerm) -> bool:
    """Whether the term has a first(…) or last(…) that goes by time."""
    if isinstance(term, Aggregate):
        return term.name in ("first", "last") and not term.order_by
    if isinstance(term, All):
        return asks_for_ends(term.term)
    return isinstance(term, Make) and any(map(asks_for_ends, term.children))
