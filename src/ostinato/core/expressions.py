"""Expressions shared by every language: literals, attributes and calls, all frozen, all with a source span.

Everything that is not a leaf is a `Call` of a named operator, so that the checker, the Arrow evaluator and the
declarative evaluator each hold one table of operators instead of one method per syntax node.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal

from ostinato.core.units import duration_text
from ostinato.core.user_functions import UserFunction
from ostinato.errors import Span

NOWHERE = Span(0, 0)
CURRENT = "~"  # the event a condition is tested on, once it no longer matters which variable it was written for

# Words that are names only in backticks; the grammars' NAME excludes the same.
RESERVED = frozenset(
    (
        *("select", "from", "where", "as", "partition", "within", "consume", "filter"),
        *("or", "and", "not", "any", "in", "between", "like", "is", "null", "true", "false"),
    )
)
_PLAIN_NAME = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, order=True)
class Duration:
    """`5 minutes`. Beside a plain number, which counts seconds, it is its number of seconds."""

    nanoseconds: int

    @property
    def seconds(self) -> int | float:
        whole, rest = divmod(self.nanoseconds, 10**9)
        return self.nanoseconds / 10**9 if rest else whole


type_of_literal = bool | int | float | Decimal | str | datetime | Duration | None


@dataclass(frozen=True)
class Literal:
    value: type_of_literal
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Attribute:
    """`x.price`: an attribute of the event bound to a variable."""

    variable: str
    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Earlier(Attribute):
    """`prev(x.a)` or `sum(x.a)` in a condition inside a loop: of the events x of the rounds before this one.

    `term` is what stands in the brackets. To what knows no loops it is an attribute `prev(x.a)` of one more variable.
    """

    op: str = "prev"
    term: Expr = Literal(None)


@dataclass(frozen=True)
class Variable:
    """A whole variable, only in SELECT items: `x`, `count(x)`."""

    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Call:
    """An operator or function applied to arguments; `op` is a key of OPERATORS or AGGREGATES."""

    op: str
    args: tuple[Expr, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class UserCall(Call):
    """A call of a function that the user gave; `op` is its name."""

    function: UserFunction = field(compare=False, kw_only=True)  # a program has one of a name


Expr = Literal | Attribute | Variable | Call

COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
# The comparison that says the same with its sides exchanged.
MIRROR = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ARITHMETIC = ("+", "-", "*", "/", "%")
LOGIC = ("and", "or", "not")
# is_true(p) is TRUE or FALSE, never NULL: Theorem 2 needs the exact complement of "the filter passes".
TESTS = ("in", "like", "rlike", "is_null", "is_true")
NUMERIC_FUNCTIONS = ("neg", "abs", "round", "floor", "ceil", "sqrt")
STRING_FUNCTIONS = ("lower", "upper", "trim", "length", "concat")
STRING_EDITS = ("substring", "replace")  # in event rules alone
OTHER_FUNCTIONS = ("coalesce",)
FIELD = "field"  # `x.s.a` is FIELD of `x.s` and the literal 'a'
CASTS = ("cast", "try_cast")  # of a value to the type that a literal names
CASE = "case"  # of condition, value, condition, value, … and the value where none of them holds
OPERATORS = (
    *(COMPARISONS + ARITHMETIC + LOGIC + TESTS + NUMERIC_FUNCTIONS + STRING_FUNCTIONS + OTHER_FUNCTIONS + CASTS),
    *(*STRING_EDITS, FIELD, CASE),
)
STATISTICS = ("stddev", "median")  # in event rules alone
COUNT_DISTINCT = "count_distinct"
AGGREGATE_FUNCTIONS = ("count", "sum", "avg", "min", "max", "first", "last")
PREV = "prev"  # of the round before; only in conditions inside a loop
AGGREGATES = (*AGGREGATE_FUNCTIONS, *STATISTICS, COUNT_DISTINCT, PREV)

TRUE = Literal(True)
FALSE = Literal(False)


def walk(expr: Expr) -> Iterator[Expr]:
    """The expression and all below it, outermost first."""
    yield expr
    if isinstance(expr, Call):
        for arg in expr.args:
            yield from walk(arg)


def attributes(expr: Expr) -> list[Attribute]:
    return [node for node in walk(expr) if isinstance(node, Attribute)]


def variables(expr: Expr) -> frozenset[str]:
    """Every variable the expression mentions."""
    return frozenset(
        node.variable if isinstance(node, Attribute) else node.name
        for node in walk(expr)
        if isinstance(node, Attribute | Variable)
    )


def is_attribute(expr: Expr) -> bool:
    """`x.a`, or a field of nested data below an attribute: `x.a.b.c`."""
    while isinstance(expr, Call) and expr.op == FIELD:
        expr = expr.args[0]
    return isinstance(expr, Attribute)


def attribute_path(expr: Expr) -> list[str]:
    """The names after the variable: a, b and c of `x.a.b.c`."""
    if isinstance(expr, Attribute):
        return [expr.name]
    assert isinstance(expr, Call) and isinstance(expr.args[1], Literal)
    return [*attribute_path(expr.args[0]), str(expr.args[1].value)]


def transform(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Rebuild bottom-up, replacing each node by `change(node)`."""
    if isinstance(expr, Call):
        expr = replace(expr, args=tuple(transform(arg, change) for arg in expr.args))
    return change(expr)


