"""Dense arrays for the kernel of correlated patterns: what an event of each code may do to the runs of each state.

Their rows and columns are described in patterns/kernels/layout.py and register_layout.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as OneOf

import numpy as np

from ostinato.core.conditions import Condition
from ostinato.core.expressions import COMPARISONS, MIRROR, PREV
from ostinato.errors import LimitError
from ostinato.patterns.automata.covering import covering_transitions
from ostinato.patterns.automata.registers import (
    FLOAT_SUM,
    TOTAL,
    Apply,
    Cell,
    Equality,
    EventTerm,
    Registers,
    Tree,
    as_equality,
    find_cells,
    find_fold,
)
from ostinato.patterns.automata.tables import GrowingTable
from ostinato.patterns.automata.transducer import START_LOOP, Fold, Transition
from ostinato.patterns.kernels import register_layout as layout

Kind = OneOf["whole", "ticks", "float", "text"]  # whole: also booleans; ticks: of times and durations

_BINARY = {"and": layout.AND, "or": layout.OR, "+": layout.ADD, "-": layout.SUBTRACT, "*": layout.MULTIPLY}
_BINARY |= {"/": layout.DIVIDE, "%": layout.REMAINDER}
_UNARY = {"not": layout.NOT, "is_null": layout.IS_NULL, "is_true": layout.IS_TRUE, "neg": layout.NEGATE}
_BINARY |= {TOTAL: layout.CHOOSE_TOTAL, "coalesce": layout.COALESCE}
_UNARY |= {"abs": layout.ABSOLUTE, "sqrt": layout.SQUARE_ROOT, "floor": layout.ROUND_DOWN, "ceil": layout.ROUND_UP}
# How one more value is taken into a sum, a least or a greatest one.
_FOLDS: dict[str, dict[Kind, int]] = {
    "sum": {"whole": layout.ADD_WHOLE, "ticks": layout.ADD_WHOLE, "float": layout.ADD_FLOATS},
    "min": {"whole": layout.LEAST, "ticks": layout.LEAST, "float": layout.LEAST_FLOAT, "text": layout.LEAST_TEXT},
    "max": {
        **{"whole": layout.GREATEST, "ticks": layout.GREATEST},
        **{"float": layout.GREATEST_FLOAT, "text": layout.GREATEST_TEXT},
    },
}
_RANKING = {"<": layout.LESS, "<=": layout.LESS, ">": layout.GREATER, ">=": layout.GREATER}


@dataclass(frozen=True)
class _Action:
    """What a transition does to the runs of its source; `trees` are its tests."""

    kind: int
    source: int
    target: int
    symbol: int
    trees: tuple[Tree, ...]
    written: tuple[str, ...] = ()
    folds: tuple[Fold, ...] = ()


class TransitionTables:
    """Filled code by code, as events show which codes there are."""

    def __init__(
        self,
        registers: Registers,
        kinds: Sequence[Kind],
        truth: Callable[[int], tuple[bool, ...]],
        symbol: Callable[[Transition], int],
        *,
        maximal: bool = False,
        looked_up: bool = True,
        apart: bool = False,
    ) -> None:
        """`looked_up`: runs are found by what they must equal; otherwise that is tested as everything else is.
        `apart`: runs also hold the number of the event that they began with, in a last cell."""
        self.registers, self.kinds, self.maximal, self.apart = registers, kinds, maximal, apart
        trees = (tree for trees in registers.tests.values() for tree in trees)
        self.has_folds = any(t.folds for t in registers.transducer.transitions)
        # Whether some test may be more than a comparison of an earlier event with the current one.
        self.has_programs = any(registers.barred.values()) or any(as_comparison(tree) is None for tree in trees)
        self._truth, self._symbol = truth, symbol
        self._covering = covering_transitions(registers.transducer) if maximal else frozenset()
        transducer = registers.transducer
        self._number: dict[Condition, int] = {c: n for n, c in enumerate(transducer.conditions())}
        self.column = {cell: number for number, cell in enumerate(registers.cells)}
        self._leaving = [[t for t in transducer.transitions if t.source == s] for s in range(transducer.states)]
        # The run without marks never ends; a state that some event makes a run leave needs to know when.
        fragile = [s for s in range(1, transducer.states) if self._leaving[s] and not self._always_waits(s)]
        self.fragile = {state: number for number, state in enumerate(fragile, start=1)}
        states = range(transducer.states if looked_up else 0)
        self.index = [registers.index(state, self._same_kind) for state in states] or [()] * transducer.states
        self.ranged = [self._ranged(state) for state in states] or [None] * transducer.states
        self.code_ranges, self.actions, self.kills = GrowingTable(4), GrowingTable(11), GrowingTable(1)
        self.probes, self.tests, self.steps, self.writes, self.folds = (
            GrowingTable(2),
            GrowingTable(4),
            GrowingTable(2),
            GrowingTable(2),
            GrowingTable(4),
        )
        self.cells = GrowingTable(1)
        self.states = np.array([self._state(state) for state in range(transducer.states)], np.int32)
        floating = [self.kind(cell) == "float" for cell in registers.cells]
        self.floating = np.array([*floating, *[False] * (self.width - len(floating))], np.bool_)

    def over(self, kinds: Sequence[Kind]) -> TransitionTables:
        """The same for terms of other kinds."""
        return TransitionTables(
            self.registers, kinds, self._truth, self._symbol, maximal=self.maximal, apart=self.apart
        )

    def kind(self, cell: Cell) -> Kind:
        """What a cell holds."""
        return "whole" if cell.op == "count" else "float" if cell.op == FLOAT_SUM else self.kinds[cell.term]

    @property
    def width(self) -> int:
        """How many cells a run has."""
        return max(1, len(self.registers.cells) + self.apart)

    def arrays(self) -> dict[str, Any]:
        """The tables by the names that kernels know them by."""
        rows = ("actions", "kills", "probes", "tests", "steps", "writes", "folds")
        return {name: getattr(self, name).array for name in rows} | {
            "code_ranges": self.code_ranges.array[: len(self.code_ranges)],
            "states": self.states,
            "cells": self.cells.array.ravel(),
            "floating": self.floating,
        }

    def ranking(self) -> list[int]:
        """Per cell LESS, if a run that holds less passes every test that one that holds more does; GREATER, if more;
        else EQUAL."""
        found: dict[Cell, set[int]] = {cell: set() for cell in self.registers.cells}
        for tree in (tree for trees in self.registers.tests.values() for tree in trees):
            comparison = as_comparison(tree)
            if comparison is None or self.kinds[comparison[2]] == "text":
                for cell in find_cells(tree):
                    found[cell].add(layout.EQUAL)
            else:
                found[comparison[1]].add(_RANKING.get(comparison[0], layout.EQUAL))
        for tree in (tree for bars in self.registers.barred.values() for _, trees in bars for tree in trees):
            for cell in find_cells(tree):
                found[cell].add(layout.EQUAL)
        return [next(iter(ways)) if len(ways) == 1 else layout.EQUAL for ways in found.values()]

    def _always_waits(self, state: int) -> bool:
        return any(t.waits and not t.unless for t in self._leaving[state])

    def _same_kind(self, found: Equality) -> bool:
        cell, term = found
        return self.kind(cell) == self.kinds[term]

    def _state(self, state: int) -> tuple[int, ...]:
        needed = [cell for cell in self.registers.cells if cell in self.registers.needed[state]]
        index = self.index[state]
        begin = len(self.cells)
        # Looked-up cells come first, so that they are a range of their own.
        for cell in (*index, *(cell for cell in needed if cell not in index)):
            self.cells.add(self.column[cell])
        plain = len(index) == len(needed) and not self.apart
        if self.apart:
            self.cells.add(len(self.column))
        return begin, len(self.cells), begin, begin + len(index), int(plain), self.fragile.get(state, 0), 0

    def divide(self, cell: Cell, *, into_buckets: bool) -> None:
        """Whether runs of the states that compare this cell by its order are looked up by it."""
        states = [state for state, ranged in enumerate(self.ranged) if ranged == cell]
        self.states[states, layout.RANGED] = 1 + self.column[cell] if into_buckets else 0

    def _ranged(self, state: int) -> Cell | None:
        """A cell that tests of the state compare with the current event by its order, the one that most of them do."""
        leaving = (t for t in self._leaving[state] if not t.stays)
        found = [
            cell for t in leaving for tree in self.registers.tests[t] if (cell := self._by_order(tree)) is not None
        ]
        usable = [cell for cell in found if cell not in self.index[state]]
        return max(usable, key=usable.count) if usable else None

    def _by_order(self, tree: Tree) -> Cell | None:
        """The cell that a test compares, by its order, with a term of the same kind: text has no whole numbers."""
        comparison = as_comparison(tree)
        if comparison is None or comparison[0] not in _RANKING:
            return None
        _, cell, term = comparison
        return cell if self._same_kind((cell, term)) and self.kinds[term] != "text" else None

    # -- one code

    def fill(self, code: int) -> None:
        """Write down what an event of this code does."""
        while len(self.code_ranges) <= code:
            self.code_ranges.add(-1, 0, 0, 0)
        truth = self._truth(code)
        actions = [action for state in range(len(self._leaving)) for action in self._actions_of(state, truth)]
        begin = len(self.actions)
        for action in sorted(actions, key=lambda action: action.kind):
            self._write(action)
        first_kill = len(self.kills)
        for state, number in self.fragile.items():
            if not any(t.stays for t in self._enabled(state, truth)):
                self.kills.add(number)
        self.code_ranges.array[code] = (begin, len(self.actions), first_kill, len(self.kills))

    def _enabled(self, state: int, truth: tuple[bool, ...]) -> list[Transition]:
        def holds(condition: Condition) -> bool:
            return truth[self._number[condition]]

        return [
            t
            for t in self._leaving[state]
            if (t.condition is None or holds(t.condition)) and not any(map(holds, t.unless)) and t != START_LOOP
        ]

    def _actions_of(self, state: int, truth: tuple[bool, ...]) -> list[_Action]:
        enabled = self._enabled(state, truth)
        source = state - 1 if state == 0 else state
        found = []
        for t in enabled:
            if t.stays:
                continue
            # What is barred from skipping is no reason not to be marked, and only skips are barred.
            trees = self.registers.tests[t] + self._unbarred(t, truth)
            symbol = 0 if t.mark is None else self._symbol(t)
            if t.mark is not None and t.target in self.registers.transducer.final:
                found.append(_Action(layout.COMPLETE, source, t.target, symbol, trees))
            if self._leaving[t.target]:
                found.append(_Action(layout.MOVE, source, t.target, symbol, trees, t.writes, t.folds))
            if t in self._covering:  # what leaves the event out is part of a larger match
                found.append(_Action(layout.END, source, source, 0, trees))
        return found + self._ends(state, [t for t in enabled if t.stays], truth)

    def _ends(self, state: int, waits: list[Transition], truth: tuple[bool, ...]) -> list[_Action]:
        """Runs that may not skip the event: those that every way to wait bars."""
        ways = [[own for condition, own in self.registers.barred[t] if truth[self._number[condition]]] for t in waits]
        if not ways or not all(ways):
            return []
        ends: list[tuple[Tree, ...]] = [()]
        for bars in ways:
            ends = [(*trees, *own) for trees in ends for own in bars]
        return [_Action(layout.END, state, state, 0, trees) for trees in ends]

    def _unbarred(self, transition: Transition, truth: tuple[bool, ...]) -> tuple[Tree, ...]:
        bars = [own for condition, own in self.registers.barred[transition] if truth[self._number[condition]]]
        return tuple(Apply("not", (Apply("is_true", (_all(own),)),)) for own in bars)

    def _write(self, action: _Action) -> None:
        probe_begin = len(self.probes)
        tested = list(action.trees)
        for cell in self.index[action.source] if action.source >= 0 else ():
            term, tree = next(
                (found[1], tree)
                for tree in tested
                if (found := as_equality(tree)) is not None and found[0] == cell and self._same_kind(found)
            )
            tested.remove(tree)
            self.probes.add(term, int(self.kinds[term] == "float"))
        test_begin = len(self.tests)
        for tree in tested:
            self._test(tree)
        write_begin = len(self.writes)
        fold_begin = len(self.folds)
        for cell, column in self.column.items():
            if cell.register in action.written and cell in self.registers.needed[action.target]:
                if (fold := find_fold(action.folds, cell)) is not None:
                    self._fold(fold, cell, column)
                else:
                    self.writes.add(column, cell.term)
        if self.apart and action.source < 0:
            self.writes.add(len(self.column), layout.EVENT_NUMBER)
        self.actions.add(
            *(action.kind, action.source, action.target, action.symbol, probe_begin),
            *(test_begin, len(self.tests), write_begin, len(self.writes), fold_begin, len(self.folds)),
        )

    def _fold(self, fold: Fold, cell: Cell, column: int) -> None:
        """How an event is taken into a cell of earlier events."""
        kind, op = self.kinds[cell.term], layout.TAKE
        if cell.op == "count":
            op = layout.BEGIN_COUNT if fold.begins else layout.COUNT
        elif cell.op == FLOAT_SUM and kind != "float":
            op = layout.BEGIN_FLOATS if fold.begins else layout.ADD_AS_FLOAT
        elif not fold.begins and cell.op not in (PREV, "last"):
            if cell.op == "first":
                return
            op = _FOLDS["sum" if cell.op == FLOAT_SUM else cell.op][kind]
        stored = layout.CURRENT_EVENT if fold.source is None else self.column[Cell(fold.source, cell.term)]
        self.folds.add(column, op, stored, cell.term)

    # -- tests

    def _test(self, tree: Tree) -> None:
        if (comparison := as_comparison(tree)) is not None:
            op, cell, term = comparison
            kind = _comparison(self.kind(cell), self.kinds[term], op)
            self.tests.add(kind, self.column[cell], term, layout.OUTCOMES[op])
            return
        if _depth(tree) > layout.STACK_DEPTH:
            raise LimitError(
                "depth", layout.STACK_DEPTH, reason="a condition between events is nested too deeply", fix="split it"
            )
        assert self.has_programs
        begin = len(self.steps)
        self._steps(tree)
        self.tests.add(layout.PROGRAM, begin, len(self.steps), 0)

    def _steps(self, tree: Tree) -> Kind:
        """Append the steps that leave the tree's value on the stack."""
        if isinstance(tree, EventTerm):
            kind = self.kinds[tree.number] if tree.register is None else self.kind(tree.cell)
            floating = kind == "float"
            if tree.register is None:
                self.steps.add(layout.TERM_FLOAT if floating else layout.TERM, tree.number)
            else:
                self.steps.add(layout.CELL_FLOAT if floating else layout.CELL, self.column[tree.cell])
            return kind
        if tree.op in _UNARY:
            kind = self._steps(tree.args[0])
            self.steps.add(_UNARY[tree.op], 0)
            return kind
        first, *rest = self._in_one_unit(tree.args)
        kind = self._steps(first)
        for arg in rest:
            self._steps(arg)
            if tree.op in COMPARISONS:
                ordered = kind == "text" and tree.op not in ("=", "!=")
                self.steps.add(layout.COMPARE_TEXTS if ordered else layout.COMPARE, layout.OUTCOMES[tree.op])
            else:
                self.steps.add(_BINARY[tree.op], 0)
        return kind if tree.op == "coalesce" else "whole"

    def _in_one_unit(self, args: tuple[Tree, ...]) -> tuple[Tree, ...]:
        """Literal durations beside numbers as their seconds."""
        seconds = self.registers.seconds
        if not seconds or all(self._counts_ticks(arg) for arg in args):
            return args
        return tuple(
            EventTerm(None, seconds[arg.number]) if isinstance(arg, EventTerm) and arg.number in seconds else arg
            for arg in args
        )

    def _counts_ticks(self, tree: Tree) -> bool:
        """Whether its value is a time or a duration: sums and differences are, where one of their sides is."""
        if isinstance(tree, EventTerm):
            return self.kinds[tree.number] == "ticks" and tree.op != "count"
        sides = [arg for arg in tree.args if not isinstance(arg, EventTerm) or arg.number not in self.registers.seconds]
        return any(map(self._counts_ticks, sides or tree.args))


