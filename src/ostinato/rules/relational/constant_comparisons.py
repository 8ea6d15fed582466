"""Conditions that compare a variable with a constant: simple enough for every engine to agree on without SQL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.core.expressions import COMPARISONS, Call, Literal, Variable
from ostinato.rules.relational.kinds import TERM, Kind
from ostinato.rules.syntax.nodes import Condition, Data

_EXACT = 2**53  # below it whole numbers are the same as doubles
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    **{"=": operator.eq, "!=": operator.ne, "<": operator.lt},
    **{"<=": operator.le, ">": operator.gt, ">=": operator.ge},
}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class ConstantComparison:
    """`var T > 40`."""

    name: str
    op: str  # a key of COMPARE
    value: Any


def as_constant_comparison(condition: Condition, kinds: Mapping[str, Kind]) -> ConstantComparison | None:
    """The condition as such a comparison, or None; `kinds` are those of the variables."""
    expr = condition.expr if isinstance(condition, Data) else None
    if not isinstance(expr, Call) or expr.op not in COMPARISONS:
        return None
    op, (one, other) = expr.op, expr.args
    if isinstance(one, Literal):
        one, other, op = other, one, _MIRRORED.get(op, op)
    if not isinstance(one, Variable) or not isinstance(other, Literal):
        return None
    return (
        ConstantComparison(one.name, op, other.value) if is_comparable(kinds.get(one.name, TERM), other.value) else None
    )


def is_comparable(kind: Kind, constant: Any) -> bool:
    """Whether all engines compare values of the type with the constant alike."""
    if kind is TERM:
        return False
    if isinstance(constant, bool):
        return bool(pa.types.is_boolean(kind))
    if isinstance(constant, str):
        return bool(pa.types.is_string(kind))
    number = bool(pa.types.is_integer(kind) or pa.types.is_float64(kind))
    return number and isinstance(constant, int | float) and abs(constant) < _EXACT
