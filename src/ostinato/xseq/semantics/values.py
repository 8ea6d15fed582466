"""What operands and conditions of XSeq are worth (XSeq paper, Definitions 5.13 to 5.16)."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import product
from typing import Any

from ostinato.xseq.semantics.axes import Axes
from ostinato.xseq.semantics.tree import Node, NodeKind
from ostinato.xseq.syntax import nodes as n

Value = str | float | int | None


@dataclass(frozen=True)
class NodeBinding:
    """A variable, the node it is bound to, and the round of each path variable around it."""

    variable: str
    node: Node
    rounds: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class XSeqMatch:
    """α of Definition 5.11, without what bears no variable; and how often each path variable was entered."""

    bindings: tuple[NodeBinding, ...] = ()
    entered: tuple[tuple[str, int], ...] = ()

    def of(self, variable: str) -> list[int]:
        """Where in the match the variable is bound."""
        return [place for place, binding in enumerate(self.bindings) if binding.variable == variable]

    def rounds(self, path_variable: str) -> int:
        return dict(self.entered).get(path_variable, 0)


@dataclass(frozen=True)
class Environment:
    """Definition 5.13: which of its bindings each variable stands for now; the last one unless it is said."""

    match: XSeqMatch
    places: Mapping[str, int] = field(default_factory=dict)  # of step variables, in the match
    rounds: Mapping[str, int] = field(default_factory=dict)  # of path variables
    context: Node | None = None  # the node that a predicate stands on


@dataclass(frozen=True)
class OperandValues:
    """Definition 5.16. `nodes` are those that a relative path reaches."""

    axes: Axes
    nodes: Callable[[n.Path, Node], Iterable[Node]]

    def fulfilled(self, where: n.Condition | None, match: XSeqMatch) -> bool:
        """Every conjunct holds for all combinations of the bindings it speaks of, where these have a previous one."""
        for conjunct in n.conjuncts(where):
            mentioned = list(sides(conjunct))
            for environment in all_environments(mentioned, Environment(match)):
                if not _previous_missing(mentioned, environment) and not self.holds(conjunct, environment):
                    return False
        return True

    def holds(self, condition: n.Condition, environment: Environment) -> bool:
        match condition:
            case n.And():
                return all(self.holds(part, environment) for part in condition.parts)
            case n.Or():
                return any(self.holds(part, environment) for part in condition.parts)
            case n.Not():
                return not self.holds(condition.part, environment)
            case n.Comparison():
                left, right = self.values(condition.left, environment), self.values(condition.right, environment)
                return any(compare(condition.operator, one, other) for one, other in product(left, right))

    def value(self, operand: n.Operand, environment: Environment) -> Value:
        return next(iter(self.values(operand, environment)), None)

    def values(self, operand: n.Operand, environment: Environment) -> list[Value]:
        """One value, but of a relative path as many as there are nodes."""
        match operand:
            case n.Constant():
                return [text(operand.value)]
            case n.Reference():
                return [self._read_leaf(self.referred(operand, environment), operand)]
            case n.Relative():
                assert environment.context is not None
                reached = self.nodes(operand.path, environment.context)
                return [node.name if operand.leaf is n.Leaf.TAG else node.string for node in reached]
            case n.Negative():
                return [calculate("-", 0, value) for value in self.values(operand.operand, environment)]
            case n.Arithmetic():
                left, right = self.values(operand.left, environment), self.values(operand.right, environment)
                return [calculate(operand.operator, one, other) for one, other in product(left, right)]
            case n.Aggregate():
                inner = (
                    self.values(operand.operand, each) for each in all_environments((operand.operand,), environment)
                )
                return [aggregate(operand.function, [value for values in inner for value in values])]

    def referred(self, reference: n.Reference, environment: Environment) -> Node | None:
        """The node that `$X`, `last($X)/b`, `first($Z) $X` … is now."""
        place = _place(reference, environment)
        reached = [] if place is None else [environment.match.bindings[place].node]
        for axis, name in reference.steps:
            test = n.NodeTest(n.Kind.NAME, name)
            reached = [other for node in reached for other in self.axes.along(axis, test, node)]
        return min(reached, key=lambda node: node.position, default=None)

    def _read_leaf(self, node: Node | None, reference: n.Reference) -> Value:
        if node is None:
            return None
        match reference.leaf:
            case n.Leaf.ATTRIBUTE:
                return node.attribute(reference.name)
            case n.Leaf.TEXT:
                return next((child.value for child in node.children if child.kind is NodeKind.TEXT), None)
            case n.Leaf.TAG:
                return node.name
            case n.Leaf.NODE:
                return node.string


def _place(reference: n.Reference, environment: Environment) -> int | None:
    match = environment.match
    places = match.of(reference.variable)
    if reference.within is not None:
        last = match.rounds(reference.within)
        current = environment.rounds.get(reference.within, last)
        wanted = {n.Alias.FIRST: 1, n.Alias.LAST: last, n.Alias.PREV: current - 1, n.Alias.PLAIN: current}[
            reference.alias
        ]
        inside = (place for place in places if (reference.within, wanted) in match.bindings[place].rounds)
        return next(inside, None)
    if not places:
        return None
    current = places.index(environment.places.get(reference.variable, places[-1]))
    match reference.alias:
        case n.Alias.PLAIN:
            return places[current]
        case n.Alias.PREV:
            return places[current - 1] if current else None
        case n.Alias.FIRST:
            return places[0]
        case n.Alias.LAST:
            return places[-1]


# --- what a conjunct or an aggregate ranges over


def all_environments(operands: Iterable[n.Operand], environment: Environment) -> Iterator[Environment]:
    """Every combination of bindings of the variables that are mentioned as `$X` or prev($X), outside aggregates.

    `prev($Z) $X` ranges over the rounds of Z, and then what is bound in a round of Z stands for its own round only.
    """
    match = environment.match
    mentioned = [reference for operand in operands for reference in references(operand)]
    ranging = [reference for reference in mentioned if reference.alias in (n.Alias.PLAIN, n.Alias.PREV)]
    variables = dict.fromkeys(reference.variable for reference in ranging if reference.within is None)
    paths = dict.fromkeys(reference.within for reference in ranging if reference.within is not None)
    for rounds in product(*(range(1, match.rounds(path) + 1) for path in paths)):
        current = dict(zip(paths, rounds, strict=True))
        for places in product(*(match.of(variable) for variable in variables)):
            around = (dict(match.bindings[place].rounds) for place in places)
            if all(current.get(path, number) == number for each in around for path, number in each.items()):
                yield Environment(match, dict(zip(variables, places, strict=True)), current, environment.context)


def _previous_missing(operands: Iterable[n.Operand], environment: Environment) -> bool:
    """Whether some prev(…) of the operands has nothing before the current binding or round."""
    for operand in operands:
        for reference in references(operand):
            if reference.alias is n.Alias.PREV:
                if reference.within is not None:
                    missing = environment.rounds[reference.within] == 1
                else:
                    missing = environment.places[reference.variable] == environment.match.of(reference.variable)[0]
                if missing:
                    return True
    return False


def references(operand: n.Operand, *, aggregated: bool = False) -> Iterator[n.Reference]:
    """Every reference of an operand that stands outside aggregates; or those inside as well."""
    match operand:
        case n.Reference():
            yield operand
        case n.Arithmetic():
            yield from references(operand.left, aggregated=aggregated)
            yield from references(operand.right, aggregated=aggregated)
        case n.Negative():
            yield from references(operand.operand, aggregated=aggregated)
        case n.Aggregate() if aggregated:
            yield from references(operand.operand, aggregated=True)


def sides(condition: n.Condition) -> Iterator[n.Operand]:
    """What is compared in a condition."""
    match condition:
        case n.Comparison():
            yield condition.left
            yield condition.right
        case n.And() | n.Or():
            for part in condition.parts:
                yield from sides(part)
        case n.Not():
            yield from sides(condition.part)


# --- values

_NUMBER = re.compile(r"[ \t\r\n]*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?[ \t\r\n]*")
_WHOLE = re.compile(r"[ \t\r\n]*[+-]?[0-9]+[ \t\r\n]*")
_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def number(value: Value) -> float | None:
    """The number that a value reads as."""
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    return None if value is None else float(value)


def text(value: str | float | int) -> str:
    """A value among strings; a whole number without a point."""
    if isinstance(value, str):
        return value
    return str(int(value)) if value == value // 1 else repr(value)


def compare(comparison: str, left: Value, right: Value) -> bool:
    """As numbers where both read as numbers, else as strings; what is missing is in no relation.

    A computed number has no text of its own: from a text that reads as no number it only differs.
    """
    if left is None or right is None:
        return False
    if isinstance(left, str) and isinstance(right, str) and _WHOLE.fullmatch(left) and _WHOLE.fullmatch(right):
        return _COMPARED[comparison](Decimal(left.strip()), Decimal(right.strip()))  # exactly, however long they are
    one, other = number(left), number(right)
    if one is not None and other is not None:
        return _COMPARED[comparison](one, other)
    if isinstance(left, str) and isinstance(right, str):
        return _COMPARED[comparison](left, right)
    return comparison == "!="


def calculate(operation: str, left: Value, right: Value) -> float | None:
    """Null where a part is no number, the divisor is 0, or the result lies beyond all floats."""
    one, other = number(left), number(right)
    if one is None or other is None or (operation in "/%" and other == 0):
        return None
    match operation:
        case "+":
            result = one + other
        case "-":
            result = one - other
        case "*":
            result = one * other
        case "/":
            result = one / other
        case _:
            result = math.fmod(one, other) if math.isfinite(one) else math.nan
    return result if math.isfinite(result) else None


def aggregate(function: str, values: Iterable[Value]) -> float | int | None:
    """Nulls are left out, and what is no number unless values are counted."""
    present = [value for value in values if value is not None]
    if function == "count":
        return len(present)
    numbers = [each for value in present if (each := number(value)) is not None]
    if not numbers:
        return None
    if function == "avg":
        return sum(numbers) / len(numbers)
    return sum(numbers) if function == "sum" else min(numbers) if function == "min" else max(numbers)
