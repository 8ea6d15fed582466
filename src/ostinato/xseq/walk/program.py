"""What a run along a walk remembers and tests: slots for values, what each move writes, when each condition is decided.

A condition of the where clause is tested as soon as nothing it speaks of can change any more; what is still open when a
walk ends is tested then (XSeq paper, section 4.1: registers in place of copies of states).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from ostinato.errors import QueryError
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.automaton import Move, Walk, build_walk


@dataclass(frozen=True)
class ValueSource:
    """A value of the node that is being bound: of the node that `steps` lead to first, its attribute, text, …"""

    leaf: n.Leaf
    name: str = ""
    steps: tuple[tuple[n.Axis, str], ...] = ()


class Keep(StrEnum):
    """Which value a slot holds."""

    LAST = "last"
    FIRST = "first"
    PREV = "prev"
    ROUND = "round"  # how many rounds of a path variable have begun
    COUNT = "count"
    SUM = "sum"
    MIN = "min"
    MAX = "max"


@dataclass(frozen=True)
class Slot:
    """A value that a run carries along."""

    variable: str
    keep: Keep
    source: ValueSource | None = None  # of LAST, FIRST, PREV
    operand: n.Operand | None = None  # of COUNT (None: every binding counts), SUM, MIN, MAX
    within: str | None = None  # LAST, FIRST, PREV speak of the rounds of this path variable


@dataclass(frozen=True)
class SlotTest:
    """A condition over slots. It is left out while a slot of `needs` was never written."""

    __test__ = False  # not for pytest, whatever its name

    condition: n.Condition
    needs: tuple[int, ...]


class AnswerKind(StrEnum):
    """How the rows come from the matches."""

    NODES = "nodes"  # no return clause: every node that a walk ends on, once
    MATCHES = "matches"
    GROUPS = "groups"  # aggregates over all matches


@dataclass(frozen=True)
class AnswerColumn:
    """A column of the answer: an operand over slots, and the aggregate over all matches that is taken of it."""

    name: str
    operand: n.Operand | None  # None: the node that the walk ends on
    over_all: str | None = None  # max, min, count, sum, avg
    number: str = ""  # "int64" or "double" where it is no text


@dataclass
class WalkProgram:
    """A query, ready to be made into tables."""

    query: n.Query
    walk: Walk
    keyed: Walk | None  # the walk of `partition by`
    key: str | None
    slots: list[Slot] = field(default_factory=list)
    at_move: dict[Move, tuple[SlotTest, ...]] = field(default_factory=dict)
    at_end: tuple[SlotTest, ...] = ()
    for_each: tuple[n.Condition, ...] = ()  # conditions that need all bindings of a match together
    columns: tuple[AnswerColumn, ...] = ()
    answer: AnswerKind = AnswerKind.NODES
    repeats: frozenset[str] = frozenset()  # the variables that a match may bind more than once

    def slot(self, slot: Slot) -> int:
        """The number of a slot, a new one where there is none like it yet."""
        if slot not in self.slots:
            self.slots.append(slot)
        return self.slots.index(slot)

    def slot_of(self, reference: n.Reference) -> int:
        """The slot that holds a reference's value once its variable is bound."""
        source = ValueSource(reference.leaf, reference.name, reference.steps)
        keep = {n.Alias.PLAIN: Keep.LAST, n.Alias.LAST: Keep.LAST, n.Alias.FIRST: Keep.FIRST, n.Alias.PREV: Keep.PREV}
        kept = keep[reference.alias]
        if kept is Keep.FIRST and reference.within is None and reference.variable not in self.repeats:
            kept = Keep.LAST
        slot = Slot(reference.variable, kept, source, within=reference.within)
        if kept is Keep.PREV:  # what was last becomes the one before
            self.slot(Slot(reference.variable, Keep.LAST, source, within=reference.within))
        if kept is Keep.FIRST and reference.within is not None:
            self.slot(Slot(reference.within, Keep.ROUND))
        return self.slot(slot)

    def slots_of(self, aggregate: n.Aggregate) -> tuple[int, ...]:
        """The slots of an aggregate over one match: avg has two, the sum and the count."""
        variable = next(iter(sorted(ranging_variables(aggregate.operand) & self.repeats)))
        operand: n.Operand | None = aggregate.operand
        if isinstance(operand, n.Reference) and operand.leaf is n.Leaf.NODE and aggregate.function == "count":
            operand = None
        if operand is not None:
            self.note(operand, variable)
        if aggregate.function == "avg":  # the negative of what is no number is null, and does not count
            assert operand is not None
            numbers = Slot(variable, Keep.COUNT, operand=n.Negative(operand))
            return self.slot(Slot(variable, Keep.SUM, operand=operand)), self.slot(numbers)
        return (self.slot(Slot(variable, Keep(aggregate.function), operand=operand)),)

    def note(self, operand: n.Operand, current: str | None = None) -> None:
        """Make the slots that an operand reads; plain references to `current` are read off the node itself."""
        match operand:
            case n.Reference():
                if operand.variable != current or operand.alias is not n.Alias.PLAIN:
                    self.slot_of(operand)
            case n.Arithmetic():
                self.note(operand.left, current)
                self.note(operand.right, current)
            case n.Negative():
                self.note(operand.operand, current)
            case n.Aggregate():
                self.slots_of(operand)


