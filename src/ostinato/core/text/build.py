"""Builds nodes with exact spans from lark's tree, for the rules of shared.lark. Sugar such as BETWEEN ends here."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, ClassVar, cast

from ostinato.core import expressions as ex
from ostinato.core.casts import CAST_TYPES
from ostinato.core.expressions import Expr
from ostinato.core.text.grammar import MAX_DEPTH, nesting_error, token_span, unquote
from ostinato.core.units import LARGEST, nanoseconds
from ostinato.core.window_clause import Window
from ostinato.errors import QueryError, Span, did_you_mean

if TYPE_CHECKING:
    from lark import Token, Tree

Clause = tuple[str, Span, dict[str, Any]]  # its words, its place, the fields that it sets

_CONSTANT = re.compile(r"'(?:[^']|'')*'|-?[\d.]+(?:e[+-]?\d+)?", re.IGNORECASE)  # one of CONSTANTS

# Function name -> fewest and most arguments.
FUNCTIONS: dict[str, tuple[int, float]] = {
    **{
        name: (1, 1)
        for name in (*ex.NUMERIC_FUNCTIONS, *ex.STRING_FUNCTIONS, *ex.AGGREGATE_FUNCTIONS, "is_true")
        if name != "neg"
    },
    "round": (1, 2),
    "concat": (1, math.inf),
    **dict.fromkeys(ex.OTHER_FUNCTIONS, (1, math.inf)),
}


# What other languages call the types of CAST.
_OTHER_TYPES = {
    **dict.fromkeys(("integer", "bigint", "smallint", "long", "int64"), "int"),
    **dict.fromkeys(("double", "real", "number", "numeric", "decimal", "float64"), "float"),
    **dict.fromkeys(("string", "varchar", "char", "str"), "text"),
    **dict.fromkeys(("bool",), "boolean"),
    **dict.fromkeys(("datetime", "time"), "timestamp"),
}
# Functions of other languages.
_INSTEAD = {
    **dict.fromkeys(("if", "iif", "decode"), "write CASE WHEN … THEN … ELSE … END"),
    **{name: f"write CAST(… AS {kind})" for name, kind in _OTHER_TYPES.items()},
    **{kind: f"write CAST(… AS {kind})" for kind in CAST_TYPES},
    **dict.fromkeys(("ifnull", "nvl", "isnull"), "write coalesce(…, …), or … IS NULL"),
    **dict.fromkeys(("pow", "power", "square"), "multiply: x.a * x.a"),
    "mod": "write x.a % 2",
    **dict.fromkeys(("now", "current_timestamp"), "compare with the times of events, or with TIMESTAMP '2026-01-31'"),
    **dict.fromkeys(("regexp_like", "regexp", "matches"), "write … RLIKE 'pattern'"),
    **dict.fromkeys(("contains", "startswith", "endswith", "starts_with", "ends_with"), "write … LIKE '%text%'"),
    "len": "write length(…)",
    "mean": "write avg(…)",
}


class SharedBuilder:
    """Turns lark's tree into nodes: one method per rule, given the rule's span and its built children."""

    argument = "x.attr"  # what a function may be given, for its errors
    functions: ClassVar[dict[str, tuple[int, float]]] = FUNCTIONS
    elsewhere: str | None = None  # where other functions can come from

    def __init__(self, text: str) -> None:
        self.text = text

    @property
    def known_functions(self) -> Collection[str]:
        return self.functions

    def build(self, tree: Tree[Any]) -> Any:
        # Children come before parents, without recursion: later stages recurse, so the depth is bounded here.
        built: dict[int, Any] = {}
        depth: dict[int, int] = {}
        for node in tree.iter_subtrees():
            span = ex.NOWHERE if node.meta.empty else Span(node.meta.start_pos, node.meta.end_pos)
            depth[id(node)] = 1 + max((depth.get(id(child), 0) for child in node.children), default=0)
            if depth[id(node)] > MAX_DEPTH:
                raise nesting_error(Span(span.start, span.start + 1))
            parts = [built.get(id(child), child) for child in node.children]
            built[id(node)] = getattr(self, node.data)(span, *parts)
        return built[id(tree)]

    # Clauses.

    def names(self, _: Span, *tokens: Token) -> tuple[Token, ...]:
        names = tuple(unquote_name(token) for token in tokens)
        for index, name in enumerate(names):
            if name in names[:index]:
                raise QueryError(
                    f"`{name}` is listed twice", span=token_span(tokens[index]), fix="remove one of the two"
                )
        return tokens

    def partition(self, span: Span, _: Token, names: tuple[Token, ...]) -> Clause:
        return "PARTITION BY", span, {"partition_by": names}

    def within_attribute(self, span: Span, number: Token, attribute: Token) -> Clause:
        amount = _number(number, token_span(number))
        return _within(Window("attribute", amount, unquote_name(attribute), self._slice(number, attribute), span))

    def within_unit(self, span: Span, number: Token, unit: Token) -> Clause:
        amount, text = _decimal(number), self._slice(number, unit)
        if unit.lower() in ("events", "event"):
            if not 0 < amount <= LARGEST or amount != int(amount):
                reason = f"a window cannot be {number} events long"
                raise QueryError(reason, span=token_span(number), fix=f"give a whole number from 1 to {LARGEST}")
            return _within(Window("events", int(amount), None, text, span))
        return _within(Window("time", self._nanoseconds(number, unit), None, text, span))

    def _nanoseconds(self, number: Token, unit: Token) -> int:
        amount, length = _decimal(number), nanoseconds(number, unit, token_span(unit))
        if length == 0 and amount:
            reason = f"{self._slice(number, unit)} is shorter than a nanosecond"
            raise QueryError(reason, span=token_span(number), fix="give a longer time")
        return length

    def _slice(self, first: Token, last: Token) -> str:
        return " ".join(self.text[token_span(first).start : token_span(last).end].split())

    # Expressions.

    def expr(self, span: Span, *args: Expr) -> Expr:
        return flat_call("or", args, span)

    def conjunction(self, span: Span, *args: Expr) -> Expr:
        return flat_call("and", args, span)

    def negated(self, span: Span, _: Token, arg: Expr) -> Expr:
        return ex.Call("not", (arg,), span)

    def comparison(self, span: Span, left: Expr, op: Token, right: Expr) -> Expr:
        return ex.Call("!=" if op == "<>" else str(op), (left, right), span)

    def member(self, span: Span, value: Expr, negate: Token | None, *among: Expr) -> Expr:
        return _maybe_not(negate, ex.Call("in", (value, *among), span))

    def member_of_constants(self, span: Span, value: Expr, negate: Token | None, constants: Token) -> Expr:
        at = token_span(constants).start
        found = _CONSTANT.finditer(constants)
        among = [_constant(each[0], Span(at + each.start(), at + each.end())) for each in found]
        return self.member(span, value, negate, *among)

    def between(self, span: Span, value: Expr, negate: Token | None, low: Expr, high: Expr) -> Expr:
        return _maybe_not(
            negate, ex.Call("and", (ex.Call(">=", (value, low), span), ex.Call("<=", (value, high), span)), span)
        )

    def like(self, span: Span, value: Expr, negate: Token | None, pattern: Expr) -> Expr:
        return _maybe_not(negate, ex.Call("like", (value, pattern), span))

    def rlike(self, span: Span, value: Expr, negate: Token | None, pattern: Expr) -> Expr:
        return _maybe_not(negate, ex.Call("rlike", (value, pattern), span))

    def is_null(self, span: Span, value: Expr, negate: Token | None, _: Token) -> Expr:
        return _maybe_not(negate, ex.Call("is_null", (value,), span))

    def arithmetic(self, span: Span, left: Expr, op: Token, right: Expr) -> Expr:
        return ex.Call(str(op), (left, right), span)

    def minus(self, span: Span, _: Token, arg: Expr) -> Expr:
        if isinstance(arg, ex.Literal) and isinstance(arg.value, int | float) and not isinstance(arg.value, bool):
            return ex.Literal(-arg.value, span)
        if isinstance(arg, ex.Literal) and isinstance(arg.value, ex.Duration):
            return ex.Literal(ex.Duration(-arg.value.nanoseconds), span)
        return ex.Call("neg", (arg,), span)

    def number(self, span: Span, token: Token) -> Expr:
        return _constant(token, span)

    def duration_literal(self, span: Span, number: Token, unit: Token) -> Expr:
        return ex.Literal(ex.Duration(self._nanoseconds(number, unit)), span)

    def string(self, span: Span, token: Token) -> Expr:
        return _constant(token, span)

    def timestamp(self, span: Span, token: Token) -> Expr:
        try:
            return ex.Literal(datetime.fromisoformat(token[token.index("'") + 1 : -1].strip()), span)
        except ValueError as error:
            raise QueryError(
                f"not a timestamp: {error}", span=span, fix="write it as TIMESTAMP '2026-01-31 23:59:59.5'"
            ) from None

    def constant(self, span: Span, token: Token) -> Expr:
        return ex.Literal({"TRUE": True, "FALSE": False, "NULL": None}[token.type], span)

    def event_variable(self, span: Span, name: Token) -> Expr:
        return ex.Variable(unquote_name(name), span)

    def attribute(self, span: Span, variable: Token, name: Token, *fields: Token) -> Expr:
        whole = ex.Attribute(unquote_name(variable), unquote_name(name), Span(span.start, token_span(name).end))
        return _field(whole, fields)

    def on_event(self, _: Span, variable: Token, predicate: Expr) -> Expr:
        """CORE's `x[a > 3 AND b = 1]`: bare names are attributes of x."""
        owner = unquote_name(variable)

        def own(node: Expr) -> Expr:
            return ex.Attribute(owner, node.name, node.span) if isinstance(node, ex.Variable) else node

        return ex.transform(predicate, own)

    def call(self, span: Span, name: Token, *args: Expr) -> Expr:
        op = name.lower()
        if op not in self.functions:
            fix = _INSTEAD.get(op) or did_you_mean(op, self.known_functions)
            fix = self.elsewhere if self.elsewhere and fix and fix.startswith("known") else fix
            raise QueryError(f"unknown function `{name}`", span=token_span(name), fix=fix)
        fewest, most = self.functions[op]
        if not fewest <= len(args) <= most:
            takes = "one argument" if most == 1 else "one or two arguments" if most == 2 else "at least one argument"
            if fewest > 1:
                takes = f"{fewest} arguments" if fewest == most else f"{fewest} or {most} arguments"
            fix = f"write {op}({self.argument})"
            raise QueryError(f"{op} takes {takes}, found {len(args) or 'none'}", span=span, fix=fix)
        return ex.Call(op, args, span)

    def call_distinct(self, span: Span, name: Token, arg: Expr) -> Expr:
        if name.lower() != "count":
            reason, fix = f"{name} takes no DISTINCT", "only count does: count(DISTINCT x.attr)"
            raise QueryError(reason, span=token_span(name), fix=fix)
        return ex.Call(ex.COUNT_DISTINCT, (arg,), span)

    def case(self, span: Span, *parts: Expr | None) -> Expr:
        *branches, otherwise = parts
        return ex.Call(ex.CASE, (*cast(list[Expr], branches), otherwise or ex.Literal(None, span)), span)

    def cast(self, span: Span, word: Token, value: Expr, kind: Token) -> Expr:
        name = unquote_name(kind).lower()
        if name not in CAST_TYPES:
            fix = f"write {_OTHER_TYPES[name]}" if name in _OTHER_TYPES else did_you_mean(name, CAST_TYPES)
            raise QueryError(f"unknown type `{kind}`", span=token_span(kind), fix=fix)
        return ex.Call(word.lower(), (value, ex.Literal(name, token_span(kind))), span)

    def call_attribute(self, span: Span, call: ex.Call, name: Token, *fields: Token) -> Expr:
        """`first(x).price` is first over `x.price`."""
        if call.op not in ("first", "last", ex.PREV) or not isinstance(call.args[0], ex.Variable):
            raise QueryError(
                "only first(x) and last(x) of a variable x have attributes", span=span, fix=f"write first(x).{name}"
            )
        whole = ex.Attribute(call.args[0].name, unquote_name(name), Span(span.start, token_span(name).end))
        return ex.Call(call.op, (_field(whole, fields),), span)


