"""The operators of CERA (section 3.2) as frozen nodes, each with its schema, and query plans (Definition 0.6).

A relation has for each event identifier i the times i.begin and i.end and the reference i.ref, and data attributes: the
variables. Nothing may drop times or references but where the paper says so: the temporal joins drop those of what they
collect, and merging puts one interval in the place of all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal as OneOf

from ostinato.core.expressions import variables
from ostinato.errors import OstinatoError
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.grouping import has_grouping
from ostinato.rules.syntax.variables import outer_variables, term_variables

MERGED = ""  # the identifier of the one interval that merging leaves: its times are begin and end


@dataclass(frozen=True)
class RelationSchema:
    """sch(R): identifiers with times, identifiers with references, data attributes, each in order."""

    times: tuple[str, ...]
    refs: tuple[str, ...]
    data: tuple[str, ...]


@dataclass(frozen=True)
class CelStream:
    """The stream of the matches of a CEL query or an SREM over incoming events; or, as those of an SQL query, over all
    events of `labels`, where it names one that rules derive."""

    query: str
    language: n.PatternLanguage = "cel"
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class PeriodicStream:
    """The events of a periodic timer, as long as the stream lasts; `kind` is one of PERIODIC_TIMERS."""

    kind: str
    nanoseconds: int


@dataclass(frozen=True)
class TableStream:
    """The rows of a table: the events of its label, and those that are given beside the stream."""

    label: str


Source = CelStream | PeriodicStream
Stream = str | Source | TableStream  # what is matched: the events of a label, or of another source


def stream_label(stream: Stream) -> str | None:
    """The label of the events of a stream, if they have one."""
    return stream.label if isinstance(stream, TableStream) else stream if isinstance(stream, str) else None


@dataclass(frozen=True)
class Match:
    """Q^X[ident: term](stream): one tuple for each way that an event of the stream matches.

    `since`: the deployment from which on it reads the stream; matches since different ones are different points. `key`
    is another term for the same event, where its variables are not among those of the first.
    """

    ident: str
    term: n.Element
    stream: Stream
    bound: str | None = None
    since: int = 0
    key: n.Element | None = None

    @cached_property
    def schema(self) -> RelationSchema:
        of_key = () if self.key is None else term_variables(self.key)
        return RelationSchema((self.ident,), (self.ident,), _union(term_variables(self.term, self.bound), of_key))


@dataclass(frozen=True)
class TimerStream:
    """X[ident: kind[anchor, d]](E): the relative timer events (Figure 3), to be joined by the anchor's reference."""

    timer: n.RelativeTimer

    @property
    def schema(self) -> RelationSchema:
        return RelationSchema((self.timer.ident,), (self.timer.ident, self.timer.anchor), ())


@dataclass(frozen=True)
class FixedStream:
    """The one event of an absolute timer."""

    timer: n.AbsoluteTimer

    @property
    def schema(self) -> RelationSchema:
        return RelationSchema((self.timer.ident,), (self.timer.ident,), ())


@dataclass(frozen=True)
class Near:
    """What conditions imply about two times of a join's sides: low <= right - left <= high, in nanoseconds.

    A time is an identifier and "begin" or "end".
    """

    left: tuple[str, str]
    right: tuple[str, str]
    low: int
    high: int


@dataclass(frozen=True)
class RelevanceBound:
    """How long a tuple of one side of a join may wait for `event` of the other side to end.

    Until the earliest of its own times, each with an offset in nanoseconds; for ever where there is none. A time is an
    identifier and "begin" or "end", or None for the origin of time.
    """

    event: str
    until: tuple[tuple[tuple[str, str] | None, int], ...] = ()


@dataclass(frozen=True)
class Join:
    """Natural join; keeps the times and references of both. The bounds say how long a tuple of each side matters."""

    left: Node
    right: Node
    near: Near | None = None
    keep_left: tuple[RelevanceBound, ...] = ()
    keep_right: tuple[RelevanceBound, ...] = ()

    @cached_property
    def schema(self) -> RelationSchema:
        left, right = self.left.schema, self.right.schema
        return RelationSchema(
            _union(left.times, right.times), _union(left.refs, right.refs), _union(left.data, right.data)
        )


@dataclass(frozen=True)
class Select:
    """σ[c1 ∧ …](input)."""

    conditions: tuple[n.Condition, ...]
    input: Node

    @property
    def schema(self) -> RelationSchema:
        return self.input.schema


@dataclass(frozen=True)
class Project:
    """π: keeps the data attributes `data`; times and references always stay."""

    data: tuple[str, ...]
    input: Node

    def __post_init__(self) -> None:
        if unknown := set(self.data) - set(self.input.schema.data):
            raise OstinatoError(f"a projection keeps data attributes, and these are not: {', '.join(sorted(unknown))}")

    @property
    def schema(self) -> RelationSchema:
        return replace(self.input.schema, data=self.data)


