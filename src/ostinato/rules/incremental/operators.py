"""A query plan as points and delta queries: each operator of CERA as instructions, in the differences of Figure 11.

ΔL ⋈ (◦∪Δ)R ∪ ◦L ⋈ ΔR are two delta queries. Each sees of the other side what the one from there has seen already, so
that every pair is found by one of them, in whatever order tuples come. So recursion needs no rounds over whole steps:
what is derived drives the delta queries that read it, until nothing is new (semi-naive evaluation).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.time_relations import TIMERS, absolute_nanoseconds
from ostinato.rules.incremental.codes import FLOAT, code_kind, constant_code
from ostinato.rules.incremental.delta_query import Columns, ConstantTest, DeltaQuery, Operand, PointPlan, Way
from ostinato.rules.incremental.event_rows import BEGIN, END, REFERENCE, TERM_COLUMN, live_term_reader
from ostinato.rules.incremental.expressions import Expressions
from ostinato.rules.incremental.host_expressions import compile_value
from ostinato.rules.incremental.host_values import HostValues, NeedsHostError
from ostinato.rules.incremental.matches import (
    TermMatches,
    derived_columns,
    derived_reader,
    incoming_columns,
    is_flat,
    match_flat,
    reads_fields,
)
from ostinato.rules.incremental.pattern_deltas import write_pattern
from ostinato.rules.incremental.table_rows import RowPlanner
from ostinato.rules.kernels import layout as k
from ostinato.rules.relational.constant_comparisons import as_constant_comparison
from ostinato.rules.relational.kinds import TERM, Kind
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.nodes import Combined, Condition, Data, Formula, RelativeTimer

_TESTS = {"=": k.EQUAL, "<": k.BELOW, "<=": k.UP_TO, ">": k.ABOVE, ">=": k.FROM}


class DeltaPlanner(RowPlanner):
    """Writes the delta queries of definitions."""

    def definition(self, definition: cera.Definition) -> None:
        """Write the delta queries of a definition."""
        name, node = definition.name, definition.node
        assert not isinstance(node, cera.Construct)
        point = self.define(name, node)
        if isinstance(node, cera.Match):
            self._match(point, node)
        elif isinstance(node, cera.Rows):
            self.write_rows(point, node)
        elif isinstance(node, cera.FixedStream):
            self.fixed.append((point, *self._moments(node)))
        else:
            for delta, columns in self.drive(node):
                self.emit(delta, point, [columns[each].slot for each in point.columns])

    # Matches

    def _match(self, point: PointPlan, node: cera.Match) -> None:
        found = self.types.match_plans[point.name]
        attributes = self.types.attributes[node.stream]
        name = cera.stream_label(node.stream)
        if name is None:
            if isinstance(node.stream, cera.CelStream) and node.stream.labels and node.stream not in self.sources:
                write_pattern(self, node.stream)
            self._match_derived(point, node, self.source_point(node.stream), attributes.types)
            return
        label, incoming = self.events.label(name), self.events.incoming
        hidden: frozenset[str] = frozenset()
        if isinstance(node.stream, cera.TableStream):
            hidden = frozenset(incoming.types.keys() - self.types.read_of_rows(name, incoming).keys())
            if name in self.types.given:
                given = self.types.given[name].types
                self._match_derived(point, node, self.source_point(node.stream, given), given)
        if is_flat(found) or self.is_told_apart(found):
            delta = self.delta(self.incoming)
            delta.label = label
            read = incoming_columns(self.events, delta, hidden)
            slots = match_flat(delta, found, read, delta.column(BEGIN), delta.column(END))
            if found.named:
                self.events.count(label)
                slots.append(delta.compute(k.SERIAL, slots[0]))
            self.emit(delta, point, slots)
        else:
            self.events.readers.setdefault(label, live_term_reader(name, attributes, incoming.types, incoming.columns))
            if found.referenced:
                self.events.referenced.add(label)
            delta = self.delta(self.incoming)
            delta.label = label
            terms = self.scratch(("begin", "end", "#term", "#reference"), (pa.int64(), pa.int64(), TERM, TERM))
            self.emit(delta, terms, [delta.column(each) for each in (BEGIN, END, TERM_COLUMN, REFERENCE)])
            self.host(TermMatches(point, found, self.interned, None, found.referenced, hidden), terms)
        if name in self.types.derived:
            derived = self.types.derived[name]
            self._match_derived(point, node, self.derived_point(name), derived)

    def _match_derived(self, point: PointPlan, node: cera.Match, source: PointPlan, kinds: Mapping[str, Kind]) -> None:
        found = self.types.match_plans[point.name]
        delta = self.delta(source)
        if is_flat(found) and not reads_fields(node, found):
            trial = Expressions(replace(delta, code=[]), lambda name: Operand(TERM))
            read = derived_columns(kinds, delta, Expressions(delta, trial.variable).cast)
            if all(
                path[0] not in kinds or trial.cast(Operand(kinds[path[0]], 0), found.type_at(path))
                for path in found.flat.paths  # type: ignore[union-attr]
            ):
                self.emit(delta, point, match_flat(delta, found, read, delta.column(0), delta.column(1)))
                return
        attributes = self.types.attributes[node.stream]
        read_term = derived_reader(node.term.label, attributes, kinds, self.interned)
        delta.host = TermMatches(point, found, self.interned, read_term, found.referenced)

    # Operators

    def drive(self, node: cera.Node) -> list[Way]:
        """The delta queries that find what a step adds to a node."""
        if isinstance(node, cera.Point):
            delta = self.delta(self.by_name[node.name])
            names = self.generator.columns(node)
            return [(delta, {name: self._loaded(delta, place, name) for place, name in enumerate(names)})]
        if isinstance(node, cera.Rename):
            new = dict(zip(self.generator.columns(node.input), self.generator.columns(node), strict=True))
            return [
                (delta, {new[name]: each for name, each in columns.items()})
                for delta, columns in self.drive(node.input)
            ]
        if isinstance(node, cera.Join) and not isinstance(node.right, cera.AnyTimer):
            return self._join(node)
        (below,) = cera.inputs(node)[:1]
        return [self.over(node, way) for way in self.drive(below)]

    def over(self, node: cera.Node, way: Way) -> Way:
        """An operator on what a delta query finds below it on its left."""
        if isinstance(node, cera.Select):
            return self._select(node, way)
        if isinstance(node, cera.Project):
            return way[0], {name: way[1][name] for name in self.generator.columns(node)}
        if isinstance(node, cera.Stamp):
            return self._stamp(node, way)
        if isinstance(node, cera.Join):
            return self._timer(node, way)
        if isinstance(node, cera.TemporalJoin):
            return self.look_up_rows(node, way) if node.at else self._collect(node, way)
        assert isinstance(node, cera.AntiJoin)
        return self.negate_rows(node, way) if node.at else self._negate(node, way)

    def _loaded(self, delta: DeltaQuery, place: int, name: str) -> Operand:
        return Operand(delta.source.kinds[place], load=lambda: delta.column(place))

    def _join(self, node: cera.Join) -> list[Way]:
        (left, have), (right, others) = self.drive(node.left)[0], self.drive(node.right)[0]
        near = node.near
        mine = theirs = low = high = low_back = high_back = None
        if near is not None:
            mine, theirs = near.left, near.right
            low, high = self.generator.ticks(near.low), self.generator.ticks(near.high)
            low_back, high_back = -high, -low
        to_right = self.look_up(node, left, have, node.right, mine, theirs, low, high)
        to_left = self.look_up(node, right, others, node.left, theirs, mine, low_back, high_back)
        left.code[-1][-1].limit, right.code[-1][-1].limit = right, left
        return [(left, {**to_right, **self.kept(node, have)}), (right, {**others, **self.kept(node, to_left)})]

    def _timer(self, node: cera.Join, way: Way) -> Way:
        delta, columns = way
        names = self.generator.names
        if isinstance(node.right, cera.FixedStream):
            ident = node.right.timer.ident
            slots = [self.frame.constant(moment) for moment in self._moments(node.right)]
        else:
            assert isinstance(node.right, cera.TimerStream)
            timer: RelativeTimer = node.right.timer
            ident, amount = timer.ident, self.generator.exact_ticks(timer)
            slots = [
                delta.plus(columns[names.time(timer.anchor, of)].slot, sign * amount) for of, sign in TIMERS[timer.kind]
            ]
            if "shorten" in timer.kind:
                delta.add(k.TEST, delta.compute(k.LE_I, *slots))
        times = {
            names.time(ident, side): Operand(pa.int64(), slot)
            for side, slot in zip(("begin", "end"), slots, strict=True)
        }
        return delta, {**columns, **times}

    def _stamp(self, node: cera.Stamp, way: Way) -> Way:
        """Ticks as times in the type of the stream."""
        delta, columns = way
        names, kind = self.generator.names, self.types.moment
        stamped = {}
        for side, ident in node.times:
            tick = Operand(pa.int64(), columns[names.time(ident, side)].slot)
            slot = self.expressions(way).moment(tick, kind, self.generator.ticks_per_second)
            stamped[names.variable(n.time_variable(side, ident))] = slot
        return delta, {**columns, **stamped}

    def _moments(self, node: cera.FixedStream) -> tuple[int, int]:
        begin, end = (self.generator.ticks(absolute_nanoseconds(at)) for at in (node.timer.begin, node.timer.end))
        return begin, end

    def _window(self, node: cera.TemporalJoin | cera.AntiJoin, columns: Columns) -> tuple[int, int]:
        begin, end = (columns[self.generator.names.time(node.window, side)].slot for side in ("begin", "end"))
        return begin, end

    def _collect(self, node: cera.TemporalJoin, way: Way) -> Way:
        delta, columns = way
        names = self.generator.names
        end = node.ident, "end"
        found = self.look_up(node, delta, columns, node.right, None, end, None, None)
        begin, last = self._window(node, columns)
        delta.code[-1][4:6] = [begin, last]  # it ends in the window, and begins there
        delta.add(k.TEST, delta.compute(k.GE_I, found[names.time(node.ident, "begin")].slot, begin))
        if (moving := self._moving(node.right)) is not None:
            delta.redone_for.append(moving)
        return delta, {**found, **self.kept(node, columns)}

    def _moving(self, node: cera.Node) -> PointPlan | None:
        point = self.partner(node)[0]
        return point if point.name in self.moving else None

    def _negate(self, node: cera.AntiJoin, way: Way) -> Way:
        delta, columns = way
        point, names, kinds = self.partner(node.right)
        keys, slots = self.keys(cera.shared_data(node), delta, columns, names, kinds)
        begin, end = self._window(node, columns)
        index = point.index(keys, names.index(self.generator.names.time(node.ident, "end")))
        begins = names.index(self.generator.names.time(node.ident, "begin"))
        delta.add(k.ABSENT, point, index, slots, begin, end, begin, begins)
        return way

    # Conditions

    def _select(self, node: cera.Select, way: Way) -> Way:
        kinds = self.types.kinds_of(node.input)
        tests = [self._constant_test(way, condition, kinds) for condition in node.conditions]
        left = [condition for condition, test in zip(node.conditions, tests, strict=True) if test is None]
        way[0].add_tests([test for test in tests if test is not None])
        way, known = self._computed(way, left, kinds)
        delta, columns = way
        expressions = self.expressions(way)
        time = self.time_slots(columns)
        for condition in left:
            delta.add(k.TEST, expressions.where(condition, time, self.generator.ticks, known).slot)
        return way

    def time_slots(self, columns: Columns) -> Callable[[str, str], int]:
        return lambda ident, side: columns[self.generator.names.time(ident, side)].slot

    def expressions(self, way: Way) -> Expressions:
        delta, columns = way
        return Expressions(delta, lambda name: columns[self.generator.names.variable(name)])

    def _constant_test(self, way: Way, condition: Condition, kinds: Mapping[str, Kind]) -> ConstantTest | None:
        """A comparison with a constant of a column of the driving tuple: an index finds who passes it."""
        test = as_constant_comparison(condition, kinds)
        if test is None or test.op not in _TESTS or not way[0].is_straight:
            return None
        delta, columns = way
        operand = columns[self.generator.names.variable(test.name)]
        column = delta.source_column(operand.slot)
        if column is None or (isinstance(test.value, str) and test.op != "="):
            return None
        code = constant_code(test.value, operand.coded, self.interned)
        return None if code is None else ConstantTest(column, _TESTS[test.op], code, operand.coded == FLOAT)

    def _computed(
        self, way: Way, conditions: Sequence[Condition], kinds: Mapping[str, Kind]
    ) -> tuple[Way, dict[int, Operand]]:
        """Conditions on data that Python has to compute, by their identity."""
        trial = self.expressions((replace(way[0], code=[]), way[1]))
        data = [each for condition in conditions for each in data_conditions(condition)]
        hard = [each for each in data if trial.condition(each.expr) is None]
        if not hard:
            return way, {}
        way, made = self.computed(way, [(compile_value(each.expr, kinds), pa.bool_()) for each in hard], kinds)
        return way, {id(each): operand for each, operand in zip(hard, made, strict=True)}

    def computed(
        self,
        way: Way,
        functions: Sequence[tuple[Callable[[dict[str, object]], object], Kind]],
        kinds: Mapping[str, Kind],
        read: frozenset[str] | None = None,
    ) -> tuple[Way, list[Operand]]:
        """Values that Python computes for each tuple. The delta query ends before it, and another one goes on."""
        if self.in_group:
            raise NeedsHostError
        delta, columns = way
        names = list(columns)
        variable = {self.generator.names.variable(name): name for name in kinds if read is None or name in read}
        inputs = [(variable.get(name, ""), columns[name].kind) for name in names]
        before = self.scratch(names, [columns[name].kind for name in names])
        self.emit(delta, before, [columns[name].slot for name in names])
        after = self.scratch(
            [*names, *(f"#{place}" for place in range(len(functions)))],
            [*before.kinds, *(kind for _, kind in functions)],
        )
        coded = [(function, code_kind(kind)) for function, kind in functions]
        self.host(HostValues(after, inputs, coded, self.interned), before)
        delta = self.delta(after)
        loaded = [self._loaded(delta, place, name) for place, name in enumerate(after.columns)]
        return (delta, dict(zip(names, loaded, strict=False))), loaded[len(names) :]


def data_conditions(condition: Condition) -> list[Data | Combined]:
    """What a condition says of values."""
    if isinstance(condition, Data | Combined):
        return [condition]
    return (
        [each for part in condition.parts for each in data_conditions(part)] if isinstance(condition, Formula) else []
    )
