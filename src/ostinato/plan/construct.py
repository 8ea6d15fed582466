"""What construct terms ask for: groups, and what comes first or last."""

from __future__ import annotations

from ostinato.plan.rules import Aggregate, All, ConstructTerm, Make


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
