"""A walk's program as flat tables that kernels read: one layout for walks over streams and over trees in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostinato.xseq.kernels import value_codes as v
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.automaton import Move
from ostinato.xseq.walk.program import Keep, Slot, SlotTest, ValueSource, WalkProgram

COMPARE = {"=": v.EQ, "!=": v.NE, "<": v.LT, "<=": v.LE, ">": v.GT, ">=": v.GE}
COMPUTE = {"+": v.ADD, "-": v.SUB, "*": v.MUL, "/": v.DIV, "%": v.MOD}

# What a move does to the slots of a new run, in this order; (operation, slot, argument, second argument)
COPY, CLEAR, SET, SET_NEW, SET_FIRST_ROUND, INCREASE, COUNT, SUM, LEAST, MOST = range(10)

AXES = {axis: number for number, axis in enumerate(n.Axis)}


@dataclass
class WalkTables:
    """Everything about a program that does not depend on names' numbers.

    The file of values is [constants | sources of the current node | a stack | slots of run 0 | slots of run 1 | …].
    Codes below `base` are places of that file; a code from `base` on is a slot of a run, `width` apart.
    """

    program: WalkProgram
    sources: list[ValueSource] = field(default_factory=list)
    numeric: set[int] = field(default_factory=set)  # sources that are compared as numbers
    constants: list[n.Constant] = field(default_factory=list)
    held: bytes = b""  # the constants' texts
    code: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    # per move (in the order of walk.moves): ranges into ops, tests and local tests
    ops: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 4), np.int32))
    move_ops: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    tests: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 8), np.int32))
    move_tests: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    end_tests: tuple[int, int] = (0, 0)
    needs: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))
    local: list[n.Condition] = field(default_factory=list)  # distinct tests of single nodes, by number
    local_tests: tuple[int, int] = (0, 0)  # their range in tests
    move_local: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))  # which of them, as bits
    columns: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 3), np.int32))

    @property
    def width(self) -> int:
        return len(self.program.slots)

    @property
    def stack(self) -> int:
        return len(self.constants) + len(self.sources)

    @property
    def base(self) -> int:
        return self.stack + v.DEEPEST


# A test is (simple, operator, left, right, begin, end, needs begin, needs end): a comparison of two codes, or a program
# code[begin:end]. A column is (simple, code, end): the value of one code, or a program code[code:end].


def build_tables(program: WalkProgram) -> WalkTables:
    """Lower a program. Constants and sources are collected first: where slots begin depends on how many there are."""
    return _Lowering(program).tables()


class _Lowering:
    def __init__(self, program: WalkProgram) -> None:
        self.program = program
        self.made = WalkTables(program)
        self.code: list[tuple[int, int]] = []
        self.tests: list[tuple[int, ...]] = []
        self.needs: list[int] = []
        self.base = 0

    def tables(self) -> WalkTables:
        for _ in range(2):  # the second time, codes are right
            self.code, self.tests, self.needs = [], [], []
            self.lower()
            self.base = self.made.base
        made = self.made
        made.code = np.array(self.code, np.int32).reshape(-1)
        made.tests = np.array(self.tests, np.int32).reshape(-1, 8)
        made.needs = np.array(self.needs, np.int32)
        made.held = b"".join(constant.text.encode() for constant in made.constants)
        return made

    def lower(self) -> None:
        made, program = self.made, self.program
        ops: list[tuple[int, int, int, int]] = []
        move_ops, move_tests, move_local = [0], [0], []
        for move in program.walk.moves:
            ops.extend(self.operations(move))
            move_ops.append(len(ops))
            for test in program.at_move.get(move, ()):
                self.tests.append(self.test(test))
            move_tests.append(len(self.tests))
            move_local.append(self.local_bits(move))
        made.ops = np.array(ops, np.int32).reshape(-1, 4)
        made.move_ops, made.move_tests = np.array(move_ops, np.int32), np.array(move_tests, np.int32)
        begin = len(self.tests)
        self.tests.extend(self.test(test) for test in program.at_end)
        made.end_tests = begin, len(self.tests)
        if program.keyed is not None:
            for move in program.keyed.moves:
                self.local_bits(move)
        begin = len(self.tests)
        self.tests.extend(self.test(SlotTest(condition, ())) for condition in made.local)
        made.local_tests = begin, len(self.tests)
        made.move_local = np.array(move_local, np.uint64)
        columns = [self.column(column.operand) for column in program.columns]
        made.columns = np.array(columns, np.int32).reshape(-1, 3)

    def local_bits(self, move: Move) -> int:
        bits = 0
        for condition in move.local:
            if condition not in self.made.local:
                self.made.local.append(condition)
            bits |= 1 << self.made.local.index(condition)
        return bits

    def column(self, operand: n.Operand | None) -> tuple[int, int, int]:
        if operand is None:
            return 2, 0, 0
        simple = self.simple(operand)
        if simple is not None:
            return 1, simple, 0
        begin = len(self.code)
        self.push(operand)
        return 0, begin, len(self.code)

    # --- what a move writes

    def operations(self, move: Move) -> list[tuple[int, int, int, int]]:
        slots = self.program.slots
        out: list[tuple[int, int, int, int]] = []
        for entered in move.enters:
            for number, slot in enumerate(slots):
                if slot.keep is Keep.ROUND and slot.variable == entered:
                    out.append((INCREASE, number, 0, 0))
                elif slot.within == entered and slot.keep is Keep.PREV:
                    out.append((COPY, number, self.last_of(slot), 0))
            for number, slot in enumerate(slots):
                if slot.within == entered and slot.keep is Keep.LAST:
                    out.append((CLEAR, number, 0, 0))
        bound = [
            (number, slot)
            for number, slot in enumerate(slots)
            if slot.variable == move.binds and (slot.within is None or slot.within in move.inside)
        ]
        for number, slot in bound:  # before the last is overwritten
            if slot.keep is Keep.PREV and slot.within is None:
                out.append((COPY, number, self.last_of(slot), 0))
        for number, slot in bound:
            if slot.keep in (Keep.LAST, Keep.FIRST):
                assert slot.source is not None
                source = len(self.made.constants) + self.source(slot.source)
                if slot.within is not None and slot.keep is Keep.FIRST:
                    rounds = slots.index(Slot(slot.within, Keep.ROUND))
                    out.append((SET_FIRST_ROUND, number, source, rounds))
                else:
                    new = slot.keep is Keep.FIRST or slot.within is not None
                    out.append((SET_NEW if new else SET, number, source, 0))
        kinds = {Keep.COUNT: COUNT, Keep.SUM: SUM, Keep.MIN: LEAST, Keep.MAX: MOST}
        for number, slot in bound:
            if slot.keep in kinds:
                begin = len(self.code)
                if slot.operand is not None:
                    self.push(slot.operand, current=move.binds)
                out.append((kinds[slot.keep], number, begin, len(self.code)))
        return out

    def last_of(self, slot: Slot) -> int:
        return self.program.slots.index(Slot(slot.variable, Keep.LAST, slot.source, within=slot.within))

    def source(self, source: ValueSource, number: bool = False) -> int:
        sources = self.made.sources
        if source not in sources:
            sources.append(source)
        if number:
            self.made.numeric.add(sources.index(source))
        return sources.index(source)

    # --- conditions and operands

    def test(self, test: SlotTest) -> tuple[int, ...]:
        begin = len(self.needs)
        self.needs.extend(test.needs)
        needs = begin, len(self.needs)
        condition = test.condition
        if isinstance(condition, n.Comparison):
            left, right = self.simple(condition.left), self.simple(condition.right)
            if left is not None and right is not None:
                return (1, COMPARE[condition.operator], left, right, 0, 0, *needs)
        start = len(self.code)
        self.condition(condition)
        return (0, 0, 0, 0, start, len(self.code), *needs)

    def condition(self, condition: n.Condition) -> None:
        match condition:
            case n.Comparison():
                self.push(condition.left)
                self.push(condition.right)
                self.code.append((v.COMPARE, COMPARE[condition.operator]))
            case n.Not():
                self.condition(condition.part)
                self.code.append((v.NOT, 0))
            case n.And() | n.Or():
                for number, part in enumerate(condition.parts):
                    self.condition(part)
                    if number:
                        self.code.append((v.AND if isinstance(condition, n.And) else v.OR, 0))

    def simple(self, operand: n.Operand, current: str | None = None) -> int | None:
        """The code of an operand that is one value."""
        match operand:
            case n.Constant():
                if operand not in self.made.constants:
                    self.made.constants.append(operand)
                return self.made.constants.index(operand)
            case n.Reference():
                if operand.variable == current and operand.alias is n.Alias.PLAIN:
                    source = ValueSource(operand.leaf, operand.name, operand.steps)
                    return len(self.made.constants) + self.source(source, number=True)
                slot = self.program.slot_of(operand)
                self.number_matters(slot)
                return self.base + slot
            case n.Relative():
                return len(self.made.constants) + self.source(_source(operand), number=True)
            case n.Aggregate():
                if operand.function != "avg":
                    return self.base + self.program.slots_of(operand)[0]
        return None

    def number_matters(self, slot: int) -> None:
        source = self.program.slots[slot].source
        if source is not None:
            self.source(source, number=True)

    def push(self, operand: n.Operand, current: str | None = None) -> None:
        simple = self.simple(operand, current)
        if simple is not None:
            self.code.append((v.PUSH, simple))
            return
        match operand:
            case n.Arithmetic():
                self.push(operand.left, current)
                self.push(operand.right, current)
                self.code.append((COMPUTE[operand.operator], 0))
            case n.Negative():
                self.push(operand.operand, current)
                self.code.append((v.NEG, 0))
            case n.Aggregate():  # avg: the sum by the count
                total, count = self.program.slots_of(operand)
                self.code += [(v.PUSH, self.base + total), (v.PUSH, self.base + count), (v.DIV, 0)]


def _source(operand: n.Relative) -> ValueSource:
    """The source of an operand that asks a node for itself (see `is_local`)."""
    assert isinstance(operand.path, n.Step)
    if operand.leaf is n.Leaf.TAG:
        return ValueSource(n.Leaf.TAG)
    return ValueSource(n.Leaf.ATTRIBUTE, operand.path.test.name)


def matches_text(move: Move) -> bool:
    """Whether a move may go to a text node."""
    return move.test is not None and move.test.kind in (n.Kind.TEXT, n.Kind.NODE) and move.axis is not n.Axis.ATTRIBUTE
