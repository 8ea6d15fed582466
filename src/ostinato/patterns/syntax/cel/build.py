"""From lark's tree of a CEL query to nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from ostinato.core.expressions import Expr, to_text
from ostinato.core.text.build import Clause, SharedBuilder, flat_call, merge_clauses, unquote_name
from ostinato.core.text.grammar import token_span
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax.item_names import ANSWER_COLUMNS, item_names
from ostinato.patterns.syntax.nodes import Absent, Consume, Event, Filter, Formula, Item, Or, Query, Repeat, Strategy
from ostinato.patterns.syntax.nodes import Sequence as Seq

if TYPE_CHECKING:
    from lark import Token


class Builder(SharedBuilder):
    """CEL's own rules."""

    # The query and its clauses.

    def bare_query(self, _: Span, formula: Formula, *clauses: Clause) -> Query:
        return Query(formula, text=self.text, **_clauses(clauses, None))

    def select_query(
        self,
        _: Span,
        strategy: Token | None,
        items: tuple[Item, ...] | None,
        relations: tuple[Token, ...] | None,
        formula: Formula,
        *clauses: Clause,
    ) -> Query:
        return Query(
            formula,
            cast(Strategy, strategy.upper() if strategy is not None else "ALL"),
            items,
            tuple(map(unquote_name, relations or ())),
            text=self.text,
            **_clauses(clauses, items),
        )

    def everything(self, _: Span, _star: Token) -> None:
        return None

    def item(self, span: Span, expr: Expr, name: Token | None) -> tuple[Span, Expr, Token | None]:
        return span, expr, name

    def items(self, _span: Span, *items: tuple[Span, Expr, Token | None]) -> tuple[Item, ...]:
        given = [None if name is None else unquote_name(name) for _, _, name in items]
        result: dict[str, Item] = {}
        for (span, expr, _), name in zip(items, item_names([expr for _, expr, _ in items], given), strict=True):
            if name in result:
                reason = f"two SELECT items give a column named `{name}`"
                raise QueryError(reason, span=span, fix=f"name one of them: {to_text(expr)} AS another_name")
            result[name] = Item(expr, name, span)
        return tuple(result.values())

    def consume(self, span: Span, mode: Token) -> Clause:
        return "CONSUME BY", span, {"consume": cast(Consume, mode.upper())}

    # Formulas.

    def event(self, span: Span, relation: Token, variable: str) -> Event:
        return Event(unquote_name(relation), unquote_name(variable), span)

    def any_event(self, span: Span, _: Token, variable: str) -> Event:
        return Event(None, unquote_name(variable), span)

    def filter(self, span: Span, body: Formula, predicate: Expr) -> Formula:
        if isinstance(body, Absent):  # (NOT R AS x FILTER p): the condition of the event that must not come
            own = predicate if body.predicate is None else flat_call("and", (body.predicate, predicate))
            return Absent(body.event, own, span)
        return Filter(body, predicate, span)

    def either(self, span: Span, *parts: Formula) -> Formula:
        return Or(parts, span)

    def sequence(self, span: Span, *parts: Formula) -> Formula:
        return Seq(parts, False, span)

    def adjacent(self, span: Span, *parts: Formula) -> Formula:
        return Seq(parts, True, span)

    def repeat(self, span: Span, body: Formula, _: Token) -> Formula:
        return Repeat(body, False, span)

    def repeat_contiguous(self, span: Span, body: Formula) -> Formula:
        return Repeat(body, True, span)

    def absent(self, span: Span, _: Token, body: Formula) -> Formula:
        if isinstance(body, Event):
            return Absent(body, None, span)
        if isinstance(body, Filter) and isinstance(body.body, Event):
            return Absent(body.body, body.predicate, span)
        raise QueryError(
            "NOT takes a single event, such as NOT H AS y",
            span=body.span,
            fix="give one NOT per event: T AS x ; NOT H AS y ; NOT K AS z ; T AS w",
        )


def _clauses(clauses: Sequence[Clause], items: tuple[Item, ...] | None) -> dict[str, Any]:
    """The fields of Query that the clauses set, each clause at most once."""
    fields = merge_clauses(clauses)
    if "partition_by" in fields:
        fields["partition_by"] = tuple(_key(token, items) for token in fields["partition_by"])
    return fields


def _key(token: Token, items: tuple[Item, ...] | None) -> str:
    """An attribute of PARTITION BY. It is a column of the answer of SELECT *, beside the columns that always are."""
    name = unquote_name(token)
    if items is None and name in ANSWER_COLUMNS:
        raise QueryError(
            f"the answer of SELECT * has a column `{name}` of its own, so the stream cannot be partitioned by `{name}`",
            span=token_span(token),
            fix="rename the column in the data, or list what to show: SELECT x, y.attr WHERE …",
        )
    return name
