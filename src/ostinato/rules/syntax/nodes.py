"""The syntax tree of event rules (XChangeEQ): Xcerpt terms, event queries, conditions, rules, rulesets.

Names follow the CERA paper: DETECT head ON body END (Figure 1), event identifiers i, j, and the relative timers. Data
variables (`var X`) are `core.expressions.Variable`, so that all languages share the expressions of conditions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as OneOf

from ostinato.core.expressions import AGGREGATE_FUNCTIONS, NOWHERE, OPERATORS, RESERVED, STATISTICS, Expr
from ostinato.core.expressions import AGGREGATES as _ALL_AGGREGATES
from ostinato.errors import Span

Scalar = bool | int | float | str


@dataclass(frozen=True)
class Duration:
    """`12 sec`: nanoseconds, and the text they were written as."""

    nanoseconds: int
    text: str = field(default="", compare=False)


# Query terms: what an event must look like, and what of it is bound (Xcerpt) ------------------------------------------


@dataclass(frozen=True)
class Const:
    """`"a"`, `40`, `true`: a value."""

    value: Scalar
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Element:
    """`label {{ … }}`: total has single brackets, partial double; ordered has square brackets, unordered curly ones.

    `/lab.*/ {{ … }}` and `* {{ … }}` have a regular expression for the whole label; `*` is ANY_LABEL.
    """

    label: str
    children: tuple[ChildQuery, ...] = ()
    total: bool = False
    ordered: bool = False
    is_regex: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Bind:
    """`var X` matches anything; `var X -> term` what the term matches. X is bound to it."""

    name: str
    term: QueryTerm | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Desc:
    """`desc term`: the term here or at any depth below."""

    term: QueryTerm
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Optional:
    """`optional term`: matched where it can be; its variables stay unbound where it cannot."""

    term: QueryTerm
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Fitting:
    """`/re/`: a text that fits the regular expression, all of it."""

    regex: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Without:
    """`without term`, a child of a partial element: no further child matches the term; in square brackets, none between
    those that its neighbours match. Variables that its siblings do not bind may have any value."""

    term: QueryTerm
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Position:
    """`position 2 term`, `position -1 term`, `position var P term`: a child at this place, counted from 1, or from the
    end; P is bound to it."""

    place: int | str
    term: QueryTerm
    span: Span = field(default=NOWHERE, compare=False)


QueryTerm = Const | Fitting | Element | Bind | Desc | Optional
ChildQuery = QueryTerm | Without | Position
ANY_LABEL = "(?s).*"


# Construct terms: what a derived event looks like ---------------------------------------------------------------------


@dataclass(frozen=True)
class Make:
    """`label { … }`; the derived event, or an element of it. A child without any value is left out."""

    label: str
    children: tuple[ConstructTerm, ...] = ()
    ordered: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Value:
    """`var X`, `"text"`, `var X * 2`: a value computed from the variables."""

    expr: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Order:
    """One of `order by [var X desc]`."""

    name: str
    descending: bool = False
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class All:
    """`all term group by {var X} order by [var Y]`: one instance of the term for each of its bindings."""

    term: ConstructTerm
    group_by: tuple[str, ...] = ()
    order_by: tuple[Order, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


AGGREGATES = (*AGGREGATE_FUNCTIONS, *STATISTICS)
_WORDS = "begin end case when then else all each distinct var event desc optional without position timestamp private"
BUILT_IN = (*OPERATORS, *_ALL_AGGREGATES, *RESERVED, *_WORDS.split())  # what no function of a user can be called
Over = OneOf["all", "each", "distinct"]


@dataclass(frozen=True)
class Aggregate:
    """`avg(all var T)`; `name` is one of AGGREGATES.

    It goes over the different bindings of its variables (`all`), over each way in which the events that bind them match
    (`each`: a bag), or over different values (`distinct`).
    """

    name: str
    expr: Expr
    order_by: tuple[Order, ...] = ()
    over: Over = "all"
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Combined:
    """`sum(all var X) / count(all var Y)`: in `expr`, `aggregate_variable(0)` stands for the first aggregate.

    In where it is a condition on the group that a derived event is made of: `avg(all var T) > 40`.
    """

    expr: Expr
    aggregates: tuple[Aggregate, ...]
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def by_variable(self) -> dict[str, Aggregate]:
        """The aggregates, by the variables that stand for them in `expr`."""
        return {aggregate_variable(place): aggregate for place, aggregate in enumerate(self.aggregates)}


def aggregate_variable(place: int) -> str:
    """The variable that stands for an aggregate of a Combined term. No program can name it: it has a NUL."""
    return f"\0{place}"


def time_variable(side: str, ident: str) -> str:
    """The variable that stands for `begin(i)` or `end(i)`: the time of an event, as a value."""
    return f"{side}({ident})"


def as_time(name: str) -> tuple[str, str] | None:
    """Side and identifier, where a variable stands for the time of an event."""
    side, bracket, ident = name.partition("(")
    return (side, ident[:-1]) if bracket and side in ("begin", "end") and ident.endswith(")") else None


ConstructTerm = Make | Value | All | Aggregate | Combined


# Event queries --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EventQuery:
    """`event i: term`. `bound` is X of `event i: var X -> term`."""

    ident: str
    term: Element
    bound: str | None = None
    span: Span = field(default=NOWHERE, compare=False)


PatternLanguage = OneOf["cel", "srem", "sql"]


@dataclass(frozen=True)
class CelPattern:
    """`event i: cel "query" {{ … }}`: a match of a CEL query, from its first event to its last; or of an SREM, or of an
    SQL query with MATCH_RECOGNIZE.

    As a term it is `match { … }` whose children are the columns that the query gives beside start, end and positions.
    """

    ident: str
    query: str
    term: Element
    language: PatternLanguage = "cel"
    query_span: Span = field(default=NOWHERE, compare=False)
    span: Span = field(default=NOWHERE, compare=False)


RELATIVE_TIMERS = (
    *("from-end", "from-start", "from-end-backward", "from-start-backward"),
    *("extend", "shorten", "extend-begin", "shorten-begin", "shift-forward", "shift-backward"),
)


@dataclass(frozen=True)
class RelativeTimer:
    """`event i: timer:from-end [event j, 12 sec]`; `kind` is one of RELATIVE_TIMERS."""

    ident: str
    kind: str
    anchor: str
    duration: Duration
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class AbsoluteTimer:
    """`event i: timer:absolute [begin, end]`: numbers of seconds, or ISO texts."""

    ident: str
    begin: int | float | str
    end: int | float | str
    span: Span = field(default=NOWHERE, compare=False)


PERIODIC_TIMERS = ("every", "tumbling")


@dataclass(frozen=True)
class PeriodicTimer:
    """`event i: timer:tumbling [5 min]`; `kind` is one of PERIODIC_TIMERS."""

    ident: str
    kind: str
    duration: Duration
    span: Span = field(default=NOWHERE, compare=False)


Timer = RelativeTimer | AbsoluteTimer | PeriodicTimer


@dataclass(frozen=True)
class While:
    """`while i: not term`, `while i: collect term`, `while i: collect event w: term` (each event counts on its own).

    Figure 8 of the paper writes `while i: term` for what Figure 12 calls `while i: collect term`.
    """

    window: str
    term: Element
    negated: bool
    ident: str | None = None  # w
    bound: str | None = None  # X of `collect var X -> term`
    span: Span = field(default=NOWHERE, compare=False)


def key_variable(place: int, label: str) -> str:
    """The variable of a key that the term of an `at` binds to none. No program can name it: it has a backtick."""
    return f"key `{place}.{label}"


@dataclass(frozen=True)
class At(While):
    """`at i: term`, `at i: not term`: what holds in a table when i (`window`) ends.

    `key` is the term of the table's key, once that is known (plan.normal_form): it binds what tells rows apart.
    """

    key: Element | None = field(default=None, compare=False)


# Conditions -----------------------------------------------------------------------------------------------------------

RELATIONS = (
    *("before", "after", "during", "contains", "overlaps", "overlapped-by", "meets", "met-by"),
    *("starts", "started-by", "finishes", "finished-by", "equals"),
)


@dataclass(frozen=True)
class Temporal:
    """`i before j`; `{i, j} within 1 min`, `{i, j} apart-by 1 min`: relation is one of RELATIONS, within, apart-by."""

    relation: str
    events: tuple[str, ...]
    duration: Duration | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Data:
    """A condition on variables: `var T > 40`."""

    expr: Expr
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Formula:
    """`c and c`, `c or c`, `not c`. What speaks of data alone is one Data condition, connectives included."""

    op: OneOf["and", "or", "not"]
    parts: tuple[Condition, ...]
    span: Span = field(default=NOWHERE, compare=False)


Condition = Temporal | Data | Combined | Formula


# Rules ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conjunction:
    """`and { … } where { … }`; a query alone is a conjunction of one."""

    parts: tuple[Body, ...]
    where: tuple[Condition, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Disjunction:
    """`or { … } where { … }`."""

    parts: tuple[Body, ...]
    where: tuple[Condition, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


Atom = EventQuery | CelPattern | Timer | While
Body = Atom | Conjunction | Disjunction


@dataclass(frozen=True)
class OutputLimit:
    """`at most 1 per 5 minutes per var S`: what the answer shows of the events of a label, for each value of `by`."""

    most: int
    per: Duration
    by: tuple[str, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Moment:
    """`begin(i)` or `end(i)` of an event or a timer."""

    side: str
    ident: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Interval:
    """`from begin(i) to end(j)`: when a derived event begins and ends. Without `end` it ends with all of its events."""

    begin: Moment
    end: Moment | None = None


@dataclass(frozen=True)
class Rule:
    """`DETECT head ON body END`; `number` counts from 1 in the text. `private`: no answer shows what it derives."""

    head: Make
    body: Body
    number: int = 1
    private: bool = False
    limit: OutputLimit | None = None
    interval: Interval | None = None
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class KeyLabel:
    """One of the children that tell the rows of a table apart."""

    label: str
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Table:
    """`TABLE label KEY id, …`: of the events of a label, the last with each key holds."""

    label: str
    key: tuple[KeyLabel, ...]
    span: Span = field(default=NOWHERE, compare=False)


@dataclass(frozen=True)
class Ruleset:
    """The rules of a program, in the order of its text."""

    rules: tuple[Rule, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class NormalRule:
    """Figure 7: or is gone, and the literals stand in the order in which Figure 8 translates them.

    Timers stand after what they are anchored on. `number` is that of the rule it comes from.
    """

    head: Make
    events: tuple[EventQuery | CelPattern, ...]
    timers: tuple[Timer, ...] = ()
    collects: tuple[While, ...] = ()
    negations: tuple[While, ...] = ()
    where: tuple[Condition, ...] = ()
    number: int = 1
    private: bool = False
    limit: OutputLimit | None = None
    interval: Interval | None = None
    span: Span = field(default=NOWHERE, compare=False)
