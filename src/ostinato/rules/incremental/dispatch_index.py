"""Which delta queries concern a tuple: an index over the constants that its columns are compared with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.delta_query import ConstantTest, DeltaQuery
from ostinato.rules.incremental.kernel_tables import KernelList, KernelTable
from ostinato.rules.kernels import layout as k


class DispatchIndex:
    """A node for each label that comes in and each point; the first node has no delta queries."""

    def __init__(self) -> None:
        self.nodes, self.switches = KernelTable(4, [(0, 0, 0, 0)]), KernelTable(6)
        self.cases, self.thresholds, self.deltas = KernelTable(3, [(-1, -1, -1)]), KernelList(), KernelList()

    def __len__(self) -> int:
        return len(self.deltas)

    def tables(self) -> dict[str, Int64]:
        """The fields of ProgramState."""
        return {
            "nodes": self.nodes.table,
            "switches": self.switches.table,
            "cases": self.cases.table,
            "thresholds": self.thresholds.array,
            "node_deltas": self.deltas.array,
        }

    def node(self, deltas: Sequence[DeltaQuery]) -> int:
        """The number of a node for these delta queries."""
        begin, end = self.deltas.extend(delta.number for delta in deltas if switch_of(delta) is None)
        first = len(self.switches)
        cases: dict[tuple[int, int, bool], list[tuple[ConstantTest, int]]] = {}
        for delta in deltas:
            if (test := switch_of(delta)) is not None:
                cases.setdefault((test.kind, test.column, test.floating), []).append((test, delta.number))
        for (kind, column, floating), found in cases.items():
            if kind == k.EQUAL:
                self._equalities(column, found)
            else:
                self._order(kind, column, floating, found)
        self.nodes.append((begin, end, first, len(self.switches)))
        return len(self.nodes) - 1

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
            table[slot] = code, *self.deltas.extend(numbers)
        first = len(self.cases)
        self.cases.extend(table.tolist())
        self.switches.append((k.EQUAL, column, 0, first, first + size, size - 1))

    def _order(self, kind: int, column: int, floating: bool, found: list[tuple[ConstantTest, int]]) -> None:
        def value(pair: tuple[ConstantTest, int]) -> float:
            code = pair[0].code
            return float(np.int64(code).view(np.float64)) if floating else code

        found = sorted(found, key=value)
        begin, end = self.thresholds.extend(test.code for test, _ in found)
        deltas, _ = self.deltas.extend(number for _, number in found)
        self.switches.append((kind, column, int(floating), begin, end, deltas - begin))


def hash_case(value: int) -> int:
    """As kernels.stores.hash_with(0, value)."""
    product = ((value % 2**64) * 0x9E3779B97F4A7C15) % 2**64
    return int(product ^ (product >> 32))


def switch_of(delta: DeltaQuery) -> ConstantTest | None:
    """The test whose index finds the delta query: by equality, if there is one."""
    by_equality = [test for test in delta.tests if test.kind == k.EQUAL]
    return next(iter([*by_equality, *delta.tests]), None)