def merge_clauses(clauses: Sequence[Clause]) -> dict[str, Any]:
    """The fields that the clauses set, each clause at most once."""
    fields: dict[str, Any] = {}
    for name, span, setting in clauses:
        if not fields.keys().isdisjoint(setting):
            raise QueryError(f"{name} is given twice", span=span, fix=f"keep one {name}")
        fields |= setting
    return fields


def unquote_name(token: str) -> str:
    return token[1:-1] if token.startswith("`") else str(token)


def flat_call(op: str, args: Sequence[Expr], span: Span | None = None) -> Expr:
    """One flat call: a AND (b AND c) has three arguments, so that long chains stay shallow."""
    flat = [part for arg in args for part in (arg.args if isinstance(arg, ex.Call) and arg.op == op else (arg,))]
    return ex.Call(op, tuple(flat), span or args[0].span.to(args[-1].span))


def _field(whole: Expr, names: Sequence[Token]) -> Expr:
    """A field of nested data, of a field, …"""
    for name in names:
        at = token_span(name)
        whole = ex.Call(ex.FIELD, (whole, ex.Literal(unquote_name(name), at)), whole.span.to(at))
    return whole


def _within(window: Window) -> Clause:
    return "WITHIN", window.span, {"window": window}


def _decimal(number: Token) -> Decimal:
    try:
        return Decimal(number)
    except InvalidOperation:
        reason, fix = "the number has too many digits", "give a number of a usual size"
        raise QueryError(reason, span=token_span(number), fix=fix) from None


def _constant(text: str, span: Span) -> ex.Literal:
    """A string, or a number with or without a minus."""
    if text.startswith("'"):
        return ex.Literal(unquote(text), span)
    if text.startswith("-"):
        return ex.Literal(-_number(text[1:], Span(span.start + 1, span.end)), span)
    return ex.Literal(_number(text, span), span)


def _number(text: str, span: Span) -> int | float:
    value = float(text)
    if math.isinf(value):
        raise QueryError("the number is too large", span=span, fix="the largest is about 1.8e308")
    if not text.isdecimal():
        return value
    whole = parse_whole(text)
    if whole > LARGEST:
        raise QueryError("the number does not fit in 64 bits", span=span, fix=f"make it a decimal: {text}.0")
    return whole


def parse_whole(digits: str) -> int:
    """The number; Python does not read thousands of digits, so one beyond 64 bits gives another beyond them."""
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) <= len(str(LARGEST)) else LARGEST + 1


def _maybe_not(negate: Token | None, expr: ex.Call) -> Expr:
    return expr if negate is None else ex.Call("not", (expr,), expr.span)
