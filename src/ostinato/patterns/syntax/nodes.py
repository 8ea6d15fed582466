"""CEL formulas and queries as frozen nodes (CEL paper, section 3; the extensions are listed in docs/cel.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from ostinato.core.expressions import NOWHERE, Expr
from ostinato.core.window_clause import Window
from ostinato.errors import Span

if TYPE_CHECKING:
    from ostinato.patterns.syntax.srem.nodes import Expression

Strategy = OneOf["ALL", "STRICT", "NXT", "LAST", "MAX"]
Consume = OneOf["NONE", "PARTITION", "ANY"]


@dataclass(frozen=True)
class Event:
    """`R AS x`. `relation` is None for ANY. A bare `R` gets a variable that no text can name (it starts with '#')."""

    relation: str | None
    variable: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Filter:
    """`body FILTER predicate`."""

    body: Formula
    predicate: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Or:
    """`φ1 OR φ2 OR …`, at least two parts."""

    parts: tuple[Formula, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Sequence:
    """`φ1 ; φ2 ; …` (contiguous=False, anything may lie between) or `φ1 : φ2 : …` (contiguous=True, nothing may)."""

    parts: tuple[Formula, ...]
    contiguous: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Repeat:
    """`φ+` (contiguous=False) or `φ:+` (contiguous=True)."""

    body: Formula
    contiguous: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Absent:
    """`NOT R AS x`, or `(NOT R AS x FILTER predicate)`: only as a part of a non-contiguous Sequence."""

    event: Event
    predicate: Expr | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Never:
    """A formula without complex events, left where rewriting removed an unsatisfiable part."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Segment:
    """Events without a gap that are a string of an SREM (srem/nodes.py): a pattern of its own, not a part of CEL."""

    expression: Expression
    span: Span = field(default=NOWHERE, compare=False)


Formula = Event | Filter | Or | Sequence | Repeat | Absent | Never | Segment
Language = OneOf["cel", "srem"]


@dataclass(frozen=True)
class Item:
    """One SELECT item: a Variable, or an expression over attributes and aggregates, and its output column."""

    expr: Expr
    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Query:
    """A whole query. `items` is None for SELECT *; `relations` is empty without FROM.

    `tied_by` is set by rewriting (patterns/plan/equality_partitions.py): all events of a match agree on that attribute.
    """

    formula: Formula
    strategy: Strategy = "ALL"
    items: tuple[Item, ...] | None = None
    relations: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    window: Window | None = None
    consume: Consume = "NONE"
    tied_by: str | None = None
    text: str = field(default="", compare=False)
    language: Language = "cel"


def children(formula: Formula) -> tuple[Formula, ...]:
    if isinstance(formula, Filter | Repeat):
        return (formula.body,)
    if isinstance(formula, Or | Sequence):
        return formula.parts
    return ()


def rebuild(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The same node over `change`d children."""
    if isinstance(formula, Filter | Repeat):
        return replace(formula, body=change(formula.body))
    if isinstance(formula, Or | Sequence):
        return replace(formula, parts=tuple(change(part) for part in formula.parts))
    return formula


def vdef(formula: Formula) -> frozenset[str]:
    """Variables defined by `R AS x` anywhere in the formula (section 3); absent events define none."""
    if isinstance(formula, Event):
        return frozenset({formula.variable})
    return frozenset().union(*(vdef(child) for child in children(formula)))


def vdef_plus(formula: Formula) -> frozenset[str]:
    """vdef₊: variables defined outside the scope of every + (section 3)."""
    if isinstance(formula, Event):
        return frozenset({formula.variable})
    if isinstance(formula, Repeat):
        return frozenset()
    return frozenset().union(*(vdef_plus(child) for child in children(formula)))


def bound(formula: Formula) -> frozenset[str]:
    """bound(φ): variables that every complex event of the formula binds (section 5.1)."""
    if isinstance(formula, Event):
        return frozenset({formula.variable})
    if isinstance(formula, Filter):
        return bound(formula.body)
    if isinstance(formula, Or):
        return frozenset.intersection(*(bound(part) for part in formula.parts))
    if isinstance(formula, Sequence):
        return frozenset().union(*(bound(part) for part in formula.parts))
    return frozenset()


def subformulas(formula: Formula) -> Iterator[Formula]:
    """The formula and all below it, outermost first."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


def repeated_variables(formula: Formula) -> frozenset[str]:
    """Variables that are defined somewhere inside a +, and so stand for lists of events."""
    repeats = (part for part in subformulas(formula) if isinstance(part, Repeat))
    return frozenset().union(*(vdef(part) for part in repeats))


def event_types(formula: Formula) -> frozenset[str | None]:
    """Every event type the formula asks for; None for ANY."""
    events = (part.event if isinstance(part, Absent) else part for part in subformulas(formula))
    return frozenset(event.relation for event in events if isinstance(event, Event))


def shortest_match(formula: Formula) -> int:
    """The fewest events a match can have."""
    if isinstance(formula, Event):
        return 1
    lengths = [shortest_match(child) for child in children(formula)]
    return min(lengths) if isinstance(formula, Or) else sum(lengths)
