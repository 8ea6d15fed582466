"""One evaluation over complete subtrees: a tree in flat arrays, all walks over it, the matches in order as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ostinato.core.arrow import read_only
from ostinato.documents.tokens import Names
from ostinato.errors import Limit, LimitError, Message
from ostinato.xseq.kernels.buffered import (
    chains as tree_chains,
)
from ostinato.xseq.kernels.buffered import (
    checks as tree_checks,
)
from ostinato.xseq.kernels.buffered import (
    walk as tree_walk,
)
from ostinato.xseq.kernels.buffered.build import Bytes, Tree, build, count_nodes
from ostinato.xseq.kernels.buffered.chains import Chains
from ostinato.xseq.kernels.buffered.checks import Search
from ostinato.xseq.kernels.buffered.values import MOST_STEPS, Sources, Values
from ostinato.xseq.kernels.buffered.walk import Dense, Frames, Memo, Out
from ostinato.xseq.kernels.value_codes import DEEPEST, NULL, NUMBER
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.buffered.arrays import check_size, lengthen, new_hash_table, new_values, put_constant, zeros
from ostinato.xseq.runtime.buffered.tables import LEAVES, TreeTables
from ostinato.xseq.runtime.texts import TextSlices
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.program import AnswerKind, Keep
from ostinato.xseq.walk.tables import AXES, constant_text

Matches = Literal["all", "longest"]
Ints = NDArray[np.int32]
_TRANSITIVE = [
    AXES[axis] for axis in (n.Axis.DESCENDANT, n.Axis.ANCESTOR, n.Axis.FOLLOWING_SIBLING, n.Axis.PRECEDING_SIBLING)
]


@dataclass(frozen=True)
class SubtreeTokens:
    """The tokens of complete subtrees, one after the other, and the bytes they point into."""

    buffer: NDArray[np.uint8]
    held: NDArray[np.uint8]  # texts that tokens below zero point into
    kind: NDArray[np.uint8]
    name: Ints
    start: Ints
    stop: Ints
    number: NDArray[np.int64]  # of each token, in the document


class Forest:
    """The tree, the tables of a query with a document's names, and room for the search; used once."""

    def __init__(
        self,
        tables: TreeTables,
        part: SubtreeTokens,
        names: Names,
        matches: Matches,
        limits: XSeqLimits,
        *,
        texts: bool = True,
    ) -> None:
        self.tables, self.part, self.names = tables, part, names
        self.matches, self.limits, self.texts = matches, limits, texts
        self.bare = tables.program.answer is AnswerKind.NODES
        self.frames: Frames
        self.dense: Dense
        self.out: Out
        self.answer = tree_walk.MATCHES
        if self.bare:
            self.answer = tree_walk.NODES if matches == "all" else tree_walk.PAIRS
        self.ids = np.array([names.id_of(name.encode()) for name in tables.names] or [0], np.int32)
        self.tree = self._tree()
        self.nodes = self.tree.kind.size
        self.free = np.zeros(1, np.int64)
        self._hold()
        self.auto = tables.auto._replace(name=self._name_ids(tables.auto.name))
        self._room()
        self._decide()
        self.key: Ints | None = None

    # --- the document

    def _tree(self) -> Tree:
        part = self.part
        kind, name = read_only(part.kind), read_only(part.name)
        nodes, depth = count_nodes(kind)
        name_, parent, end, after, before, token, close = (np.empty(nodes, np.int32) for _ in range(7))
        start, stop = read_only(part.start), read_only(part.stop)
        tree = Tree(np.empty(nodes, np.uint8), name_, parent, end, after, before, token, close, start, stop)
        build(kind, name, tree, np.empty(depth + 1, np.int32), np.empty(depth + 1, np.int32))
        return tree

    def _hold(self) -> None:
        """Fill `held`: texts behind the tokens, constants, names where the query needs them, room for joined texts."""
        tables, parts = self.tables, [self.part.held.tobytes()]
        size = len(parts[0])
        made = tables.tables
        self.values = new_values(made.base + max(1, made.width) * 64)
        self.own = new_values(tables.checks.stack + DEEPEST)
        file = [(self.values, place, constant) for place, constant in enumerate(made.constants)]
        for values, place, constant in file + [(self.own, place, each) for place, each in tables.constants.items()]:
            text = constant_text(constant)
            put_constant(values, place, text, size)
            parts.append(text)
            size += len(text)
        at = [size]
        if any(source.leaf is n.Leaf.TAG for source in tables.sources):
            for name in self.names.texts:
                parts.append(name)
                size += len(name)
                at.append(size)
        self.held = np.zeros(size + 4096, np.uint8)
        self.held[:size] = np.frombuffer(b"".join(parts), np.uint8)
        self.free[0] = size
        ids = {name: self.ids[number] for number, name in enumerate(self.tables.names)}
        steps = [step for source in tables.sources for step in source.steps]
        self.sources = Sources(
            np.array([LEAVES[source.leaf] for source in tables.sources] or [0], np.int32),
            np.array([self._id(source.name, ids) for source in tables.sources] or [0], np.int32),
            np.array(tables.read or [False], np.uint8),
            np.cumsum([0] + [len(source.steps) for source in tables.sources]).astype(np.int32),
            np.array([AXES[axis] for axis, _ in steps] or [0], np.int32),
            np.array([self._id(name, ids) for _, name in steps] or [0], np.int32),
            np.array(at, np.int32),
            np.zeros(2 * MOST_STEPS + 1, np.int32),
        )

    def _id(self, name: str, ids: dict[str, int]) -> int:
        return ids[name] if name in ids else self.names.id_of(name.encode()) if name else -1

    def _name_ids(self, numbers: Ints) -> Ints:
        return np.where(numbers < 0, np.int32(-9), self.ids[numbers]).astype(np.int32)

    @property
    def data(self) -> Bytes:
        return Bytes(read_only(self.part.buffer), self.held)

    # --- conditions

    def _room(self) -> None:
        tables = self.tables
        relative = self.auto.accepting.size - tables.states
        depth = 64
        self.room = Search(
            np.zeros(max(1, relative * self.nodes), np.int32),
            tables.states,
            np.ones(1, np.int32),
            zeros(depth),
            zeros(depth),
            zeros(depth),
            zeros(depth),
            zeros(depth * tables.widest),
            tables.widest,
            np.zeros(1024, np.int32),
            np.zeros(2 * tables.groups + 4, np.int32),
        )
        self.checks = tables.checks._replace(known=np.zeros(max(1, tables.remembered * self.nodes), np.uint8))

    def _decide(self) -> None:
        auto = self.auto
        move_of = np.repeat(np.arange(auto.axis.size), np.diff(auto.checks))
        for check in self.tables.eager:
            at = np.zeros(1, np.int64)
            names = np.unique(auto.name[move_of[auto.check == check]])
            names = names if names[0] >= 0 else names[:0]
            while code := tree_checks.decide(
                self.tree, self.data, self.sources, auto, self.checks, self.room, check, self.own, self.free, names, at
            ):  # fmt: skip
                self._grow(code)

    def _grow(self, code: int) -> None:
        """Make room for what a kernel asked for."""
        room = self.room
        if code == tree_checks.GROW_TEXT:
            self._check_held(2 * self.held.size)
            self.held = lengthen(self.held, 2 * self.held.size)
        elif code == tree_checks.GROW_LIST:
            self.room = room._replace(found=lengthen(room.found, 2 * room.found.size))
        elif code == tree_checks.GROW_PATH:
            state, node, move, at, marks = (
                lengthen(array, 2 * array.size) for array in (room.state, room.node, room.move, room.at, room.marks)
            )
            self.room = room._replace(state=state, node=node, move=move, at=at, marks=marks)
        elif code == tree_walk.GROW_CHAINS:
            self._grow_chains()
        elif code == tree_walk.GROW_MEMO:
            self._grow_memo()
        elif code == tree_walk.GROW_FRAMES:
            self.frames = Frames._make(lengthen(array, 2 * array.size) for array in self.frames)
        elif code == tree_walk.GROW_OUT:
            most = self.limits.matches
            if self.out.chain.size > most:
                raise LimitError(
                    "matches",
                    most,
                    reason="the query has too many matches",
                    fix=Message("make the path or its conditions stricter, or raise ", Limit("matches", "XSeqLimits")),
                )
            size = min(most + 1, 4 * self.out.chain.size)
            self.out = self.out._replace(chain=lengthen(self.out.chain, size), node=lengthen(self.out.node, size))

    def _check_held(self, size: int) -> None:
        most = min(self.limits.kept_bytes, (1 << 31) - 1)  # places in it have 32 bits
        if size > most:
            raise LimitError(
                "kept_bytes",
                most,
                reason="the texts of elements that are compared as a whole have too many bytes",
                fix=Message(
                    "compare a text of theirs, as in $X/text(), or elements that do not stand in one another; "
                    "or raise ",
                    Limit("kept_bytes", "XSeqLimits"),
                ),
            )

    # --- keys

    def keyed(self) -> NDArray[np.bool_]:
        """The nodes that the path of `partition by` reaches from node 0."""
        start = self.tables.keyed
        while (
            count := tree_checks.search(
                self.tree, self.data, self.sources, self.auto, self.checks, self.room, self.own, self.free,
                start, 0, 0, True,
            )
        ) < 0:  # fmt: skip
            self._grow(-count)
        keyed = np.zeros(self.nodes, np.bool_)
        keyed[self.room.found[:count]] = True
        return keyed

    def partition(self, keyed: NDArray[np.bool_]) -> None:
        """Let siblings see those of their own key only."""
        tree, program = self.tree, self.tables.program
        nodes = np.flatnonzero(keyed)
        name = self.names.id_of((program.key or "").encode())
        found = np.flatnonzero((tree.kind == 2) & (tree.name == name))
        found = found[keyed[tree.parent[found]]]
        tokens = tree.token[found]
        texts = self.text_slices(tree.start[tokens], tree.stop[tokens] - tree.start[tokens]).array().dictionary_encode()
        key = np.full(self.nodes, -2, np.int32)
        key[nodes] = -1
        key[tree.parent[found]] = texts.indices.to_numpy()
        self.key, self.key_texts = key, texts.dictionary
        elements = np.flatnonzero(tree.kind == 1)
        order = elements[np.lexsort((key[elements], tree.parent[elements]))].astype(np.int32)
        one, two = order[:-1], order[1:]
        alike = (tree.parent[one] == tree.parent[two]) & (key[one] == key[two])
        tree.next[elements] = -1
        tree.prev[elements] = -1
        tree.next[one[alike]] = two[alike]
        tree.prev[two[alike]] = one[alike]

    # --- walks

    def passing(self, move: int, nodes: Ints) -> Ints:
        """Those of the nodes that pass the conditions of a move."""
        at = np.zeros(1, np.int64)
        while code := tree_checks.filter_nodes(
            self.tree, self.data, self.sources, self.auto, self.checks, self.room, move, nodes, self.own, self.free, at
        ):
            self._grow(code)
        return nodes[nodes >= 0]

    def walk(self, seeds: Ints, states: Ints) -> tuple[Ints, Ints]:
        """The matches of walks that begin on these nodes in these states: chains of bindings, and last nodes."""
        self._ready()
        st = np.zeros(8, np.int64)
        st[tree_walk.DEPTH] = -1
        st[tree_walk.CHAINS] = 1
        st[tree_walk.ANSWER] = self.answer
        self.st = st
        while code := tree_walk.walk(
            self.tree, self.data, self.sources, self.auto, self.checks, self.room, self.own, self.tables.work,
            self.tables.each, self.values, self.chains, self.memo, self.frames, self.dense, self.out,
            seeds, states, st, self.free,
        ):  # fmt: skip
            self._grow(code)
        count = int(st[tree_walk.OUT])
        return self.out.chain[:count], self.out.node[:count]

    def _ready(self) -> None:
        tables, nodes = self.tables, self.nodes
        size, width = 64, tables.widest
        made = tables.tables
        self.chains = Chains(zeros(size), zeros(size), zeros(size), np.zeros(size, np.uint8), new_hash_table(size))
        self.chains.done[0] = 1
        self.chains.node[0] = -1
        for slot, what in enumerate(tables.program.slots):
            counted = what.keep in (Keep.COUNT, Keep.ROUND)
            summed = what.keep in (Keep.SUM, Keep.MIN, Keep.MAX)
            self.values.kind[made.base + slot] = NUMBER if counted else NULL if summed else 0
            self.values.num[made.base + slot] = 0.0
        self.memo = Memo(zeros(size), zeros(size), zeros(size), zeros(size * width), new_hash_table(size), width)
        self.frames = Frames._make(zeros(many) for many in (size, size, size, size, size, size * width))
        dense = unbound(tables)
        row = np.cumsum(dense).astype(np.int32) - 1
        main = int(tables.auto.begin[tables.states])
        swept = np.isin(tables.auto.axis[:main], _TRANSITIVE)
        swept &= dense[np.repeat(np.arange(tables.states), np.diff(tables.auto.begin[: tables.states + 1]))]
        moves = np.where(swept, np.cumsum(swept) - 1, -1).astype(np.int32)
        self.dense = Dense(
            row,
            np.zeros(int(dense.sum()) * nodes, np.uint8),
            moves,
            np.zeros(max(1, int(swept.sum())) * nodes, np.uint8),
        )
        once = nodes if self.answer == tree_walk.NODES else 1
        size = min(1024, self.limits.matches + 1)
        self.out = Out(zeros(size), zeros(size), np.zeros(once, np.uint8))

    def _grow_chains(self) -> None:
        old, count = self.chains, int(self.st[tree_walk.CHAINS])
        size = 4 * old.parent.size
        made = self.tables.tables
        places = made.base + max(1, made.width) * size
        check_size(places)
        self.chains = Chains._make([*(lengthen(array, size) for array in old[:4]), new_hash_table(size)])
        tree_chains.enter_again(self.chains, count)
        self.values = Values(*(lengthen(array, places) for array in self.values))

    def _grow_memo(self) -> None:
        old, count = self.memo, int(self.st[tree_walk.MEMO])
        size = 4 * old.state.size
        check_size(size * old.width)
        state, node, chain = (lengthen(array, size) for array in (old.state, old.node, old.chain))
        self.memo = Memo(state, node, chain, lengthen(old.marks, size * old.width), new_hash_table(size), old.width)
        tree_walk.memo_again(self.memo, count, self.auto.marks)

    def text_slices(self, start: Ints, size: Ints, missing: NDArray[np.bool_] | None = None) -> TextSlices:
        """A column of texts of the document, or of what is held beside it."""
        valid = np.ones(size.size, np.bool_) if missing is None else ~missing
        return TextSlices(start.astype(np.int64), size.astype(np.int64) * valid, valid, self.data.buffer, self.held)


def unbound(tables: TreeTables) -> NDArray[np.bool_]:
    """The states of the main walk where runs may be that have bound nothing and remember no node."""
    walk, labels = tables.program.walk, tables.work.labels
    found = np.zeros(tables.states, np.bool_)
    queue, seen = [0], {0}
    while queue:
        state = queue.pop()
        found[state] = tables.auto.marks[state] == 0
        for number in range(tables.auto.begin[state], tables.auto.begin[state + 1]):
            target = walk.moves[number].target
            if labels[number] == labels[number + 1] and target not in seen:
                seen.add(target)
                queue.append(target)
    return found
