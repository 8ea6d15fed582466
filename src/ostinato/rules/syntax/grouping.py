"""Which construct terms group their bindings, and which need the times of what they group."""

from __future__ import annotations

from ostinato.rules.syntax.nodes import Aggregate, All, Combined, ConstructTerm, Make


def has_grouping(term: ConstructTerm) -> bool:
    """Whether the term has `all` or an aggregate in it."""
    return isinstance(term, All | Aggregate | Combined) or (
        isinstance(term, Make) and any(map(has_grouping, term.children))
    )


def needs_event_times(term: ConstructTerm) -> bool:
    """Whether the term has a first(…) or last(…) that goes by time."""
    if isinstance(term, Aggregate):
        return term.name in ("first", "last") and not term.order_by
    if isinstance(term, All):
        return needs_event_times(term.term)
    if isinstance(term, Combined):
        return any(map(needs_event_times, term.aggregates))
    return isinstance(term, Make) and any(map(needs_event_times, term.children))
