"""Kinds of values: which attributes exist and whether the arguments of each operator fit."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.errors import QueryError, did_you_mean

# "unknown" stands for an attribute while no schema is at hand; it fits everywhere, as NULL does.
ANY_KIND = ("unknown", "null")
TIMES = ("timestamp", "date")


def check_expression(expr: Expr, *, condition: bool, kinds: Mapping[str, str] | None = None) -> None:
    """Check an expression over variables, as event rules have: `kinds` says what they hold, where that is known."""
    kind = KindChecker(kinds, {}).kind(
        ex.transform(expr, lambda node: _anything(node) if isinstance(node, ex.Variable) else node)
    )
    if condition and kind not in ("boolean", *ANY_KIND):
        shown = ex.to_text(expr, variable=lambda name: f"var {name}")
        reason = f"a condition is true or false, and `{shown}` is a {kind}"
        raise QueryError(reason, span=expr.span, fix=f"compare it with something: {shown} = …")


def _anything(node: Expr) -> Expr:
    """A variable of rules as an attribute of the current event."""
    return ex.Attribute(ex.CURRENT, node.name, node.span) if isinstance(node, ex.Variable) else node


class KindChecker:
    """Finds the kind of value of every expression; raises QueryError where an argument does not fit its operator.

    `kinds` says what attributes hold (None: not known yet), `relations` which events a variable may stand for,
    `registers` which names are registers: both are for messages.
    """

    def __init__(
        self,
        kinds: Mapping[str, str] | None,
        relations: Mapping[str, list[str]],
        registers: frozenset[str] = frozenset(),
    ) -> None:
        self.kinds, self.relations, self.registers = kinds, relations, registers

    def kind(self, expr: Expr) -> str:
        """The kind of value the expression gives."""
        if isinstance(expr, ex.Literal):
            return _literal_kind(expr)
        if isinstance(expr, ex.Attribute):
            return self._attribute(expr)
        if isinstance(expr, ex.Variable):  # in count(x)
            return "nested"
        kinds = [self.kind(arg) for arg in expr.args]
        if expr.op in (*ex.COMPARISONS, "in"):
            return _comparison(expr, kinds)
        if expr.op in ex.ARITHMETIC:
            return _arithmetic(expr, kinds)
        if expr.op in ex.AGGREGATES:
            return _aggregate(expr, kinds[0])
        if expr.op == "coalesce":
            return _same(expr, kinds, "stand in for each other")
        return _function(expr, kinds)

    def _attribute(self, attribute: ex.Attribute) -> str:
        if self.kinds is None:
            return "unknown"
        if attribute.name not in self.kinds:
            owner = " or ".join(self.relations.get(attribute.variable, ["the events"]))
            fix: str | None = did_you_mean(attribute.name, self.kinds)
            if attribute.name in self.registers:
                fix = f"`{attribute.name}` is a register; name an attribute of the event in it: {attribute.name}.attr"
            raise QueryError(f"unknown attribute `{attribute.name}` of {owner}", span=attribute.span, fix=fix)
        return self.kinds[attribute.name]


# One function per family of operators, given the kinds of the arguments; each returns the kind of the result.


def check_kind(wanted: str, arg: Expr, kind: str, why: str) -> None:
    if kind in (wanted, *ANY_KIND):
        return
    fix = f"compare it with something, such as {ex.to_text(arg)} = …" if wanted == "boolean" else None
    raise QueryError(f"{why}, and {_says(arg, kind)}", span=arg.span, fix=fix)


def _comparison(call: ex.Call, kinds: list[str]) -> str:
    for arg, kind in zip(call.args, kinds, strict=True):
        if kind == "nested":
            reason = f"{_says(arg, kind)}, which cannot be compared"
            raise QueryError(reason, span=arg.span, fix="make one of its fields a column of its own, and compare that")
    _same(call, kinds, "be compared")
    return "boolean"


def _same(call: ex.Call, kinds: list[str], what: str) -> str:
    """All arguments of one kind; a date counts as a timestamp beside one."""
    first, kind = call.args[0], kinds[0]
    for arg, other in zip(call.args[1:], kinds[1:], strict=True):
        if kind in ANY_KIND:
            first, kind = arg, other
        elif other not in (kind, *ANY_KIND) and not (kind in TIMES and other in TIMES):
            reason = f"a {kind} and a {other} cannot {what}: {_says(first, kind)}, {_says(arg, other)}"
            raise QueryError(reason, span=call.span, fix=_clash_fix(first, kind, arg, other))
    return kind


def _arithmetic(call: ex.Call, kinds: list[str]) -> str:
    left, right = kinds
    if left in ANY_KIND and right in ANY_KIND:
        return "unknown"
    if call.op == "-" and left in TIMES and right in (*TIMES, *ANY_KIND):
        return "duration" if right in TIMES else "unknown"
    if call.op in "+-" and left in (*TIMES, "duration") and right in ("duration", *ANY_KIND):
        return left
    if call.op in "+-" and left in ("duration", *ANY_KIND) and right in (*TIMES, "duration"):
        return "unknown" if left in ANY_KIND else right
    for arg, kind in zip(call.args, kinds, strict=True):
        if kind not in ("number", *ANY_KIND):
            fix = "join texts with concat(a, b)" if kind == "string" and call.op == "+" else None
            raise QueryError(f"`{call.op}` needs numbers, and {_says(arg, kind)}", span=arg.span, fix=fix)
    return "number"


def _function(call: ex.Call, kinds: list[str]) -> str:
    op = call.op
    if op == "is_null":
        return "boolean"
    if op in ex.LOGIC or op == "is_true":
        wanted, why, result = "boolean", f"{op.upper()} needs conditions", "boolean"
    elif op == "like":
        wanted, why, result = "string", "LIKE needs text", "boolean"
        _constant(call.args[1], "the pattern of LIKE")
    elif op in ex.STRING_FUNCTIONS:
        wanted, why, result = "string", f"{op} needs text", "number" if op == "length" else "string"
    else:
        assert op in ex.NUMERIC_FUNCTIONS, op
        wanted, why, result = "number", f"{'-' if op == 'neg' else op} needs a number", "number"
        for digits in call.args[1:]:
            _constant(digits, "the number of digits")
    for arg, kind in zip(call.args, kinds, strict=True):
        check_kind(wanted, arg, kind, why)
    return result


def _constant(arg: Expr, what: str) -> None:
    if ex.variables(arg):
        raise QueryError(f"{what} must be a constant", span=arg.span, fix="write it as a literal")


def _aggregate(call: ex.Call, kind: str) -> str:
    if call.op in ("sum", "avg"):
        check_kind("number", call.args[0], kind, f"{call.op} needs numbers")
    if call.op in ("min", "max") and kind == "nested":
        raise QueryError(f"{call.op} needs values that have an order, and {_says(call.args[0], kind)}", span=call.span)
    return kind if call.op in ("min", "max", "first", "last") else "number"


def _literal_kind(literal: ex.Literal) -> str:
    if literal.value is None:
        return "null"
    if isinstance(literal.value, bool):
        return "boolean"
    if isinstance(literal.value, str):
        return "string"
    return "timestamp" if isinstance(literal.value, datetime) else "number"


def _says(expr: Expr, kind: str) -> str:
    return f"`{ex.to_text(expr)}` is {'nested data' if kind == 'nested' else f'a {kind}'}"


def _clash_fix(left: Expr, left_kind: str, right: Expr, right_kind: str) -> str | None:
    for literal, kind, other in ((left, left_kind, right_kind), (right, right_kind, left_kind)):
        if not isinstance(literal, ex.Literal):
            continue
        if kind == "string" and other in TIMES:
            return f"write TIMESTAMP {ex.to_text(literal)}"
        if kind == "string" and other == "number" and _numeric(str(literal.value)):
            return f"write the number without quotes: {literal.value}"
        if kind == "number" and other == "string":
            return f"write text in single quotes: '{ex.to_text(literal)}', or make the column a number"
        if kind == "string" and other == "boolean":
            return "write TRUE or FALSE without quotes"
        if kind == "number" and other == "boolean":
            return "write TRUE or FALSE"
    return None


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
