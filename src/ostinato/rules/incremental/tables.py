"""Points and delta queries as the tables that kernels read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit.array_struct import StructList
from ostinato.rules.incremental.delta_query import SCRATCH, ConstantTest, DeltaQuery, LookUp, PointPlan
from ostinato.rules.incremental.dispatch_index import DispatchIndex, switch_of
from ostinato.rules.incremental.heads import GroupPlan
from ostinato.rules.incremental.kept_windows import aggregate_words, make_windows
from ostinato.rules.incremental.kernel_tables import KernelList, KernelTable
from ostinato.rules.incremental.operators import DeltaPlanner
from ostinato.rules.kernels import layout as k
from ostinato.rules.kernels.exact_moments import SQUARE_WORDS
from ostinato.rules.kernels.exact_sums import SUM_WORDS

_ROWS = 16  # of an empty point
_TEST_OPS = {k.EQUAL: k.EQ_I, k.ABOVE: k.GT_I, k.FROM: k.GE_I, k.BELOW: k.LT_I, k.UP_TO: k.LE_I}


def make_point(plan: PointPlan, rows: int = _ROWS) -> k.Point:
    """A point without tuples."""
    indexes, width = max(1, len(plan.indexes)), len(plan.columns)
    keys, until = KernelTable(2), KernelTable(2)
    specs, uses = [], []
    for columns, time in plan.indexes:
        specs.append((len(keys), len(keys) + len(columns), time))
        keys.extend(columns)
    for bounds in plan.uses:
        uses.append((len(until), len(until) + len(bounds)))
        until.extend(bounds)
    marks = _zeros(k.POINT_WORDS)
    marks[k.KIND], marks[k.FREE], marks[k.UNBOUNDED] = plan.retention, -1, plan.unbounded
    return k.Point(
        rows=_zeros(rows, width),
        links=_zeros(indexes, rows),
        hashes=_zeros(indexes, rows),
        tails=np.full((indexes, 4 * rows), -1, np.int64),
        specs=KernelTable(3, specs).table,
        keys=keys.table,
        pending=_zeros(_ROWS if plan.waits else 0, width + 2),
        ends=KernelList(plan.ends or (0,)).array,
        uses=KernelTable(2, uses).table,
        until=until.table,
        marks=marks,
    )


class Linker:
    """Gives points and delta queries their numbers, and writes the tables; more may come, and others go."""

    def __init__(self, planner: DeltaPlanner) -> None:
        self.planner = planner
        self.deltas: list[DeltaQuery] = []  # by number, those included that are gone
        self.straight: dict[PointPlan, list[DeltaQuery]] = {}
        self.by_label: dict[int, list[DeltaQuery]] = {}  # of the straight delta queries that events drive
        self.dispatchers: dict[PointPlan, DeltaQuery] = {}
        self.driving: dict[
            PointPlan, list[int]
        ] = {}  # the delta queries that each point drives, as ProgramState.driven has them
        self.code, self.loads, self.delta_table = KernelTable(k.OPERANDS), KernelTable(2), KernelTable(k.DELTA_FIELDS)
        self.aggregates, self.slots = KernelTable(k.AGGREGATE_FIELDS), KernelList(range(1, SCRATCH))
        self.columns, self.driven, self.index = KernelList(), KernelList(), DispatchIndex()
        self.windows: list[k.Windows] = []
        self.state = self._empty()
        self.extend()

    def _empty(self) -> k.ProgramState:
        marks = _zeros(k.WORDS)
        marks[k.DELTA], marks[k.NOW], marks[k.FINAL], marks[k.DONE_NOW] = -1, -(2**62), -(2**62), -(2**62)
        interned = self.planner.interned
        return k.ProgramState.blank(
            null=interned.null,
            stack=_zeros(64),
            due=_zeros(64, 3),
            log=_zeros(64, 2),
            plain_kinds=interned.plain_kinds,
            plains=interned.plains,
            group=_zeros(64, 1),
            sums=_zeros(3, SUM_WORDS + SQUARE_WORDS),
            ranked=_zeros(64),
            distinct=_zeros(256),
            marks=marks,
        )

    # What comes, and what goes

    def extend(self) -> None:
        """Link the points and delta queries that were planned since the last time. They see what is new from now on."""
        planner = self.planner
        planner.incoming.columns = tuple(str(place) for place in range(planner.events.width))
        points = [point for point in planner.points if point.number < 0]
        for number, point in enumerate(points, len(planner.points) - len(points)):
            point.number = number
        deltas = self._number([delta for delta in planner.deltas if delta.number < 0])
        for delta in deltas:
            self.delta_table.append(self._delta(delta))
        for delta in deltas:
            if not delta.is_straight or self.dispatchers.get(delta.source) is delta:
                self.driving.setdefault(delta.source, []).append(delta.number)
            for point in delta.redone_for:
                self.driving.setdefault(point, []).append(~delta.number)
        self._write(points)
        self._connect({delta.source for delta in deltas} | {point for delta in deltas for point in delta.redone_for})
        self._dispatch(deltas)
        self._write_tables(deltas)
        for delta in deltas:
            self.state.deltas[delta.number, k.DONE] = self.state.points[delta.source.number].marks[k.COUNT]

    @property
    def is_worn(self) -> bool:
        """Whether most of what the tables have is gone."""
        live = len(self.planner.deltas)
        return len(self.deltas) > 3 * live + 1_000 or len(self.index) > 10 * live + 10_000

    def drop(self, since: int) -> bool:
        """Unlink the points and delta queries of a deployment; gives whether any of the points had timers."""
        planner = self.planner
        points = [point for point in planner.points if point.since == since]
        deltas = [delta for delta in self.deltas if delta.since == since]
        gone, dead = set(points), set(deltas)
        planner.deltas[:] = [delta for delta in planner.deltas if delta not in dead]
        for name in [name for name, point in planner.by_name.items() if point in gone]:
            del planner.by_name[name]
        for label in [label for label, point in planner.derived.items() if point in gone]:
            del planner.derived[label]
        for point in points:
            empty = make_point(point, 1)
            self.state.points[point.number].update(**{name: getattr(empty, name) for name in k.Point.PLACED})
            empty.marks[k.KIND] = k.TRANSIENT
            for table in (self.straight, self.dispatchers, self.driving, planner.rounds):
                table.pop(point, None)
            point.since = -1
        sources = {delta.source for delta in deltas} - gone
        numbers = {delta.number for delta in deltas}
        for point in sources:
            self.straight[point] = [delta for delta in self.straight.get(point, ()) if delta not in dead]
            self.driving[point] = [each for each in self.driving.get(point, ()) if max(each, ~each) not in numbers]
        self._connect(sources)
        for number in {delta.label for delta in deltas if delta.label}:
            self.by_label[number] = [delta for delta in self.by_label[number] if delta not in dead]
            if not self.by_label[number]:
                planner.events.drop_label(number)
        self._dispatch(deltas)
        for delta in deltas:
            delta.since = -1
        self._write_tables(())
        return any(point.waits for point in points)

    def _number(self, made: list[DeltaQuery]) -> list[DeltaQuery]:
        """The delta queries that are new in the order of the plan. The straight ones of a point are run by one of their
        own, which comes after all that add to the point."""
        places = dict.fromkeys((delta.source for delta in made), (-1, 0))
        for delta in made:
            for target in _targets(delta):
                places[target] = max(places.get(target, (-1, 0)), delta.place)
        dispatchers = []
        for delta in made:
            if not delta.is_straight:
                continue
            self.straight.setdefault(delta.source, []).append(delta)
            if delta.source is self.planner.incoming:
                self.by_label.setdefault(delta.label, []).append(delta)
            if delta.source not in self.dispatchers:
                made_for = DeltaQuery(self.planner.frame, delta.source, places[delta.source], delta.source.since)
                self.dispatchers[delta.source] = made_for
                dispatchers.append(made_for)
        ordered = sorted(
            [(delta.place, 0, delta) for delta in made] + [(delta.place, 1, delta) for delta in dispatchers],
            key=lambda each: each[:2],
        )
        deltas = [delta for _, _, delta in ordered]
        for number, delta in enumerate(deltas, len(self.deltas)):
            delta.number = number
        self.deltas += deltas
        return deltas

    def _write(self, points: list[PointPlan]) -> None:
        """The points that are new; and room for wider events."""
        state = self.state
        made = StructList((*state.points, *map(make_point, points)))
        events, width = made[0], self.planner.events.width
        if events.rows.shape[1] < width:
            wider = np.full((len(events.rows), width), state.null)
            wider[:, : events.rows.shape[1]] = events.rows
            events.update(rows=wider)
        more = _zeros(len(points))
        ranges = np.concatenate([state.driven_ranges.reshape(-1, 2), _zeros(len(points), 2)])
        state.update(
            points=made,
            driven_ranges=ranges,
            touched=np.concatenate([state.touched, more]),
            dirty=np.concatenate([state.dirty, more]),
            label_nodes=np.concatenate(
                [state.label_nodes, _zeros(self.planner.events.last_label + 1 - len(state.label_nodes))]
            ),
        )

    def _connect(self, points: Iterable[PointPlan]) -> None:
        """Say which delta queries these points drive."""
        for point in points:
            self.state.driven_ranges[point.number] = self.driven.extend(self.driving.get(point, ()))

    def _dispatch(self, deltas: Iterable[DeltaQuery]) -> None:
        """Say which straight delta queries concern tuples of the points that drive these."""
        incoming = self.planner.incoming
        table = self.delta_table.table
        self.state.update(deltas=table)
        for label in {delta.label for delta in deltas if delta.label}:
            self.state.label_nodes[label] = self.index.node(self.by_label[label])
        for point in {delta.source: None for delta in deltas if delta.source in self.dispatchers}:
            if point is not incoming:
                table[self.dispatchers[point].number, k.NODE] = self.index.node(self.straight.get(point, ()))

    def _write_tables(self, deltas: Iterable[DeltaQuery]) -> None:
        frame, state = self.planner.frame, self.state
        code = self.code.table
        groups = [len(each[1]) for delta in deltas for each in delta.code if each[0] == k.ACCUMULATE]
        width = max([state.group.shape[1], *groups])
        state.update(
            frame=np.concatenate([state.frame, frame.codes(len(state.frame), state.null)]),
            code=code,
            loads=self.loads.table,
            slots=self.slots.array,
            loops=_zeros(max(1, len(code)), 2),
            deltas=self.delta_table.table,
            driven=self.driven.array,
            **self.index.tables(),
            aggregates=self.aggregates.table,
            columns=self.columns.array,
            queue=_zeros(len(self.deltas) + 1),
            windows=StructList(self.windows),
        )
        if width > state.group.shape[1]:
            state.update(group=_zeros(len(state.group), width))

    # Delta queries

    def _delta(self, delta: DeltaQuery) -> list[int]:
        dispatches = self.dispatchers.get(delta.source) is delta
        kind = k.DISPATCH if dispatches else k.HOST_DELTA if delta.host is not None else k.BATCH
        first = len(self.code)
        if kind == k.BATCH:
            if delta.is_straight:
                switch = switch_of(delta)
                tests = [test for test in delta.tests if test is not switch]
            else:
                tests = delta.tests
            body = [*(each for test in tests for each in _test_code(delta, test)), *delta.code]
            shift = len(body) - len(delta.code)
            for each in body:
                made = self._instruction(each, first + shift)
                self.code.append([*made, *[0] * (k.OPERANDS - len(made))])
        loads = len(self.loads)
        self.loads.extend((slot, column) for column, slot in delta.loads.items())
        rounds = self.planner.rounds.get(delta.source, 0) if dispatches else 0
        return [
            delta.source.number, kind, first, len(self.code), loads, len(self.loads), 0, 0, 0, rounds, 0, 0
        ]  # fmt: skip

    def _instruction(self, each: list[Any], first: int) -> list[int]:
        op = each[0]
        if op == k.LOOKUP:
            _, point, index, slots, low, high, found = each
            assert isinstance(found, LookUp)
            loads = len(self.loads)
            self.loads.extend((slot, column) for column, slot in found.loads.items())
            limit = found.limit.number if found.limit is not None else -1
            return [op, point.number, index, *self.slots.extend(slots), low, high, limit, loads, len(self.loads)]
        if op in (k.ABSENT, k.CLOSE):
            _, point, index, slots, low, high, begin, column = each
            return [op, point.number, index, *self.slots.extend(slots), low, high, -1, begin, column]
        if op == k.EMIT:
            _, point, slots, end = each
            return [op, point.number, *self.slots.extend(slots), end]
        if op == k.ACCUMULATE:
            return [op, *self.slots.extend(each[1])]
        if op == k.GROUP:
            group = each[1]
            assert isinstance(group, GroupPlan)
            begin, window = len(self.aggregates), group.window
            words = k.KEY_VALUES + (window.keys if window is not None else 0)
            for name, value, floating, distinct, order, slot in group.aggregates:
                lists = *self.columns.extend(distinct), *self.columns.extend(order)
                self.aggregates.append([name, value, floating, *lists, slot, words])
                words += aggregate_words(name, floating)
            made = [op, first + group.after, begin, len(self.aggregates)]
            if window is None:
                return [*made, -1]
            names, distinct = [each[0] for each in group.aggregates], max(len(each[3]) for each in group.aggregates)
            self.windows.append(make_windows(window.begin, len(group.columns), words, names, distinct))
            return [*made, len(self.windows) - 1, window.start, window.low, window.high]
        return each


def _zeros(*shape: int) -> Int64:
    return np.zeros(shape, np.int64)


def _targets(delta: DeltaQuery) -> list[PointPlan]:
    if delta.host is not None:
        return [delta.host.target]
    return [each[1] for each in delta.code if each[0] == k.EMIT]


def _test_code(delta: DeltaQuery, test: ConstantTest) -> list[list[Any]]:
    op = _TEST_OPS[test.kind] + (k.EQ_F - k.EQ_I if test.floating else 0)
    slot = delta.frame.slot()
    return [[op, slot, delta.column(test.column), delta.frame.constant(test.code)], [k.TEST, slot]]
