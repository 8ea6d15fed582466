"""What of a document has to be in memory at once, found in the query alone.

An anchor is a prefix of the path after which no walk leaves the subtree it has come to. Then each such subtree can be
evaluated as soon as it is complete, and forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostinato.xseq.kernels.buffered.layout import AGAIN, BACK, BEGIN, IS_ATOM, MARK, MEET
from ostinato.xseq.runtime.buffered.tables import TreeTables
from ostinato.xseq.syntax.nodes import Axis, Kind
from ostinato.xseq.walk.automaton import Jump, Move, Walk
from ostinato.xseq.walk.tables import AXES

_DOWN = (Axis.CHILD, Axis.DESCENDANT, Axis.FIRST_CHILD)
_DEEPER = frozenset(AXES[axis] for axis in (*_DOWN, Axis.ATTRIBUTE))
_SAME = frozenset((AXES[Axis.SELF], MARK, MEET, BEGIN, AGAIN))
_SIBLINGS = frozenset(AXES[axis] for axis in Axis if axis.sibling)
_MOST_BITS = 60
_FAR = 1 << 20  # a level that nothing has come to


@dataclass(frozen=True)
class Anchor:
    """The moves to the subtrees that are kept one by one, those to the keys of `partition by`, and why not longer."""

    moves: tuple[Move, ...]  # none: the whole document is kept
    keyed: tuple[Move, ...]
    reason: str

    @property
    def state(self) -> int:
        return self.moves[-1].target if self.moves else 0


def find_anchor(tables: TreeTables) -> Anchor:
    """The longest prefix of the path that can be an anchor."""
    walk = tables.program.walk
    keyed: tuple[Move, ...] = ()
    if tables.program.keyed is not None:
        keyed = _chain(tables.program.keyed, tables)
        if (
            not keyed
            or any(move.local or move.checks for move in keyed)
            or keyed[-1].target not in tables.program.keyed.accepting
        ):
            return Anchor((), (), "the keys of the partition are not on a plain way down")
    prefix = _chain(walk, tables)
    best: tuple[Move, ...] = ()
    reason = "the path does not begin with plain steps down" if not prefix else ""
    for length in range(1, min(len(prefix), _MOST_BITS - len(keyed)) + 1):
        if any(move.local or move.checks for move in prefix[: length - 1]):
            reason = reason or "conditions on outer elements are tested again for each match"
            break
        leaves = _leaves(tables, prefix[length - 1])
        if leaves is None:
            best = prefix[:length]
        else:
            reason = leaves
    return Anchor(best, keyed if best else (), reason)


def _chain(walk: Walk, tables: TreeTables) -> tuple[Move, ...]:
    """The moves that every walk begins with, as long as they are plain steps down."""
    entering = [sum(move.target == state for move in walk.moves) for state in range(walk.states)]
    out: list[Move] = []
    state = 0
    while state not in walk.accepting and len(walk.leaving[state]) == 1:
        move = walk.leaving[state][0]
        plain = move.test is not None and move.test.kind in (Kind.NAME, Kind.ANY) and not move.binds
        counted = any(name in tables.labels for name in move.enters)
        if isinstance(move.axis, Jump) or move.axis not in _DOWN or not plain or counted or entering[move.target] != 1:
            break
        out.append(move)
        state = move.target
    return tuple(out)


def _leaves(tables: TreeTables, anchor: Move) -> str | None:
    """Why a walk may leave the subtree that a move has come to; None if it cannot.

    Every state has a least level, counted from the anchor.
    """
    automaton = tables.automaton
    levels = np.full(automaton.accepting.size, _FAR)
    marks: dict[tuple[int, int], int] = {}
    firsts = [first for first, _ in tables.walks]
    queue: list[tuple[int, int]] = [(anchor.target, 0)]
    main = len(tables.program.walk.moves)
    number = tables.program.walk.moves.index(anchor)
    queue += _condition_starts(tables, number, 0)
    while queue:
        state, level = queue.pop()
        if level >= levels[state]:
            continue
        levels[state] = level
        for move in range(automaton.begin[state], automaton.begin[state + 1]):
            axis, target = int(automaton.axis[move]), int(automaton.target[move])
            mark = (max(first for first in firsts if first <= state), int(automaton.mark[move]))
            after = level
            if axis in _DEEPER:
                after = level + 1
            elif axis == AXES[Axis.ANCESTOR]:
                return "an ancestor may be outside the element"
            elif axis == AXES[Axis.PARENT]:
                if level == 0:
                    return "a parent may be outside the element"
                after = level - 1
            elif axis in _SIBLINGS and level == 0:
                return "siblings are outside the element"
            elif axis == BACK:
                after = marks.get(mark, level)
            if axis == MARK and level < marks.get(mark, _FAR):
                marks[mark] = level
                # walks that come back to this mark are looked at again
                back = (automaton.axis == BACK) & (automaton.mark == automaton.mark[move])
                queue += [(int(automaton.target[other]), level) for other in np.flatnonzero(back)]
            queue.append((target, after))
            queue += _condition_starts(tables, move, after)
            if move < main and tables.program.walk.moves[move].binds and not _stays(tables, after):
                return "a value may be outside the element"
    return None


def _condition_starts(tables: TreeTables, move: int, level: int) -> list[tuple[int, int]]:
    """The states where the paths begin that a move's conditions ask for."""
    automaton, checks = tables.automaton, tables.checks
    out = []
    for check in automaton.check[automaton.checks[move] : automaton.checks[move + 1]]:
        for step in range(checks.begin[check], checks.begin[check + 1]):
            if checks.code[2 * step] == IS_ATOM:
                row = 7 * checks.code[2 * step + 1]
                groups = checks.groups[checks.atoms[row + 3] : checks.atoms[row + 4]]
                out += [(int(start), level) for start in groups]
    return out


def _stays(tables: TreeTables, level: int) -> bool:
    """Whether the values of a node at this level are inside."""
    for source in tables.sources:
        at = level
        for axis, _ in source.steps:
            if axis in _DOWN:
                at += 1
            elif axis is Axis.PARENT:
                at -= 1
            if at < 0 or axis is Axis.ANCESTOR or (axis.sibling and at == 0):
                return False
    return True
