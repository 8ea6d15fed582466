"""Expressions over Python values in SQL's three-valued logic: None is NULL, and a filter passes only on TRUE.

Written apart from the Arrow evaluator on purpose, so that each can be tested against the other.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from ostinato.core.casts import cast_error, cast_value
from ostinato.core.expressions import (
    CASE,
    CURRENT,
    FIELD,
    Attribute,
    Duration,
    Expr,
    Literal,
    UserCall,
    Variable,
    to_text,
    variables,
)
from ostinato.core.regex import matches_regex
from ostinato.errors import DataError

Row = Mapping[str, Any]


def passes(predicate: Expr, events: Mapping[str, Row]) -> bool:
    """Whether the predicate is TRUE (not FALSE, not NULL) where each variable stands for its event."""
    return evaluate_expression(predicate, events) is True


def satisfies(test: Expr, row: Row, registers: Mapping[str, Row]) -> bool:
    """(u, v) ⊨ φ (SRA paper, Definition 3.11): every register the test reads holds an event, and the test is TRUE."""
    if not variables(test) <= {CURRENT, *registers}:
        return False
    try:
        return passes(test, {**registers, CURRENT: row})
    except TypeError as error:
        raise DataError(f"`{to_text(test)}` does not fit the event {dict(row)}: {error}") from error


def evaluate_expression(expr: Expr, events: Mapping[str, Row], kept: Callable[[Any], Any] = lambda found: found) -> Any:
    """The value of the expression; a missing attribute is NULL. `kept` is applied to the result of each call."""
    if isinstance(expr, Literal):
        return expr.value
    if isinstance(expr, Attribute):
        return events[expr.variable].get(expr.name)
    if isinstance(expr, Variable):
        return events[expr.name]
    if expr.op == CASE:
        return _case(expr.args, lambda arg: evaluate_expression(arg, events, kept))
    args = [evaluate_expression(arg, events, kept) for arg in expr.args]
    if isinstance(expr, UserCall):
        return expr.function.evaluate(expr.op, args)
    if expr.op in _KNOW_NULL:
        return _KNOW_NULL[expr.op](args)
    if any(arg is None for arg in args):
        return None
    return kept(_STRICT[expr.op](*args))


def _case(args: Sequence[Expr], value: Callable[[Expr], Any]) -> Any:
    """The value of the first branch whose condition is TRUE; no other branch is looked at."""
    *branches, otherwise = args
    pairs = zip(branches[::2], branches[1::2], strict=True)
    taken = next((result for condition, result in pairs if value(condition) is True), otherwise)
    return in_one_unit([value(taken)])[0]


# Operators that look at NULL themselves -------------------------------------------------------------------------------


def _and(args: Sequence[Any]) -> bool | None:
    if any(arg is False for arg in args):
        return False
    return None if any(arg is None for arg in args) else True


def _or(args: Sequence[Any]) -> bool | None:
    if any(arg is True for arg in args):
        return True
    return None if any(arg is None for arg in args) else False


def _in(args: Sequence[Any]) -> bool | None:
    """`a IN (b, c)` is `a = b OR a = c`."""
    needle, *choices = args
    equal = _STRICT["="]
    return _or([None if needle is None or choice is None else equal(needle, choice) for choice in choices])


_KNOW_NULL: dict[str, Callable[[Sequence[Any]], Any]] = {
    "and": _and,
    "or": _or,
    "in": _in,
    "is_null": lambda args: args[0] is None,
    "is_true": lambda args: args[0] is True,
    "coalesce": lambda args: next((arg for arg in in_one_unit(args) if arg is not None), None),
}


# Operators that are NULL as soon as one argument is -------------------------------------------------------------------


def _compare(relation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Python compares numbers by value and NaN as IEEE says; times and decimals beside floats need help."""

    def compare(left: Any, right: Any) -> bool:
        left, right = in_one_unit((left, right))
        if isinstance(left, date) and isinstance(right, date):
            return relation(to_instant(left), to_instant(right))
        if isinstance(left, Decimal) and isinstance(right, float):
            return relation(*((left, written_decimal(right)) if math.isfinite(right) else (float(left), right)))
        if isinstance(left, float) and isinstance(right, Decimal):
            return relation(*((written_decimal(left), right) if math.isfinite(left) else (left, float(right))))
        if isinstance(left, time) and isinstance(right, timedelta):
            return relation(_since_midnight(left), right)
        if isinstance(left, timedelta) and isinstance(right, time):
            return relation(left, _since_midnight(right))
        return relation(left, right)

    return compare


def _since_midnight(of_day: time) -> timedelta:
    return datetime.combine(date.min, of_day) - datetime.combine(date.min, time())


