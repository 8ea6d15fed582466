"""Points and arms as the tables that kernels read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Int64
from ostinato.core.jit.array_struct import StructList
from ostinato.rules.incremental.arm_code import SCRATCH, ArmCode, ConstantTest, LookUp, PointPlan
from ostinato.rules.incremental.heads import GroupArm
from ostinato.rules.incremental.operators import ArmPlanner
from ostinato.rules.kernels import layout as k

_ROWS = 16  # of an empty point
_TEST_OPS = {k.EQUAL: k.EQ_I, k.ABOVE: k.GT_I, k.FROM: k.GE_I, k.BELOW: k.LT_I, k.UP_TO: k.LE_I}


def int_table(rows: Sequence[Sequence[int]], width: int) -> Int64:
    return np.array(rows, np.int64).reshape(len(rows), width) if rows else np.zeros((0, width), np.int64)


def int_list(values: Sequence[int]) -> Int64:
    return np.array(values or [0], np.int64)


def make_point(plan: PointPlan, rows: int = _ROWS) -> k.Point:
    """A point without tuples."""
    indexes, width = max(1, len(plan.indexes)), len(plan.columns)
    keys: list[tuple[int, int]] = []
    specs = []
    for columns, time in plan.indexes:
        specs.append((len(keys), len(keys) + len(columns), time))
        keys += columns
    until: list[tuple[int, int]] = []
    uses = []
    for bounds in plan.uses:
        uses.append((len(until), len(until) + len(bounds)))
        until += bounds
    marks = np.zeros(k.POINT_WORDS, np.int64)
    marks[k.KIND], marks[k.FREE], marks[k.UNBOUNDED] = plan.retention, -1, plan.unbounded
    return k.Point(
        rows=np.zeros((rows, width), np.int64),
        links=np.zeros((indexes, rows), np.int64),
        hashes=np.zeros((indexes, rows), np.int64),
        tails=np.full((indexes, 4 * rows), -1, np.int64),
        specs=int_table(specs, 3),
        keys=int_table(keys, 2),
        pending=np.zeros((_ROWS if plan.waits else 0, width + 2), np.int64),
        ends=int_list(plan.ends),
        uses=int_table(uses, 2),
        until=int_table(until, 2),
        marks=marks,
    )


@dataclass
class Linker:
    """Gives points and arms their numbers, and writes the tables."""

    planner: ArmPlanner
    labels: int
    code: list[list[int]] = field(default_factory=list)
    loads: list[tuple[int, int]] = field(default_factory=list)
    slots: list[int] = field(default_factory=lambda: list(range(1, SCRATCH)))
    aggregates: list[list[int]] = field(default_factory=list)
    columns: list[int] = field(default_factory=list)
    node_arms: list[int] = field(default_factory=list)
    switches: list[list[int]] = field(default_factory=list)
    cases: list[npt.NDArray[np.int64]] = field(default_factory=list)
    case_count: int = 0
    thresholds: list[int] = field(default_factory=list)

    def link(self) -> tuple[k.LiveState, list[ArmCode]]:
        """The state of a program without any events, and its arms by number."""
        planner = self.planner
        for number, point in enumerate(planner.points):
            point.number = number
        places = dict.fromkeys(planner.points, (-1, 0))
        for arm in planner.arms:
            for target in _targets(arm):
                places[target] = max(places[target], arm.place)
        straight: dict[PointPlan, list[ArmCode]] = {}
        for arm in planner.arms:
            if arm.is_straight:
                straight.setdefault(arm.source, []).append(arm)
        dispatchers = {point: ArmCode(planner.frame, point, places[point]) for point in straight}
        ordered = sorted(
            [(arm.place, 0, arm) for arm in planner.arms] + [(arm.place, 1, arm) for arm in dispatchers.values()],
            key=lambda each: each[:2],
        )
        arms = [arm for _, _, arm in ordered]
        for number, arm in enumerate(arms):
            arm.number = number
        table = [self._arm(arm, dispatchers.get(arm.source) is arm) for arm in arms]
        nodes = self._nodes(straight)
        driven, ranges = self._driven(arms, dispatchers)
        frame = np.array(planner.frame.slots, np.int64)
        cases = np.concatenate(self.cases) if self.cases else np.full((1, 3), -1, np.int64)
        marks = _zeros(k.WORDS)
        marks[k.ARM], marks[k.NOW], marks[k.FINAL], marks[k.DONE_NOW] = -1, -(2**62), -(2**62), -(2**62)
        state = k.LiveState(
            points=StructList(make_point(point) for point in planner.points),
            frame=frame,
            code=int_table([[*each, *[0] * (k.OPERANDS - len(each))] for each in self.code], k.OPERANDS),
            loads=int_table(self.loads, 2),
            slots=int_list(self.slots),
            loops=_zeros(max(1, len(self.code)), 2),
            arms=int_table(table, k.ARM_FIELDS),
            driven=int_list(driven),
            driven_ranges=int_table(ranges, 2),
            nodes=int_table(nodes, 4),
            node_arms=int_list(self.node_arms),
            switches=int_table(self.switches, 6),
            cases=cases,
            thresholds=int_list(self.thresholds),
            aggregates=int_table(self.aggregates, 8),
            columns=int_list(self.columns),
            queue=_zeros(len(arms) + 1),
            stack=_zeros(64),
            due=_zeros(64, 3),
            log=_zeros(64, 2),
            touched=_zeros(len(planner.points)),
            dirty=_zeros(len(planner.points)),
            plain_kinds=planner.interned.plain_kinds,
            plains=planner.interned.plains,
            group=_zeros(64, max([1, *map(len, self._group_widths())])),
            distinct=_zeros(256),
            marks=marks,
        )
        return state, arms

    def _group_widths(self) -> list[list[int]]:
        return [each[1] for arm in self.planner.arms for each in arm.code if each[0] == k.ACCUMULATE]

    def _driven(
        self, arms: Sequence[ArmCode], dispatchers: dict[PointPlan, ArmCode]
    ) -> tuple[list[int], list[tuple[int, int]]]:
        by_point: dict[PointPlan, list[int]] = {point: [] for point in self.planner.points}
        for arm in arms:
            if not arm.is_straight or dispatchers.get(arm.source) is arm:
                by_point[arm.source].append(arm.number)
            for point in arm.redone_for:
                by_point[point].append(~arm.number)
        driven: list[int] = []
        ranges = []
        for point in self.planner.points:
            ranges.append((len(driven), len(driven) + len(by_point[point])))
            driven += by_point[point]
        return driven, ranges

    # Arms

    def _arm(self, arm: ArmCode, dispatches: bool) -> list[int]:
        kind = k.DISPATCH if dispatches else k.HOST_ARM if arm.host is not None else k.BATCH
        first = len(self.code)
        if kind == k.BATCH:
            if arm.is_straight:
                switch = _switch_of(arm)
                tests = [test for test in arm.tests if test is not switch]
            else:
                tests = arm.tests
            body = [*(each for test in tests for each in _test_code(arm, test)), *arm.code]
            shift = len(body) - len(arm.code)
            for each in body:
                self.code.append(self._instruction(each, first + shift))
        loads = len(self.loads)
        self.loads += [(slot, column) for column, slot in arm.loads.items()]
        node = self.labels + 1 + arm.source.number if dispatches and arm.source.number else 0
        rounds = self.planner.max_rounds.get(arm.source, 0) if dispatches else 0
        return [
            arm.source.number, kind, first, len(self.code), loads, len(self.loads), 0, 0, node, rounds, 0, 0
        ]  # fmt: skip

    def _instruction(self, each: list[Any], first: int) -> list[int]:
        op = each[0]
        if op == k.LOOKUP:
            _, point, index, slots, low, high, found = each
            assert isinstance(found, LookUp)
            loads = len(self.loads)
            self.loads += [(slot, column) for column, slot in found.loads.items()]
            limit = found.limit.number if found.limit is not None else -1
            return [op, point.number, index, *self._slot_list(slots), low, high, limit, loads, len(self.loads)]
        if op == k.ABSENT:
            _, point, index, slots, low, high, begin, column = each
            return [op, point.number, index, *self._slot_list(slots), low, high, -1, begin, column]
        if op == k.EMIT:
            _, point, slots, end = each
            return [op, point.number, *self._slot_list(slots), end]
        if op == k.ACCUMULATE:
            return [op, *self._slot_list(each[1])]
        if op == k.GROUP:
            group = each[1]
            assert isinstance(group, GroupArm)
            begin = len(self.aggregates)
            for name, value, floating, distinct, order, slot in group.aggregates:
                self.aggregates.append(
                    [name, value, floating, *self._column_list(distinct), *self._column_list(order), slot]
                )
            return [op, first + group.after, begin, len(self.aggregates)]
        return each

    def _slot_list(self, slots: Sequence[int]) -> tuple[int, int]:
        begin = len(self.slots)
        self.slots += slots
        return begin, len(self.slots)

    def _column_list(self, columns: Sequence[int]) -> tuple[int, int]:
        begin = len(self.columns)
        self.columns += columns
        return begin, len(self.columns)

    # Which arms concern a tuple

    def _nodes(self, straight: dict[PointPlan, list[ArmCode]]) -> list[list[int]]:
        incoming = self.planner.incoming
        by_label: dict[int, list[ArmCode]] = {}
        for arm in straight.get(incoming, ()):
            by_label.setdefault(arm.label, []).append(arm)
        nodes = [self._node(by_label.get(label, [])) for label in range(self.labels + 1)]
        return nodes + [
            self._node(straight.get(point, []) if point is not incoming else []) for point in self.planner.points
        ]

    def _node(self, arms: Sequence[ArmCode]) -> list[int]:
        plain = [arm.number for arm in arms if _switch_of(arm) is None]
        begin = len(self.node_arms)
        self.node_arms += plain
        end = len(self.node_arms)
        first = len(self.switches)
        cases: dict[tuple[int, int, bool], list[tuple[ConstantTest, int]]] = {}
        for arm in arms:
            if (test := _switch_of(arm)) is not None:
                cases.setdefault((test.kind, test.column, test.floating), []).append((test, arm.number))
        for (kind, column, floating), found in cases.items():
            if kind == k.EQUAL:
                self._equalities(column, found)
            else:
                self._order(kind, column, floating, found)
        return [begin, end, first, len(self.switches)]

    def _equalities(self, column: int, found: list[tuple[ConstantTest, int]]) -> None:
        by_code: dict[int, list[int]] = {}
        for test, number in found:
            by_code.setdefault(test.code, []).append(number)
        size = 1 << (2 * len(by_code)).bit_length()
        table = np.full((size, 3), -1, np.int64)
        for code, numbers in by_code.items():
            slot = hash_case(code) & (size - 1)
            while table[slot, 1] >= 0:
                slot = (slot + 1) & (size - 1)
            table[slot] = code, len(self.node_arms), len(self.node_arms) + len(numbers)
            self.node_arms += numbers
        self.switches.append([k.EQUAL, column, 0, self.case_count, self.case_count + size, size - 1])
        self.cases.append(table)
        self.case_count += size

    def _order(self, kind: int, column: int, floating: bool, found: list[tuple[ConstantTest, int]]) -> None:
        def value(pair: tuple[ConstantTest, int]) -> float:
            code = pair[0].code
            return float(np.int64(code).view(np.float64)) if floating else code

        found = sorted(found, key=value)
        begin, shift = len(self.thresholds), len(self.node_arms) - len(self.thresholds)
        self.thresholds += [test.code for test, _ in found]
        self.node_arms += [number for _, number in found]
        self.switches.append([kind, column, int(floating), begin, len(self.thresholds), shift])


def hash_case(value: int) -> int:
    """As kernels.stores.hash_with(0, value)."""
    product = ((value % 2**64) * 0x9E3779B97F4A7C15) % 2**64
    return int(product ^ (product >> 32))


def _zeros(*shape: int) -> Int64:
    return np.zeros(shape, np.int64)


def _targets(arm: ArmCode) -> list[PointPlan]:
    if arm.host is not None:
        return [arm.host.target]
    return [each[1] for each in arm.code if each[0] == k.EMIT]


def _switch_of(arm: ArmCode) -> ConstantTest | None:
    """The test whose index finds the arm: by equality, if there is one."""
    by_equality = [test for test in arm.tests if test.kind == k.EQUAL]
    return next(iter([*by_equality, *arm.tests]), None)


def _test_code(arm: ArmCode, test: ConstantTest) -> list[list[Any]]:
    op = _TEST_OPS[test.kind] + (k.EQ_F - k.EQ_I if test.floating else 0)
    slot = arm.frame.slot()
    return [[op, slot, arm.column(test.column), arm.frame.constant(test.code)], [k.TEST, slot]]