def ranging_variables(thing: n.Operand | n.Condition) -> frozenset[str]:
    """The variables that stand plain or under prev, outside aggregates."""
    match thing:
        case n.Reference():
            return frozenset({thing.variable}) if thing.alias in (n.Alias.PLAIN, n.Alias.PREV) else frozenset()
        case n.Arithmetic() | n.Comparison():
            return ranging_variables(thing.left) | ranging_variables(thing.right)
        case n.Negative():
            return ranging_variables(thing.operand)
        case n.Constant() | n.Relative() | n.Aggregate():
            return frozenset()
        case _:
            return frozenset().union(*(ranging_variables(inner) for inner in _children(thing)))


def _children(condition: n.Condition) -> tuple[n.Condition, ...]:
    inner = getattr(condition, "parts", None) or (getattr(condition, "part", None),)
    return tuple(part for part in inner if part is not None)


def build_program(query: n.Query, repeats: frozenset[str]) -> WalkProgram:
    """The program of a checked, normalised query; `repeats` are the variables that a match may bind more than once."""
    wanted: dict[str, tuple[n.Condition, ...]] = {}
    rest: list[n.Condition] = []
    for condition in n.conjuncts(query.where):
        alone = _own_condition(condition)
        if alone is not None:
            wanted[alone[0]] = (*wanted.get(alone[0], ()), alone[1])
        else:
            rest.append(condition)
    walk = build_walk(query.path, wanted)
    partition = query.partition
    program = WalkProgram(
        query,
        walk,
        build_walk(_without_variables(partition.path), {}) if partition else None,
        partition.attribute if partition else None,
        repeats=repeats,
    )
    for condition in rest:
        _place(condition, program)
    _columns(query, program)
    return program


def _own_condition(condition: n.Condition) -> tuple[str, n.Condition] | None:
    """(X, condition on the node itself) of a condition that asks only for attributes and the name of plain `$X`."""
    found: set[str] = set()
    for operand in n.operands(condition):
        if isinstance(operand, n.Reference):
            if operand.alias is not n.Alias.PLAIN or operand.within or operand.steps:
                return None
            if operand.leaf not in (n.Leaf.ATTRIBUTE, n.Leaf.TAG):
                return None
            found.add(operand.variable)
        elif isinstance(operand, n.Aggregate):
            return None
    return (found.pop(), _on_node(condition)) if len(found) == 1 else None


def _on_node(condition: n.Condition) -> n.Condition:
    """The condition with `$X@a` turned into `@a`."""
    match condition:
        case n.Comparison():
            return n.Comparison(condition.operator, _of_node(condition.left), _of_node(condition.right), condition.span)
        case n.And():
            return n.And(tuple(map(_on_node, condition.parts)), condition.span)
        case n.Or():
            return n.Or(tuple(map(_on_node, condition.parts)), condition.span)
        case n.Not():
            return n.Not(_on_node(condition.part), condition.span)


def _of_node(operand: n.Operand) -> n.Operand:
    match operand:
        case n.Reference():
            if operand.leaf is n.Leaf.TAG:
                return n.Relative(n.Step(n.Axis.SELF, n.NodeTest(n.Kind.NODE)), n.Leaf.TAG, operand.span)
            return n.Relative(
                n.Step(n.Axis.ATTRIBUTE, n.NodeTest(n.Kind.NAME, operand.name)), n.Leaf.NODE, operand.span
            )
        case n.Arithmetic():
            return n.Arithmetic(operand.operator, _of_node(operand.left), _of_node(operand.right), operand.span)
        case n.Negative():
            return n.Negative(_of_node(operand.operand), operand.span)
        case _:
            return operand


def _without_variables(path: n.Path) -> n.Path:
    match path:
        case n.Step():
            return replace(path, variable=None)
        case n.Concat() | n.Union() | n.Intersect():
            return replace(path, parts=tuple(map(_without_variables, path.parts)))
        case n.Star() | n.Define():
            return replace(path, body=_without_variables(path.body))
        case n.Call():
            return path


