"""Searches for values of attributes that give tests the wanted outcomes: values near the constants come first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise, product
from typing import Any, TypeGuard

from ostinato.core import expressions as ex
from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import Expr
from ostinato.errors import DataError
from ostinato.patterns.theory.attribute_kinds import Kinds, constant_kind
from ostinato.patterns.theory.budget import Effort
from ostinato.patterns.theory.comparisons import outcome_bit, sort_place

Assignment = dict[str, dict[str, Any]]  # variable -> row

_FREE: dict[str | None, tuple[Any, ...]] = {  # values of each kind, for attributes that are compared with no constant
    "boolean": (True, False),
    "number": (0, 1),
    "text": ("a",),
    "time": (datetime(2000, 1, 1),),
    None: (0, 1, "a"),
}
_FAULTS = (TypeError, ValueError, ArithmeticError, AttributeError, DataError)  # a value that does not fit its operator


def find_assignment(facts: Mapping[Expr, int], kinds: Kinds, effort: Effort) -> Assignment | None:
    """Rows for all variables: each attribute gets one of the values that its tests suggest.

    A test that may have any outcome must still have one: its values must fit its operators. None where no values were
    found before the effort was spent.
    """
    order = sorted({node for atom in facts for node in ex.attributes(atom)}, key=_by_event)
    rank = {attribute: index for index, attribute in enumerate(order)}
    due: list[list[Expr]] = [[] for _ in order]  # the tests that can be evaluated once an attribute has its value
    for atom in facts:
        if mentioned := ex.attributes(atom):
            due[max(rank[attribute] for attribute in mentioned)].append(atom)
    near: dict[ex.Attribute, list[ex.Call]] = {attribute: [] for attribute in order}
    for call in dict.fromkeys(node for atom in facts for node in ex.walk(atom) if _compares(node)):
        for attribute in dict.fromkeys(ex.attributes(call)):
            near[attribute].append(call)
    rows: Assignment = {attribute.variable: {} for attribute in order}
    untried: list[Iterator[Any]] = []  # for each attribute that has a value, those it may have instead
    fits = True
    while effort.spend():
        if fits and len(untried) == len(order):
            return rows
        if fits:
            untried.append(_candidates(order[len(untried)], near, rows, kinds))
        index, attribute = len(untried) - 1, order[len(untried) - 1]
        row = rows[attribute.variable]
        try:
            row[attribute.name] = next(untried[-1])
            fits = all(_outcome(atom, rows) & facts[atom] for atom in due[index])
        except StopIteration:
            row.pop(attribute.name, None)
            untried.pop()
            fits = False
            if not untried:
                return None
    return None


def _by_event(attribute: ex.Attribute) -> tuple[bool, int, str, str]:
    """Stored events before the current one, and e2 before e10."""
    return attribute.variable == ex.CURRENT, len(attribute.variable), attribute.variable, attribute.name


def _outcome(atom: Expr, rows: Assignment) -> int:
    try:
        return outcome_bit(evaluate_expression(atom, rows))
    except _FAULTS:
        return 0


def _candidates(
    attribute: ex.Attribute, near: Mapping[ex.Attribute, list[ex.Call]], rows: Assignment, kinds: Kinds
) -> Iterator[Any]:
    """Values at, between and around what the attribute is compared with, also indirectly; NULL and NaN come last.

    Values of the kind that the tests ask for come first; the others are tried in case it was guessed wrong. What other
    events have for the attribute settles its kind.
    """
    others = (row.get(attribute.name) for variable, row in rows.items() if variable != attribute.variable)
    settled = {kind for each in others if (kind := _column_kind(each)) is not None}
    for each in _guesses(attribute, near, rows, kinds.get(attribute.name)):
        if not settled or _column_kind(each) in (None, *settled):
            yield each


def _column_kind(value: Any) -> str | None:
    """The kind of a column that has this value; None for NULL, which any may have."""
    return "number" if isinstance(value, float) else constant_kind(value)


def _guesses(
    attribute: ex.Attribute, near: Mapping[ex.Attribute, list[ex.Call]], rows: Assignment, kind: str | None
) -> Iterator[Any]:
    anchors = dict.fromkeys(_anchors(attribute, near, rows))
    spread = [*anchors, *_around(anchors)]
    fitting = [each for each in spread if kind in (None, constant_kind(each))]
    yield from fitting
    if not fitting or kind == "boolean":
        yield from _FREE[kind]
    yield from (each for each in spread if kind not in (None, constant_kind(each)))
    yield None
    if kind in (None, "number"):
        yield math.nan


def _anchors(attribute: ex.Attribute, near: Mapping[ex.Attribute, list[ex.Call]], rows: Assignment) -> Iterator[Any]:
    """Constants and assigned values in the tests that are linked to the attribute, its own tests first."""
    seen: set[ex.Call] = set()
    todo = [attribute]
    for linked in todo:
        for atom in near[linked]:
            if atom in seen:
                continue
            seen.add(atom)
            yield from _anchors_of(atom, rows)
            todo += [other for other in ex.attributes(atom) if other not in todo]


def _compares(node: Expr) -> TypeGuard[ex.Call]:
    return isinstance(node, ex.Call) and node.op in (*ex.COMPARISONS, "in", "like", "rlike")


def _anchors_of(atom: ex.Call, rows: Assignment) -> Iterator[Any]:
    for side in atom.args:
        yield from _known_value(side, rows)
        if isinstance(side, ex.Call):
            yield from _undo(side, atom, rows)
    if atom.op == "like" and isinstance(atom.args[1], ex.Literal):
        yield str(atom.args[1].value).replace("%", "").replace("_", "a")
    if atom.op == "rlike" and isinstance(atom.args[1], ex.Literal):
        yield re.sub(r"\W", "", str(atom.args[1].value))


def _known_value(side: Expr, rows: Assignment) -> Iterator[Any]:
    if all(node.name in rows[node.variable] for node in ex.attributes(side)):
        try:
            known = evaluate_expression(side, rows)
        except _FAULTS:
            return
        if sort_place(known):
            yield known.seconds if isinstance(known, ex.Duration) else known


def _undo(side: ex.Call, atom: ex.Call, rows: Assignment) -> Iterator[Any]:
    """For `2 * x` compared with 10: what 10 would have come from."""
    operands = [operand for node in ex.walk(side) if node != side for operand in _known_value(node, rows)]
    goals = [goal for other in atom.args if other != side for goal in _known_value(other, rows)]
    for goal, operand, op in product(goals, operands, ex.ARITHMETIC[:-1]):
        yield from _known_value(ex.Call(op, (ex.Literal(goal), ex.Literal(operand))), rows)


def _around(anchors: Iterable[Any]) -> Iterator[Any]:
    """Below the least, above the greatest and between neighbours, for each kind of value."""
    kinds: dict[str, list[Any]] = {}
    for kind, spot in sorted({spot for anchor in anchors if (spot := sort_place(anchor))}):
        kinds.setdefault(kind, []).append(spot)
    for number in _spread([spot for spot in kinds.get("number", ()) if spot.is_finite()], Decimal(1)):
        yield int(number) if number == number.to_integral_value() else float(number)
    yield from _spread(kinds.get("time", ()), timedelta(hours=1))
    for text in kinds.get("text", ()):
        yield from (text + "a", text + " ", text[:-1])


def _spread(spots: Sequence[Any], step: Any) -> Iterator[Any]:
    for ends, way in ((spots[-1:], step), (spots[:1], -step)):
        with suppress(OverflowError):  # there is no time after the year 9999
            yield from (end + way for end in ends)
    yield from (low + (high - low) / 2 for low, high in pairwise(spots))
