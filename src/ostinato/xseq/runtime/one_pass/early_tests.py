"""Tests of a move, rewritten to what holds before it: a run that fails them need not be made.

After a move a slot holds what the move wrote, that is a value of the node or what another slot held before. Where that
is known beforehand, a test over slots becomes a test over the node and the slots of the run as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ostinato.xseq.kernels.value_codes import PUSH
from ostinato.xseq.walk.tables import COPY, COUNT, SET, SET_FIRST_ROUND, SET_NEW, WalkTables


@dataclass
class EarlyTests:
    """The tests of all moves, in two ranges each: those before the move and those that must wait for it."""

    tests: NDArray[np.int32]
    needs: NDArray[np.int32]
    code: NDArray[np.int32]
    before: NDArray[np.int32]
    after: NDArray[np.int32]
    ops: NDArray[np.int32]
    move_ops: NDArray[np.int32]
    columns: NDArray[np.int32]
    slots: list[int]  # the slots that are still read, by their numbers in the program


@dataclass
class _Rewriter:
    tables: WalkTables
    tests: list[list[int]] = field(default_factory=list)
    needs: list[int] = field(default_factory=list)
    code: list[int] = field(default_factory=list)

    def slot_before(self, move: int, slot: int) -> int | None:
        """The code that has, before a move, what a slot holds after it; None where it depends on the run."""
        tables, walk = self.tables, self.tables.program.walk
        written = [op for op in tables.ops[tables.move_ops[move] : tables.move_ops[move + 1]].tolist() if op[1] == slot]
        if not written:
            return tables.base + slot
        operation, _, argument, _ = written[-1]
        source, variable = walk.moves[move].source, tables.program.slots[slot].variable
        if len(written) == 1 and operation == SET:
            return int(argument)
        if len(written) == 1 and operation == COPY:
            return tables.base + int(argument)
        if len(written) == 1 and operation == SET_NEW and tables.program.slots[slot].within is None:
            if variable in walk.bound_before[source]:
                return tables.base + slot
            if variable not in walk.maybe_bound[source]:
                return int(argument)
        return None

    def value_before(self, move: int, code: int) -> int | None:
        return code if code < self.tables.base else self.slot_before(move, code - self.tables.base)

    def rewritten(self, move: int, test: list[int]) -> list[int] | None:
        """A test as it stands before a move."""
        simple, operator, left, right, begin, end, needs, needs_end = test
        first = len(self.needs)
        for slot in self.tables.needs[needs:needs_end].tolist():
            code = self.slot_before(move, slot)
            if code is None:
                return None
            if code >= self.tables.base:
                self.needs.append(code - self.tables.base)
        guards = [first, len(self.needs)]
        if simple:
            one, two = self.value_before(move, left), self.value_before(move, right)
            return None if one is None or two is None else [1, operator, one, two, 0, 0, *guards]
        pairs: list[int] = []
        for place in range(begin, end):
            operation, argument = self.tables.code[2 * place : 2 * place + 2].tolist()
            known = self.value_before(move, argument) if operation == PUSH else argument
            if known is None:
                return None
            pairs += [operation, known]
        start = len(self.code) // 2
        self.code += pairs
        return [0, 0, 0, 0, start, len(self.code) // 2, *guards]


def find_early_tests(tables: WalkTables) -> EarlyTests:
    """The tests of every move, as early as each can be made."""
    made = _Rewriter(tables, tables.tests.tolist(), tables.needs.tolist(), tables.code.tolist())
    before: list[int] = []
    after: list[int] = []
    for move in range(len(tables.program.walk.moves)):
        own = tables.tests[tables.move_tests[move] : tables.move_tests[move + 1]].tolist()
        now = [(test, made.rewritten(move, test)) for test in own]
        for wanted, ranges in (
            ([new for _, new in now if new is not None], before),
            ([test for test, new in now if new is None], after),
        ):
            ranges += [len(made.tests), len(made.tests) + len(wanted)]
            made.tests += wanted
    return _without_unread(tables, made, np.array(before, np.int32), np.array(after, np.int32))


def _without_unread(
    tables: WalkTables, made: _Rewriter, before: NDArray[np.int32], after: NDArray[np.int32]
) -> EarlyTests:
    """Leave out slots that nothing reads any more, and what would be written to them."""
    base = tables.base
    tests = np.array(made.tests, np.int32).reshape(-1, 8)
    code = np.array(made.code, np.int32)
    live = [range(*pair) for pair in before.reshape(-1, 2)] + [range(*pair) for pair in after.reshape(-1, 2)]
    live += [range(*tables.end_tests), range(*tables.local_tests)]
    used: set[int] = set()

    def reads(begin: int, end: int) -> None:
        pairs = code[2 * begin : 2 * end].reshape(-1, 2).tolist()
        used.update(argument - base for operation, argument in pairs if operation == PUSH and argument >= base)

    for number in (number for each in live for number in each):
        simple, _, left, right, begin, end, first, last = tests[number].tolist()
        if simple:
            used.update(value - base for value in (left, right) if value >= base)
        reads(begin, end)
        used.update(made.needs[first:last])
    for form, begin, end in tables.columns.tolist():
        if form == 1 and begin >= base:
            used.add(begin - base)
        elif form == 0:
            reads(begin, end)
    size = -1
    while size != len(used):
        size = len(used)
        for operation, slot, argument, second in tables.ops.tolist():
            if slot in used and operation == COPY:
                used.add(argument)
            elif slot in used and operation == SET_FIRST_ROUND:
                used.add(second)
            elif slot in used and operation >= COUNT:
                reads(argument, second)
    everything = EarlyTests(
        tests, np.array(made.needs, np.int32), code, before, after,
        tables.ops, tables.move_ops, tables.columns, list(range(tables.width)),
    )  # fmt: skip
    return renumber_slots(everything, base, {slot: number for number, slot in enumerate(sorted(used))})


def renumber_slots(old: EarlyTests, base: int, number: dict[int, int]) -> EarlyTests:
    """The same with new numbers for slots; what writes to slots that have none is left out."""
    size = len(old.slots)
    number_of = np.zeros(base + size + 1, np.int32)
    number_of[:base] = np.arange(base)
    for slot, new in number.items():
        number_of[base + slot] = base + new
    tests, code, columns = old.tests.copy(), old.code.copy(), old.columns.copy()
    tests[:, 2:4] = number_of[tests[:, 2:4]]
    pushes = np.flatnonzero(code[::2] == PUSH)
    code[2 * pushes + 1] = number_of[code[2 * pushes + 1]]
    plain = columns[:, 0] == 1
    columns[plain, 1] = number_of[columns[plain, 1]]
    ops: list[list[int]] = []
    move_ops = [0]
    for low, high in pairwise(old.move_ops.tolist()):
        for operation, slot, argument, second in old.ops[low:high].tolist():
            if slot in number:
                other = number[argument] if operation == COPY else argument
                third = number[second] if operation == SET_FIRST_ROUND else second
                ops.append([operation, number[slot], other, third])
        move_ops.append(len(ops))
    needs = number_of[base + old.needs] - base
    slots = {new: old.slots[slot] for slot, new in reversed(number.items())}
    return EarlyTests(
        tests, needs.astype(np.int32), code, old.before, old.after,
        np.array(ops, np.int32).reshape(-1, 4), np.array(move_ops, np.int32), columns,
        [slots[new] for new in sorted(slots)],
    )  # fmt: skip