def rename_to_current(expr: Expr) -> Expr:
    """A unary predicate with its variable replaced by `~`, so that equal conditions compare equal."""
    return transform(expr, lambda node: replace(node, variable=CURRENT) if isinstance(node, Attribute) else node)


def conjoin_optional(left: Expr | None, right: Expr | None) -> Expr | None:
    """Conjunction where None stands for no condition."""
    if left is None or right is None:
        return right if left is None else left
    return Call("and", (left, right), left.span.to(right.span))


def operands(op: str, expr: Expr) -> tuple[Expr, ...]:
    """The arguments of a flat chain of one operator; the expression itself where it is none."""
    return expr.args if isinstance(expr, Call) and expr.op == op else (expr,)


def conjuncts(predicate: Expr) -> tuple[Expr, ...]:
    return operands("and", predicate)


def conjoin(tests: Iterable[Expr]) -> Expr:
    """One flat conjunction, each test once."""
    flat = tuple(dict.fromkeys(part for test in tests for part in conjuncts(test)))
    return flat[0] if len(flat) == 1 else Call("and", flat, flat[0].span.to(flat[-1].span))


# Binding strength, loosest first; a child is bracketed when it binds looser than its parent.
_PRECEDENCE = {
    "or": 1,
    "and": 2,
    "not": 3,
    **dict.fromkeys((*COMPARISONS, "in", "like", "rlike", "is_null"), 4),
    "+": 5,
    "-": 5,
    "*": 6,
    "/": 6,
    "%": 6,
    "neg": 7,
}


def to_text(expr: Expr, within: str | None = None, *, variable: Callable[[str], str] | None = None) -> str:
    """Query text that parses back to an equal expression; in brackets where it stands `within` a tighter operator.

    Attributes of the current event are shown by their names alone; `variable` is how a language writes a variable.
    """
    return _text(expr, 0 if within is None else _PRECEDENCE[within], variable or _variable_text)


def _text(expr: Expr, outer: int, variable: Callable[[str], str]) -> str:
    if isinstance(expr, Literal):
        return literal_text(expr.value)
    if isinstance(expr, Earlier):
        return expr.name
    if isinstance(expr, Attribute):
        return f"{_owner_text(expr.variable)}{quote_name(expr.name)}"
    if isinstance(expr, Variable):
        return variable(expr.name)
    strength = _PRECEDENCE.get(expr.op, 9)
    # Operators of equal strength need brackets on the right of a left-associative one, and around any test in a test.
    looser = 0 if expr.op in LOGIC else 1
    args = [
        _text(arg, strength + (looser if index or strength == 4 else 0), variable)
        for index, arg in enumerate(expr.args)
    ]
    if expr.op in ("and", "or"):
        body = f" {expr.op.upper()} ".join(args)
    elif expr.op == "not":
        body = f"NOT {args[0]}"
    elif expr.op == "neg":
        body = f"-{args[0]}" if not args[0].startswith("-") else f"-({args[0]})"
    elif expr.op == "in":
        body = f"{args[0]} IN ({', '.join(_text(arg, 0, variable) for arg in expr.args[1:])})"
    elif expr.op == "is_null":
        body = f"{args[0]} IS NULL"
    elif expr.op in ("like", "rlike"):
        body = f"{args[0]} {expr.op.upper()} {args[1]}"
    elif expr.op in CASTS:
        assert isinstance(expr.args[1], Literal)
        body = f"{expr.op.upper()}({_text(expr.args[0], 0, variable)} AS {expr.args[1].value})"
    elif expr.op == CASE:
        body = _case_text([_text(arg, 0, variable) for arg in expr.args])
    elif expr.op == COUNT_DISTINCT:
        body = f"count(DISTINCT {_text(expr.args[0], 0, variable)})"
    elif expr.op == FIELD:
        body = f"{args[0]}.{quote_name(attribute_path(expr)[-1])}"
    elif expr.op in _PRECEDENCE:
        body = f"{args[0]} {expr.op} {args[1]}"
    elif expr.op in ("first", "last") and is_attribute(expr.args[0]):
        (owner,) = variables(expr.args[0])
        body = f"{expr.op}({_variable_text(owner)}).{'.'.join(map(quote_name, attribute_path(expr.args[0])))}"
    else:
        body = f"{expr.op}({', '.join(_text(arg, 0, variable) for arg in expr.args)})"
    return f"({body})" if strength < outer else body


def _case_text(args: list[str]) -> str:
    *branches, otherwise = args
    words = ["CASE"]
    for condition, value in zip(branches[::2], branches[1::2], strict=True):
        words += ["WHEN", condition, "THEN", value]
    return " ".join([*words, *(["ELSE", otherwise] if otherwise != "NULL" else []), "END"])


def literal_text(value: type_of_literal) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, Duration):
        return duration_text(value.nanoseconds)
    if isinstance(value, datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    return str(value)


def quote_name(name: str) -> str:
    """Backticks around a name that would not be read as one."""
    plain = _PLAIN_NAME.fullmatch(name) and name.lower() not in RESERVED and name.lower() != "case"
    return name if plain else f"`{name}`"


def _owner_text(variable: str) -> str:
    return "" if variable == CURRENT else f"{_variable_text(variable)}."


def _variable_text(name: str) -> str:
    return name if name.startswith("#") else quote_name(name)
