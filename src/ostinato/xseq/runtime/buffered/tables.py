"""A program as tables for walks over trees: all walks as one automaton, conditions on nodes as programs over atoms."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ostinato.xseq.kernels import value_codes as v
from ostinato.xseq.kernels.tree.chains import Each, Work
from ostinato.xseq.kernels.tree.checks import AGAIN, BACK, BEGIN, MARK, MEET, Auto, Checks
from ostinato.xseq.runtime.buffered.closed_paths import EXISTS, close_conditions, close_path
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.automaton import Jump, Move, Walk, build_walk
from ostinato.xseq.walk.program import ValueSource, WalkProgram, build_program, ranging_variables
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
_COMPARE = {"=": v.EQ, "!=": v.NE, "<": v.LT, "<=": v.LE, ">": v.GT, ">=": v.GE}
_COMPUTE = {"+": v.ADD, "-": v.SUB, "*": v.MUL, "/": v.DIV, "%": v.MOD}
_ATOM, _AND, _OR, _NOT = 0, 1, 2, 3
_MOST_ATOMS = 60  # of one condition: their results are bits


@dataclass
class TreeTables:
    """Everything about a program that does not depend on a document."""

    program: WalkProgram
    tables: WalkTables
    auto: Auto  # its names are numbers into `names`, -1 where there is none
    work: Work
    each: Each
    checks: Checks  # without room for results
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
class _Lowering:
    program: WalkProgram
    names: list[str] = field(default_factory=list)
    moves: list[Move] = field(default_factory=list)  # with states counted over all walks
    walks: list[tuple[int, Walk]] = field(default_factory=list)
    accepting: list[int] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    paths: dict[n.Path, int] = field(default_factory=dict)
    conditions: dict[n.Condition, int] = field(default_factory=dict)
    codes: list[list[tuple[int, int]]] = field(default_factory=list)
    simple: list[bool] = field(default_factory=list)
    eager: list[int] = field(default_factory=list)
    atoms: list[tuple[int, ...]] = field(default_factory=list)
    holes: list[tuple[int, int, int]] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)
    code: list[tuple[int, int]] = field(default_factory=list)
    constants: dict[n.Constant, int] = field(default_factory=dict)
    sources: list[ValueSource] = field(default_factory=list)
    asked: set[ValueSource] = field(default_factory=set)  # by conditions
    places: int = 0
    most: int = 1

    def tables(self) -> TreeTables:
        program = self.program
        made = build_tables(program)
        self.sources = list(made.sources)
        self.add_walk(program.walk)
        keyed = -1
        if program.keyed is not None and program.query.partition is not None:
            keyed = self.path(program.query.partition.path)
        per_move = [self.checks_of(move) for move in program.walk.moves]
        each = self.each()
        # relative walks were added while conditions were lowered: their moves come behind, with checks known by now
        for move in self.moves[len(per_move) :]:
            found = self.checks_of(move)
            per_move.append(found)
        kept = [number for number in range(len(self.codes)) if not self.simple[number]]
        states = len(self.accepting)
        stack = self.places
        moves = self.moves
        return TreeTables(
            program,
            made,
            Auto(
                np.searchsorted([move.source for move in moves], np.arange(states + 1)).astype(np.int32),
                _ints(_JUMPS[m.axis] if isinstance(m.axis, Jump) else AXES[m.axis] for m in moves),
                _ints(move.target for move in moves),
                _ints(_TESTS[move.test.kind] if move.test else -1 for move in moves),
                _ints(self.name(move.test.name) if move.test and move.test.name else -1 for move in moves),
                _ints(move.mark for move in moves),
                _begins(per_move),
                _ints(check for found in per_move for check in found),
                np.array(self.accepting, np.uint8),
                _ints(self.live),
            ),
            self.work(made),
            each,
            Checks(
                _begins(self.codes),
                _ints(number for code in self.codes for pair in code for number in pair),
                _ints(kept.index(number) if number in kept else -1 for number in range(len(self.codes))),
                _ints(number for atom in self.atoms for number in atom),
                _ints(number for hole in self.holes for number in hole),
                _ints(self.groups),
                _ints(number for pair in self.code for number in pair),
                stack,
                np.zeros(0, np.uint8),
            ),
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

    def work(self, made: WalkTables) -> Work:
        labels, program = self.labels(), self.program
        per_move = [
            [labels.index(name) for name in move.enters if name in labels]
            + ([labels.index(move.binds)] if move.binds else [])
            for move in program.walk.moves
        ]
        return Work(
            made.ops,
            made.move_ops,
            made.tests,
            made.move_tests,
            np.array(made.end_tests, np.int32),
            made.needs,
            made.code,
            _begins(per_move),
            _ints(label for found in per_move for label in found),
            len({move.binds for move in program.walk.moves if move.binds}),
            len(labels),
            len(made.constants),
            made.stack,
            made.base,
            made.width,
        )

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
                code.append((_ATOM, self.atom(condition)))
            case n.Not():
                self.truth(condition.part, code)
                code.append((_NOT, 0))
            case _:
                for number, part in enumerate(condition.parts):
                    self.truth(part, code)
                    if number:
                        code.append((_AND if isinstance(condition, n.And) else _OR, 0))

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
        self.code.append((v.COMPARE, _COMPARE[comparison.operator]))
        self.atoms.append((1, holes, len(self.holes), groups, len(self.groups), code, len(self.code)))
        return len(self.atoms) - 1

    group: int = 0

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
                self.code.append((_COMPUTE[operand.operator], 0))
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
        self.asked.add(source)
        if source not in self.sources:
            self.sources.append(source)
        return self.sources.index(source)

    # --- conditions on all bindings

    def each(self) -> Each:
        rows: list[tuple[int, ...]] = []
        variables: list[int] = []
        holes: list[tuple[int, ...]] = []
        labels = self.labels()
        for condition in self.program.for_each:
            over = sorted(ranging_variables(condition))
            begin, hole, code = len(variables), len(holes), len(self.code)
            variables += [labels.index(name) for name in over]
            self.whole(condition, over, holes)
            rows.append((begin, len(variables), hole, len(holes), code, len(self.code)))
            self.most = max(self.most, len(over))
        return Each(np.array(rows, np.int32).reshape(-1, 6), _ints(variables), np.array(holes, np.int32).reshape(-1, 4))

    def whole(self, condition: n.Condition, over: list[str], holes: list[tuple[int, ...]]) -> None:
        match condition:
            case n.Comparison():
                self.bound(condition.left, over, holes)
                self.bound(condition.right, over, holes)
                self.code.append((v.COMPARE, _COMPARE[condition.operator]))
            case n.Not():
                self.whole(condition.part, over, holes)
                self.code.append((v.NOT, 0))
            case _:
                for number, part in enumerate(condition.parts):
                    self.whole(part, over, holes)
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
                self.code.append((_COMPUTE[operand.operator], 0))
            case n.Negative():
                self.bound(operand.operand, over, holes)
                self.code.append((v.NEG, 0))

    # --- values

    def is_read(self, source: ValueSource) -> bool:
        """Whether the text of a node is needed, or only the node, to be returned as it is written."""
        if source.leaf is not n.Leaf.NODE or source in self.asked:
            return True
        query = self.program.query
        spoken = list(n.operands(query.where)) if query.where is not None else []
        for item in query.items or ():
            if not isinstance(item.operand, n.Reference):
                spoken += n.operands(n.Comparison("=", item.operand, item.operand))
        compared = [each for each in spoken if isinstance(each, n.Reference) and each.leaf is n.Leaf.NODE]
        return any(each.steps == source.steps for each in compared)


def _own(operand: n.Relative) -> ValueSource | None:
    """What is asked of the node itself, where a path does not lead away from it."""
    path = operand.path
    if not isinstance(path, n.Step) or path.predicates:
        return None
    if path.axis is n.Axis.SELF and path.test.kind is n.Kind.NODE:
        return ValueSource(operand.leaf)
    if path.axis is n.Axis.ATTRIBUTE and path.test.kind is n.Kind.NAME and operand.leaf is n.Leaf.NODE:
        return ValueSource(n.Leaf.ATTRIBUTE, path.test.name)
    return None


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


def _ints(numbers: object) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.fromiter(numbers, np.int32)  # type: ignore[call-overload, no-any-return]


def _begins(lists: list[list[int]] | list[list[tuple[int, int]]]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    return np.cumsum([0, *map(len, lists)]).astype(np.int32)
