"""Tests of one element alone: its name and its attributes (what section 4.1 lets a transition ask)."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from decimal import Decimal

from ostinato.xseq.syntax.format import condition_text, path_text
from ostinato.xseq.syntax.nodes import (
    And,
    Arithmetic,
    Axis,
    Comparison,
    Condition,
    Constant,
    Exists,
    Kind,
    Leaf,
    Negative,
    Not,
    Operand,
    Or,
    Predicate,
    Relative,
    Step,
)

_NUMBER = re.compile(r"[ \t\r\n]*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[ \t\r\n]*", re.ASCII)
_WHOLE = re.compile(r"[ \t\r\n]*[+-]?\d+[ \t\r\n]*", re.ASCII)
_COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Value = str | float | int | None


def is_local(predicate: Predicate) -> bool:
    """Does the predicate ask only for the name and attributes of the element it stands on?"""
    if isinstance(predicate, Exists):
        return _attribute(predicate.path) is not None
    return all(_local_operand(operand) for operand in _operands(predicate.condition))


def holds(predicate: Predicate, name: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element of that name and with those attributes satisfies a local predicate."""
    if isinstance(predicate, Exists):
        asked = _attribute(predicate.path)
        return bool(attributes) if asked == "" else asked in attributes
    return _true(predicate.condition, name, attributes)


def reads_as_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def shown(predicate: Predicate) -> str:
    """The predicate as it stands in a query, for tables and pictures."""
    if isinstance(predicate, Exists):
        return path_text(predicate.path)
    return condition_text(predicate.condition, inside=True)


def _attribute(path: object) -> str | None:
    """The name of the attribute that a path of one step leads to ("" for any), or None if it is another path."""
    if isinstance(path, Step) and path.axis is Axis.ATTRIBUTE and not path.predicates and path.variable is None:
        return path.test.name if path.test.kind is Kind.NAME else ""
    return None


def _operands(condition: Condition) -> list[Operand]:
    match condition:
        case Comparison():
            return [condition.left, condition.right]
        case Not():
            return _operands(condition.part)
        case And() | Or():
            return [operand for part in condition.parts for operand in _operands(part)]


def _local_operand(operand: Operand) -> bool:
    match operand:
        case Constant():
            return True
        case Relative():
            own = isinstance(operand.path, Step) and operand.path.axis is Axis.SELF and not operand.path.predicates
            return (own and operand.leaf is Leaf.TAG) or bool(_attribute(operand.path))
        case Arithmetic():
            return _local_operand(operand.left) and _local_operand(operand.right)
        case Negative():
            return _local_operand(operand.operand)
        case _:
            return False


def _true(condition: Condition, name: str, attributes: Mapping[str, str]) -> bool:
    match condition:
        case Comparison():
            left, right = _value(condition.left, name, attributes), _value(condition.right, name, attributes)
            return compared(condition.operator, left, right)
        case And():
            return all(_true(part, name, attributes) for part in condition.parts)
        case Or():
            return any(_true(part, name, attributes) for part in condition.parts)
        case Not():
            return not _true(condition.part, name, attributes)


def compared(sign: str, left: Value, right: Value) -> bool:
    """As numbers where both sides read as numbers, else as strings; what is missing compares as false."""
    if left is None or right is None:
        return False
    one, two = _number(left), _number(right)
    if one is not None and two is not None:
        if _is_whole(left) and _is_whole(right):  # float64 does not tell long ones apart
            return bool(_COMPARE[sign](Decimal(left), Decimal(right)))
        return bool(_COMPARE[sign](one, two))
    return bool(_COMPARE[sign](str(left), str(right)))


def _value(operand: Operand, name: str, attributes: Mapping[str, str]) -> Value:
    match operand:
        case Constant():
            return operand.value
        case Relative():
            return name if operand.leaf is Leaf.TAG else attributes.get(_attribute(operand.path) or "")
        case Negative():
            number = _number(_value(operand.operand, name, attributes))
            return None if number is None else -number
        case Arithmetic():
            left = _number(_value(operand.left, name, attributes))
            right = _number(_value(operand.right, name, attributes))
            return None if left is None or right is None else _computed(operand.operator, left, right)
        case _:
            raise AssertionError(f"not a local operand: {operand}")


def _computed(sign: str, left: float, right: float) -> float | None:
    if sign in "/%" and right == 0:
        return None
    match sign:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return left / right
        case _:
            return math.fmod(left, right) if math.isfinite(left) else math.nan


def _is_whole(value: Value) -> bool:
    """Whether it is a whole number, written plainly."""
    return isinstance(value, int) or (isinstance(value, str) and _WHOLE.fullmatch(value) is not None)


def _number(value: Value) -> float | None:
    if isinstance(value, str):
        return float(value) if reads_as_number(value) else None
    return None if value is None else float(str(value))  # a whole number may be too long for float(value)
