"""What construct terms ask for: groups, and what comes first or last."""

from __future__ import annotations

from ostinato.rules.syntax.nodes import Aggregate, All, Combined, ConstructTerm, Make


def groups(term: ConstructTerm) -> bool:
    """Whether the term has `all` or an aggregate in it."""
    return isinstance(term, All | Aggregate | Combined) or (isinstance(term, Make) and any(map(groups, term.children)))


def asks_for_ends(term: ConstructTerm) -> bool:
    """Whether the term has a first(…) or last(…) that goes by time."""
    if isinstance(term, Aggregate):
        return term.name in ("first", "last") and not term.order_by
    if isinstance(term, All):
        return asks_for_ends(term.term)
    if isinstance(term, Combined):
        return any(map(asks_for_ends, term.aggregates))
    return isinstance(term, Make) and any(map(asks_for_ends, term.children))
