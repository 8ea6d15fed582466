"""Kinds of values: which attributes exist and whether the arguments of each operator fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from ostinato.core import expressions as ex
from ostinato.core.casts import cast_value
from ostinato.core.expressions import Expr
from ostinato.core.regex import find_fault
from ostinato.core.user_functions import FAMILIES
from ostinato.errors import QueryError, did_you_mean

# "unknown" stands for an attribute while no schema is at hand; it fits everywhere, as NULL does.
ANY_KIND = ("unknown", "null")
TIMES = ("timestamp", "date")


class StructKind(str):
    """ "nested", with the kinds of its fields."""

    fields: Mapping[str, str]

    def __new__(cls, fields: Mapping[str, str]) -> StructKind:
        kind = super().__new__(cls, "nested")
        kind.fields = fields
        return kind


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
        if expr.op == ex.FIELD:
            return self._field(expr)
        if expr.op == ex.CASE:
            return self._case(expr)
        kinds = [self.kind(arg) for arg in expr.args]
        if isinstance(expr, ex.UserCall):
            return _user_call(expr, kinds)
        if expr.op in ex.CASTS:
            return _cast(expr, kinds[0])
        if expr.op in (*ex.COMPARISONS, "in"):
            return _comparison(expr, kinds)
        if expr.op in ex.ARITHMETIC:
            return _arithmetic(expr, kinds)
        if expr.op in ex.AGGREGATES:
            return _aggregate(expr, kinds[0])
        if expr.op == "coalesce":
            return _same(expr, kinds, "stand in for each other")
        return _function(expr, kinds)

    def _case(self, call: ex.Call) -> str:
        *branches, otherwise = call.args
        for condition in branches[::2]:
            check_kind("boolean", condition, self.kind(condition), "WHEN needs a condition")
        values = (*branches[1::2], otherwise)
        return _same(replace(call, args=values), [self.kind(value) for value in values], "be values of one CASE")

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

    def _field(self, call: ex.Call) -> str:
        whole, name = call.args
        assert isinstance(name, ex.Literal)
        path = ".".join(ex.attribute_path(call))
        if isinstance(whole, ex.Attribute) and self.kinds and whole.name not in self.kinds and path in self.kinds:
            reason = f"unknown attribute `{whole.name}`, but there is `{path}`"
            raise QueryError(
                reason, span=call.span, fix=f"put it in backticks: {ex.to_text(whole)[: -len(whole.name)]}`{path}`"
            )
        kind = self.kind(whole)
        if kind in ANY_KIND:
            return kind
        if not isinstance(kind, StructKind):
            raise QueryError(f"{_says(whole, kind)}, which has no fields", span=call.span)
        if name.value not in kind.fields:
            reason = f"`{ex.to_text(whole)}` has no field `{name.value}`"
            raise QueryError(reason, span=name.span, fix=did_you_mean(str(name.value), kind.fields))
        return kind.fields[str(name.value)]


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
            fields = list(kind.fields) if isinstance(kind, StructKind) else []
            fix = (
                f"compare one of its fields: {ex.to_text(arg)}.{fields[0]}"
                if fields
                else "make what counts in it a column of its own"
            )
            raise QueryError(reason, span=arg.span, fix=fix)
    _same(call, _in_one_unit(call.args, kinds), "be compared")
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


def _in_one_unit(args: Sequence[Expr], kinds: list[str]) -> list[str]:
    """A literal duration beside a number is its number of seconds."""
    if "number" not in kinds:
        return kinds
    return ["number" if is_literal_duration(arg) else kind for arg, kind in zip(args, kinds, strict=True)]


def is_literal_duration(expr: Expr) -> bool:
    return isinstance(expr, ex.Literal) and isinstance(expr.value, ex.Duration)


def _arithmetic(call: ex.Call, kinds: list[str]) -> str:
    kinds = _in_one_unit(call.args, kinds) if call.op in "+-" else kinds
    left, right = kinds
    if left in ANY_KIND and right in ANY_KIND:
        return "unknown"
    if call.op == "-" and left in TIMES and right in (*TIMES, *ANY_KIND):
        return "duration" if right in TIMES else "unknown"
    if call.op in "+-" and left in (*TIMES, "duration") and right in ("duration", *ANY_KIND):
        return left if right == "duration" or left in TIMES else "unknown"
    if call.op in "+-" and left in ("duration", *ANY_KIND) and right in (*TIMES, "duration"):
        return "unknown" if left in ANY_KIND else right
    for arg, kind in zip(call.args, kinds, strict=True):
        if kind not in ("number", *ANY_KIND):
            fix = _arithmetic_fix(call, kinds)
            raise QueryError(f"`{call.op}` needs numbers, and {_says(arg, kind)}", span=arg.span, fix=fix)
    return "number"


def _arithmetic_fix(call: ex.Call, kinds: list[str]) -> str | None:
    if "string" in kinds and call.op == "+":
        return "join texts with concat(a, b)"
    number = next((arg for arg in call.args if isinstance(arg, ex.Literal) and _literal_kind(arg) == "number"), None)
    if call.op in "+-" and number is not None and not {*TIMES, "duration"}.isdisjoint(kinds):
        return f"give the number a unit: {ex.to_text(number)} seconds"
    return None


_CASTS = {
    **dict.fromkeys(("int", "float"), (("number", "string", "boolean"), "number")),
    "text": (("number", "string", "boolean", *TIMES), "string"),
    "boolean": (("number", "string", "boolean"), "boolean"),
    "timestamp": ((*TIMES, "string"), "timestamp"),
    "date": ((*TIMES, "string"), "date"),
}


def _cast(call: ex.Call, kind: str) -> str:
    value, wanted = call.args
    assert isinstance(wanted, ex.Literal)
    fitting, result = _CASTS[str(wanted.value)]
    if kind not in (*fitting, *ANY_KIND):
        reason = f"{_says(value, kind)}, which cannot be cast to {wanted.value}"
        fix = f"{wanted.value} is made of a {', '.join(fitting[:-1])} or {fitting[-1]}"
        raise QueryError(reason, span=call.span, fix=fix)
    if call.op == "cast" and isinstance(value, ex.Literal):
        try:
            cast_value(value.value, str(wanted.value))
        except (ValueError, OverflowError):
            raise QueryError(f"{ex.to_text(value)} cannot be cast to {wanted.value}", span=value.span) from None
    return result


def _function(call: ex.Call, kinds: list[str]) -> str:
    op = call.op
    if op == "is_null":
        return "boolean"
    if op in ex.LOGIC or op == "is_true":
        wanted, why, result = "boolean", f"{op.upper()} needs conditions", "boolean"
    elif op in ("like", "rlike"):
        wanted, why, result = "string", f"{op.upper()} needs text", "boolean"
        _constant(call.args[1], f"the pattern of {op.upper()}")
        if op == "rlike":
            _check_regex(call.args[1])
    elif op in ex.STRING_FUNCTIONS:
        wanted, why, result = "string", f"{op} needs text", "number" if op == "length" else "string"
    elif op == "substring":
        for place, name in enumerate(("start", "length")[: len(call.args) - 1], 1):
            _whole_from(2 - place, call.args[place], f"the {name} of substring")
        check_kind("string", call.args[0], kinds[0], "substring needs text")
        return "string"
    elif op == "replace":
        wanted, why, result = "string", "replace needs texts", "string"
    else:
        assert op in ex.NUMERIC_FUNCTIONS, op
        wanted, why, result = "number", f"{'-' if op == 'neg' else op} needs a number", "number"
        for digits in call.args[1:]:
            _constant(digits, "the number of digits")
    if op in ("neg", "abs") and kinds == ["duration"]:
        return "duration"
    for arg, kind in zip(call.args, kinds, strict=True):
        check_kind(wanted, arg, kind, why)
    return result


def _user_call(call: ex.UserCall, kinds: list[str]) -> str:
    for wanted, arg, kind in zip(call.function.takes, call.args, kinds, strict=False):
        check_kind(FAMILIES[wanted], arg, kind, f"{call.op} takes {call.function.signature.partition(' ->')[0]}")
    return FAMILIES[call.function.gives]


def _constant(arg: Expr, what: str) -> None:
    if ex.variables(arg):
        raise QueryError(f"{what} must be a constant", span=arg.span, fix="write it as a literal")


def _whole_from(least: int, arg: Expr, what: str) -> None:
    value = arg.value if isinstance(arg, ex.Literal) else None
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        reason = f"{what} is a whole number from {least} on"
        raise QueryError(reason, span=arg.span, fix="substring('event', 1, 3) is 'eve'")


def _check_regex(pattern: Expr) -> None:
    if not isinstance(pattern, ex.Literal) or not isinstance(pattern.value, str):
        return
    if (fault := find_fault(pattern.value)) is not None:
        fix = "RLIKE takes regular expressions as RE2 does: no look-around, no back references"
        raise QueryError(f"not a regular expression: {fault}", span=pattern.span, fix=fix)


def _aggregate(call: ex.Call, kind: str) -> str:
    if call.op in ("sum", "avg", *ex.STATISTICS):
        check_kind("number", call.args[0], kind, f"{call.op} needs numbers")
    if call.op in ("min", "max") and kind == "nested":
        raise QueryError(f"{call.op} needs values that have an order, and {_says(call.args[0], kind)}", span=call.span)
    if call.op == ex.COUNT_DISTINCT and kind == "nested":
        raise QueryError(f"DISTINCT needs values that can be compared, and {_says(call.args[0], kind)}", span=call.span)
    return kind if call.op in ("min", "max", "first", "last", ex.PREV) else "number"


def _literal_kind(literal: ex.Literal) -> str:
    if literal.value is None:
        return "null"
    if isinstance(literal.value, bool):
        return "boolean"
    if isinstance(literal.value, str):
        return "string"
    if isinstance(literal.value, ex.Duration):
        return "duration"
    return "timestamp" if isinstance(literal.value, datetime) else "number"


def _says(expr: Expr, kind: str) -> str:
    return f"`{ex.to_text(expr)}` is {'nested data' if kind == 'nested' else f'a {kind}'}"


def _clash_fix(left: Expr, left_kind: str, right: Expr, right_kind: str) -> str | None:
    if "duration" in (left_kind, right_kind) and not {left_kind, right_kind}.isdisjoint(TIMES):
        time, span = (left, right) if right_kind == "duration" else (right, left)
        return f"compare a difference of times: {ex.to_text(time, '-')} - y.ts < {ex.to_text(span)}"
    for literal, kind, other in ((left, left_kind, right_kind), (right, right_kind, left_kind)):
        if not isinstance(literal, ex.Literal):
            continue
        if kind == "number" and other == "duration":
            return f"give it a unit: {ex.to_text(literal)} seconds"
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
