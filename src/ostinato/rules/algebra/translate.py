"""From a normalised rule to a CERA expression: Figure 8."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from ostinato.core.expressions import variables
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.plan.embedded_cel import read_labels
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.grouping import aggregates_of, goes_by_time, is_on_group
from ostinato.rules.syntax.nodes import At, CelPattern, EventQuery, NormalRule, PeriodicTimer, RelativeTimer, While
from ostinato.rules.syntax.variables import term_variables, used_times

_ANY_TIME = n.Element("timer")


def translate(rule: NormalRule, since: int = 0, derived: Collection[str] = ()) -> cera.Construct:
    """Q := C^X[h](µ[[begin, end] ← j1 ⊔ … ⊔ jl](σ[c1 ∧ … ∧ ck](Bn))). `derived` are the labels that rules derive."""
    fresh = _fresh_names(rule)
    node: cera.Node | None = None
    traced: list[tuple[str, frozenset[str]]] = []
    for query in _order_by_shared_variables(rule.events):
        match = replace(_event_match(query, derived), since=since)
        traced.append((match.ident, frozenset(match.schema.data)))
        node = match if node is None else cera.Join(node, match)
    for timer in rule.timers:
        if isinstance(timer, PeriodicTimer):
            match = periodic_match(timer)
            traced.append((match.ident, frozenset()))
            node = match if node is None else cera.Join(node, match)
            continue
        stream = cera.TimerStream(timer) if isinstance(timer, RelativeTimer) else cera.FixedStream(timer)
        node = stream if node is None else cera.Join(node, stream)
    assert node is not None, "a rule without an event to begin with is refused when it is checked"
    collected: list[cera.Collected] = []
    read = frozenset(ident for _, ident in used_times(rule))
    bags = [frozenset(variables(each.expr)) for each in aggregates_of(rule) if each.over == "each"]
    for collect in rule.collects:
        match, named = replace(_while_match(collect, fresh), since=since), collect.ident is not None
        times = {n.time_variable(*time) for time in used_times(rule) if time[1] == match.ident}
        binds = frozenset(term_variables(match.term, match.bound)) | times
        counted = named or any(not names or names & binds for names in bags)
        timed = any(map(goes_by_time, aggregates_of(rule))) or match.ident in read
        at, found = isinstance(collect, At), _rows(collect, match, fresh)
        node = cera.TemporalJoin(collect.window, match.ident, node, found, named=counted, timed=timed, at=at)
        collected.append(cera.Collected(match.ident, named, binds))
    for negation in rule.negations:
        match = replace(_while_match(negation, fresh), since=since)
        node = cera.AntiJoin(
            negation.window, match.ident, node, _rows(negation, match, fresh), at=isinstance(negation, At)
        )
    if stamped := used_times(rule):
        node = cera.Stamp(stamped, node)
    having = tuple(condition for condition in rule.where if is_on_group(condition))
    if where := tuple(condition for condition in rule.where if condition not in having):
        node = cera.Select(where, node)
    merge = cera.Merge(node.schema.times, node)
    if rule.interval is not None:
        begin, end = rule.interval.begin, rule.interval.end
        merge = replace(merge, begin=(begin.ident, begin.side), end=None if end is None else (end.ident, end.side))
    return cera.Construct(rule.head, merge, tuple(traced), tuple(collected), having)


def _event_match(query: EventQuery | CelPattern, derived: Collection[str] = ()) -> cera.Match:
    if isinstance(query, CelPattern):
        read = read_labels(query.query, query.language, derived)
        return cera.Match(query.ident, query.term, cera.CelStream(query.query, query.language, read))
    return cera.Match(query.ident, query.term, query.term.label, query.bound)


def periodic_match(timer: PeriodicTimer) -> cera.Match:
    return cera.Match(timer.ident, _ANY_TIME, cera.PeriodicStream(timer.kind, timer.duration.nanoseconds))


def _while_match(query: While, fresh: Iterator[str]) -> cera.Match:
    ident = query.ident or next(fresh)
    if not isinstance(query, At):
        return cera.Match(ident, query.term, query.term.label, query.bound)
    assert query.key is not None, "the key is known once a program is normal"
    known = set(term_variables(query.term, query.bound))
    key = None if known.issuperset(term_variables(query.key)) else query.key
    return cera.Match(ident, query.term, cera.TableStream(query.term.label), query.bound, key=key)


def _rows(query: While, match: cera.Match, fresh: Iterator[str]) -> cera.Node:
    """What a `while` looks for, or the rows that an `at` does. (Every event of the label with the key is a version.)"""
    if not isinstance(query, At):
        return match
    assert query.key is not None
    return cera.Rows(match, cera.Match(next(fresh), query.key, match.stream, since=match.since))


def _order_by_shared_variables(events: Iterable[EventQuery | CelPattern]) -> list[EventQuery | CelPattern]:
    """As written, but where it can be each shares a variable with those before it: products of relations grow fast."""
    left = list(events)
    ordered: list[EventQuery | CelPattern] = []
    known: set[str] = set()
    while left:
        linked = (query for query in left if known & set(_event_match(query).schema.data))
        query = next(linked, left[0])
        left.remove(query)
        ordered.append(query)
        known |= set(_event_match(query).schema.data)
    return ordered


def _fresh_names(rule: NormalRule) -> Iterator[str]:
    """Identifiers for what `while` collects, after the label: temp', temp'', …"""
    atoms = (*rule.events, *rule.timers, *rule.collects)
    used = {atom.ident for atom in atoms if atom.ident is not None}
    for query in (*rule.collects, *rule.negations):
        for _ in range(2 if isinstance(query, At) else query.ident is None):
            name = query.term.label + "'"
            while name in used:
                name += "'"
            used.add(name)
            yield name
