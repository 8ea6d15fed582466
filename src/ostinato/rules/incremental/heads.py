"""C^X[h]: the delta queries that make derived events.

An aggregate goes over what a trace collects: its rows are found one after another by the delta query that has the
trace, so kernels aggregate where they look up. Lists, elements, texts in order and groups across tuples are made in
Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.incremental.codes import FLOAT, MOMENT, NOTHING, TRUTH, WHOLE, code_kind, decode_value, encode_value
from ostinato.rules.incremental.delta_query import Columns, DeltaQuery, Host, Operand, PointPlan, Way
from ostinato.rules.incremental.expressions import Expressions, extreme
from ostinato.rules.incremental.head_values import HeadCompiler, Maker, Row, is_made_in_one
from ostinato.rules.incremental.host_values import NeedsHostError
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.incremental.operators import DeltaPlanner, data_conditions
from ostinato.rules.incremental.sliding_groups import SlidingWindow, sliding_window
from ostinato.rules.kernels import layout as k
from ostinato.rules.relational.head_types import CALCULATING, HeadColumn, aggregate_kind
from ostinato.rules.relational.kinds import REF, TERM, Kind
from ostinato.rules.relational.sql_program import SqlProgram
from ostinato.rules.syntax.grouping import aggregates_in
from ostinato.rules.syntax.nodes import Aggregate, Combined, Condition, ConstructTerm, Make, Value, as_time
from ostinato.rules.syntax.variables import used_variables

_KERNELS = {"count": k.COUNT_ALL, "sum": k.SUM, "avg": k.AVG, "min": k.MIN, "max": k.MAX}
_KERNELS |= {"median": k.MEDIAN, "stddev": k.STDDEV, "first": k.FIRST_OF, "last": k.LAST_OF}


@dataclass(eq=False)
class GroupPlan:
    """What the instructions of a group say, while they are written."""

    outer: frozenset[Operand]  # what all rows have in common
    columns: list[int] = field(default_factory=list)  # the slots of a row
    aggregates: list[list[Any]] = field(default_factory=list)
    after: int = -1
    window: SlidingWindow | None = None

    def column(self, slot: int) -> int:
        if slot not in self.columns:
            self.columns.append(slot)
        return self.columns.index(slot)


class HeadPlanner:
    """Writes the delta queries of one rule."""

    def __init__(self, planner: DeltaPlanner, definition: cera.Definition, node: cera.Construct) -> None:
        assert isinstance(node.input, cera.Merge)
        self.planner, self.node, self.merge = planner, node, node.input
        self.kinds = planner.types.kinds_of(self.merge.input)
        self.made: Sequence[HeadColumn] = planner.types.head_columns[definition.name]
        self.label_kinds = planner.types.derived[node.head.label]
        self.point = planner.derived_point(node.head.label)
        self.names = planner.generator.names
        self._python: PointPlan | None = None

    def write(self) -> None:
        body = self.merge.input
        if not self.node.is_grouped:
            for way in self.planner.drive(body):
                self._plain(way)
            return
        planner = self.planner
        if self._groups_by_trace():
            deltas, points = len(planner.deltas), len(planner.points)
            try:
                self._grouped(body)
                return
            except NeedsHostError:
                del planner.deltas[deltas:], planner.points[points:]
            finally:
                planner.in_group = False
        for way in planner.drive(body):
            self._to_python(way)

    # One derived event for each tuple

    def _plain(self, way: Way) -> None:
        trial = self.planner.expressions((_copy(way[0]), way[1]))
        hard = [part for part in self.made if self._value(trial, part) is None]
        made: dict[str, Operand] = {}
        if hard:
            compiler = self._compiler()
            functions = [(_of_one(compiler.part(part)), self.label_kinds[part.label]) for part in hard]
            way, found = self.planner.computed(way, functions, dict(self.kinds), frozenset(self._read()))
            made = {part.label: operand for part, operand in zip(hard, found, strict=True)}
        expressions = self.planner.expressions(way)
        for part in self.made:
            if part.label not in made:
                value = self._value(expressions, part)
                assert value is not None
                made[part.label] = value
        self._emit(way, made)

    def _value(self, expressions: Expressions, part: HeadColumn) -> Operand | None:
        """The value of a part in the code of its column; None where kernels cannot compute it."""
        term = part.terms[0]
        while isinstance(term, Make) and is_made_in_one(term):
            term = term.children[0]
        if part.many or not isinstance(term, Value):
            return None
        found = expressions.value(term.expr)
        return None if found is None else self._cast(expressions, found, part)

    def _cast(self, expressions: Expressions, value: Operand, part: HeadColumn) -> Operand | None:
        cast = expressions.cast(value, part.kind)
        return None if cast is None else expressions.cast(cast, self.label_kinds[part.label])

    def _emit(self, way: Way, made: Mapping[str, Operand]) -> None:
        delta, columns = way
        begin, end = self._interval(delta, columns)
        missing = delta.frame.constant(None)
        values = [made[label].slot if label in made else missing for label in self.label_kinds]
        self.planner.emit(delta, self.point, [begin, end, *values])

    def _interval(self, delta: DeltaQuery, columns: Columns) -> tuple[int, int]:
        begins, ends = (
            [columns[self.names.time(*time)].slot for time in times]
            for times in (self.merge.times("begin"), self.merge.times("end"))
        )
        return extreme(delta, k.LEAST, begins), extreme(delta, k.GREATEST, ends)

    # Groups that kernels aggregate

    def _groups_by_trace(self) -> bool:
        """Whether a group is what one tuple collects, and its aggregates are numbers."""
        shown = self.planner.generator.columns(self.merge.input)
        collected = {self.names.time(each.ident, REF) for each in self.node.collected}
        outer = {name for name in self.node.outer if as_time(name) is None}
        return (
            bool(self.node.collected)
            and not any(name.endswith(f".{REF}") and name not in collected for name in shown)
            and outer <= self.node.trace
            and all(not part.many and is_made_in_one(part.terms[0]) for part in self.made)
        )

    def _grouped(self, body: cera.Node) -> None:
        planner = self.planner
        above: list[cera.Node] = []
        node = body
        while any(isinstance(each, cera.TemporalJoin) for each in cera.walk(node)):
            above.append(node)
            node = cera.inputs(node)[0]
        for way in planner.drive(node):
            delta, columns = way
            interval = self._interval(delta, columns)
            group = GroupPlan(frozenset(columns.values()))
            planner.in_group = True
            delta.add(k.GROUP, group)
            for each in reversed(above):
                way = planner.over(each, way)
            self._aggregate(way, group, interval)
            planner.in_group = False

    def _aggregate(self, way: Way, group: GroupPlan, interval: tuple[int, int]) -> None:
        delta = way[0]
        expressions = self.planner.expressions(way)
        terms = [each for part in self.node.parts for each in aggregates_in(part)]
        results = {id(term): self._result(expressions, way, group, term) for term in terms}
        delta.add(k.ACCUMULATE, group.columns)
        group.after = len(delta.code)
        for condition in self.node.having:
            self._test(condition, way, results)
        made: dict[str, Operand] = {}
        for part in self.made:
            value = self._after(way, results, _single(part.terms[0]))
            cast = None if value is None else self._cast(expressions, value, part)
            if cast is None:
                raise NeedsHostError
            made[part.label] = cast
        missing = delta.frame.constant(None)
        values = [made[label].slot if label in made else missing for label in self.label_kinds]
        self.planner.emit(delta, self.point, [*interval, *values])
        group.window = sliding_window(delta, group.columns, group.after)

    def _result(self, expressions: Expressions, way: Way, group: GroupPlan, term: Aggregate) -> Operand:
        """The slot that an aggregate is going to be in."""
        _, columns = way
        names, refs = self.node.counted(term)
        value = expressions.value(term.expr)
        if value is not None and term.name in CALCULATING:
            value = expressions.as_family(value, "number")
        plain = value is not None and value.coded in (WHOLE, FLOAT, TRUTH, MOMENT)
        if (
            value is None
            or term.order_by
            or term.name not in _KERNELS
            or not (plain or term.name == "count" or value.coded == NOTHING)
        ):
            raise NeedsHostError
        if term.name in CALCULATING and value.coded not in (WHOLE, FLOAT, NOTHING):
            raise NeedsHostError
        read = [columns[self.names.variable(name)] for name in names]
        distinct = [group.column(each.slot) for each in read if each not in group.outer]
        order: list[int] = []
        if term.name in ("first", "last"):
            idents = [each.ident for each in self.node.sources(term)]
            times = [self.names.time(ident, side) for ident in idents for side in ("end", "begin")]
            order = [group.column(columns[time].slot) for time in times]
        elif term.over == "distinct":
            distinct = [group.column(value.slot)]
        else:
            distinct += [group.column(columns[self.names.time(ident, REF)].slot) for ident in refs]
        slot = expressions.delta.frame.slot()
        spec = [_KERNELS[term.name], group.column(value.slot), int(value.coded == FLOAT), distinct, order, slot]
        group.aggregates.append(spec)
        kind = aggregate_kind(term, self.kinds)
        if term.name == "sum" and value.coded == WHOLE:
            kind = pa.int64()
        return Operand(pa.float64() if kind is TERM and value.coded == FLOAT else kind, slot)

    def _test(self, condition: Condition, way: Way, results: Mapping[int, Operand]) -> None:
        """A condition on the group, once its aggregates are known."""
        known: dict[int, Operand] = {}
        for each in data_conditions(condition):
            value = self._after(way, results, each if isinstance(each, Combined) else Value(each.expr))
            test = self.planner.expressions(way).as_family(value, "boolean")
            if test is None:
                raise NeedsHostError
            known[id(each)] = test
        time, ticks = self.planner.time_slots(way[1]), self.planner.generator.ticks
        way[0].add(k.TEST, self.planner.expressions(way).where(condition, time, ticks, known).slot)

    def _after(self, way: Way, results: Mapping[int, Operand], term: ConstructTerm) -> Operand | None:
        """A value of the head, once its aggregates are known."""
        if isinstance(term, Aggregate):
            return results[id(term)]
        if isinstance(term, Combined):
            of = {name: results[id(each)] for name, each in term.by_variable.items()}
            delta, columns = way
            known = Expressions(delta, lambda name: of[name] if name in of else columns[self.names.variable(name)])
            return known.value(term.expr)
        assert isinstance(term, Value)
        return self.planner.expressions(way).value(term.expr)

    # Groups in Python

    def _compiler(self) -> HeadCompiler:
        return HeadCompiler(self.kinds, self.node, self.names.variable, self.names.time)

    def _read(self) -> set[str]:
        return set().union(*map(used_variables, self.node.parts))

    def _to_python(self, way: Way) -> None:
        delta, columns = way
        planner = self.planner
        begin, end = self._interval(delta, columns)
        names = planner.generator.columns(self.merge.input)
        source = self._source(names, columns)
        planner.emit(delta, source, [begin, end, *(columns[name].slot for name in names)])

    def _source(self, names: Sequence[str], columns: Columns) -> PointPlan:
        """The point that all delta queries of the rule fill, and from which Python makes its events."""
        if self._python is not None:
            return self._python
        planner = self.planner
        kinds = [columns[name].kind for name in names]
        source = planner.scratch(("#begin", "#end", *names), (pa.int64(), pa.int64(), *kinds))
        variable = {self.names.variable(name): name for name in self._read()}
        compiler = self._compiler()
        parts = {part.label: compiler.part(part) for part in self.made}
        makers = [parts.get(label) for label in self.label_kinds]
        having = [compiler.condition(each, planner.generator.ticks) for each in self.node.having]
        keys = [source.columns.index(name) for name in self._keys(names)]
        values = [
            (place, variable[name], source.kinds[place])
            for place, name in enumerate(source.columns)
            if name in variable
        ]
        coded = [code_kind(kind) for kind in self.label_kinds.values()]
        planner.host(HostGroups(self.point, source, keys, values, makers, coded, planner.interned, having), source)
        self._python = source
        return source

    def _keys(self, shown: Sequence[str]) -> list[str]:
        """The trace, then the variables of the head outside of `all`: as relational.head_sql groups."""
        body = self.merge.input
        single = [binds for ident, binds in self.node.traced if self.names.time(ident, REF) not in shown]
        traced: frozenset[str] = frozenset().union(*single)
        names = [name for name in body.schema.data if name in traced]
        names += [name for name in self.node.outer if name not in names]
        collected = {self.names.time(each.ident, REF) for each in self.node.collected}
        refs = [name for name in shown if name.endswith(f".{REF}") and name not in collected]
        times = [self.names.time(ident, side) for ident in body.schema.times for side in ("begin", "end")]
        return [*times, *refs, *map(self.names.variable, names)]


@dataclass(eq=False)
class HostGroups(Host):
    """Makes the events of all groups among the tuples of a step."""

    target: PointPlan
    source: PointPlan
    keys: Sequence[int]
    values: Sequence[tuple[int, str, Kind]]
    makers: Sequence[Maker | None]
    coded: Sequence[str]
    interned: Interned
    having: Sequence[Maker] = ()

    def __call__(self, rows: Int64) -> Int64:
        groups: dict[tuple[int, ...], list[list[int]]] = {}
        for codes in rows.tolist():
            groups.setdefault(tuple([codes[key] for key in self.keys]), []).append(codes)
        out = [event for group in groups.values() for event in self._events(group)]
        return np.array(out, np.int64).reshape(len(out), len(self.target.columns))

    def _events(self, group: list[list[int]]) -> Iterator[list[int]]:
        """One event; none where the group is not as `having` says."""
        names, interned = self.source.columns, self.interned
        rows = [
            Row(
                dict(zip(names, codes, strict=True)),
                {name: decode_value(codes[place], kind, interned) for place, name, kind in self.values},
            )
            for codes in group
        ]
        if not all(test(rows) is True for test in self.having):
            return
        made = [
            interned.null if maker is None else encode_value(maker(rows), coded, interned)
            for maker, coded in zip(self.makers, self.coded, strict=True)
        ]
        yield [group[0][0], group[0][1], *made]


def write_deltas(planner: DeltaPlanner, program: SqlProgram) -> None:
    """Write the points and delta queries of a program, or of a part of it whose types are among those of the whole."""
    planner.begin_program(program)
    for number, group in enumerate(program.plan.groups):
        moving = frozenset(
            definition.name for definition, _ in (program.rounds[number].additions if group.recursive else ())
        )
        for definition in program.definitions_of(number):
            planner.begin(definition, moving)
            if isinstance(definition.node, cera.Construct):
                HeadPlanner(planner, definition, definition.node).write()
            else:
                planner.definition(definition)
        if group.recursive and not program.is_finite(number):
            for label in {rule.head.label for rule in group.rules}:
                planner.rounds[planner.derived_point(label)] = planner.max_rounds


def _of_one(maker: Maker) -> Callable[[dict[str, object]], object]:
    return lambda bindings: maker([Row({}, bindings)])


def _single(term: ConstructTerm) -> ConstructTerm:
    while isinstance(term, Make):
        term = term.children[0]
    return term


def _copy(delta: DeltaQuery) -> DeltaQuery:
    return replace(delta, code=[])