def written_decimal(number: float) -> Decimal:
    """0.1 is a tenth, although no float is."""
    return Decimal(repr(number))


def to_instant(moment: date) -> datetime:
    """A date is its midnight; a time without a zone is in UTC."""
    moment = _plain_instant(moment)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment


def in_one_unit(values: Sequence[Any]) -> list[Any]:
    """Durations as Python has them; beside a number, which counts seconds, as their seconds."""
    if not any(isinstance(value, Duration) for value in values):
        return list(values)
    seconds = any(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values)
    return [
        (value.seconds if seconds else timedelta(microseconds=1) * value.nanoseconds / 1000)
        if isinstance(value, Duration)
        else value
        for value in values
    ]


def _add(left: Any, right: Any) -> Any:
    left, right = in_one_unit((left, right))
    if isinstance(left, date) or isinstance(right, date):
        left, right = (_plain_instant(side) if isinstance(side, date) else side for side in (left, right))
    return operator.add(*_same_kind(left, right))


def _subtract(left: Any, right: Any) -> Any:
    left, right = in_one_unit((left, right))
    if isinstance(left, date) and isinstance(right, date):
        return to_instant(left) - to_instant(right)
    return operator.sub(*_same_kind(_plain_instant(left) if isinstance(left, date) else left, right))


def _plain_instant(moment: date) -> datetime:
    """A date is its midnight."""
    return moment if isinstance(moment, datetime) else datetime.combine(moment, time())


def _same_kind(left: Any, right: Any) -> tuple[Any, Any]:
    """Python cannot mix Decimal and float: both become floats, as in SQL."""
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    return left, right


def _divide(left: Any, right: Any) -> float | None:
    return float(left) / float(right) if right != 0 else None


def _remainder(left: Any, right: Any) -> Any:
    """The remainder of division towards zero: its sign is the dividend's."""
    left, right = _same_kind(left, right)
    if right == 0:
        return None
    if isinstance(left, float):
        return math.fmod(left, right) if math.isfinite(left) else math.nan
    remainder = abs(left) % abs(right)
    return -remainder if left < 0 else remainder


def _round(number: Any, digits: int = 0) -> Any:
    """Halves away from zero."""
    if (isinstance(number, int) and digits >= 0) or not math.isfinite(number):
        return number
    exact = written_decimal(number) if isinstance(number, float) else Decimal(number)
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP)
    return type(number)(rounded)


def _round_finite(rounding: Callable[[Any], int]) -> Callable[[Any], Any]:
    return lambda number: rounding(number) if math.isfinite(number) else number


def like(text: str, pattern: str) -> bool:
    """SQL LIKE: % any text, _ any one character, a backslash takes the next character as it is."""
    pieces = re.findall(r"\\.|.", pattern, re.DOTALL)
    wild = {"%": ".*", "_": "."}
    regex = "".join(wild.get(piece) or re.escape(piece[-1]) for piece in pieces)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def _cast(value: Any, kind: str) -> Any:
    try:
        return cast_value(value, kind)
    except (ValueError, OverflowError):
        raise cast_error(value, kind) from None


def _try_cast(value: Any, kind: str) -> Any:
    try:
        return cast_value(value, kind)
    except (ValueError, OverflowError):
        return None


def _substring(text: str, start: int, length: int | None = None) -> str:
    """`start` counts from 1."""
    return text[start - 1 :] if length is None else text[start - 1 : start - 1 + length]


_STRICT: dict[str, Callable[..., Any]] = {
    "=": _compare(operator.eq),
    "!=": _compare(operator.ne),
    "<": _compare(operator.lt),
    "<=": _compare(operator.le),
    ">": _compare(operator.gt),
    ">=": _compare(operator.ge),
    "+": _add,
    "-": _subtract,
    "*": lambda left, right: operator.mul(*_same_kind(left, right)),
    "/": _divide,
    "%": _remainder,
    "not": operator.not_,
    "like": like,
    "rlike": matches_regex,
    "cast": _cast,
    "try_cast": _try_cast,
    FIELD: lambda whole, name: whole.get(name),
    "neg": operator.neg,
    "abs": abs,
    "round": _round,
    "floor": _round_finite(math.floor),
    "ceil": _round_finite(math.ceil),
    "sqrt": lambda number: math.sqrt(number) if number >= 0 else math.nan,
    "lower": str.lower,
    "upper": str.upper,
    "trim": str.strip,
    "length": len,
    "concat": lambda *texts: "".join(texts),
    "substring": _substring,
    "replace": lambda text, old, new: text.replace(old, new) if old else text,
}
