"""Delta queries as they are written: which points there are, the slots they compute with, and their instructions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.codes import FLOAT, MOMENT, NOTHING, NUMBERED, TRUTH, WHOLE, code_kind
from ostinato.rules.incremental.interned import Interned, float_bits, microseconds
from ostinato.rules.kernels import layout as k
from ostinato.rules.relational.kinds import REF, Kind

SCRATCH = 256  # slots that no delta query has: a tuple that Python adds lies there


@dataclass(eq=False)
class PointPlan:
    """A point: its columns, each with what it holds, and how it is looked up and forgotten."""

    name: str
    columns: tuple[str, ...]
    kinds: tuple[Kind, ...]
    retention: int = k.TRANSIENT
    waits: bool = False
    ends: tuple[int, ...] = ()  # the columns of ends
    uses: tuple[tuple[tuple[int, int], ...], ...] = ()  # per bound of relevance: (column or -1, what is added)
    unbounded: bool = False
    until: int = -1  # the column of the time until which a row of a table holds, or -1
    since: int = 0  # the deployment it came with
    indexes: list[tuple[tuple[tuple[int, int], ...], int]] = field(default_factory=list)
    number: int = -1  # once it is linked

    @property
    def serials(self) -> list[int]:
        """The columns of references that kernels give: numbers of events."""
        names = enumerate(self.columns)
        return [place for place, name in names if name.endswith(f".{REF}") and code_kind(self.kinds[place]) == WHOLE]

    def index(self, keys: Sequence[tuple[int, int]], time: int) -> int:
        """The index by these columns (each with what a TERM in it is compared as), in the order of a time."""
        spec = tuple(keys), time
        if spec not in self.indexes:
            self.indexes.append(spec)
        return self.indexes.index(spec)


class Operand:
    """A value of the tuples at hand: in a slot, into which it is loaded once something asks for it."""

    __slots__ = ("_load", "_slot", "kind")

    def __init__(self, kind: Kind, slot: int = -1, load: Callable[[], int] | None = None) -> None:
        self.kind, self._slot, self._load = kind, slot, load

    @property
    def slot(self) -> int:
        if self._slot < 0:
            assert self._load is not None
            self._slot = self._load()
        return self._slot

    @property
    def coded(self) -> str:
        return code_kind(self.kind)


Columns = dict[str, Operand]  # by the names that relational.operators gives columns


@dataclass
class Frame:
    """The slots of all delta queries, and the codes of constants in them."""

    interned: Interned
    slots: list[int | None] = field(default_factory=lambda: [None] * SCRATCH)
    _constants: dict[int | None, int] = field(default_factory=dict)
    _compared: set[int] = field(default_factory=set)  # by an index, or in a slot once the delta query is linked

    def slot(self, code: int | None = None) -> int:
        self.slots.append(code)
        return len(self.slots) - 1

    def constant(self, code: int | None) -> int:
        """The slot of a code; None is NULL."""
        if code not in self._constants:
            self._constants[code] = self.slot(code)
        return self._constants[code]

    @property
    def constants(self) -> Iterable[int]:
        """The slots that have one value."""
        return self._constants.values()

    def has(self, code: int) -> bool:
        """Whether a constant has this code."""
        return code in self._constants or code in self._compared

    def compare(self, codes: Iterable[int]) -> None:
        """Constant tests have these codes."""
        self._compared.update(codes)

    def codes(self, first: int, null: int) -> Int64:
        """What is in the slots from one on, before anything has run."""
        return np.array([null if code is None else code for code in self.slots[first:]], np.int64)

    def literal(self, value: Any, coded: str) -> int:
        """The slot of a constant of the program."""
        if value is None or coded == NOTHING:
            return self.constant(None)
        if coded == NUMBERED:
            return self.constant(self.interned.pin(value))
        encode: dict[str, Callable[[Any], int]] = {FLOAT: float_bits, MOMENT: microseconds, TRUTH: int, WHOLE: int}
        code = encode[coded](value)
        return self.constant(code)


@dataclass(frozen=True)
class ConstantTest:
    """A column of the driving tuple, compared with a constant: EQUAL, ABOVE, FROM, BELOW or UP_TO."""

    column: int
    kind: int
    code: int
    floating: bool


@dataclass(eq=False)
class LookUp:
    """The loads of a LOOKUP, while they are found out; and the delta query that finds what it does not see yet."""

    loads: dict[int, int] = field(default_factory=dict)
    limit: DeltaQuery | None = None


@dataclass(eq=False)
class DeltaQuery:
    """A delta query as it is written. `place` is its place in the order of the plan."""

    frame: Frame
    source: PointPlan
    place: tuple[int, int]
    since: int = 0  # the deployment it came with
    label: int = 0  # of the events that drive it, where these come in
    loads: dict[int, int] = field(default_factory=dict)  # column -> slot
    code: list[list[Any]] = field(default_factory=list)
    tests: list[ConstantTest] = field(default_factory=list)
    host: Host | None = None
    redone_for: list[PointPlan] = field(default_factory=list)  # points whose new tuples let it do the step again
    number: int = -1  # once it is linked

    @property
    def is_straight(self) -> bool:
        """Whether it looks nothing up, and so can run at once for each tuple."""
        return self.host is None and all(each[0] not in (k.LOOKUP, k.ABSENT, k.CLOSE, k.GROUP) for each in self.code)

    def column(self, column: int) -> int:
        """The slot of a column of the tuple that drives the delta query."""
        if column not in self.loads:
            self.loads[column] = self.frame.slot()
        return self.loads[column]

    def source_column(self, slot: int) -> int | None:
        """The column of the tuple that drives the delta query, where a slot holds one."""
        return next((column for column, each in self.loads.items() if each == slot), None)

    def add(self, op: int, *operands: Any) -> None:
        self.code.append([op, *operands])

    def add_tests(self, tests: Sequence[ConstantTest]) -> None:
        self.frame.compare(test.code for test in tests)
        self.tests.extend(tests)

    def compute(self, op: int, one: int, other: int | None = None) -> int:
        """The slot of what an operation gives."""
        slot = self.frame.slot()
        self.add(op, slot, one, one if other is None else other)
        return slot

    def plus(self, slot: int, ticks: int) -> int:
        return slot if not ticks else self.compute(k.ADD_I, slot, self.frame.constant(ticks))


Way = tuple[DeltaQuery, Columns]  # a delta query so far, and what it has at hand


class Host(ABC):
    """A delta query in Python: tuples of its source in, tuples of `target` out."""

    target: PointPlan

    @abstractmethod
    def __call__(self, rows: Int64) -> Int64: ...
