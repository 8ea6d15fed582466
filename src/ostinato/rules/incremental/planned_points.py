"""The points of a query plan, and the delta queries between them, as they are written one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.incremental.delta_query import DeltaQuery, Frame, Host, PointPlan
from ostinato.rules.incremental.event_rows import EventRows
from ostinato.rules.incremental.expressions import extreme
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.incremental.live_patterns import LivePatterns
from ostinato.rules.kernels import layout as k
from ostinato.rules.relational.kinds import REF, Kind
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.sql_program import SqlProgram


@dataclass(eq=False)
class PointPlanner:
    """The points and delta queries of a program, and of what is deployed later, as far as they are written."""

    events: EventRows
    interned: Interned
    max_rounds: int
    patterns: LivePatterns
    points: list[PointPlan] = field(default_factory=list)
    deltas: list[DeltaQuery] = field(default_factory=list)
    fixed: list[tuple[PointPlan, int, int]] = field(default_factory=list)  # tuples that are there from the start
    rounds: dict[PointPlan, int] = field(default_factory=dict)  # the most that a recursion may take

    def __post_init__(self) -> None:
        self.frame = Frame(self.interned)
        self.incoming = PointPlan("", (), ())
        self.points.append(self.incoming)
        self.by_name: dict[str, PointPlan] = {}
        self.derived: dict[str, PointPlan] = {}
        self.sources: dict[cera.Stream, PointPlan] = {}
        self.in_group = False  # whether delta queries are written inside of a group, where no Python can run
        self.place = self.since = 0
        self.moving: frozenset[str] = frozenset()

    def begin_program(self, program: SqlProgram) -> None:
        """What is written next are definitions of this program."""
        self.program, self.generator, self.types = program, program.generator, program.plan_types

    def begin(self, definition: cera.Definition, moving: frozenset[str]) -> None:
        """What is written next is for a definition. `moving` are the points that its recursion adds to."""
        self.place, self.since, self.moving = self.place + 1, definition.since, moving

    # Points

    def define(self, name: str, node: cera.Node) -> PointPlan:
        names, relevance = self.generator.columns(node), self.program.plan.relevance[name]
        kinds = {self.generator.names.variable(each): kind for each, kind in self.types.kinds[name].items()}
        kinds |= self._references(name, node)
        places = {each: place for place, each in enumerate(names)}
        bounds = [bound for use in relevance.uses for bound in use.bounds]
        point = PointPlan(
            name,
            tuple(names),
            tuple(kinds.get(each, pa.int64()) for each in names),
            k.STORED if relevance.uses else k.TRANSIENT,
            relevance.waits,
            tuple(places[self.generator.names.time(ident, "end")] for ident in node.schema.times),
            tuple(tuple(self._until(time, most, places) for time, most in bound.until) for bound in bounds),
            any(not bound.until for bound in bounds),
            places[self.generator.names.time(node.ident, cera.UNTIL)] if isinstance(node, cera.Rows) else -1,
            self.since,
        )
        self.by_name[name] = point
        self.points.append(point)
        return point

    def _references(self, name: str, node: cera.Node) -> dict[str, Kind]:
        """What the references of collected events are: numbers that kernels give, or digests where Python matches."""
        if isinstance(node, cera.Match):
            kind = pa.int64() if self.is_told_apart(self.types.match_plans[name]) else pa.string()
            return {self.generator.names.time(node.ident, REF): kind}
        if isinstance(node, cera.Point):
            point = self.by_name[node.name]
            found = zip(self.generator.columns(node), point.kinds, strict=True)
            return {each: kind for each, kind in found if each.endswith(f".{REF}")}
        below = [self._references(name, each) for each in cera.inputs(node)]
        if isinstance(node, cera.Rename):
            old, new = self.generator.columns(node.input), self.generator.columns(node)
            return {after: below[0][before] for before, after in zip(old, new, strict=True) if before in below[0]}
        return {each: kind for found in below for each, kind in found.items()}

    def is_told_apart(self, found: MatchPlan) -> bool:
        """Whether kernels can tell the events of a match apart. One that is derived may equal one that comes in."""
        stream = found.match.stream
        return found.flat is not None and isinstance(stream, str) and stream not in self.types.derived

    def _until(self, time: tuple[str, str] | None, offset: int, places: dict[str, int]) -> tuple[int, int]:
        ticks = -self.generator.ticks(-offset)
        return (-1, ticks) if time is None else (places[self.generator.names.time(*time)], ticks)

    def scratch(self, names: Sequence[str], kinds: Sequence[Kind]) -> PointPlan:
        """A point for what goes to Python, or comes from it."""
        point = PointPlan(f"#{len(self.points)}", tuple(names), tuple(kinds), since=self.since)
        self.points.append(point)
        return point

    def source_point(self, stream: cera.Stream, known: Mapping[str, Kind] | None = None) -> PointPlan:
        """What neither comes in as events nor is derived. `known` are its attributes, where others may come in."""
        if stream not in self.sources:
            kinds = self.types.attributes[stream].types if known is None else known
            point = self.scratch(("begin", "end", *kinds), (pa.int64(), pa.int64(), *kinds.values()))
            if not (isinstance(stream, cera.CelStream) and stream.labels):
                point.waits, point.ends = True, (1,)  # each until the step that it ends in
            self.sources[stream] = point
        return self.sources[stream]

    def derived_point(self, label: str) -> PointPlan:
        """The events of a label that rules derive."""
        if label not in self.derived:
            kinds = self.types.derived[label]
            columns = ("begin", "end", *kinds)
            coded = pa.int64(), pa.int64(), *kinds.values()
            point = PointPlan(label, columns, coded, k.DERIVED, since=self.since)
            self.derived[label] = point
            self.points.append(point)
        return self.derived[label]

    def delta(self, source: PointPlan) -> DeltaQuery:
        made = DeltaQuery(self.frame, source, (self.place, len(self.deltas)), self.since)
        self.deltas.append(made)
        return made

    def emit(self, delta: DeltaQuery, point: PointPlan, slots: Sequence[int]) -> None:
        end = extreme(delta, k.GREATEST, [slots[place] for place in point.ends]) if point.waits else -1
        delta.add(k.EMIT, point, list(slots), end)

    def host(self, host: Host, source: PointPlan) -> DeltaQuery:
        delta = self.delta(source)
        delta.host = host
        return delta
