"""A walk's visibly pushdown automaton, determinised as the document shows which states it needs.

What is still to be found among the children of an open element is a *level*: walk states, each with the axis along
which it waits (the paper's E, E1, E2 and C states, section 4.1). Reading a start tag gives the level inside the
element, which becomes the state, and the level after it, which is pushed and comes back with the end tag. Since the
pushed level is known at the start tag, sets of states are all there is to determinise (Appendix A; no pairs are
needed).

Runs that have bound a variable are not in levels: the moves that begin such a run are listed per entry (`spawns`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ostinato.errors import LimitError
from ostinato.xseq.syntax.nodes import Axis, Kind
from ostinato.xseq.walk.automaton import Jump, Move, Walk
from ostinato.xseq.walk.program import AnswerKind, WalkProgram
from ostinato.xseq.walk.tables import WalkTables, matches_text

ROLES = (
    Axis.CHILD,
    Axis.FIRST_CHILD,
    Axis.DESCENDANT,
    Axis.FOLLOWING_SIBLING,
    Axis.IMMEDIATE_FOLLOWING_SIBLING,
)
MOST_LEVELS = 20_000

TEXT_CLASS, OTHER_CLASS = 0, 1  # classes of names; the names of the query come after them

State = tuple[int, int]  # (0, state of the walk) or (1, state of the walk of partition by)
Level = frozenset[tuple[Axis, State]]


@dataclass(frozen=True)
class TagTransition:
    """What a start tag (or a text) does on a level."""

    inner: Level
    after: Level
    accepts: bool  # the node is an answer
    keyed: bool  # the node is one that is partitioned
    spawns: tuple[int, ...]  # moves of the walk that begin a run at this node
    attributes: tuple[int, ...]  # moves of the walk to this node's attributes


class LazyDeterminiser:
    """Makes entries on demand."""

    def __init__(self, tables: WalkTables) -> None:
        program = tables.program
        self.walks: list[Walk] = [program.walk] + ([program.keyed] if program.keyed else [])
        self.names = sorted(element_names(program))
        self.number = {move: index for index, move in enumerate(program.walk.moves)}
        self.explicit = frozenset(move for move in program.walk.moves if _explicit(move, tables))
        self.bits = [{move: _bits(move, tables) for move in walk.moves} for walk in self.walks]
        self.levels: dict[Level, int] = {}
        self.first = self.inside(((0, 0), *([(1, 0)] if program.keyed else [])), frozenset())

    def level(self, level: Level) -> int:
        """The number of a level."""
        if level not in self.levels:
            if len(self.levels) >= MOST_LEVELS:
                raise LimitError(
                    "levels",
                    MOST_LEVELS,
                    reason="the determinised automaton grows too large",
                    fix="name elements instead of `*` and `//`, or use fewer alternatives",
                )
            self.levels[level] = len(self.levels)
        return self.levels[level]

    def class_of(self, name: str) -> int:
        return 2 + self.names.index(name)

    def tests(self, level: Level, name: int) -> int:
        """Which tests of single nodes matter for a name on a level, as bits."""
        return self._mask(self._possible(level, name))

    def _mask(self, moves: Iterable[tuple[int, Move]]) -> int:
        mask = 0
        seen: set[State] = set()
        queue = list(moves)
        while queue:
            component, move = queue.pop()
            mask |= self.bits[component][move]
            state = component, move.target
            if state not in seen:
                seen.add(state)
                queue += [(component, m) for m in self.walks[component].leaving[move.target] if m.axis is Axis.SELF]
        return mask

    def entry(self, level: Level, name: int, bits: int) -> TagTransition:
        """What a node of the given class of names does that passes the tests in `bits`."""
        arrived: dict[State, None] = {}
        spawns: dict[int, None] = {}
        attributes: dict[int, None] = {}
        queue = self._possible(level, name)
        while queue:
            component, move = queue.pop(0)
            if not self._fits(move, name) or self.bits[component][move] & ~bits:
                continue
            if component == 0 and move in self.explicit:
                spawns[self.number[move]] = None
                continue
            state = component, move.target
            if state in arrived:
                continue
            arrived[state] = None
            for after in self.walks[component].leaving[move.target]:
                if after.axis is Axis.SELF:
                    queue.append((component, after))
                elif after.axis is Axis.ATTRIBUTE and component == 0:
                    attributes[self.number[after]] = None
        kept = frozenset((axis, state) for axis, state in level if axis not in (_ONCE if name != TEXT_CLASS else ()))
        beside = frozenset(
            (move.axis, state)
            for state in arrived
            for move in self.walks[state[0]].leaving[state[1]]
            if isinstance(move.axis, Axis) and move.axis.sibling
        )
        accepts = any(state in self.walks[0].accepting for component, state in arrived if component == 0)
        keyed = any(state in self.walks[1].accepting for component, state in arrived if component == 1)
        inner = self.inside(tuple(arrived), level) if name != TEXT_CLASS else level
        after_it = kept | beside if name != TEXT_CLASS else level
        return TagTransition(inner, after_it, accepts, keyed, self._distinct(spawns), tuple(attributes))

    def inside(self, states: tuple[State, ...], outside: Level) -> Level:
        """The level inside a node that was reached in these states."""
        down = (Axis.CHILD, Axis.FIRST_CHILD, Axis.DESCENDANT)
        own = {(axis, s) for s in states for m in self.walks[s[0]].leaving[s[1]] for axis in down if m.axis is axis}
        return frozenset(own) | {(axis, state) for axis, state in outside if axis is Axis.DESCENDANT}

    def _possible(self, level: Level, name: int) -> list[tuple[int, Move]]:
        found = [
            (state[0], move)
            for axis, state in level
            for move in self.walks[state[0]].leaving[state[1]]
            if move.axis is axis and self._fits(move, name)
        ]
        return sorted(found, key=lambda pair: (pair[0], self.walks[pair[0]].moves.index(pair[1])))

    def _fits(self, move: Move, name: int) -> bool:
        test = move.test
        assert test is not None
        if name == TEXT_CLASS:
            return matches_text(move)
        if test.kind is Kind.TEXT:
            return False
        return test.kind is not Kind.NAME or (name != OTHER_CLASS and self.names[name - 2] == test.name)

    def _distinct(self, spawns: Iterable[int]) -> tuple[int, ...]:
        """Moves that begin the same run are one, whatever state they come from."""
        moves = self.walks[0].moves
        kept: dict[tuple[object, ...], int] = {}
        for number in spawns:
            move = moves[number]
            kept.setdefault((move.target, move.binds, move.enters, move.local, move.test), number)
        return tuple(sorted(kept.values(), key=lambda number: (moves[number].binds or "", number)))


_ONCE = (Axis.FIRST_CHILD, Axis.IMMEDIATE_FOLLOWING_SIBLING)  # waits for the next element only


def element_names(program: WalkProgram) -> frozenset[str]:
    """The names of elements that the walks of a program ask for."""
    moves = program.walk.moves + (program.keyed.moves if program.keyed else ())
    tests = (move.test for move in moves if move.test is not None and move.axis is not Axis.ATTRIBUTE)
    return frozenset(test.name for test in tests if test.kind is Kind.NAME)


def _bits(move: Move, tables: WalkTables) -> int:
    return sum(1 << tables.local.index(condition) for condition in set(move.local))


def _explicit(move: Move, tables: WalkTables) -> bool:
    """Whether a run that makes this move needs a record of its own."""
    program = tables.program
    if isinstance(move.axis, Jump):
        return True
    walk = program.walk
    number = walk.moves.index(move)
    writes = tables.move_ops[number] < tables.move_ops[number + 1]
    rows = program.answer is not AnswerKind.NODES and move.target in walk.accepting
    tested = bool(program.at_end) and move.target in walk.accepting
    keyed = program.keyed is not None and any(
        isinstance(after.axis, Axis) and after.axis.sibling for after in walk.leaving[move.target]
    )
    return move.binds is not None or bool(writes) or rows or tested or keyed
