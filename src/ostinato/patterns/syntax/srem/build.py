"""Builds the nodes of an SREM from lark's tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.core.text.build import Clause, SharedBuilder, merge_clauses, unquote_name
from ostinato.core.text.grammar import token_span
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax.item_names import ANSWER_COLUMNS
from ostinato.patterns.syntax.loop_bounds import parse_loop_bounds
from ostinato.patterns.syntax.srem import nodes as n
from ostinato.patterns.syntax.srem.nodes import Expression

if TYPE_CHECKING:
    from lark import Token

_NEVER_TRUE_OR_FALSE = (*ex.ARITHMETIC, *ex.NUMERIC_FUNCTIONS, *ex.STRING_FUNCTIONS)


class SremBuilder(SharedBuilder):
    """SREM's own rules. In a test, a name without an owner is an attribute of the current event."""

    def pattern(self, _: Span, expression: Expression, *clauses: Clause) -> n.SremPattern:
        fields = merge_clauses(clauses)
        if "partition_by" in fields:
            fields["partition_by"] = tuple(map(_key, fields["partition_by"]))
        return n.SremPattern(expression, text=self.text, **fields)

    def either(self, span: Span, *parts: Expression) -> Expression:
        return n.Either(parts, span)

    def concat(self, span: Span, *parts: Expression) -> Expression:
        return n.Concat(parts, span)

    def star(self, span: Span, body: Expression, _: Token) -> Expression:
        return n.Star(body, span)

    def plus(self, span: Span, body: Expression, _: Token) -> Expression:
        return n.Plus(body, span)

    def optional(self, span: Span, body: Expression) -> Expression:
        return n.Either((body, n.EPSILON), span)

    def counted(self, span: Span, body: Expression, sign: Token) -> Expression:
        return n.Repeat(body, *parse_loop_bounds(sign, token_span(sign)), span)

    def nothing(self, span: Span) -> Expression:
        return n.Concat((), span)

    def any_event(self, span: Span, true: Token, registers: tuple[Token, ...] | None) -> Expression:
        return n.Test(ex.Literal(True, token_span(true)), _registers(registers), span)

    def one_event(self, span: Span, test: Expr, registers: tuple[Token, ...] | None) -> Expression:
        for node in ex.walk(test):
            if isinstance(node, ex.Call) and node.op in ex.AGGREGATES:
                raise QueryError(
                    f"{node.op}() needs several events, but a test sees only the current one and those in registers",
                    span=node.span,
                    fix="compare attributes: [value > r.value]",
                )
        if _no_condition(test):
            reason = f"`{ex.to_text(test)}` is not a condition"
            raise QueryError(reason, span=test.span, fix="compare it with something: [type = 'T']")
        return n.Test(ex.transform(test, _set_owner), _registers(registers), span)


def _set_owner(node: Expr) -> Expr:
    return ex.Attribute(ex.CURRENT, node.name, node.span) if isinstance(node, ex.Variable) else node


def _no_condition(test: Expr) -> bool:
    """Whether it can be neither TRUE nor FALSE for any event; for an attribute, only the data can tell."""
    if isinstance(test, ex.Literal):
        return not isinstance(test.value, bool | None)
    return isinstance(test, ex.Call) and test.op in _NEVER_TRUE_OR_FALSE


def _registers(tokens: tuple[Token, ...] | None) -> tuple[str, ...]:
    return tuple(sorted(map(unquote_name, tokens or ())))


def _key(token: Token) -> str:
    name = unquote_name(token)
    if name in ANSWER_COLUMNS:
        raise QueryError(
            f"the answer has a column `{name}` of its own, so the stream cannot be partitioned by `{name}`",
            span=token_span(token),
            fix="rename the column in the data",
        )
    return name
