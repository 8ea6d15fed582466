"""A program as tables for walks over trees: all walks as one automaton, conditions on nodes as programs over atoms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ostinato.xseq.kernels.buffered.layout import (
    AGAIN,
    BACK,
    BEGIN,
    MARK,
    MEET,
    Checks,
    ForEach,
    WalkMoves,
    Writes,
)
from ostinato.xseq.runtime.buffered.arrays import Ints, int32_array, range_starts
from ostinato.xseq.runtime.buffered.closed_paths import close_conditions, close_path
from ostinato.xseq.runtime.buffered.conditions import ConditionLowering
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.automaton import Jump, Move, Walk, build_walk
from ostinato.xseq.walk.program import ValueSource, WalkProgram, build_program
from ostinato.xseq.walk.tables import AXES, WalkTables, build_tables

_JUMPS = {
    Jump.MARK: MARK,
    Jump.BACK: BACK,
    Jump.MEET: MEET,
    Jump.BEGIN: BEGIN,
    Jump.AGAIN: AGAIN,
}
_TESTS = {n.Kind.NAME: 0, n.Kind.ANY: 1, n.Kind.NODE: 2, n.Kind.TEXT: 3}
LEAVES = {n.Leaf.ATTRIBUTE: 0, n.Leaf.TEXT: 1, n.Leaf.TAG: 2, n.Leaf.NODE: 3}


@dataclass
class TreeTables:
    """Everything about a program that does not depend on a document."""

    program: WalkProgram
    tables: WalkTables
    automaton: WalkMoves
    move_names: Ints  # of each move: a number into `names`, -1 where there is none
    writes: Writes
    for_each: ForEach
    checks: Checks
    programs: Ints  # of conditions
    stack: int  # where the stack of these programs begins
    eager: list[int]  # checks that are parts of others, innermost first
    sources: list[ValueSource]
    read: list[bool]
    names: list[str]
    constants: dict[int, n.Constant]  # of the checks' file: what stands where
    remembered: int  # checks whose results are kept
    keyed: int  # where the walk of `partition by` begins
    states: int  # of the main walk
    widest: int  # most marks
    groups: int  # most relative paths of a condition
    walks: list[tuple[int, Walk]] = field(default_factory=list)  # every walk and its first state
    labels: list[str] = field(default_factory=list)  # variables, then path variables whose rounds count


def build_tree_tables(given: WalkProgram) -> TreeTables:
    """Lower a program of a checked, normalised query."""
    query = close_conditions(given.query)
    program = build_program(query, given.repeats)
    walk = program.walk
    program.walk = replace(walk, moves=tuple(sorted(walk.moves, key=lambda move: move.source)))
    return _Lowering(program).tables()


@dataclass
class _Lowering(ConditionLowering):
    names: list[str] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)  # with states counted over all walks
    walks: list[tuple[int, Walk]] = field(default_factory=list)
    accepting: list[int] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    paths: dict[n.Path, int] = field(default_factory=dict)
    eager: list[int] = field(default_factory=list)

    def tables(self) -> TreeTables:
        program = self.program
        made = build_tables(program)
        self.sources = list(made.sources)
        self.add_walk(program.walk)
        keyed = -1
        if program.keyed is not None and program.query.partition is not None:
            keyed = self.path(program.query.partition.path)
        per_move = [self.checks_of(move) for move in program.walk.moves]
        for_each = self.for_each()
        # relative walks were added while conditions were lowered: their moves come behind, with checks known by now
        for move in self.moves[len(per_move) :]:
            found = self.checks_of(move)
            per_move.append(found)
        kept = [number for number in range(len(self.codes)) if not self.simple[number]]
        states = len(self.accepting)
        moves = self.moves
        return TreeTables(
            program,
            made,
            WalkMoves(
                begin=np.searchsorted([move.source for move in moves], np.arange(states + 1)).astype(np.int32),
                axis=int32_array(_JUMPS[m.axis] if isinstance(m.axis, Jump) else AXES[m.axis] for m in moves),
                target=int32_array(move.target for move in moves),
                test=int32_array(_TESTS[move.test.kind] if move.test else -1 for move in moves),
                mark=int32_array(move.mark for move in moves),
                checks=range_starts(per_move),
                check=int32_array(check for found in per_move for check in found),
                accepting=np.array(self.accepting, np.uint8),
                marks=int32_array(self.live),
            ),
            int32_array(self.name(move.test.name) if move.test and move.test.name else -1 for move in moves),
            self.writes(made),
            for_each,
            Checks(
                begin=range_starts(self.codes),
                code=int32_array(number for code in self.codes for pair in code for number in pair),
                table=int32_array(kept.index(number) if number in kept else -1 for number in range(len(self.codes))),
                atoms=int32_array(number for atom in self.atoms for number in atom),
                holes=int32_array(number for hole in self.holes for number in hole),
                groups=int32_array(self.groups),
            ),
            int32_array(number for pair in self.code for number in pair),
            self.places,
            self.eager,
            self.sources,
            [self.is_read(source) for source in self.sources],
            self.names,
            {place: constant for constant, place in self.constants.items()},
            len(kept),
            keyed,
            program.walk.states,
            max(1, *(walk.marks for _, walk in self.walks)),
            self.most,
            self.walks,
            self.labels(),
        )

    def name(self, name: str) -> int:
        if name not in self.names:
            self.names.append(name)
        return self.names.index(name)

    # --- walks

    def add_walk(self, walk: Walk) -> int:
        """Append a walk; where it begins."""
        first = len(self.accepting)
        self.walks.append((first, walk))
        for move in sorted(walk.moves, key=lambda move: move.source):
            self.moves.append(replace(move, source=first + move.source, target=first + move.target))
        self.accepting += [int(state in walk.accepting) for state in range(walk.states)]
        self.live += live_marks(walk)
        return first

    def path(self, path: n.Path) -> int:
        """Where the walk along a relative path begins."""
        path = close_path(path, {})
        if path not in self.paths:
            walk = build_walk(path, {})
            for move in walk.moves:  # what it asks of nodes is decided before
                for check in self.checks_of(move):
                    if check not in self.eager and not self.simple[check]:
                        self.eager.append(check)
            self.paths[path] = self.add_walk(walk)
        return self.paths[path]

    def writes(self, made: WalkTables) -> Writes:
        labels, program = self.labels(), self.program
        per_move = [
            [labels.index(name) for name in move.enters if name in labels]
            + ([labels.index(move.binds)] if move.binds else [])
            for move in program.walk.moves
        ]
        return Writes(
            ops=made.ops,
            move_ops=made.move_ops,
            tests=made.tests,
            move_tests=made.move_tests,
            first_end=made.end_tests[0],
            last_end=made.end_tests[1],
            needs=made.needs,
            labels=range_starts(per_move),
            label=int32_array(label for found in per_move for label in found),
            variables=len({move.binds for move in program.walk.moves if move.binds}),
            rounds=len(labels),
            first_source=len(made.constants),
            width=made.width,
        )


def live_marks(walk: Walk) -> list[int]:
    """For each state one more than the last mark that may still be read; 0 where none is."""
    live: list[set[int]] = [set() for _ in range(walk.states)]
    changed = True
    while changed:
        changed = False
        for move in walk.moves:
            after = live[move.target] - ({move.mark} if move.axis in (Jump.MARK, Jump.BEGIN) else set())
            if move.axis in (Jump.BACK, Jump.MEET, Jump.AGAIN):
                after = after | {move.mark}
            if not after <= live[move.source]:
                live[move.source] |= after
                changed = True
    return [max(found, default=-1) + 1 for found in live]
