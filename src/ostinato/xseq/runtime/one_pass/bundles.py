"""Which queries can move runs in bundles (xseq/kernels/one_pass/bundles.py), and what the runs of a bundle share.

Runs that wait for the next sibling only have arrived at the same node. A slot that every move into a state takes from
the node arrived at is the same in all runs of that state: it is shared, and only the first run of a bundle has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostinato.xseq.kernels.value_codes import PUSH
from ostinato.xseq.runtime.one_pass.early_tests import EarlyTests, renumber_slots
from ostinato.xseq.syntax.nodes import Axis, Kind
from ostinato.xseq.walk.automaton import Move
from ostinato.xseq.walk.tables import CLEAR, COPY, COUNT, SET, SET_FIRST_ROUND, SET_NEW, WalkTables


@dataclass(frozen=True)
class Bundles:
    """What the kernel reads."""

    shared_range: NDArray[np.int32]  # per state: where its slots begin in `shared`; the next place is where they end
    shared: NDArray[np.int32]
    written_to_all: NDArray[np.uint8]  # per move: whether it must be written to every run of a bundle


NO_BUNDLES = Bundles(np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.uint8))


def find_bundles(tables: WalkTables, tests: EarlyTests, begins: Iterable[Move]) -> tuple[EarlyTests, Bundles] | None:
    """The bundles of a query whose matches come in order by themselves, with tests and slots that suit them.

    `begins` are the moves that runs begin with.
    """
    walk, begins = tables.program.walk, frozenset(begins)
    found = _Sharing(tables, tests, begins)
    if not found.permitted():
        return None
    tests = renumber_slots(tests, tables.base, found.together())
    for number, move in enumerate(walk.moves):
        if move not in begins:  # what it asks for is bound, since it is shared
            tests.tests[slice(*tests.before[2 * number : 2 * number + 2]), 6:8] = 0
    found = _Sharing(tables, tests, begins)
    ranges, slots = [0], list[int]()
    for state in range(walk.states):
        slots += sorted(found.shared[state] & found.needed[state])
        ranges.append(len(slots))
    to_all = [found.is_written_to_all(number) for number in range(len(walk.moves))]
    return tests, Bundles(np.array(ranges, np.int32), np.array(slots or [0], np.int32), np.array(to_all, np.uint8))


@dataclass
class _Sharing:
    tables: WalkTables
    tests: EarlyTests
    begins: frozenset[Move]

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        return self.tables.program.walk.moves

    @cached_property
    def after(self) -> frozenset[int]:
        """The states that runs are in."""
        seen = {move.target for move in self.begins}
        queue = list(seen)
        while queue:
            for move in self.tables.program.walk.leaving[queue.pop()]:
                if move.target not in seen:
                    seen.add(move.target)
                    queue.append(move.target)
        return frozenset(seen)

    # --- what is written

    def written(self, number: int) -> dict[int, int]:
        """The slots that a move writes, with the place of the node's value, or -1 for what depends on the run."""
        walk, out = self.tables.program.walk, dict[int, int]()
        source = self.moves[number].source
        for operation, slot, argument, _ in self._ops(number):
            kept = self.tables.program.slots[self.tests.slots[slot]]
            new = operation == SET_NEW and kept.within is None
            if new and kept.variable in walk.bound_before[source]:
                continue  # it is not the first
            if operation == SET or (new and kept.variable not in walk.maybe_bound[source]):
                out[slot] = argument if slot not in out else -1
            else:
                out[slot] = -1
        return out

    @cached_property
    def shared(self) -> list[frozenset[int]]:
        """For each state the slots that have one value in all runs there."""
        out: list[frozenset[int]] = []
        for state in range(self.tables.program.walk.states):
            into = [
                self.written(number)
                for number, move in enumerate(self.moves)
                if move.target == state and (move in self.begins or move.source in self.after)
            ]
            first = into[0] if into else {}
            out.append(frozenset(slot for slot, v in first.items() if v >= 0 and all(w.get(slot) == v for w in into)))
        return out

    def together(self) -> dict[int, int]:
        """New numbers for slots: those that are read only while they are shared are one if they take the same value."""
        number, of_value = dict[int, int](), dict[int, int]()
        for slot in range(len(self.tests.slots)):
            ops = {(op, argument) for op, to, argument, _ in self.tests.ops.tolist() if to == slot}
            owned = any(slot in read - self.shared[state] for state, read in enumerate(self.read))
            passing = len(ops) == 1 and min(ops)[0] == SET and not owned and slot not in self.read_by_ops
            new = max(number.values(), default=-1) + 1
            number[slot] = of_value.setdefault(min(ops)[1], new) if passing else new
        return number

    def is_written_to_all(self, number: int) -> bool:
        """Whether a move changes, or ends the sharing of, what is read later and is not shared where it leads."""
        move = self.moves[number]
        changed = (self.shared[move.source] | self.written(number).keys()) - self.shared[move.target]
        return bool(changed & self.needed[move.target])

    # --- what is read

    def _ops(self, number: int) -> list[list[int]]:
        found: list[list[int]] = self.tests.ops[self.tests.move_ops[number] : self.tests.move_ops[number + 1]].tolist()
        return found

    def _of_codes(self, codes: Iterable[int]) -> set[int]:
        return {code - self.tables.base for code in codes if code >= self.tables.base}

    def _of_program(self, begin: int, end: int) -> set[int]:
        pairs = self.tests.code[2 * begin : 2 * end].reshape(-1, 2).tolist()
        return self._of_codes(argument for operation, argument in pairs if operation == PUSH)

    def of_tests(self, low: int, high: int) -> set[int]:
        """The slots that a range of tests reads."""
        found: set[int] = set()
        for simple, _, left, right, begin, end, first, last in self.tests.tests[low:high].tolist():
            found |= self._of_codes((left, right)) if simple else self._of_program(begin, end)
            found.update(self.tests.needs[first:last].tolist())
        return found

    def _tested(self, number: int) -> set[int]:
        return self.of_tests(*self.tests.before[2 * number : 2 * number + 2])

    def _of_ops(self, number: int) -> set[int]:
        found: set[int] = set()
        for operation, slot, argument, second in self._ops(number):
            if operation == COPY:
                found.add(argument)
            elif operation not in (SET, CLEAR):
                found.add(slot)
            if operation == SET_FIRST_ROUND:
                found.add(second)
            elif operation >= COUNT:
                found |= self._of_program(argument, second)
        return found

    @cached_property
    def read_by_ops(self) -> frozenset[int]:
        return frozenset().union(*(self._of_ops(number) for number in range(len(self.moves))))

    @cached_property
    def read(self) -> list[set[int]]:
        """For each state the slots that are read while a run is there."""
        walk = self.tables.program.walk
        ends = self.of_tests(*self.tables.end_tests)
        for form, begin, end in self.tests.columns.tolist():
            ends |= self._of_codes((begin,)) if form == 1 else self._of_program(begin, end) if form == 0 else set()
        out = [set(ends) if state in walk.accepting else set() for state in range(walk.states)]
        for number, move in enumerate(self.moves):
            out[move.source] |= self._tested(number) | self._of_ops(number)
        return out

    @cached_property
    def needed(self) -> list[set[int]]:
        """For each state the slots that are read there or later, before they are written."""
        out = [set(read) for read in self.read]
        changed = True
        while changed:
            changed = False
            for number, move in enumerate(self.moves):
                kept = out[move.target] - {slot for slot, value in self.written(number).items() if value >= 0}
                changed |= not kept <= out[move.source]
                out[move.source] |= kept
        return out

    # --- whether it may be done

    def permitted(self) -> bool:
        """Whether runs wait for the next sibling only, what they share decides, and at most one move is open to one."""
        if any(move.axis in (Axis.SELF, Axis.ATTRIBUTE) for move in self.moves):
            return False
        for number, move in enumerate(self.moves):
            if self.tests.after[2 * number] != self.tests.after[2 * number + 1]:
                return False
            if move.source in self.after:
                if move.axis is not Axis.IMMEDIATE_FOLLOWING_SIBLING:
                    return False
                if not self._tested(number) <= self.shared[move.source]:
                    return False
                others = (n for n in range(number) if self.moves[n].source == move.source)
                if not all(self._apart(other, number) for other in others):
                    return False
        return True

    def _apart(self, one: int, two: int) -> bool:
        """Whether no node passes the tests of both moves: other names, or comparisons that exclude each other."""
        first, second = self.moves[one].test, self.moves[two].test
        assert first is not None and second is not None
        if first.kind is Kind.NAME and second.kind is Kind.NAME and first.name != second.name:
            return True
        some, others = (
            self.tests.tests[slice(*self.tests.before[2 * number : 2 * number + 2])].tolist() for number in (one, two)
        )
        return any(a[0] and b[0] and a[2:4] == b[2:4] and not a[1] & b[1] for a in some for b in others)