def as_comparison(tree: Tree) -> tuple[str, Cell, int] | None:
    """The operator, the cell and the term of the current event, if the tree is just that."""
    if not isinstance(tree, Apply) or tree.op not in COMPARISONS:
        return None
    op, (left, right) = tree.op, tree.args
    if isinstance(left, EventTerm) and left.register is None:
        op, left, right = MIRROR[op], right, left
    if not isinstance(left, EventTerm) or not isinstance(right, EventTerm):
        return None
    if left.register is None or right.register is not None:
        return None
    return op, left.cell, right.number


def _comparison(cell: Kind, term: Kind, op: str) -> int:
    if cell == "text" and op not in ("=", "!="):
        return layout.TEXTS
    if cell == "float":
        return layout.FLOATS if term == "float" else layout.CELL_IS_FLOAT
    return layout.TERM_IS_FLOAT if term == "float" else layout.WHOLE


def _depth(tree: Tree) -> int:
    """How many values its evaluation holds at once: that of the first argument, then one beside each further one."""
    if isinstance(tree, EventTerm):
        return 1
    first, *rest = map(_depth, tree.args)
    return max([first, *(1 + depth for depth in rest)])


def _all(trees: Sequence[Tree]) -> Tree:
    return trees[0] if len(trees) == 1 else Apply("and", tuple(trees))
