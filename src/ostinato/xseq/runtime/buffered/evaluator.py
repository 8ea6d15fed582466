"""The evaluator for every query: what has to be seen at once is kept, as tokens and bytes, until it is complete.

kept_subtrees.py finds in the query what that is: subtrees that can be evaluated on their own, or the whole document.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.core.arrow import read_only
from ostinato.documents.tokens import Names, Tokens
from ostinato.xseq.kernels.buffered.build import count_nodes
from ostinato.xseq.kernels.buffered.outline import BEGUN, DEPTH, ENDED, INSIDE, REGIONS, Outline, Stack, find, outlined
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.buffered.forest import Forest, Matches, SubtreeTokens
from ostinato.xseq.runtime.buffered.kept_subtrees import Anchor, find_anchor
from ostinato.xseq.runtime.buffered.output import ForestOutput
from ostinato.xseq.runtime.buffered.store import SubtreeStore
from ostinato.xseq.runtime.buffered.tables import TreeTables, build_tree_tables
from ostinato.xseq.runtime.rows import MatchRows
from ostinato.xseq.syntax.nodes import Axis, Kind, NodeTest
from ostinato.xseq.walk.automaton import Move
from ostinato.xseq.walk.program import WalkProgram
from ostinato.xseq.walk.tables import AXES

_ROOT = Move(0, 1, Axis.CHILD, NodeTest(Kind.ANY))  # where the whole document is kept, that is its root element
_NONE = np.zeros(0, np.uint8)


class BufferedEvaluator:
    """An Evaluator."""

    def __init__(
        self, program: WalkProgram, *, matches: Matches = "all", limits: XSeqLimits | None = None, texts: bool = True
    ) -> None:
        self.tables: TreeTables = build_tree_tables(program)
        self.anchor: Anchor = find_anchor(self.tables)
        self.matches, self.limits, self.texts = matches, limits or XSeqLimits(), texts
        self.store = SubtreeStore(self.limits)
        self.state = np.zeros(5, np.int64)
        self.state[INSIDE] = -1
        self.stack = Stack(np.ones(1, np.int64), np.ones(1, np.int64), np.zeros(1, np.int32))
        self.seen = 0  # tokens
        self.top = self.upper = np.zeros(0, np.int64)  # the bits of the subtree that is not complete
        self.used = 0

    @property
    def keep_from(self) -> int:
        """Nothing is needed: what is not complete was put aside."""
        return self.used

    @property
    def explanation(self) -> str:
        """What is kept, and why not less."""
        anchor = self.anchor
        if not anchor.moves:
            return f"keeps the whole document: {anchor.reason}"
        steps = "".join(_format_move(move) for move in anchor.moves)
        why = f"; no smaller part, because {anchor.reason}" if anchor.reason else ""
        return f"keeps one {steps} element at a time, the outermost ones{why}"

    def push(self, tokens: Tokens, names: Names) -> list[MatchRows]:
        size = tokens.kind.size
        kind, name = read_only(tokens.kind), read_only(tokens.name)
        outline = self._outline(names)
        self._deepen(int(self.state[DEPTH]) + count_nodes(kind)[1] + 2)
        wanted = np.zeros(size, np.uint8)
        opened = int(np.count_nonzero(kind == 0))
        tops, uppers = np.zeros(opened, np.int64), np.zeros(opened, np.int64)
        find(kind, name, outline, self.stack, self.state, wanted, tops, uppers)
        regions, ended, unclosed = (int(self.state[place]) for place in (REGIONS, ENDED, BEGUN))
        found = []
        if self.store.is_open:
            self.store.add(tokens, 0, size if ended < 0 else ended, self.seen)
        if ended >= 0:
            found.append(self._evaluate(self.store.part(), names, outline, self.top, self.upper))
            self.store.clear()
        closed = regions - (unclosed >= 0)
        if closed:
            found.append(self._evaluate(self._part(tokens, wanted), names, outline, tops[:closed], uppers[:closed]))
        if unclosed >= 0:
            self.top, self.upper = tops[closed:regions], uppers[closed:regions]
            self.store.add(tokens, unclosed, size, self.seen)
        self.seen += size
        self.used = tokens.used
        return found

    def finish(self) -> list[MatchRows]:
        return []

    @property
    def is_small(self) -> bool:
        """A new one costs no more than to clear this one."""
        return False

    def shift(self, by: int) -> None:
        """Nothing of an earlier buffer is pointed to."""

    def _part(self, tokens: Tokens, wanted: NDArray[np.uint8]) -> SubtreeTokens:
        places = np.flatnonzero(wanted)
        chosen: Any = places
        if places[-1] - places[0] + 1 == places.size:
            chosen = slice(int(places[0]), int(places[-1]) + 1)
        arrays: tuple[NDArray[Any], ...] = (tokens.kind, tokens.name, tokens.start, tokens.end)
        kind, name, start, stop = (np.ascontiguousarray(array[chosen]) for array in arrays)
        return SubtreeTokens(tokens.buffer, _NONE, kind, name, start, stop, places + self.seen)

    def _evaluate(
        self, part: SubtreeTokens, names: Names, outline: Outline, tops: NDArray[np.int64], uppers: NDArray[np.int64]
    ) -> MatchRows:
        forest = Forest(self.tables, part, names, self.matches, self.limits, texts=self.texts)
        if not self.anchor.moves:
            if self.tables.keyed >= 0:
                forest.partition(forest.keyed())
            return ForestOutput(forest).rows(*forest.walk(np.zeros(1, np.int32), np.zeros(1, np.int32)))
        here, above = np.zeros(forest.nodes, np.int64), np.zeros(forest.nodes, np.int64)
        outlined(forest.tree, outline, tops, uppers, here, above)
        if self.tables.keyed >= 0:
            forest.partition(here & (1 << len(self.anchor.moves) + len(self.anchor.keyed)) != 0)
        seeds = np.flatnonzero(here & outline.top).astype(np.int32)
        seeds = forest.passing(self.tables.program.walk.moves.index(self.anchor.moves[-1]), seeds)
        return ForestOutput(forest).rows(*forest.walk(seeds, np.full(seeds.size, self.anchor.state, np.int32)))

    def _outline(self, names: Names) -> Outline:
        """The anchor's moves are bits 0, 1, …; those to the keys begin at bit 0 too, and go on behind."""
        moves = self.anchor.moves or (_ROOT,)
        keyed = self.anchor.keyed
        both = (*moves, *keyed)
        source = [1 << number for number in range(len(moves))]
        behind = [1 << number for number in range(len(moves), len(both))]
        return Outline(
            np.array([AXES[move.axis] for move in both], np.int32),  # type: ignore[index]
            np.array(source + ([1] + [bit << 1 for bit in behind[:-1]] if keyed else []), np.int64),
            np.array([bit << 1 for bit in source + behind], np.int64),
            np.array([_name(move, names) for move in both], np.int32),
            1 << len(moves),
        )

    def _deepen(self, depth: int) -> None:
        more = depth - self.stack.here.size
        if more > 0:
            self.stack = Stack(*(np.concatenate([array, np.zeros(more, array.dtype)]) for array in self.stack))


def _name(move: Move, names: Names) -> int:
    assert move.test is not None
    return names.id_of(move.test.name.encode()) if move.test.name else -1


def _format_move(move: Move) -> str:
    assert move.test is not None
    axis = "/" if move.axis is Axis.CHILD else "//" if move.axis is Axis.DESCENDANT else "/\\"
    return axis + (move.test.name or "*")
