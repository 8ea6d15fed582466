"""Names of groups: `(A ; B)+ AS g` calls every position of the group g as well.

A position is known by its variable, so a group is the set of variables in it. They must not be used outside of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ostinato.errors import QueryError
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula

Groups = tuple[tuple[str, tuple[str, ...]], ...]


def take_groups(formula: Formula) -> tuple[Formula, Groups]:
    """The formula without the names of groups, and these with the variables that each stands for."""
    events = Counter(_variables(formula))
    found: dict[str, set[str]] = {}
    for absent in (part for part in n.everything(formula) if isinstance(part, n.AbsentFormula)):
        for inner in n.subformulas(absent.body):
            if isinstance(inner, n.Group):
                reason = f"`{inner.name}` names events that must not come, so there is nothing to select"
                raise QueryError(reason, span=inner.span, fix=f"remove AS {inner.name}")
    for group in (part for part in n.subformulas(formula) if isinstance(part, n.Group)):
        _check_group(group, events)
        found.setdefault(group.name, set()).update(n.vdef(group.body))
    return _without_groups(formula), tuple((name, tuple(sorted(found[name]))) for name in sorted(found))


def _check_group(group: n.Group, events: Counter[str]) -> None:
    members = Counter(_variables(group.body))
    if not members:
        raise QueryError(f"`{group.name}` names no event", span=group.span, fix=f"remove AS {group.name}")
    if group.name in events:
        reason = f"`{group.name}` names both an event and a group of events"
        raise QueryError(reason, span=group.span, fix="give the group another name")
    if outside := sorted(name for name in members if events[name] > members[name]):
        raise QueryError(
            f"`{outside[0]}` names an event in the group `{group.name}` and one outside of it",
            span=group.span,
            fix="give them different names",
        )


def _variables(formula: Formula) -> Iterator[str]:
    """The variable of each event, as often as it is there."""
    return (part.variable for part in n.subformulas(formula) if isinstance(part, n.Event))


def _without_groups(formula: Formula) -> Formula:
    formula = n.rebuild(formula, _without_groups)
    return formula.body if isinstance(formula, n.Group) else formula


def put_groups(formula: Formula, groups: Groups) -> Formula:
    """The other way round: each name around the largest parts that have only events of its group."""
    for name, members in groups:
        formula = _named(formula, name, frozenset(members))
    return formula


def _named(formula: Formula, name: str, members: frozenset[str]) -> Formula:
    if (own := n.vdef(formula)) and own <= members:
        return n.Group(formula, name, formula.span)
    return n.rebuild(formula, lambda part: _named(part, name, members))
