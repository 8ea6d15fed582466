"""Builds the nodes of a CEL query from lark's tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard, cast
from typing import Literal as OneOf

from ostinato.core.expressions import AGGREGATE_FUNCTIONS, PREV, Expr, to_text
from ostinato.core.text.build import (
    FUNCTIONS,
    Clause,
    SharedBuilder,
    flat_call,
    merge_clauses,
    parse_whole,
    unquote_name,
)
from ostinato.core.text.grammar import token_span
from ostinato.core.units import LARGEST
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.groups import take_groups
from ostinato.patterns.syntax.item_names import ANSWER_COLUMNS, item_names
from ostinato.patterns.syntax.loop_bounds import parse_loop_bounds
from ostinato.patterns.syntax.nodes import Formula

if TYPE_CHECKING:
    from lark import Token

_UNBOUNDED = ("median", "mode", "percentile", "quantile")


class CelBuilder(SharedBuilder):
    """CEL's own rules."""

    functions = FUNCTIONS | {PREV: (1, 1)}

    def call(self, span: Span, name: Token, *args: Expr) -> Expr:
        if name.lower() in _UNBOUNDED:
            reason = f"there is no {name.lower()}: all values of the events would have to be remembered"
            fix = f"aggregates are {', '.join(AGGREGATE_FUNCTIONS)}"
            raise QueryError(reason, span=token_span(name), fix=fix)
        return super().call(span, name, *args)

    # The query and its clauses.

    def bare_query(self, _: Span, formula: Formula, *clauses: Clause) -> n.Query:
        whole, groups = take_groups(formula)
        return n.Query(whole, text=self.text, groups=groups, **_clauses(clauses, None))

    def select_query(
        self,
        _: Span,
        first: Token | None,
        strategy: Token | None,
        items: tuple[n.Item, ...] | None,
        relations: tuple[Token, ...] | None,
        formula: Formula,
        *clauses: Clause,
    ) -> n.Query:
        whole, groups = take_groups(formula)
        return n.Query(
            whole,
            cast(n.Strategy, strategy.upper() if strategy is not None else "ALL"),
            items,
            tuple(map(unquote_name, relations or ())),
            text=self.text,
            groups=groups,
            **_clauses(
                clauses if first is None else (("SELECT FIRST", token_span(first), {"limit": 1}), *clauses), items
            ),
        )

    def everything(self, _: Span, _star: Token) -> None:
        return None

    def item(self, span: Span, expr: Expr, name: Token | None) -> tuple[Span, Expr, Token | None]:
        return span, expr, name

    def items(self, _span: Span, *items: tuple[Span, Expr, Token | None]) -> tuple[n.Item, ...]:
        given = [None if name is None else unquote_name(name) for _, _, name in items]
        result: dict[str, n.Item] = {}
        for (span, expr, _), name in zip(items, item_names([expr for _, expr, _ in items], given), strict=True):
            if name in result:
                reason = f"two SELECT items give a column named `{name}`"
                raise QueryError(reason, span=span, fix=f"name one of them: {to_text(expr)} AS another_name")
            result[name] = n.Item(expr, name, span)
        return tuple(result.values())

    def consume(self, span: Span, mode: Token) -> Clause:
        return "CONSUME BY", span, {"consume": cast(n.Consume, mode.upper())}

    def skip_row(self, span: Span, where: Token) -> Clause:
        if where.upper().startswith("PAST"):
            return "AFTER MATCH SKIP", span, {"consume": "PARTITION"}
        return "AFTER MATCH SKIP", span, {"consume": "NONE", "skip": n.Skip("NEXT")}

    def skip_to(self, span: Span, where: Token, variable: Token) -> Clause:
        which = cast(OneOf["FIRST", "LAST"], where.upper().split()[1])
        skip = n.Skip(which, unquote_name(variable), token_span(variable))
        return "AFTER MATCH SKIP", span, {"consume": "NONE", "skip": skip}

    def limit(self, span: Span, number: Token) -> Clause:
        if not number.isdecimal() or not 0 < parse_whole(number) <= LARGEST:
            reason = f"there cannot be at most {number} matches"
            raise QueryError(reason, span=token_span(number), fix=f"give a whole number from 1 to {LARGEST}")
        return "LIMIT", span, {"limit": parse_whole(number)}

    def timeout(self, span: Span) -> Clause:
        return "WITH TIMEOUT ROWS", span, {"timeout": n.Timeout(span)}

    # Formulas.

    def event(self, span: Span, relation: Token, variable: str) -> n.Event:
        return n.Event(unquote_name(relation), unquote_name(variable), span)

    def any_event(self, span: Span, _: Token, variable: str) -> n.Event:
        return n.Event(None, unquote_name(variable), span)

    def filter(self, span: Span, body: Formula, predicate: Expr) -> Formula:
        if isinstance(body, n.Absent):  # (NOT R AS x FILTER p): the condition of the event that must not come
            own = predicate if body.predicate is None else flat_call("and", (body.predicate, predicate))
            return replace(body, predicate=own, span=span)
        return n.Filter(body, predicate, span)

    def either(self, span: Span, *parts: Formula) -> Formula:
        return n.Or(parts, span)

    def both(self, span: Span, *parts: Formula) -> Formula:
        return n.And(parts, False, span)

    def permute(self, span: Span, *parts: Formula) -> Formula:
        return n.And(parts, True, span)

    def sequence(self, span: Span, *parts: Formula) -> Formula:
        absences = (part.parts if _all_absent(part) else (part,) for part in parts)  # of NOT (A OR B)
        return n.Sequence(tuple(each for some in absences for each in some), ";", span)

    def followed(self, span: Span, *parts: Formula) -> Formula:
        return n.Sequence(parts, "->", span)

    def adjacent(self, span: Span, *parts: Formula) -> Formula:
        if _all_absent(parts[-1]) and len(parts[-1].parts) > 1:
            fix = "write one event with a condition: A : NOT (ANY AS n FILTER n.type IN ('B', 'C'))"
            raise QueryError("NOT after `:` takes a single event", span=parts[-1].span, fix=fix)
        return n.Sequence(parts, ":", span)

    def loop(self, span: Span, body: Formula, sign: Token) -> Formula:
        quantifier = sign.lstrip(":->")
        if quantifier == "?":
            return n.Optional(body, span)
        link = cast(n.Link, sign[: -len(quantifier)] or ";")
        least, most = parse_loop_bounds(quantifier, token_span(sign))
        repeat = n.Repeat(body, link, max(least, 1), most, span=span)
        return repeat if least else n.Optional(repeat, span)

    def until(self, span: Span, loop: Formula, stop: Formula) -> Formula:
        if isinstance(loop, n.Group):
            return replace(loop, body=self.until(span, loop.body, stop), span=span)
        repeat = loop.body if isinstance(loop, n.Optional) else loop
        if not isinstance(repeat, n.Repeat):
            reason, fix = "UNTIL must follow a loop", "repeat what stands before it, such as A+ UNTIL B"
            raise QueryError(reason, span=loop.span, fix=fix)
        stops = stop.parts if isinstance(stop, n.Or) else (stop,)
        ended = replace(repeat, until=tuple(_forbidden(each, each.span, "UNTIL") for each in stops), span=span)
        return replace(loop, body=ended, span=span) if isinstance(loop, n.Optional) else ended

    def group(self, span: Span, body: Formula, name: Token) -> Formula:
        return n.Group(body, unquote_name(name), span)

    def absent(self, span: Span, _: Token, body: Formula) -> Formula:
        events = body.parts if isinstance(body, n.Or) else (body,)
        if not all(map(_is_event, events)) and not isinstance(body, n.Absent | n.AbsentFormula):
            return n.AbsentFormula(body, span)
        absents = tuple(_forbidden(event, span, "NOT") for event in events)
        return absents[0] if len(absents) == 1 else n.Sequence(absents, ";", span)

    def absent_for(self, span: Span, _: Token, body: Formula, number: Token, unit: Token) -> Formula:
        events = body.parts if isinstance(body, n.Or) else (body,)
        if not all(map(_is_event, events)):
            fix = "write NOT B FOR 5 minutes, or NOT (B OR C) FOR 5 minutes"
            raise QueryError("FOR says how long a single event does not come", span=body.span, fix=fix)
        lasting = self._nanoseconds(number, unit)
        absents = tuple(replace(_forbidden(event, span, "NOT"), lasting=lasting) for event in events)
        return absents[0] if len(absents) == 1 else n.Sequence(absents, ";", span)


