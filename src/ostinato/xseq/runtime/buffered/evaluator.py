"""The evaluator for every query: what has to be seen at once is kept, as tokens and bytes, until it is complete.

kept_subtrees.py finds in the query what that is: subtrees that can be evaluated on their own, or the whole document.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import prefetch
from ostinato.core.stopwatch import Stopwatch
from ostinato.documents.tokens import Names, Tokens
from ostinato.xseq.kernels.buffered.build import count_nodes
from ostinato.xseq.kernels.buffered.evaluate import evaluate
from ostinato.xseq.kernels.buffered.outline import (
    DEPTH,
    ENDED,
    INSIDE,
    REGIONS,
    STARTED,
    Outline,
    find,
    outline_tree,
)
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.buffered.arrays import lengthen
from ostinato.xseq.runtime.buffered.forest import Forest, Matches, SubtreeTokens
from ostinato.xseq.runtime.buffered.kept_subtrees import Anchor, find_anchor
from ostinato.xseq.runtime.buffered.output import ForestOutput
from ostinato.xseq.runtime.buffered.store import SubtreeStore
from ostinato.xseq.runtime.buffered.tables import TreeTables
from ostinato.xseq.runtime.rows import MatchRows
from ostinato.xseq.syntax.nodes import Axis, Kind, NodeTest
from ostinato.xseq.walk.automaton import Move
from ostinato.xseq.walk.tables import AXES

_ROOT = Move(0, 1, Axis.CHILD, NodeTest(Kind.ANY))  # where the whole document is kept, that is its root element
_NONE = np.zeros(0, np.uint8)


class BufferedEvaluator:
    """An Evaluator."""

    def __init__(
        self,
        tables: TreeTables,
        *,
        matches: Matches = "all",
        limits: XSeqLimits | None = None,
        clock: Stopwatch | None = None,
        texts: bool = True,
    ) -> None:
        prefetch(evaluate)
        self.tables = tables
        self.anchor: Anchor = find_anchor(tables)
        self.matches, self.limits, self.texts = matches, limits or XSeqLimits(), texts
        self.clock = clock or self.limits.clock()
        self.store = SubtreeStore(self.limits)
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
        self.outline.name = np.array([_name(move, names) for move in self._outlined_moves], np.int32)
        self._deepen(int(self.outline.state[DEPTH]) + count_nodes(tokens.kind)[1] + 2)
        wanted = np.zeros(size, np.uint8)
        opened = int(np.count_nonzero(tokens.kind == 0))
        tops, uppers = np.zeros(opened, np.int64), np.zeros(opened, np.int64)
        find(self.outline, tokens.kind, tokens.name, wanted, tops, uppers)
        regions, ended, unclosed = (int(self.outline.state[place]) for place in (REGIONS, ENDED, STARTED))
        found = []
        if self.store.is_open:
            self.store.add(tokens, 0, size if ended < 0 else ended, self.seen)
        if ended >= 0:
            found.append(self._evaluate(self.store.part(), names, self.top, self.upper))
            self.store.clear()
        closed = regions - (unclosed >= 0)
        if closed:
            found.append(self._evaluate(self._part(tokens, wanted), names, tops[:closed], uppers[:closed]))
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
        self, part: SubtreeTokens, names: Names, tops: NDArray[np.int64], uppers: NDArray[np.int64]
    ) -> MatchRows:
        forest = Forest(self.tables, part, names, self.matches, self.limits, self.clock, texts=self.texts)
        if not self.anchor.moves:
            if self.tables.keyed >= 0:
                forest.partition(forest.keyed())
            return ForestOutput(forest).rows(*forest.walk(np.zeros(1, np.int32), np.zeros(1, np.int32)))
        here, above = np.zeros(forest.nodes, np.int64), np.zeros(forest.nodes, np.int64)
        outline_tree(forest.tree, self.outline, tops, uppers, here, above)
        if self.tables.keyed >= 0:
            forest.partition(here & (1 << len(self.anchor.moves) + len(self.anchor.keyed)) != 0)
        seeds = np.flatnonzero(here & self.outline.top).astype(np.int32)
        seeds = forest.passing(self.tables.program.walk.moves.index(self.anchor.moves[-1]), seeds)
        return ForestOutput(forest).rows(*forest.walk(seeds, np.full(seeds.size, self.anchor.state, np.int32)))

    @property
    def _outlined_moves(self) -> tuple[Move, ...]:
        return (*(self.anchor.moves or (_ROOT,)), *self.anchor.keyed)

    @cached_property
    def outline(self) -> Outline:
        """The anchor's moves are bits 0, 1, …; those to the keys begin at bit 0 too, and go on behind."""
        moves, count = self._outlined_moves, len(self.anchor.moves or (_ROOT,))
        source = [1 << number for number in range(count)]
        behind = [1 << number for number in range(count, len(moves))]
        state = np.zeros(5, np.int64)
        state[INSIDE] = -1
        return Outline(
            axis=np.array([AXES[move.axis] for move in moves], np.int32),  # type: ignore[index]
            source=np.array(source + ([1] + [bit << 1 for bit in behind[:-1]] if behind else []), np.int64),
            target=np.array([bit << 1 for bit in source + behind], np.int64),
            name=np.zeros(len(moves), np.int32),
            top=1 << count,
            state=state,
            here=np.ones(1, np.int64),
            above=np.ones(1, np.int64),
            children=np.zeros(1, np.int32),
        )

    def _deepen(self, depth: int) -> None:
        if depth > self.outline.here.size:
            lengthen(self.outline, depth, "here", "above", "children")


def _name(move: Move, names: Names) -> int:
    assert move.test is not None
    return names.id_of(move.test.name.encode()) if move.test.name else -1


def _format_move(move: Move) -> str:
    assert move.test is not None
    axis = "/" if move.axis is Axis.CHILD else "//" if move.axis is Axis.DESCENDANT else "/\\"
    return axis + (move.test.name or "*")
