"""Conditions as tables: those on single nodes as programs over atoms, those on all bindings of a match together.

The first are run in kernels/buffered/checks.py, the second in kernels/values.py. A comparison with NULL is false, and
`not` turns true and false round.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from ostinato.xseq.kernels import value_codes as v
from ostinato.xseq.kernels.buffered.layout import IS_AND, IS_ATOM, IS_NOT, IS_OR, ForEach
from ostinato.xseq.runtime.buffered.arrays import int32_array
from ostinato.xseq.runtime.buffered.closed_paths import EXISTS
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.automaton import Move
from ostinato.xseq.walk.program import ValueSource, WalkProgram, ranging_variables
from ostinato.xseq.walk.tables import COMPARE, COMPUTE


@dataclass
class ConditionLowering(ABC):
    """Numbers for the conditions of a program, and what stands behind each."""

    program: WalkProgram
    conditions: dict[n.Condition, int] = field(default_factory=dict)
    codes: list[list[tuple[int, int]]] = field(default_factory=list)
    simple: list[bool] = field(default_factory=list)
    atoms: list[tuple[int, ...]] = field(default_factory=list)
    holes: list[tuple[int, int, int]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    constants: dict[n.Constant, int] = field(default_factory=dict)
    sources: list[ValueSource] = field(default_factory=list)
    condition_sources: set[ValueSource] = field(default_factory=set)  # by conditions
    places: int = 0
    most: int = 1
    group: int = 0

    @abstractmethod
    def path(self, path: n.Path) -> int:
        """Where the walk along a relative path begins."""

    def labels(self) -> list[str]:
        """The variables, then the path variables whose rounds are spoken of."""
        moves = self.program.walk.moves
        watched = {slot.within for slot in self.program.slots if slot.within}
        return sorted({move.binds for move in moves if move.binds}) + sorted(watched)

    # --- conditions on nodes

    def checks_of(self, move: Move) -> list[int]:
        return [self.check(condition) for condition in (*move.local, *move.checks)]

    def check(self, condition: n.Condition) -> int:
        if condition not in self.conditions:
            code: list[tuple[int, int]] = []
            groups = len(self.groups)
            self.truth(condition, code)
            self.conditions[condition] = len(self.codes)
            self.codes.append(code)
            self.simple.append(groups == len(self.groups))
        return self.conditions[condition]

    def truth(self, condition: n.Condition, code: list[tuple[int, int]]) -> None:
        match condition:
            case n.Comparison():
                code.append((IS_ATOM, self.atom(condition)))
            case n.Not():
                self.truth(condition.part, code)
                code.append((IS_NOT, 0))
            case _:
                for number, part in enumerate(condition.parts):
                    self.truth(part, code)
                    if number:
                        code.append((IS_AND if isinstance(condition, n.And) else IS_OR, 0))

    def atom(self, comparison: n.Comparison) -> int:
        if comparison.operator == EXISTS:
            assert isinstance(comparison.left, n.Relative) and isinstance(comparison.left.path, n.Concat)
            start = self.path(comparison.left.path.parts[1])
            self.groups.append(start)
            at = len(self.groups)
            self.atoms.append((0, 0, 0, at - 1, at, 0, 0))
            return len(self.atoms) - 1
        starts = [
            self.path(each.path) for each in n.operands(comparison) if isinstance(each, n.Relative) and not _own(each)
        ]
        holes, groups, code = len(self.holes), len(self.groups), len(self.code)
        self.groups += starts
        self.most = max(self.most, len(starts))
        self.group = 0
        self.push(comparison.left)
        self.push(comparison.right)
        self.code.append((v.COMPARE, COMPARE[comparison.operator]))
        self.atoms.append((1, holes, len(self.holes), groups, len(self.groups), code, len(self.code)))
        return len(self.atoms) - 1

    def push(self, operand: n.Operand) -> None:
        match operand:
            case n.Constant():
                self.code.append((v.PUSH, self.constant(operand)))
            case n.Relative():
                own = _own(operand)
                self.holes.append(
                    (self.place(), -1 if own else self.group, self.source(own or ValueSource(operand.leaf)))
                )
                self.group += own is None
                self.code.append((v.PUSH, self.places - 1))
            case n.Arithmetic():
                self.push(operand.left)
                self.push(operand.right)
                self.code.append((COMPUTE[operand.operator], 0))
            case n.Negative():
                self.push(operand.operand)
                self.code.append((v.NEG, 0))

    def place(self) -> int:
        self.places += 1
        return self.places - 1

    def constant(self, constant: n.Constant) -> int:
        if constant not in self.constants:
            self.constants[constant] = self.place()
        return self.constants[constant]

    def source(self, source: ValueSource) -> int:
        self.condition_sources.add(source)
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    # --- conditions on all bindings

    def for_each(self) -> ForEach:
        rows: list[tuple[int, ...]] = []
        variables: list[int] = []
        holes: list[tuple[int, ...]] = []
        labels = self.labels()
        for condition in self.program.for_each:
            over = sorted(ranging_variables(condition))
            begin, hole, code = len(variables), len(holes), len(self.code)
            variables += [labels.index(name) for name in over]
            self.add_for_each(condition, over, holes)
            rows.append((begin, len(variables), hole, len(holes), code, len(self.code)))
            self.most = max(self.most, len(over))
        return ForEach(
            rows=np.array(rows, np.int32).reshape(-1, 6),
            variables=int32_array(variables),
            holes=np.array(holes, np.int32).reshape(-1, 4),
        )

    def add_for_each(self, condition: n.Condition, over: list[str], holes: list[tuple[int, ...]]) -> None:
        match condition:
            case n.Comparison():
                self.bound(condition.left, over, holes)
                self.bound(condition.right, over, holes)
                self.code.append((v.COMPARE, COMPARE[condition.operator]))
            case n.Not():
                self.add_for_each(condition.part, over, holes)
                self.code.append((v.NOT, 0))
            case _:
                for number, part in enumerate(condition.parts):
                    self.add_for_each(part, over, holes)
                    if number:
                        self.code.append((v.AND if isinstance(condition, n.And) else v.OR, 0))

    def bound(self, operand: n.Operand, over: list[str], holes: list[tuple[int, ...]]) -> None:
        program = self.program
        match operand:
            case n.Reference(within=None, alias=n.Alias.PLAIN | n.Alias.PREV):
                source = self.source(ValueSource(operand.leaf, operand.name, operand.steps))
                holes.append((self.place(), over.index(operand.variable), int(operand.alias is n.Alias.PREV), source))
                self.code.append((v.PUSH, self.places - 1))
            case n.Reference():
                holes.append((self.place(), -2, 0, program.slot_of(operand)))
                self.code.append((v.PUSH, self.places - 1))
            case n.Aggregate():
                for slot in program.slots_of(operand):
                    holes.append((self.place(), -2, 0, slot))
                    self.code.append((v.PUSH, self.places - 1))
                if operand.function == "avg":
                    self.code.append((v.DIV, 0))
            case n.Constant():
                self.code.append((v.PUSH, self.constant(operand)))
            case n.Arithmetic():
                self.bound(operand.left, over, holes)
                self.bound(operand.right, over, holes)
                self.code.append((COMPUTE[operand.operator], 0))
            case n.Negative():
                self.bound(operand.operand, over, holes)
                self.code.append((v.NEG, 0))

    # --- values

    def is_read(self, source: ValueSource) -> bool:
        """Whether the text of a node is needed, or only the node, to be returned as it is written."""
        if source.leaf is not n.Leaf.NODE or source in self.condition_sources:
            return True
        query = self.program.query
        spoken = list(n.operands(query.where)) if query.where is not None else []
        for item in query.items or ():
            if not isinstance(item.operand, n.Reference):
                spoken += n.nested_operands(item.operand)
        compared = [each for each in spoken if isinstance(each, n.Reference) and each.leaf is n.Leaf.NODE]
        return any(each.steps == source.steps for each in compared)


def _own(operand: n.Relative) -> ValueSource | None:
    """The node's own value that an operand reads; None where its path leads away from the node."""
    path = operand.path
    if not isinstance(path, n.Step) or path.predicates:
        return None
    if path.axis is n.Axis.SELF and path.test.kind is n.Kind.NODE:
        return ValueSource(operand.leaf)
    if path.axis is n.Axis.ATTRIBUTE and path.test.kind is n.Kind.NAME and operand.leaf is n.Leaf.NODE:
        return ValueSource(n.Leaf.ATTRIBUTE, path.test.name)
    return None