def _place(condition: n.Condition, program: WalkProgram) -> None:
    """Decide where a condition is tested."""
    walk, over = program.walk, ranging_variables(condition)
    mentions = {ref.variable for ref in n.operands(condition) if isinstance(ref, n.Reference)}
    needs: list[int] = []
    for operand in n.operands(condition):
        ranges = isinstance(operand, n.Reference) and operand.alias in (n.Alias.PLAIN, n.Alias.PREV)
        if ranges and isinstance(operand, n.Reference) and not _in_aggregate(operand, condition):
            needs.append(program.slot_of(operand))
    _note_all(condition, program)
    test = SlotTest(condition, tuple(dict.fromkeys(needs)))
    repeated = over & program.repeats
    decisive = [move for move in walk.moves if move.binds in (over if repeated else mentions)]
    early = [
        move
        for move in decisive
        if all(_settled_in(operand, walk, move.target) for operand in _ends(condition)) and not repeated - {move.binds}
    ]
    for move in early:
        if _matters(condition, walk, move):
            program.at_move[move] = (*program.at_move.get(move, ()), test)
    late = [move for move in decisive if move not in early]
    if repeated and late:
        program.for_each = (*program.for_each, condition)
    elif not repeated and _may_end_after({0, *(move.target for move in late)}, mentions, walk):
        program.at_end = (*program.at_end, test)


def _matters(condition: n.Condition, walk: Walk, move: Move) -> bool:
    """Whether a condition can be decided otherwise by a move than it was before it."""
    found = [
        operand for operand in n.operands(condition) if isinstance(operand, n.Reference) and operand.within is None
    ]
    if any(r.alias is n.Alias.PREV and r.variable == move.binds not in walk.maybe_bound[move.source] for r in found):
        return False  # it is the first of its kind, so there is no previous one
    whole = [operand for operand in n.operands(condition) if isinstance(operand, n.Reference | n.Aggregate)]
    known = all(
        isinstance(r, n.Reference) and r.alias is n.Alias.FIRST and r.variable in walk.bound_before[move.source]
        for r in whole
        if isinstance(r, n.Aggregate) or r.within is not None or r.variable == move.binds
    )
    settled = all(_settled_in(operand, walk, move.source) for operand in _ends(condition))
    return not (known and settled and all(r.variable in walk.bound_before[move.source] for r in found))


def _may_end_after(states: set[int], variables: set[str], walk: Walk) -> bool:
    """Whether a walk may end from one of the states without binding any of the variables."""
    seen, queue = set(states), list(states)
    while queue:
        state = queue.pop()
        if state in walk.accepting:
            return True
        for move in walk.leaving[state]:
            if move.binds not in variables and move.target not in seen:
                seen.add(move.target)
                queue.append(move.target)
    return False


def _note_all(condition: n.Condition, program: WalkProgram) -> None:
    match condition:
        case n.Comparison():
            program.note(condition.left)
            program.note(condition.right)
        case _:
            for inner in _children(condition):
                _note_all(inner, program)


def _in_aggregate(reference: n.Reference, condition: n.Condition) -> bool:
    return any(
        isinstance(operand, n.Aggregate) and reference in n.nested_operands(operand)
        for operand in n.operands(condition)
    )


def _ends(condition: n.Condition) -> list[n.Operand]:
    """The operands that speak of a match as a whole: first, last, aggregates."""
    return [
        operand
        for operand in n.operands(condition)
        if isinstance(operand, n.Aggregate)
        or (isinstance(operand, n.Reference) and operand.alias in (n.Alias.FIRST, n.Alias.LAST))
    ]


def _settled_in(operand: n.Operand, walk: Walk, state: int) -> bool:
    """Whether an operand's value can no longer change after a run has come to a state."""
    if isinstance(operand, n.Aggregate):
        return not ranging_variables(operand.operand) & walk.bound_after[state]
    assert isinstance(operand, n.Reference)
    later = operand.variable in walk.bound_after[state]
    if operand.alias is n.Alias.FIRST and operand.within is None:
        return not later or operand.variable in walk.bound_before[state]
    return not later


def _columns(query: n.Query, program: WalkProgram) -> None:
    if query.items is None:
        program.columns = (AnswerColumn("node", None),)
        return
    program.columns = tuple(_column(item, program) for item in query.items)
    over_all = any(column.over_all for column in program.columns)
    program.answer = AnswerKind.GROUPS if over_all else AnswerKind.MATCHES


def _column(item: n.Item, program: WalkProgram) -> AnswerColumn:
    operand = item.operand
    if isinstance(operand, n.Aggregate) and not ranging_variables(operand.operand) & program.repeats:
        counted = operand.operand
        if operand.function == "count" and isinstance(counted, n.Reference) and counted.leaf is n.Leaf.NODE:
            counted = replace(counted, leaf=n.Leaf.TAG)  # a node that is bound has a name
        program.note(counted)
        number = "int64" if operand.function == "count" else "double"
        return AnswerColumn(item.name, counted, operand.function, number)
    if any(
        isinstance(each, n.Aggregate) and not ranging_variables(each.operand) & program.repeats
        for each in n.nested_operands(operand)
    ):
        raise QueryError(
            "an aggregate over all matches cannot be part of an expression",
            span=item.span,
            fix="return the aggregates in columns of their own, and compute with those",
        )
    program.note(operand)
    if isinstance(operand, n.Aggregate):
        return AnswerColumn(item.name, operand, number="int64" if operand.function == "count" else "double")
    return AnswerColumn(item.name, operand, number="" if isinstance(operand, n.Reference | n.Constant) else "double")
