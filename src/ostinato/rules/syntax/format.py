"""Event rules back to text that parses to an equal program."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ostinato.core.expressions import RESERVED, Expr, literal_text, quote_name
from ostinato.core.expressions import to_text as expression_text
from ostinato.core.units import duration_text
from ostinato.rules.syntax import nodes as n

_PLAIN_LABEL = re.compile(r"@?[^\W\d]\w*(?:[.-]\w+)*")
# Labels and identifiers that need backticks.
_WORDS = RESERVED | {"var", "desc", "optional", "without", "position", "all", "each", "distinct", "event"}


def program_text(program: n.Ruleset) -> str:
    return "\n\n".join([*map(table_text, program.tables), *map(rule_text, program.rules)])


def table_text(table: n.Table) -> str:
    """`TABLE customers KEY id`."""
    return f"TABLE {_label(table.label)} KEY {', '.join(_label(each.label) for each in table.key)}"


def rule_text(rule: n.Rule | n.NormalRule) -> str:
    """DETECT, ON and END on lines of their own, and one line for each query of the body."""
    body = rule.body if isinstance(rule, n.Rule) else _body_of(rule)
    private = "PRIVATE " if rule.private else ""
    interval = f"\n{interval_text(rule.interval)}" if rule.interval is not None else ""
    limit = f"\n{limit_text(rule.limit)}" if rule.limit is not None else ""
    return f"{private}DETECT {construct_text(rule.head)}{interval}{limit}\nON {_body(body, ' ' * 3)}\nEND"


def interval_text(interval: n.Interval) -> str:
    """`FROM begin(i) TO end(j)`."""
    moments = [interval.begin] if interval.end is None else [interval.begin, interval.end]
    return "FROM " + " TO ".join(f"{moment.side}({_ident(moment.ident)})" for moment in moments)


def limit_text(limit: n.OutputLimit) -> str:
    """`AT MOST 1 PER 5 min PER var S`."""
    by = f" PER {', '.join(map(_variable, limit.by))}" if limit.by else ""
    return f"AT MOST {limit.most} PER {_duration(limit.per)}{by}"


def _body_of(rule: n.NormalRule) -> n.Conjunction:
    return n.Conjunction((*rule.events, *rule.timers, *rule.collects, *rule.negations), rule.where)


def _body(body: n.Body, indent: str) -> str:
    if not isinstance(body, n.Conjunction | n.Disjunction):
        return atom_text(body)
    word = "and" if isinstance(body, n.Conjunction) else "or"
    inner = f"{indent}{' ' * len(word)}   "
    parts = f",\n{inner}".join(_body(part, inner) for part in body.parts)
    where = f"\n{indent}where {{ {', '.join(map(condition_text, body.where))} }}" if body.where else ""
    return f"{word} {{ {parts} }}{where}"


def atom_text(atom: n.Atom) -> str:
    """`event i: …` or `while i: …`."""
    if isinstance(atom, n.EventQuery):
        return f"event {_ident(atom.ident)}: {_bound(atom.bound)}{term_text(atom.term)}"
    if isinstance(atom, n.CelPattern):
        return f"event {_ident(atom.ident)}: {atom.language} {_quote(atom.query)} {_brackets(atom.term)}"
    if isinstance(atom, n.RelativeTimer):
        spec = f"event {_ident(atom.anchor)}, {_duration(atom.duration)}"
        return f"event {_ident(atom.ident)}: timer:{atom.kind} [ {spec} ]"
    if isinstance(atom, n.PeriodicTimer):
        return f"event {_ident(atom.ident)}: timer:{atom.kind} [ {_duration(atom.duration)} ]"
    if isinstance(atom, n.AbsoluteTimer):
        times = ", ".join(_quote(time) if isinstance(time, str) else str(time) for time in (atom.begin, atom.end))
        return f"event {_ident(atom.ident)}: timer:absolute [ {times} ]"
    if isinstance(atom, n.At):
        word = "not " if atom.negated else ""
        return f"at {_ident(atom.window)}: {word}{_bound(atom.bound)}{term_text(atom.term)}"
    named = f"event {_ident(atom.ident)}: " if atom.ident is not None else ""
    word = "not" if atom.negated else "collect"
    return f"while {_ident(atom.window)}: {word} {named}{_bound(atom.bound)}{term_text(atom.term)}"


def term_text(term: n.ChildQuery) -> str:
    """A query term, on one line."""
    if isinstance(term, n.Const):
        return _quote(term.value) if isinstance(term.value, str) else literal_text(term.value).lower()
    if isinstance(term, n.Fitting):
        return _regex(term.regex)
    if isinstance(term, n.Without):
        return f"without {term_text(term.term)}"
    if isinstance(term, n.Position):
        place = f"var {quote_name(term.place)}" if isinstance(term.place, str) else str(term.place)
        return f"position {place} {term_text(term.term)}"
    if isinstance(term, n.Element):
        label = _regex(term.label) if term.is_regex else _label(term.label)
        return f"{'*' if term.is_regex and term.label == n.ANY_LABEL else label} {_brackets(term)}"
    if isinstance(term, n.Bind):
        return _variable(term.name) if term.term is None else f"{_bound(term.name)}{term_text(term.term)}"
    return f"{'optional' if isinstance(term, n.Optional) else 'desc'} {term_text(term.term)}"


def construct_text(term: n.ConstructTerm) -> str:
    """A construct term, on one line."""
    if isinstance(term, n.Make):
        opening, closing = "[]" if term.ordered else "{}"
        return " ".join([_label(term.label), opening, *_join(map(construct_text, term.children)), closing])
    if isinstance(term, n.Value):
        return _expression(term.expr)
    if isinstance(term, n.Aggregate):
        return f"{term.name}({term.over} {_expression(term.expr)}{_order(term.order_by)})"
    if isinstance(term, n.Combined):
        return _expression(term.expr, outcomes=term.by_variable)
    assert isinstance(term, n.All)
    group = f" group by {{{', '.join(map(_variable, term.group_by))}}}" if term.group_by else ""
    return f"all {construct_text(term.term)}{group}{_order(term.order_by)}"


_STRENGTH = {"or": 1, "and": 2, "not": 3}


def condition_text(condition: n.Condition) -> str:
    """A condition of where, on one line."""
    return _condition(condition, None)


def _condition(condition: n.Condition, within: str | None) -> str:
    if isinstance(condition, n.Data | n.Combined):
        outcomes = condition.by_variable if isinstance(condition, n.Combined) else None
        return _expression(condition.expr, within, outcomes)
    if isinstance(condition, n.Temporal):
        if condition.duration is None:
            return f" {condition.relation} ".join(map(_ident, condition.events))
        events = ", ".join(map(_ident, condition.events))
        return f"{{{events}}} {condition.relation} {_duration(condition.duration)}"
    parts = [_condition(part, condition.op) for part in condition.parts]
    text = f"NOT {parts[0]}" if condition.op == "not" else f" {condition.op.upper()} ".join(parts)
    return f"({text})" if within is not None and _STRENGTH[condition.op] < _STRENGTH[within] else text


def _expression(expr: Expr, within: str | None = None, outcomes: Mapping[str, n.Aggregate] | None = None) -> str:
    def shown(name: str) -> str:
        return construct_text(outcomes[name]) if outcomes and name in outcomes else _variable(name)

    return expression_text(expr, within, variable=shown)


def _brackets(term: n.Element) -> str:
    opening, closing = "[]" if term.ordered else "{}"
    count = 1 if term.total else 2
    return " ".join([opening * count, *_join(map(term_text, term.children)), closing * count])


def _join(texts: map[str]) -> list[str]:
    """One text with commas, or none at all."""
    text = ", ".join(texts)
    return [text] if text else []


def _order(keys: tuple[n.Order, ...]) -> str:
    shown = ", ".join(f"{_variable(key.name)}{' desc' if key.descending else ''}" for key in keys)
    return f" order by [{shown}]" if keys else ""


def _bound(name: str | None) -> str:
    return "" if name is None else f"{_variable(name)} -> "


def _variable(name: str) -> str:
    time = n.as_time(name)
    return f"var {quote_name(name)}" if time is None else f"{time[0]}({_ident(time[1])})"


def _ident(name: str) -> str:
    return f"`{name}`" if name.lower() in _WORDS else quote_name(name)


def _label(label: str) -> str:
    if _PLAIN_LABEL.fullmatch(label) and label.lower() not in _WORDS:
        return label
    return "`" + label.replace("`", "``") + "`"


def _regex(regex: str) -> str:
    return f"/{regex.replace('/', chr(92) + '/')}/"


def _quote(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _duration(duration: n.Duration) -> str:
    return duration.text or duration_text(duration.nanoseconds)
