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
# How one part follows another: any time later, as the next event that it can begin with, or as the very next event.
Link = OneOf[";", "->", ":"]


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
    """`φ1 ; φ2 ; …`, `φ1 -> φ2 -> …` or `φ1 : φ2 : …`."""

    parts: tuple[Formula, ...]
    link: Link = ";"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class And:
    """`φ1 AND φ2 AND …`: all of them, on different events, in any order and interleaved; `PERMUTE(φ1, φ2, …)`: one
    after the other, in any order (`apart`).

    `tests` compare events of different parts; rewriting moves them here, since either event may come last.
    """

    parts: tuple[Formula, ...]
    apart: bool = False
    span: Span = field(default=NOWHERE, compare=False)
    tests: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Repeat:
    """`φ{least,most}` and, with a link, `φ:{least,most}` or `φ->{least,most}`; `φ+` is from 1 to any number (None).

    No event of `until` comes from its first event to its last. `barred` is set by rewriting `->`: no such event comes
    between two rounds. `kept` is set where conditions after the loop ask for all events of these variables.
    """

    body: Formula
    link: Link = ";"
    least: int = 1
    most: int | None = None
    until: tuple[Absent, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)
    barred: tuple[Absent, ...] = ()
    kept: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Optional:
    """`φ?`: φ, or nothing. `φ*` is an optional `φ+`."""

    body: Formula
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Guarded:
    """φ, where none of `barred` comes between the event before and its first: what `->` is rewritten to."""

    body: Formula
    barred: tuple[Absent, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Group:
    """`(φ) AS g`, or `φ+ AS g`: only in texts; a Query holds the variables that g stands for, and φ in its place."""

    body: Formula
    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Quiet:
    """φ, where none of `absents` comes in its time before the first event: what NOT … FOR at the start becomes."""

    body: Formula
    absents: tuple[Absent, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Absent:
    """`NOT R AS x`, or `(NOT R AS x FILTER predicate)`: only as a part of a non-contiguous Sequence.

    `lasting` is the time of FOR, in nanoseconds. `at_once` is set by rewriting `φ : NOT R` at the end: only the very
    next event is meant.
    """

    event: Event
    predicate: Expr | None = None
    span: Span = field(default=NOWHERE, compare=False)
    lasting: int | None = None
    at_once: bool = False


@dataclass(frozen=True)
class AbsentFormula:
    """`NOT φ`: no complex event of φ lies between two parts of a non-contiguous Sequence.

    What φ is made of is no part of the formula around it: `children` and `rebuild` leave it alone.
    """

    body: Formula
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Never:
    """A formula without complex events, left where rewriting removed an unsatisfiable part."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Empty:
    """No event at all, left where rewriting has chosen to leave an optional part out."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Segment:
    """Events without a gap that are a string of an SREM (srem/nodes.py): a pattern of its own, not a part of CEL."""

    expression: Expression
    span: Span = field(default=NOWHERE, compare=False)


Formula = (
    Event
    | Filter
    | Or
    | And
    | Sequence
    | Repeat
    | Optional
    | Guarded
    | Quiet
    | Group
    | Absent
    | AbsentFormula
    | Never
    | Empty
    | Segment
)
Language = OneOf["cel", "srem"]


@dataclass(frozen=True)
class Item:
    """One SELECT item: a Variable, or an expression over attributes and aggregates, and its output column."""

    expr: Expr
    name: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Skip:
    """AFTER MATCH SKIP TO NEXT ROW, TO FIRST x or TO LAST x. (PAST LAST ROW is CONSUME BY PARTITION.)"""

    to: OneOf["NEXT", "FIRST", "LAST"]
    variable: str | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Timeout:
    """WITH TIMEOUT ROWS: also what did not become a match in time."""

    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Query:
    """A whole query. `items` is None for SELECT *; `relations` is empty without FROM.

    `limit` is how many matches each partition gives, the first ones; None: all. `tied_by` is set by rewriting
    (patterns/plan/equality_partitions.py): all events of a match agree on that attribute.
    """

    formula: Formula
    strategy: Strategy = "ALL"
    items: tuple[Item, ...] | None = None
    relations: tuple[str, ...] = ()
    partition_by: tuple[str, ...] = ()
    window: Window | None = None
    consume: Consume = "NONE"
    skip: Skip | None = None
    limit: int | None = None
    timeout: Timeout | None = None
    tied_by: str | None = None
    text: str = field(default="", compare=False)
    language: Language = "cel"
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()  # the name of each group, and the variables of its events

    def names(self, variable: str) -> frozenset[str]:
        """What the positions of a variable are called: by the variable, and by the groups that it is in."""
        own = frozenset() if variable.startswith("#") else frozenset({variable})
        return own | {name for name, members in self.groups if variable in members}

    @property
    def lists(self) -> frozenset[str]:
        """The names that stand for any number of events."""
        return repeated_variables(self.formula) | {name for name, _ in self.groups}


def children(formula: Formula) -> tuple[Formula, ...]:
    if isinstance(formula, Repeat):
        return formula.body, *formula.until
    if isinstance(formula, Filter | Optional | Guarded | Quiet | Group):
        return (formula.body,)
    if isinstance(formula, Or | And | Sequence):
        return formula.parts
    return ()


def rebuild(formula: Formula, change: Callable[[Formula], Formula]) -> Formula:
    """The same node over `change`d children; what must not come stays as it is."""
    if isinstance(formula, Filter | Repeat | Optional | Guarded | Quiet | Group):
        return replace(formula, body=change(formula.body))
    if isinstance(formula, Or | And | Sequence):
        return replace(formula, parts=tuple(change(part) for part in formula.parts))
    return formula


def map_predicates(formula: Formula, change: Callable[[Expr], Expr], below: Callable[[Formula], Formula]) -> Formula:
    """The same node with its own conditions changed, also those of what must not come; over `below` of its children."""

    def each(absents: tuple[Absent, ...]) -> tuple[Absent, ...]:
        return tuple(replace(own, predicate=own.predicate and change(own.predicate)) for own in absents)

    built = rebuild(formula, below)
    if isinstance(built, Filter):
        return replace(built, predicate=change(built.predicate))
    if isinstance(built, And):
        return replace(built, tests=tuple(map(change, built.tests)))
    if isinstance(built, Repeat):
        return replace(built, until=each(built.until), barred=each(built.barred))
    if isinstance(built, Guarded):
        return replace(built, barred=each(built.barred))
    return each((built,))[0] if isinstance(built, Absent) else built


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


def earlier_name(variable: str) -> str:
    """The variable that stands for the events of this one in the rounds before (earlier_rounds.py)."""
    return f"#earlier {variable}"


def whole_name(variable: str) -> str:
    """The variable that stands for all events of this one, once its loop has ended (earlier_rounds.py)."""
    return f"#all {variable}"


def whole_loops(formula: Formula) -> frozenset[str]:
    """Such variables of all loops in the formula."""
    loops = (part for part in subformulas(formula) if isinstance(part, Repeat))
    return frozenset(whole_name(name) for loop in loops for name in loop.kept)


def bound_loops(formula: Formula) -> frozenset[str]:
    """Such variables of the loops that every complex event has, outside of other loops."""
    if isinstance(formula, Repeat):
        return frozenset(map(whole_name, formula.kept)) if not nullable(formula) else frozenset()
    if isinstance(formula, Filter | Guarded | Quiet):
        return bound_loops(formula.body)
    if isinstance(formula, Or):
        return frozenset.intersection(*map(bound_loops, formula.parts))
    if isinstance(formula, Sequence | And):
        return frozenset().union(*map(bound_loops, formula.parts))
    return frozenset()


def loop_variables(repeat: Repeat) -> frozenset[str]:
    """The variables that mean other events in each round."""
    own = vdef_plus(repeat.body)
    return own | frozenset(map(earlier_name, own))


def bound(formula: Formula) -> frozenset[str]:
    """bound(φ): variables that every complex event of the formula binds (section 5.1)."""
    if isinstance(formula, Event):
        return frozenset({formula.variable})
    if isinstance(formula, Filter | Guarded | Quiet):
        return bound(formula.body)
    if isinstance(formula, Or):
        return frozenset.intersection(*(bound(part) for part in formula.parts))
    if isinstance(formula, Sequence | And):
        return frozenset().union(*(bound(part) for part in formula.parts))
    return frozenset()


def nullable(formula: Formula) -> bool:
    """Whether the formula can be met without any event."""
    if isinstance(formula, Optional | Empty):
        return True
    if isinstance(formula, Or):
        return any(map(nullable, formula.parts))
    if isinstance(formula, Sequence | And):
        return all(nullable(part) for part in formula.parts if not isinstance(part, Absent | AbsentFormula))
    return isinstance(formula, Filter | Repeat | Guarded | Quiet) and nullable(formula.body)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """The formula and all below it, outermost first."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


def everything(formula: Formula) -> Iterator[Formula]:
    """The formula and all below it, also what must not come."""
    for part in subformulas(formula):
        yield part
        if isinstance(part, Quiet):
            yield from part.absents
        if isinstance(part, AbsentFormula):
            yield from everything(part.body)


def repeated_variables(formula: Formula) -> frozenset[str]:
    """Variables that are defined somewhere inside a +, and so stand for lists of events."""
    repeats = (part for part in subformulas(formula) if isinstance(part, Repeat))
    return frozenset().union(*(vdef(part) for part in repeats))


def event_types(formula: Formula) -> frozenset[str | None]:
    """Every event type the formula asks for; None for ANY."""
    events = (part.event if isinstance(part, Absent) else part for part in everything(formula))
    return frozenset(event.relation for event in events if isinstance(event, Event))


def shortest_match(formula: Formula) -> int:
    """The fewest events a match can have."""
    if isinstance(formula, Event):
        return 1
    if isinstance(formula, Optional):
        return 0
    if isinstance(formula, Repeat):
        return formula.least * shortest_match(formula.body)
    lengths = [shortest_match(child) for child in children(formula)]
    return min(lengths) if isinstance(formula, Or) else sum(lengths)