@dataclass(frozen=True)
class Stamp:
    """Times of events as data: each of `times` is side and identifier, and `n.time_variable` names its attribute.

    For values of heads and conditions on data; CERA itself needs none.
    """

    times: tuple[tuple[str, str], ...]
    input: Node

    @cached_property
    def schema(self) -> RelationSchema:
        of = self.input.schema
        return replace(of, data=_union(of.data, tuple(n.time_variable(*time) for time in self.times)))


@dataclass(frozen=True)
class TemporalJoin:
    """left ⋈_{window ⊒ ident} right (Definition 0.1): what the right side has within the window.

    `named` keeps the reference of what is collected, so that an aggregate can count each event on its own; `timed` its
    times, for heads that ask for the first or the last. `at`: the right side are rows, of which it has those that hold
    when the window ends.
    """

    window: str
    ident: str
    left: Node
    right: Node
    named: bool = False
    timed: bool = False
    at: bool = False
    near: Near | None = None
    keep_right: tuple[RelevanceBound, ...] = ()

    @cached_property
    def schema(self) -> RelationSchema:
        left, right = self.left.schema, self.right.schema
        return RelationSchema(left.times, left.refs, _union(left.data, right.data))


@dataclass(frozen=True)
class AntiJoin:
    """left ▷_{window ⊒ ident} right (Definition 0.2): tuples of the left side without a partner within the window, or,
    `at`, among the rows that hold when it ends."""

    window: str
    ident: str
    left: Node
    right: Node
    at: bool = False
    near: Near | None = None
    keep_right: tuple[RelevanceBound, ...] = ()

    @property
    def schema(self) -> RelationSchema:
        return self.left.schema


UNTIL = "until"  # the third time of a row: when another one with its key ended


@dataclass(frozen=True)
class Rows:
    """Matches of rows, each with the time `until` which it holds: the end of the next of the versions that has the same
    key. The key are the variables of the versions."""

    left: Node
    versions: Node

    @property
    def schema(self) -> RelationSchema:
        return self.left.schema

    @property
    def ident(self) -> str:
        return self.left.schema.times[0]


@dataclass(frozen=True)
class Merge:
    """µ[[begin, end] ← j1 ⊔ …](input) (Definition 0.3). `begin` and `end` are an identifier and a side: where they are
    given, the interval begins or ends there."""

    events: tuple[str, ...]
    input: Node
    begin: tuple[str, str] | None = None
    end: tuple[str, str] | None = None

    def times(self, side: OneOf["begin", "end"]) -> list[tuple[str, str]]:
        """The times of which the earliest is its begin, or the latest its end."""
        said = self.begin if side == "begin" else self.end
        return [(ident, side) for ident in self.events] if said is None else [said]

    @property
    def schema(self) -> RelationSchema:
        kept = tuple(ident for ident in self.input.schema.times if ident not in self.events)
        return replace(self.input.schema, times=(MERGED, *kept))


@dataclass(frozen=True)
class Rename:
    """ρ[new ← old, …](input) (Definition 0.4): of event identifiers and of variables, each with all it stands for."""

    events: tuple[tuple[str, str], ...]  # (new, old)
    data: tuple[tuple[str, str], ...]
    input: Node

    @cached_property
    def schema(self) -> RelationSchema:
        events, data = ({old: new for new, old in pairs} for pairs in (self.events, self.data))
        of = self.input.schema
        return RelationSchema(
            tuple(events.get(ident, ident) for ident in of.times),
            tuple(events.get(ident, ident) for ident in of.refs),
            tuple(data.get(name, name) for name in of.data),
        )


@dataclass(frozen=True)
class Collected:
    """What one `while … collect` binds; `named`: each of its events counts on its own."""

    ident: str
    named: bool
    binds: frozenset[str]


