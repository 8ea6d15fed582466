"""Which construct terms group their bindings, and which need the times of what they group."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rules.syntax.nodes import Aggregate, All, Combined, ConstructTerm, Make


def aggregates_in(term: ConstructTerm) -> Iterator[Aggregate]:
    """The aggregates of a term, in the order of the text."""
    if isinstance(term, Aggregate):
        yield term
    below: tuple[ConstructTerm, ...] = ()
    if isinstance(term, Make):
        below = term.children
    elif isinstance(term, All | Combined):
        below = (term.term,) if isinstance(term, All) else term.aggregates
    for each in below:
        yield from aggregates_in(each)


def has_grouping(term: ConstructTerm) -> bool:
    """Whether the term has `all` or an aggregate in it."""
    return isinstance(term, All | Aggregate | Combined) or (
        isinstance(term, Make) and any(map(has_grouping, term.children))
    )


def needs_event_times(term: ConstructTerm) -> bool:
    """Whether the term has a first(…) or last(…) that goes by time."""
    return any(each.name in ("first", "last") and not each.order_by for each in aggregates_in(term))
