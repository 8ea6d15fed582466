"""Points and arms as the tables that kernels read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit.array_struct import StructList
from ostinato.rules.incremental.arm_code import SCRATCH, ArmCode, ConstantTest, LookUp, PointPlan
from ostinato.rules.incremental.dispatch_index import DispatchIndex, switch_of
from ostinato.rules.incremental.growing_tables import GrowingList, GrowingTable
from ostinato.rules.incremental.heads import GroupArm
from ostinato.rules.incremental.kept_windows import make_windows
from ostinato.rules.incremental.operators import ArmPlanner
from ostinato.rules.kernels import layout as k
from ostinato.rules.kernels.exact_sums import SUM_WORDS

_ROWS = 16  # of an empty point
_TEST_OPS = {k.EQUAL: k.EQ_I, k.ABOVE: k.GT_I, k.FROM: k.GE_I, k.BELOW: k.LT_I, k.UP_TO: k.LE_I}


def make_point(plan: PointPlan, rows: int = _ROWS) -> k.Point:
    """A point without tuples."""
    indexes, width = max(1, len(plan.indexes)), len(plan.columns)
    keys, until = GrowingTable(2), GrowingTable(2)
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
        specs=GrowingTable(3, specs).table,
        keys=keys.table,
        pending=_zeros(_ROWS if plan.waits else 0, width + 2),
        ends=GrowingList(plan.ends or (0,)).array,
        uses=GrowingTable(2, uses).table,
        until=until.table,
        marks=marks,
    )


class Linker:
    """Gives points and arms their numbers, and writes the tables; more may come, and others go."""

    def __init__(self, planner: ArmPlanner) -> None:
        self.planner = planner
        self.arms: list[ArmCode] = []  # by number, those included that are gone
        self.straight: dict[PointPlan, list[ArmCode]] = {}
        self.by_label: dict[int, list[ArmCode]] = {}  # of the straight arms that events drive
        self.dispatchers: dict[PointPlan, ArmCode] = {}
        self.driving: dict[PointPlan, list[int]] = {}  # the arms that each point drives, as LiveState.driven has them
        self.code, self.loads, self.arm_table = GrowingTable(k.OPERANDS), GrowingTable(2), GrowingTable(k.ARM_FIELDS)
        self.aggregates, self.slots = GrowingTable(8), GrowingList(range(1, SCRATCH))
        self.columns, self.driven, self.index = GrowingList(), GrowingList(), DispatchIndex()
        self.windows: list[k.Windows] = []
        self.state = self._empty()
        self.extend()

    def _empty(self) -> k.LiveState:
        marks = _zeros(k.WORDS)
        marks[k.ARM], marks[k.NOW], marks[k.FINAL], marks[k.DONE_NOW] = -1, -(2**62), -(2**62), -(2**62)
        interned = self.planner.interned
        return k.LiveState.blank(
            stack=_zeros(64),
            due=_zeros(64, 3),
            log=_zeros(64, 2),
            plain_kinds=interned.plain_kinds,
            plains=interned.plains,
            group=_zeros(64, 1),
            sums=_zeros(1, SUM_WORDS),
            distinct=_zeros(256),
            marks=marks,
        )

    # What comes, and what goes

    def extend(self) -> None:
        """Link the points and arms that were planned since the last time. They see what is new from now on."""
        planner = self.planner
        planner.incoming.columns = tuple(str(place) for place in range(planner.events.width))
        points = [point for point in planner.points if point.number < 0]
        for number, point in enumerate(points, len(planner.points) - len(points)):
            point.number = number
        arms = self._number([arm for arm in planner.arms if arm.number < 0])
        for arm in arms:
            self.arm_table.append(self._arm(arm))
        for arm in arms:
            if not arm.is_straight or self.dispatchers.get(arm.source) is arm:
                self.driving.setdefault(arm.source, []).append(arm.number)
            for point in arm.redone_for:
                self.driving.setdefault(point, []).append(~arm.number)
        self._write(points)
        self._connect({arm.source for arm in arms} | {point for arm in arms for point in arm.redone_for})
        self._dispatch(arms)
        self._write_tables(arms)
        for arm in arms:
            self.state.arms[arm.number, k.DONE] = self.state.points[arm.source.number].marks[k.COUNT]

    @property
    def is_worn(self) -> bool:
        """Whether most of what the tables have is gone."""
        live = len(self.planner.arms)
        return len(self.arms) > 3 * live + 1_000 or len(self.index) > 10 * live + 10_000

    def drop(self, since: int) -> bool:
        """Unlink the points and arms of a deployment; gives whether any of the points had timers."""
        planner = self.planner
        points = [point for point in planner.points if point.since == since]
        arms = [arm for arm in self.arms if arm.since == since]
        gone, dead = set(points), set(arms)
        planner.arms[:] = [arm for arm in planner.arms if arm not in dead]
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
        sources = {arm.source for arm in arms} - gone
        numbers = {arm.number for arm in arms}
        for point in sources:
            self.straight[point] = [arm for arm in self.straight.get(point, ()) if arm not in dead]
            self.driving[point] = [each for each in self.driving.get(point, ()) if max(each, ~each) not in numbers]
        self._connect(sources)
        for number in {arm.label for arm in arms if arm.label}:
            self.by_label[number] = [arm for arm in self.by_label[number] if arm not in dead]
            if not self.by_label[number]:
                planner.events.drop_label(number)
        self._dispatch(arms)
        for arm in arms:
            arm.since = -1
        self._write_tables(())
        return any(point.waits for point in points)

    def _number(self, made: list[ArmCode]) -> list[ArmCode]:
        """The arms that are new in the order of the plan. The straight ones of a point are run by one arm, which comes
        after all that add to the point."""
        places = dict.fromkeys((arm.source for arm in made), (-1, 0))
        for arm in made:
            for target in _targets(arm):
                places[target] = max(places.get(target, (-1, 0)), arm.place)
        dispatchers = []
        for arm in made:
            if not arm.is_straight:
                continue
            self.straight.setdefault(arm.source, []).append(arm)
            if arm.source is self.planner.incoming:
                self.by_label.setdefault(arm.label, []).append(arm)
            if arm.source not in self.dispatchers:
                made_for = ArmCode(self.planner.frame, arm.source, places[arm.source], arm.source.since)
                self.dispatchers[arm.source] = made_for
                dispatchers.append(made_for)
        ordered = sorted(
            [(arm.place, 0, arm) for arm in made] + [(arm.place, 1, arm) for arm in dispatchers],
            key=lambda each: each[:2],
        )
        arms = [arm for _, _, arm in ordered]
        for number, arm in enumerate(arms, len(self.arms)):
            arm.number = number
        self.arms += arms
        return arms

    def _write(self, points: list[PointPlan]) -> None:
        """The points that are new; and room for wider events."""
        state = self.state
        made = StructList((*state.points, *map(make_point, points)))
        events, width = made[0], self.planner.events.width
        if events.rows.shape[1] < width:
            wider = np.full((len(events.rows), width), k.NULL)
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
        """Say which arms these points drive."""
        for point in points:
            self.state.driven_ranges[point.number] = self.driven.extend(self.driving.get(point, ()))

    def _dispatch(self, arms: Iterable[ArmCode]) -> None:
        """Say which straight arms concern tuples of the points that drive these arms."""
        incoming = self.planner.incoming
        table = self.arm_table.table
        self.state.update(arms=table)
        for label in {arm.label for arm in arms if arm.label}:
            self.state.label_nodes[label] = self.index.node(self.by_label[label])
        for point in {arm.source: None for arm in arms if arm.source in self.dispatchers}:
            if point is not incoming:
                table[self.dispatchers[point].number, k.NODE] = self.index.node(self.straight.get(point, ()))

    def _write_tables(self, arms: Iterable[ArmCode]) -> None:
        frame, state = self.planner.frame.slots, self.state
        code = self.code.table
        groups = [len(each[1]) for arm in arms for each in arm.code if each[0] == k.ACCUMULATE]
        width = max([state.group.shape[1], *groups])
        state.update(
            frame=np.concatenate([state.frame, np.array(frame[len(state.frame) :], np.int64)]),
            code=code,
            loads=self.loads.table,
            slots=self.slots.array,
            loops=_zeros(max(1, len(code)), 2),
            arms=self.arm_table.table,
            driven=self.driven.array,
            **self.index.tables(),
            aggregates=self.aggregates.table,
            columns=self.columns.array,
            queue=_zeros(len(self.arms) + 1),
            windows=StructList(self.windows),
        )
        if width > state.group.shape[1]:
            state.update(group=_zeros(len(state.group), width))

    # Arms

    def _arm(self, arm: ArmCode) -> list[int]:
        dispatches = self.dispatchers.get(arm.source) is arm
        kind = k.DISPATCH if dispatches else k.HOST_ARM if arm.host is not None else k.BATCH
        first = len(self.code)
        if kind == k.BATCH:
            if arm.is_straight:
                switch = switch_of(arm)
                tests = [test for test in arm.tests if test is not switch]
            else:
                tests = arm.tests
            body = [*(each for test in tests for each in _test_code(arm, test)), *arm.code]
            shift = len(body) - len(arm.code)
            for each in body:
                made = self._instruction(each, first + shift)
                self.code.append([*made, *[0] * (k.OPERANDS - len(made))])
        loads = len(self.loads)
        self.loads.extend((slot, column) for column, slot in arm.loads.items())
        rounds = self.planner.rounds.get(arm.source, 0) if dispatches else 0
        return [
            arm.source.number, kind, first, len(self.code), loads, len(self.loads), 0, 0, 0, rounds, 0, 0
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
        if op == k.ABSENT:
            _, point, index, slots, low, high, begin, column = each
            return [op, point.number, index, *self.slots.extend(slots), low, high, -1, begin, column]
        if op == k.EMIT:
            _, point, slots, end = each
            return [op, point.number, *self.slots.extend(slots), end]
        if op == k.ACCUMULATE:
            return [op, *self.slots.extend(each[1])]
        if op == k.GROUP:
            group = each[1]
            assert isinstance(group, GroupArm)
            begin = len(self.aggregates)
            for name, value, floating, distinct, order, slot in group.aggregates:
                self.aggregates.append(
                    [name, value, floating, *self.columns.extend(distinct), *self.columns.extend(order), slot]
                )
            made = [op, first + group.after, begin, len(self.aggregates)]
            if group.window is None:
                return [*made, -1]
            window = group.window
            distinct = max(len(each[3]) for each in group.aggregates)
            self.windows.append(
                make_windows(window.begin, len(group.columns), window.keys, len(group.aggregates), distinct)
            )
            return [*made, len(self.windows) - 1, window.start, window.low, window.high]
        return each


def _zeros(*shape: int) -> Int64:
    return np.zeros(shape, np.int64)


def _targets(arm: ArmCode) -> list[PointPlan]:
    if arm.host is not None:
        return [arm.host.target]
    return [each[1] for each in arm.code if each[0] == k.EMIT]


def _test_code(arm: ArmCode, test: ConstantTest) -> list[list[Any]]:
    op = _TEST_OPS[test.kind] + (k.EQ_F - k.EQ_I if test.floating else 0)
    slot = arm.frame.slot()
    return [[op, slot, arm.column(test.column), arm.frame.constant(test.code)], [k.TEST, slot]]