def _is_event(formula: Formula) -> bool:
    return isinstance(formula.body if isinstance(formula, n.Filter) else formula, n.Event)


def _all_absent(formula: Formula) -> TypeGuard[n.Sequence]:
    return isinstance(formula, n.Sequence) and all(isinstance(part, n.Absent) for part in formula.parts)


def _forbidden(body: Formula, span: Span, word: str) -> n.Absent:
    """The event that NOT or UNTIL names."""
    if isinstance(body, n.Event):
        return n.Absent(body, None, span)
    if isinstance(body, n.Filter) and isinstance(body.body, n.Event):
        return n.Absent(body.body, body.predicate, span)
    fix = "give one NOT per event: T AS x ; NOT H AS y ; NOT K AS z ; T AS w"
    if word == "UNTIL":
        fix = "name one event, or several in brackets: A+ UNTIL (B OR C)"
    raise QueryError(f"{word} takes a single event, such as {word} H AS y", span=body.span, fix=fix)


def _clauses(clauses: Sequence[Clause], items: tuple[n.Item, ...] | None) -> dict[str, Any]:
    """The fields of Query that the clauses set, each clause at most once."""
    first, limits = ([span for words, span, _ in clauses if words == name] for name in ("SELECT FIRST", "LIMIT"))
    if first and limits:
        raise QueryError("SELECT FIRST is LIMIT 1, and here is another LIMIT", span=limits[0], fix="keep one of them")
    kinds = {words: span for words, span, _ in clauses}
    if {"CONSUME BY", "AFTER MATCH SKIP"} <= kinds.keys():
        reason = "AFTER MATCH SKIP and CONSUME BY both say what comes after a match"
        raise QueryError(reason, span=kinds["AFTER MATCH SKIP"], fix="keep one of them")
    fields = merge_clauses(clauses)
    if "partition_by" in fields:
        fields["partition_by"] = tuple(_key(token, items) for token in fields["partition_by"])
    return fields


def _key(token: Token, items: tuple[n.Item, ...] | None) -> str:
    """An attribute of PARTITION BY. SELECT * gives it as a column, so it must not have the name of another column."""
    name = unquote_name(token)
    if items is None and name in ANSWER_COLUMNS:
        raise QueryError(
            f"the answer of SELECT * has a column `{name}` of its own, so the stream cannot be partitioned by `{name}`",
            span=token_span(token),
            fix="rename the column in the data, or list what to show: SELECT x, y.attr WHERE …",
        )
    return name
