"""Conditions that no row can pass both, as far as their comparisons show it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any, NamedTuple

import sqlglot
from sqlglot import exp

from ostinato.sql.syntax import nodes as n

_SIGNS: dict[type[exp.Expr], str] = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.EQ: "=", exp.NEQ: "<>"}
_WORDS_FOR_VALUES = ("t", "f", "y", "n", "true", "false", "yes", "no", "on", "off", "nan", "inf", "infinity", "epoch")
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


class _Comparison(NamedTuple):
    """`left sign right`; `value` is what right says, where it is a constant."""

    left: str
    sign: str
    right: str
    value: Any


def contradict(one: tuple[str, n.Sql], other: tuple[str, n.Sql]) -> bool:
    """Whether no row is TRUE for both; each is a variable and its condition, which looks at rows alone."""
    pairs = product(_comparisons(*one), _comparisons(*other))
    return any(left.left == right.left and _apart(left, right) for left, right in pairs)


def _comparisons(variable: str, condition: n.Sql) -> Iterator[_Comparison]:
    """Those of which all must hold, each from both of its sides."""
    try:
        tree: Any = sqlglot.parse_one(condition.render(lambda term: _term_text(variable, term)), read="duckdb")
    except sqlglot.errors.SqlglotError:
        return
    for part in tree.flatten() if isinstance(tree, exp.And) else [tree]:
        inner = part.unnest()
        if (sign := _SIGNS.get(type(inner))) is None:
            continue
        left, right = inner.this, inner.expression
        yield _Comparison(_text(left), sign, _text(right), _constant(right))
        yield _Comparison(_text(right), _MIRRORED[sign], _text(left), _constant(left))


def _term_text(variable: str, term: n.Term) -> str:
    """A column of the row at hand, or of one some steps away."""
    assert isinstance(term, n.Navigation)
    value = term.value.render(lambda inner: f"'{variable}'")
    return f"({value})" if not term.step else f"step_{abs(term.step)}({value})"


def _text(side: exp.Expr) -> str:
    return str(side.unnest().sql("duckdb"))


def _constant(side: exp.Expr) -> Any:
    side = side.unnest()
    negative = isinstance(side, exp.Neg)
    literal = side.this if negative else side
    if not isinstance(literal, exp.Literal):
        return None
    if literal.is_string:
        return None if negative else literal.this
    return -Decimal(literal.this) if negative else Decimal(literal.this)


def _apart(one: _Comparison, other: _Comparison) -> bool:
    """Whether two comparisons of the same left side cannot both hold."""
    if one.right == other.right:
        return not _orders(one.sign) & _orders(other.sign)
    low, high = one.value, other.value
    if isinstance(low, str) and isinstance(high, str):
        return one.sign == other.sign == "=" and _is_text(low) and _is_text(high)
    if not isinstance(low, Decimal) or not isinstance(high, Decimal) or low == high:
        return False
    # What is at most the lower constant, or equal to it, is not at least the higher one.
    least, most = (one, other) if low < high else (other, one)
    return least.sign in ("<", "<=", "=") and most.sign in (">", ">=", "=")


def _is_text(value: str) -> bool:
    """Whether it is no other way to write a number, a truth value or a time."""
    return value[:1].isalpha() and value.lower() not in _WORDS_FOR_VALUES


def _orders(sign: str) -> set[str]:
    return {"<": {"<"}, "<=": {"<", "="}, ">": {">"}, ">=": {">", "="}, "=": {"="}, "<>": {"<", ">"}}[sign]