@dataclass(frozen=True)
class Construct:
    """C^X[head](input): the derived events; groups by references and times, then as the head says.

    `traced` are the events of the rule, each with the variables that it binds: with the times these tell event traces
    apart. `having` are conditions on groups: those that have aggregates in them.
    """

    head: n.Make
    input: Node
    traced: tuple[tuple[str, frozenset[str]], ...] = ()
    collected: tuple[Collected, ...] = ()
    having: tuple[n.Condition, ...] = ()

    @property
    def schema(self) -> RelationSchema:
        return RelationSchema((MERGED,), (), ())

    @property
    def events(self) -> tuple[str, ...]:
        """Whose times the interval of a derived event covers."""
        assert isinstance(self.input, Merge)
        return self.input.events

    @property
    def trace(self) -> frozenset[str]:
        """The variables that the events themselves bind, not what is collected."""
        return frozenset().union(*(binds for _, binds in self.traced))

    @property
    def is_grouped(self) -> bool:
        return bool(self.having) or has_grouping(self.head)

    @property
    def parts(self) -> tuple[n.Make | n.Condition, ...]:
        """All that a group is asked for."""
        return (self.head, *self.having)

    @property
    def outer(self) -> list[str]:
        """The variables outside of `all` and aggregates: one event is made for each binding of them."""
        return list(dict.fromkeys(name for part in self.parts for name in outer_variables(part)))

    def sources(self, term: n.Aggregate) -> list[Collected]:
        """The collections that bind what an aggregate reads; all of them, where it reads no variable."""
        names = frozenset(variables(term.expr))
        return [each for each in self.collected if not names or each.binds & names]

    def counted(self, term: n.Aggregate) -> tuple[list[str], list[str]]:
        """What tells apart what an aggregate counts: variables, and identifiers of collected events."""
        names, sources = sorted(variables(term.expr)), self.sources(term)
        if term.over != "each":
            return names, [each.ident for each in sources if each.named]
        bound = [binds for _, binds in self.traced if not names or not binds.isdisjoint(names)]
        known = frozenset().union(*bound, *(each.binds for each in sources)) - frozenset(names)
        return [*names, *sorted(known)], [each.ident for each in sources]


@dataclass(frozen=True)
class Point:
    """A materialisation point, by its name."""

    name: str
    schema: RelationSchema = field(compare=False)


Part = OneOf["Δ", "◦", "◦∪Δ"]


@dataclass(frozen=True)
class At:
    """A part of a point's tuples: Δ those that end in this step, ◦ those that ended before."""

    part: Part
    input: Point | Match | FixedStream

    @property
    def schema(self) -> RelationSchema:
        return self.input.schema


@dataclass(frozen=True)
class Union:
    inputs: tuple[Node, ...]

    @property
    def schema(self) -> RelationSchema:
        return self.inputs[0].schema


AnyJoin = Join | TemporalJoin | AntiJoin
AnyTimer = TimerStream | FixedStream
Node = (
    Match | TimerStream | FixedStream | Join | Select | Project | TemporalJoin | AntiJoin
    | Merge | Rename | Construct | Point | At | Union | Stamp | Rows
)  # fmt: skip


@dataclass(frozen=True)
class Definition:
    """`name := node`, one of a query plan. `rule` is the number of the rule whose result it is; `since` that of the
    deployment it came with."""

    name: str
    node: Node
    rule: int | None = None
    since: int = 0


@dataclass(frozen=True)
class Plan:
    """⟨M1 := Q1, …⟩, acyclic but for the points of a recursive group (see plan.strata)."""

    definitions: tuple[Definition, ...]

    @cached_property
    def by_name(self) -> dict[str, Definition]:
        return {definition.name: definition for definition in self.definitions}


# Walking -------------------------------------------------------------------------------------------------------------


def inputs(node: Node) -> tuple[Node, ...]:
    if isinstance(node, AnyJoin):
        return node.left, node.right
    if isinstance(node, Rows):
        return node.left, node.versions
    if isinstance(node, Union):
        return node.inputs
    if isinstance(node, Select | Project | Merge | Rename | Construct | At | Stamp):
        return (node.input,)
    return ()


def with_inputs(node: Node, new: tuple[Node, ...]) -> Node:
    """The same operator over other inputs."""
    if isinstance(node, AnyJoin):
        return replace(node, left=new[0], right=new[1])
    if isinstance(node, Rows):
        return replace(node, left=new[0], versions=new[1])
    if isinstance(node, Union):
        return replace(node, inputs=new)
    if isinstance(node, Select | Project | Merge | Rename | Construct | Stamp):
        return replace(node, input=new[0])
    return node


def walk(node: Node) -> Iterator[Node]:
    """The node and all below it, outermost first."""
    yield node
    for below in inputs(node):
        yield from walk(below)


def shared_data(node: AnyJoin) -> list[str]:
    """The variables of both sides of a join."""
    return [name for name in node.left.schema.data if name in node.right.schema.data]


def condition_events(condition: n.Condition) -> frozenset[str]:
    """The event identifiers whose times a condition reads."""
    if isinstance(condition, n.Temporal):
        return frozenset(condition.events)
    if isinstance(condition, n.Data | n.Combined):
        return frozenset()
    return frozenset().union(*map(condition_events, condition.parts))


def _union(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(left + right))
