"""A path as an automaton that walks over a tree: one move per step, stars and path variables as loops.

State 0 is the document node before any move; every other state stands for a step that was just taken, so that a state
says which axis may come next. Predicates and intersections are walks as well: they leave a mark at the node they start
from, and come back to it (XSeq paper, Definitions 5.11 and 5.14).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from ostinato.errors import LimitError
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import endless_variables

MOST_STATES = 10_000


class Jump(StrEnum):
    """Moves that need no other node of the document."""

    MARK = "mark"  # remember this node
    BACK = "back"  # go to the remembered node
    MEET = "meet"  # only if this node is the remembered one
    BEGIN = "begin"  # rounds begin at this node: remember it as the only one
    AGAIN = "again"  # another round from this node: only if none began here; remember it too


@dataclass(frozen=True)
class Move:
    """From one state to another along an axis, to a node that passes the tests."""

    source: int
    target: int
    axis: n.Axis | Jump
    test: n.NodeTest | None = None  # of an axis
    binds: str | None = None
    local: tuple[n.Condition, ...] = ()  # asks of the node its own attributes and name
    checks: tuple[n.Condition, ...] = ()  # asks for more of the tree around the node
    enters: tuple[str, ...] = ()  # path variables whose next round begins here
    inside: tuple[str, ...] = ()  # path variables in whose definition the step stands
    mark: int = -1  # of a jump


@dataclass(frozen=True)
class Walk:
    """The automaton. `marks` is how many nodes a run may have to remember."""

    states: int
    moves: tuple[Move, ...]
    accepting: frozenset[int]
    marks: int = 0

    @cached_property
    def leaving(self) -> tuple[tuple[Move, ...], ...]:
        """The moves out of each state."""
        out: list[list[Move]] = [[] for _ in range(self.states)]
        for move in self.moves:
            out[move.source].append(move)
        return tuple(map(tuple, out))

    @cached_property
    def bound_before(self) -> tuple[frozenset[str], ...]:
        """For each state the variables that every run there has bound."""
        everything = frozenset(move.binds for move in self.moves if move.binds)
        known = [frozenset[str]()] + [everything] * (self.states - 1)
        changed = True
        while changed:
            changed = False
            for move in self.moves:
                bound = known[move.source] | ({move.binds} if move.binds else frozenset())
                if not known[move.target] <= bound:
                    known[move.target] &= bound
                    changed = True
        return tuple(known)

    @cached_property
    def maybe_bound(self) -> tuple[frozenset[str], ...]:
        """For each state the variables that some run there has bound."""
        return self._spread_bindings((move.source, move.target, move.binds) for move in self.moves)

    @cached_property
    def bound_after(self) -> tuple[frozenset[str], ...]:
        """For each state the variables that a run there may still bind."""
        return self._spread_bindings((move.target, move.source, move.binds) for move in self.moves)

    def _spread_bindings(self, edges: Iterable[tuple[int, int, str | None]]) -> tuple[frozenset[str], ...]:
        """What each state gets along edges that pass on what they know and what they bind."""
        every = [(one, other, frozenset((binds,)) if binds else frozenset[str]()) for one, other, binds in edges]
        known = [frozenset[str]()] * self.states
        changed = True
        while changed:
            changed = False
            for one, other, bound in every:
                more = known[one] | bound
                if not more <= known[other]:
                    known[other] |= more
                    changed = True
        return tuple(known)


def is_local(condition: n.Condition) -> bool:
    """Whether a node's own attributes and name decide a predicate."""
    return all(
        isinstance(operand, n.Constant)
        or not isinstance(operand, n.Relative | n.Reference)
        or (isinstance(operand, n.Relative) and _own(operand))
        for operand in n.operands(condition)
    )


def _own(operand: n.Relative) -> bool:
    path = operand.path
    if not isinstance(path, n.Step) or path.predicates or path.variable is not None:
        return False
    if operand.leaf is n.Leaf.TAG:
        return path.axis is n.Axis.SELF and not path.test.name
    return path.axis is n.Axis.ATTRIBUTE and bool(path.test.name)


