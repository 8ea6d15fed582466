"""Rules without `or`, their literals in the order of Figure 7: events, timers, collections, negations.

`and` goes over `or` as products over sums, and a where clause goes to every branch that it stands over. What an `at`
finds counts as collected, and its negation as negated; here it gets the key of its table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from math import prod

from ostinato.errors import LimitError, QueryError, did_you_mean
from ostinato.rules.syntax import nodes as n

MAX_BRANCHES = 1_000  # of one rule

_Branch = tuple[tuple[n.Atom, ...], tuple[n.Condition, ...]]  # all of these literals, under all of these conditions


def normalise(program: n.Ruleset) -> tuple[n.NormalRule, ...]:
    """One rule for each branch of each rule, in the order of the text."""
    tables = {table.label: table for table in program.tables}
    return tuple(branch for rule in program.rules for branch in _branches_of(rule, tables))


def _branches_of(rule: n.Rule, tables: Mapping[str, n.Table]) -> list[n.NormalRule]:
    if (count := _count(rule.body)) > MAX_BRANCHES:
        raise LimitError(
            "branches",
            MAX_BRANCHES,
            reason=f"rule {rule.number} ({rule.head.label}) has {count:,} combinations of its `or` branches",
            fix="split the rule: derive an event from each `or { … }`, and combine those events",
        )
    return [_normal(rule, literals, where, tables) for literals, where in _branches(rule.body)]


def _count(body: n.Body) -> int:
    if isinstance(body, n.Conjunction):
        return prod(map(_count, body.parts))
    return sum(map(_count, body.parts)) if isinstance(body, n.Disjunction) else 1


def _branches(body: n.Body) -> list[_Branch]:
    if isinstance(body, n.Disjunction):
        found = [branch for part in body.parts for branch in _branches(part)]
    elif isinstance(body, n.Conjunction):
        found = [_together(parts) for parts in product(*map(_branches, body.parts))]
    else:
        return [((body,), ())]
    return [(literals, (*where, *body.where)) for literals, where in found]


def _together(parts: Sequence[_Branch]) -> _Branch:
    return (
        tuple(literal for literals, _ in parts for literal in literals),
        tuple(condition for _, where in parts for condition in where),
    )


def _normal(
    rule: n.Rule, literals: Sequence[n.Atom], where: tuple[n.Condition, ...], tables: Mapping[str, n.Table]
) -> n.NormalRule:
    whiles = [literal for literal in literals if isinstance(literal, n.While)]
    whiles = [
        with_key(literal, tables, place) if isinstance(literal, n.At) else literal
        for place, literal in enumerate(whiles)
    ]
    timers = [literal for literal in literals if isinstance(literal, n.Timer)]
    return n.NormalRule(
        rule.head,
        events=tuple(literal for literal in literals if isinstance(literal, n.EventQuery | n.CelPattern)),
        timers=_sorted(timers),
        collects=tuple(literal for literal in whiles if not literal.negated),
        negations=tuple(literal for literal in whiles if literal.negated),
        where=where,
        number=rule.number,
        private=rule.private,
        limit=rule.limit,
        interval=rule.interval,
        span=rule.span,
    )


def with_key(query: n.At, tables: Mapping[str, n.Table], place: int) -> n.At:
    """The query with the key of its table. `place` tells it from others of its rule.

    A variable of the query that is bound to all of a key's child stands for it; otherwise there is one of its own.
    """
    label = query.term.label
    if label not in tables:
        known = did_you_mean(label, tables)
        fix = known or f"say so, and what tells its rows apart, before the rules: TABLE {label} KEY id"
        raise QueryError(f"`{label}` is no table", span=query.term.span, fix=fix)
    children = []
    for each in tables[label].key:
        asked = [child for child in query.term.children if isinstance(child, n.Element) and child.label == each.label]
        name = n.key_variable(place, each.label)
        if len(asked) == 1 and not asked[0].is_regex and len(asked[0].children) == 1:
            value = asked[0].children[0]
            name = value.name if isinstance(value, n.Bind) and value.term is None else name
        children.append(n.Element(each.label, (n.Bind(name, span=each.span),), span=each.span))
    return replace(query, key=n.Element(label, tuple(children), span=tables[label].span))


def _sorted(timers: Sequence[n.Timer]) -> tuple[n.Timer, ...]:
    """Each timer after the one that it is anchored on, otherwise as written."""
    done: list[n.Timer] = []
    left = list(timers)
    while left:
        waiting = {timer.ident for timer in left}
        ready = [timer for timer in left if not isinstance(timer, n.RelativeTimer) or timer.anchor not in waiting]
        if not ready:
            raise _circular([timer for timer in left if isinstance(timer, n.RelativeTimer)])
        done += ready
        left = [timer for timer in left if timer not in ready]
    return tuple(done)


def _circular(timers: Sequence[n.RelativeTimer]) -> QueryError:
    """Every one of these waits for another of them, so following the anchors comes back somewhere."""
    anchors = {timer.ident: timer for timer in timers}
    path = [timers[0].ident]
    while anchors[path[-1]].anchor not in path:
        path.append(anchors[path[-1]].anchor)
    cycle = path[path.index(anchors[path[-1]].anchor) :]
    shown = " <- ".join((*cycle, cycle[0]))
    reason = "the timer is anchored on itself" if len(cycle) == 1 else f"the timers are anchored on each other: {shown}"
    fix = "anchor one of them on an event: timer:from-end [event e, 10 sec], with event e: label {{ … }}"
    return QueryError(reason, span=anchors[cycle[0]].span, fix=fix)
