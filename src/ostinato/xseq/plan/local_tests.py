"""Tests of one element alone: its name and its attributes (what section 4.1 lets a transition ask)."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping
from decimal import Decimal

from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import condition_text, path_text

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
Value = str | float | None  # a float is computed


def is_local(predicate: n.Predicate) -> bool:
    """Does the predicate ask only for the name and attributes of the element it stands on?"""
    if isinstance(predicate, n.Exists):
        return _attribute(predicate.path) is not None
    return all(_local_operand(operand) for operand in _operands(predicate.condition))


def holds(predicate: n.Predicate, name: str, attributes: Mapping[str, str]) -> bool:
    """Whether an element of that name and with those attributes satisfies a local predicate."""
    if isinstance(predicate, n.Exists):
        attribute = _attribute(predicate.path)
        return bool(attributes) if attribute == "" else attribute in attributes
    return _true(predicate.condition, name, attributes)


def reads_as_number(value: str) -> bool:
    return _NUMBER.fullmatch(value) is not None


def predicate_text(predicate: n.Predicate) -> str:
    """The predicate as it stands in a query, for tables and pictures."""
    if isinstance(predicate, n.Exists):
        return path_text(predicate.path)
    return condition_text(predicate.condition, inside=True)


def _attribute(path: object) -> str | None:
    """The name of the attribute that a path of one step leads to ("" for any), or None if it is another path."""
    if isinstance(path, n.Step) and path.axis is n.Axis.ATTRIBUTE and not path.predicates and path.variable is None:
        return path.test.name if path.test.kind is n.Kind.NAME else ""
    return None


def _operands(condition: n.Condition) -> list[n.Operand]:
    match condition:
        case n.Comparison():
            return [condition.left, condition.right]
        case n.Not():
            return _operands(condition.part)
        case n.And() | n.Or():
            return [operand for part in condition.parts for operand in _operands(part)]


def _local_operand(operand: n.Operand) -> bool:
    match operand:
        case n.Constant():
            return True
        case n.Relative():
            own = isinstance(operand.path, n.Step) and operand.path.axis is n.Axis.SELF and not operand.path.predicates
            return (own and operand.leaf is n.Leaf.TAG) or bool(_attribute(operand.path))
        case n.Arithmetic():
            return _local_operand(operand.left) and _local_operand(operand.right)
        case n.Negative():
            return _local_operand(operand.operand)
        case _:
            return False


def _true(condition: n.Condition, name: str, attributes: Mapping[str, str]) -> bool:
    match condition:
        case n.Comparison():
            left, right = _value(condition.left, name, attributes), _value(condition.right, name, attributes)
            return compare(condition.operator, left, right)
        case n.And():
            return all(_true(part, name, attributes) for part in condition.parts)
        case n.Or():
            return any(_true(part, name, attributes) for part in condition.parts)
        case n.Not():
            return not _true(condition.part, name, attributes)


def compare(sign: str, left: Value, right: Value) -> bool:
    """As numbers where both sides read as numbers, else as strings; what is missing compares as false.

    A computed number has no text: from one that reads as no number it only differs.
    """
    if left is None or right is None:
        return False
    one, two = _number(left), _number(right)
    if one is not None and two is not None:
        if _is_whole(left) and _is_whole(right):  # float64 does not tell long ones apart
            return bool(_COMPARE[sign](Decimal(left), Decimal(right)))
        return bool(_COMPARE[sign](one, two))
    if isinstance(left, str) and isinstance(right, str):
        return bool(_COMPARE[sign](left, right))
    return sign == "!="


def _value(operand: n.Operand, name: str, attributes: Mapping[str, str]) -> Value:
    match operand:
        case n.Constant():
            return operand.text
        case n.Relative():
            return name if operand.leaf is n.Leaf.TAG else attributes.get(_attribute(operand.path) or "")
        case n.Negative():
            number = _number(_value(operand.operand, name, attributes))
            return None if number is None else _compute("-", 0.0, number)
        case n.Arithmetic():
            left = _number(_value(operand.left, name, attributes))
            right = _number(_value(operand.right, name, attributes))
            return None if left is None or right is None else _compute(operand.operator, left, right)
        case _:
            raise AssertionError(f"not a local operand: {operand}")


def _compute(sign: str, left: float, right: float) -> float | None:
    if sign in "/%" and right == 0:
        return None
    match sign:
        case "+":
            value = left + right
        case "-":
            value = left - right
        case "*":
            value = left * right
        case "/":
            value = left / right
        case _:
            value = math.fmod(left, right) if math.isfinite(left) else math.nan
    return value if math.isfinite(value) else None


def _is_whole(value: Value) -> bool:
    """Whether it is a whole number, written plainly."""
    return isinstance(value, str) and _WHOLE.fullmatch(value) is not None


def _number(value: Value) -> float | None:
    if isinstance(value, str):
        return float(value) if reads_as_number(value) else None
    return value
