"""From lark's tree of event rules to nodes: rules, their bodies and conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ostinato.core import expressions as ex
from ostinato.core.text.build import unquote_name
from ostinato.core.text.grammar import token_span, unquote
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.build_terms import TermBuilder, check_unique, plain, take_aggregates

if TYPE_CHECKING:
    from lark import Token

_TIMERS = (*n.RELATIVE_TIMERS, "absolute", *n.PERIODIC_TIMERS)


class Builder(TermBuilder):
    """Rules, their bodies and conditions."""

    def program(self, _: Span, *parts: n.Table | n.Rule) -> n.Ruleset:
        tables = tuple(part for part in parts if isinstance(part, n.Table))
        for place, table in enumerate(tables):
            if table.label in [other.label for other in tables[:place]]:
                reason = f"the table `{table.label}` is declared twice"
                raise QueryError(reason, span=table.span, fix="leave one of the two out")
        rules = (part for part in parts if isinstance(part, n.Rule))
        return n.Ruleset(tuple(replace(rule, number=number) for number, rule in enumerate(rules, 1)), tables)

    def table(self, span: Span, label: str, *key: n.KeyLabel) -> n.Table:
        check_unique([(each.label, each.span) for each in key])
        return n.Table(label, key, span)

    def key_label(self, span: Span, label: str) -> n.KeyLabel:
        return n.KeyLabel(label, span)

    def rule(
        self,
        span: Span,
        private: Token | None,
        head: n.Make,
        interval: n.Interval | None,
        limit: n.OutputLimit | None,
        body: n.Body,
    ) -> n.Rule:
        return n.Rule(head, body, private=private is not None, limit=limit, interval=interval, span=span)

    def interval(self, _: Span, begin: n.Moment, end: n.Moment | None) -> n.Interval:
        return n.Interval(begin, end)

    def moment(self, span: Span, side: Token, ident: Token) -> n.Moment:
        return n.Moment(side.lower(), unquote_name(ident), span)

    def limit(self, span: Span, most: Token, per: n.Duration, *by: ex.Variable) -> n.OutputLimit:
        if not most.isdigit() or int(most) < 1:
            raise QueryError("a limit is a whole number of events", span=token_span(most), fix="write: at most 1 per …")
        if not per.nanoseconds:
            reason = "a limit needs a duration"
            raise QueryError(reason, span=span, fix=f"write, for example, at most {most} per 5 min")
        check_unique([(variable.name, variable.span) for variable in by])
        return n.OutputLimit(int(most), per, tuple(variable.name for variable in by), span)

    def conditioned(self, span: Span, body: n.Body, where: tuple[n.Condition, ...]) -> n.Body:
        if isinstance(body, n.Conjunction | n.Disjunction):
            return replace(body, where=where, span=span)
        return n.Conjunction((body,), where, span)

    def all_of(self, span: Span, *parts: n.Body) -> n.Body:
        return n.Conjunction(parts, (), span)

    def any_of(self, span: Span, *parts: n.Body) -> n.Body:
        return n.Disjunction(parts, (), span)

    def bound(self, _: Span, name: Token) -> str:
        return unquote_name(name)

    def event(self, span: Span, ident: Token, bound: str | None, term: n.Element) -> n.EventQuery:
        return n.EventQuery(unquote_name(ident), term, bound, span)

    def columns(self, _: Span, brackets: n.Element) -> n.Element:
        return replace(brackets, label="match")

    def pattern(self, span: Span, ident: Token, word: Token, text: Token, columns: n.Element | None) -> n.CelPattern:
        term = columns or n.Element("match", span=span)
        languages: dict[str, n.PatternLanguage] = {"CEL": "cel", "SREM": "srem", "SQL": "sql"}
        return n.CelPattern(unquote_name(ident), unquote(text), term, languages[word.type], token_span(text), span)

    def relative_timer(
        self, span: Span, ident: Token, kind: Token, anchor: Token, duration: n.Duration
    ) -> n.RelativeTimer:
        known = _timer(kind)
        if known == "absolute":
            fix = 'write [0, 60] in seconds, or ["2026-01-31T08:00", "2026-01-31T09:00"]'
            raise QueryError("timer:absolute takes when it begins and when it ends", span=span, fix=fix)
        if known in n.PERIODIC_TIMERS:
            raise _of_no_event(known, span)
        return n.RelativeTimer(unquote_name(ident), known, unquote_name(anchor), duration, span)

    def absolute_timer(
        self, span: Span, ident: Token, kind: Token, begin: int | float | str, end: int | float | str
    ) -> n.AbsoluteTimer:
        known = _timer(kind)
        if known in n.PERIODIC_TIMERS:
            raise _of_no_event(known, span)
        if known != "absolute":
            fix = f"write timer:{known} [event j, 12 sec]"
            raise QueryError(f"timer:{known} takes an event and a time", span=span, fix=fix)
        return n.AbsoluteTimer(unquote_name(ident), begin, end, span)

    def periodic_timer(self, span: Span, ident: Token, kind: Token, duration: n.Duration) -> n.PeriodicTimer:
        known = _timer(kind)
        if known not in n.PERIODIC_TIMERS:
            what = "when it begins and when it ends" if known == "absolute" else "an event and a time"
            raise QueryError(
                f"timer:{known} takes {what}",
                span=span,
                fix=f"write timer:{known} {'[0, 60]' if known == 'absolute' else f'[event j, {duration.text}]'}",
            )
        if not duration.nanoseconds:
            fix = f"write, for example, timer:{known} [5 min]"
            raise QueryError("a timer that goes off again needs a time until it does", span=span, fix=fix)
        return n.PeriodicTimer(unquote_name(ident), known, duration, span)

    def instant(self, _: Span, *tokens: Token | None) -> int | float | str:
        *minus, token = tokens
        assert token is not None
        if minus:
            return self._signed(minus[0], token)
        text = unquote(token)
        try:
            datetime.fromisoformat(text)
        except ValueError as error:
            fix = 'write it as "2026-01-31T23:59:59.5", or as a number of seconds'
            raise QueryError(f"not a time: {error}", span=token_span(token), fix=fix) from None
        return text

    def while_not(self, span: Span, window: Token, _: Token, term: n.Element) -> n.While:
        self._check_single(term, f"while {window}: not")
        return n.While(unquote_name(window), term, True, span=span)

    def while_collect(
        self, span: Span, window: Token, ident: Token | None, bound: str | None, term: n.Element
    ) -> n.While:
        self._check_single(term, f"while {window}: collect")
        return n.While(unquote_name(window), term, False, None if ident is None else unquote_name(ident), bound, span)

    def at(self, span: Span, ident: Token, negated: Token | None, bound: str | None, term: n.Element) -> n.At:
        if negated is not None and bound is not None:
            reason = "a row that is not there has no name and binds no variable"
            raise QueryError(reason, span=span, fix=f"write at {ident}: not {term.label} {{{{ … }}}}")
        self._check_single(term, f"at {ident}: not" if negated is not None else f"at {ident}:")
        return n.At(unquote_name(ident), term, negated is not None, bound=bound, span=span)

    def _check_single(self, term: n.Element, before: str) -> None:
        """`while i: not or { b {{ }}, c {{ }} }` reads as a label."""
        word = term.label.lower()
        if word not in ("and", "or") or self.text[term.span.start] == "`":
            return
        if word == "or" and before.endswith("not"):
            fix = f"where none of them may come, write each: {before} b {{{{ … }}}}, {before} c {{{{ … }}}}"
        else:
            fix = f"derive an event x from `{word} {{ … }}` by rules of their own, and write {before} x {{{{ … }}}}"
        reason = f"`{before}` takes one term, and no `{word} {{ … }}`"
        raise QueryError(reason, span=term.span, fix=fix)

    def unbounded(self, span: Span, word: Token, _: Token | None, bound: str | None, term: n.Element) -> n.Body:
        negated = word.type == "NOT"
        what, timer = ("negation", "from-end") if negated else ("collection", "from-start-backward")
        raise QueryError(
            f"a {what} needs a time to be bounded by: without one it would never end",
            span=token_span(word),
            fix=f"name a time and use it: event i: timer:{timer} [event j, 10 sec], "
            f"while i: {word.lower()} {term.label} {{{{ … }}}}",
        )

    def where(self, _: Span, *conditions: tuple[n.Condition, ...]) -> tuple[n.Condition, ...]:
        return tuple(part for parts in conditions for part in parts)

    def condition(self, _: Span, expr: ex.Expr | n.Temporal | n.Aggregate) -> tuple[n.Condition, ...]:
        return tuple(_condition(part) for part in _conjuncts(expr))


def _timer(kind: Token) -> str:
    known = kind.lower()
    if known not in _TIMERS:
        raise QueryError(f"unknown timer `{kind}`", span=token_span(kind), fix=did_you_mean(known, _TIMERS))
    return known


def _of_no_event(kind: str, span: Span) -> QueryError:
    reason = f"timer:{kind} takes how long each time is, and nothing else"
    return QueryError(reason, span=span, fix=f"write timer:{kind} [5 min]")


def _conjuncts(expr: ex.Expr | n.Temporal | n.Aggregate) -> Iterator[ex.Expr | n.Temporal | n.Aggregate]:
    """The parts of an `and` with aggregates in it: those without any pick bindings, the others groups of them."""
    if isinstance(expr, ex.Call) and expr.op == "and" and _has(expr, n.Aggregate):
        for part in expr.args:
            yield from _conjuncts(part)
    else:
        yield expr


def _has(expr: ex.Expr, kind: type) -> bool:
    return any(isinstance(node, kind) for node in ex.walk(expr))


def _condition(expr: ex.Expr | n.Temporal | n.Aggregate) -> n.Condition:
    """Connectives above temporal conditions become a Formula; what speaks of data alone stays one expression."""
    if isinstance(expr, n.Temporal):
        return expr
    if isinstance(expr, ex.Call) and expr.op in ex.LOGIC and _has(expr, n.Temporal):
        return n.Formula(expr.op, tuple(map(_condition, expr.args)), expr.span)  # type: ignore[arg-type]
    over, found = take_aggregates(expr)
    bare = plain(over, "a condition on data")
    return n.Combined(bare, found, expr.span) if found else n.Data(bare, expr.span)
