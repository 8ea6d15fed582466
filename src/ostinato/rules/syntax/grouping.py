"""What groups bindings: `all` and aggregates in heads, aggregates in where; and which need the times of events."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.rules.syntax.nodes import (
    Aggregate,
    All,
    Combined,
    Condition,
    ConstructTerm,
    Formula,
    Make,
    NormalRule,
)


def aggregates_in(term: ConstructTerm | Condition) -> Iterator[Aggregate]:
    """The aggregates of a term or a condition, in the order of the text."""
    if isinstance(term, Aggregate):
        yield term
    below: tuple[ConstructTerm | Condition, ...] = ()
    if isinstance(term, Make | Formula):
        below = term.children if isinstance(term, Make) else term.parts
    elif isinstance(term, All | Combined):
        below = (term.term,) if isinstance(term, All) else term.aggregates
    for each in below:
        yield from aggregates_in(each)


def is_on_group(condition: Condition) -> bool:
    """Whether a condition of where has aggregates in it, and so picks groups of bindings, not bindings."""
    return next(aggregates_in(condition), None) is not None


def aggregates_of(rule: NormalRule) -> list[Aggregate]:
    """Those of the head and of where."""
    return [each for part in (rule.head, *rule.where) for each in aggregates_in(part)]


def groups_bindings(rule: NormalRule) -> bool:
    """Whether the rule needs all bindings of a group before it makes an event."""
    return has_grouping(rule.head) or any(map(is_on_group, rule.where))


def has_grouping(term: ConstructTerm) -> bool:
    """Whether the term has `all` or an aggregate in it."""
    return isinstance(term, All | Aggregate | Combined) or (
        isinstance(term, Make) and any(map(has_grouping, term.children))
    )


def goes_by_time(term: Aggregate) -> bool:
    """Whether it is a first(…) or last(…) by the times of events."""
    return term.name in ("first", "last") and not term.order_by