def build_walk(path: n.Path, wanted: dict[str, tuple[n.Condition, ...]]) -> Walk:
    """The walk along a path; `wanted` has conditions that every node bound to a variable must meet by itself."""
    # definitions may stand behind their calls, and in predicates
    definitions = {define.variable: define for define in n.subpaths(path) if isinstance(define, n.Define)}
    builder = _Builder(wanted, definitions)
    end = builder.add(path, builder.start)
    return builder.without_gaps(end)


@dataclass
class _Edge:
    source: int
    target: int
    move: Move | None  # None: nothing is read
    enters: tuple[str, ...] = ()


@dataclass
class _Builder:
    """Thompson's construction; edges that read nothing are taken out at the end."""

    wanted: dict[str, tuple[n.Condition, ...]]
    definitions: dict[str, n.Define]
    edges: list[_Edge] = field(default_factory=list)
    count: int = 1
    marks: int = 0
    start: int = 0
    open: dict[str, tuple[int, int]] = field(default_factory=dict)  # path variables being defined: begin, mark

    @cached_property
    def endless(self) -> frozenset[str]:
        return endless_variables({name: define.body for name, define in self.definitions.items()})

    def state(self) -> int:
        if self.count >= MOST_STATES:
            raise LimitError(
                "states", MOST_STATES, reason="the path needs too many states", fix="call path variables less often"
            )
        self.count += 1
        return self.count - 1

    def link(self, source: int, target: int, enters: tuple[str, ...] = ()) -> None:
        self.edges.append(_Edge(source, target, None, enters))

    def move(self, source: int, move: Move) -> int:
        target = self.state()
        self.edges.append(_Edge(source, target, move))
        return target

    def add(self, path: n.Path, source: int) -> int:
        """The states and edges of a path that starts in `source`; where it ends."""
        match path:
            case n.Step():
                return self.step(path, source)
            case n.Concat():
                for part in path.parts:
                    source = self.add(part, source)
                return source
            case n.Star():
                return self.star(path, source)
            case n.Union():
                end = self.state()
                for part in path.parts:
                    self.link(self.add(part, source), end)
                return end
            case n.Intersect():
                return self.intersection(path, source)
            case n.Define():
                return self.definition(path, source)
            case n.Call():
                return self.call(path, source)

    def star(self, path: n.Star, source: int) -> int:
        if path.entry is not None:  # none, or a first round and then any number
            end = self.state()
            self.link(source, end)
            self.link(self.star(replace(path, entry=None), self.add(n.first_round(path), source)), end)
            return end
        hub, mark = self.state(), self.rounds(path.body)
        self.link(self.jump(source, Jump.BEGIN, mark), hub)
        last = self.add(path.body, hub)
        self.link(self.jump(last, Jump.AGAIN, mark), hub)
        if mark < 0:
            return hub
        end = self.state()  # a round may end where no other may begin
        self.link(source, end)
        self.link(last, end)
        return end

    def definition(self, path: n.Define, source: int) -> int:
        """The first round, which may begin along another axis than the rounds after it."""
        again, end, mark = self.state(), self.state(), self.rounds(path.body)
        source = self.jump(source, Jump.BEGIN, mark)
        before = self.open.get(path.variable)
        self.open[path.variable] = again, mark
        if path.entry is None:
            self.link(source, again, (path.variable,))
        else:
            begin = self.state()
            self.link(source, begin, (path.variable,))
            self.link(self.add(n.first_round(path), begin), end)
        self.link(self.add(path.body, again), end)
        del self.open[path.variable]
        if before is not None:
            self.open[path.variable] = before
        return end

    def call(self, path: n.Call, source: int) -> int:
        if path.variable in self.open:  # at the end of its own definition: another round; or none, if all end like that
            begin, mark = self.open[path.variable]
            self.link(self.jump(source, Jump.AGAIN, mark), begin, (path.variable,))
            return source if path.variable in self.endless else self.state()
        return self.definition(replace(self.definitions[path.variable], entry=None), source)

    def jump(self, source: int, jump: Jump, mark: int) -> int:
        return source if mark < 0 else self.move(source, Move(0, 0, jump, mark=mark))

    def rounds(self, body: n.Path) -> int:
        """A mark for the nodes where rounds begin, if rounds that bind nodes could come back to one; else -1."""
        found = list(self.inside(body, frozenset()))
        ahead = {step.axis.backward for step, outside in found if outside}
        still = any(step.axis is n.Axis.SELF for step, outside in found if outside)
        if not any(step.variable for step, _ in found) or (len(ahead) < 2 and not still):
            return -1
        self.marks += 1
        return self.marks - 1

    def inside(self, path: n.Path, called: frozenset[str], outside: bool = True) -> Iterator[tuple[n.Step, bool]]:
        """The steps of a path and of what it calls; and whether they are outside predicates."""
        if isinstance(path, n.Step):
            yield path, outside
            for predicate in path.predicates:
                if isinstance(predicate, n.Exists):
                    yield from self.inside(predicate.path, called, False)
        elif isinstance(path, n.Call) and path.variable not in called and path.variable in self.definitions:
            yield from self.inside(self.definitions[path.variable].body, called | {path.variable}, outside)
        for part in n.parts(path):
            yield from self.inside(part, called, outside)

    def intersection(self, path: n.Intersect, source: int) -> int:
        first, met = self.marks, self.marks + 1
        self.marks += 2
        state = self.move(source, Move(0, 0, Jump.MARK, mark=first))
        state = self.move(self.add(path.parts[0], state), Move(0, 0, Jump.MARK, mark=met))
        for part in path.parts[1:]:
            state = self.add(part, self.move(state, Move(0, 0, Jump.BACK, mark=first)))
            state = self.move(state, Move(0, 0, Jump.MEET, mark=met))
        return state

    def step(self, step: n.Step, source: int) -> int:
        local = list(self.wanted.get(step.variable or "", ()))
        checks: list[n.Condition] = []
        for predicate in step.predicates:
            if isinstance(predicate, n.Holds):
                (local if is_local(predicate.condition) else checks).append(predicate.condition)
            elif _own(n.Relative(predicate.path)):
                local.append(n.Comparison(">=", n.Relative(predicate.path), n.Constant("")))  # any value there is
        inside = tuple(self.open)
        move = Move(0, 0, step.axis, step.test, step.variable, tuple(local), tuple(checks), inside=inside)
        state = self.move(source, move)
        for predicate in step.predicates:
            if isinstance(predicate, n.Exists) and not _own(n.Relative(predicate.path)):
                mark, self.marks = self.marks, self.marks + 1
                state = self.add(predicate.path, self.move(state, Move(0, 0, Jump.MARK, mark=mark)))
                state = self.move(state, Move(0, 0, Jump.BACK, mark=mark))
        return state

    def without_gaps(self, end: int) -> Walk:
        """Edges that read nothing are taken together with the move that comes after them."""
        links: dict[int, list[_Edge]] = {}
        for edge in self.edges:
            links.setdefault(edge.source, []).append(edge)
        begins = [self.start, *sorted({edge.target for edge in self.edges if edge.move is not None})]
        number = {state: index for index, state in enumerate(begins)}
        moves: dict[Move, None] = {}
        accepting: set[int] = set()
        for begin in begins:
            for state, enters in _reachable(begin, links):
                if state == end:
                    accepting.add(number[begin])
                for edge in links.get(state, ()):
                    if edge.move is not None:
                        move = replace(edge.move, source=number[begin], target=number[edge.target], enters=enters)
                        moves[move] = None
        return Walk(len(begins), tuple(moves), frozenset(accepting), self.marks)


def _reachable(begin: int, links: dict[int, list[_Edge]]) -> Iterable[tuple[int, tuple[str, ...]]]:
    """The states that are reached without a move, each with the path variables entered on the way."""
    seen: dict[tuple[int, tuple[str, ...]], None] = {(begin, ()): None}
    queue = list(seen)
    while queue:
        state, enters = queue.pop()
        for edge in links.get(state, ()):
            if edge.move is None:
                there = edge.target, enters + tuple(name for name in edge.enters if name not in enters)
                if there not in seen:
                    seen[there] = None
                    queue.append(there)
    return seen
