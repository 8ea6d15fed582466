"""One evaluation over complete subtrees: a tree in flat arrays, all walks over it, the matches in order as columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ostinato.core.stopwatch import Stopwatch
from ostinato.documents.tokens import Names
from ostinato.errors import Limit, LimitError, Message
from ostinato.xseq.kernels.buffered import layout as lay
from ostinato.xseq.kernels.buffered.build import build, count_nodes
from ostinato.xseq.kernels.buffered.chains import enter_again
from ostinato.xseq.kernels.buffered.evaluate import evaluate
from ostinato.xseq.kernels.buffered.layout import Search, Sources, Tree, WalkSearch
from ostinato.xseq.kernels.buffered.walk import memo_again
from ostinato.xseq.kernels.value_codes import DEEPEST, NULL, NUMBER
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.buffered.arrays import (
    Ints,
    check_size,
    lengthen,
    new_chains,
    new_hash_table,
    new_values,
    put_constant,
    zeros,
)
from ostinato.xseq.runtime.buffered.tables import LEAVES, TreeTables
from ostinato.xseq.runtime.texts import TextSlices
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.program import AnswerKind, Keep
from ostinato.xseq.walk.tables import AXES

Matches = Literal["all", "longest"]
PAUSE = 1 << 21  # steps of a search between two looks at the clock
_TRANSITIVE = [
    AXES[axis] for axis in (n.Axis.DESCENDANT, n.Axis.ANCESTOR, n.Axis.FOLLOWING_SIBLING, n.Axis.PRECEDING_SIBLING)
]


@dataclass(frozen=True)
class SubtreeTokens:
    """The tokens of complete subtrees, one after the other, and the bytes they point into."""

    buffer: NDArray[np.uint8]
    text_pool: NDArray[np.uint8]  # texts that tokens below zero point into
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
        clock: Stopwatch,
        *,
        texts: bool = True,
    ) -> None:
        self.tables, self.part, self.names = tables, part, names
        self.matches, self.limits, self.clock, self.texts = matches, limits, clock, texts
        self.bare = tables.program.answer is AnswerKind.NODES
        self.answer = lay.MATCHES
        if self.bare:
            self.answer = lay.NODES if matches == "all" else lay.PAIRS
        self.ids = np.array([names.id_of(name.encode()) for name in tables.names] or [0], np.int32)
        self.tree = self._tree()
        self.nodes = self.tree.kind.size
        self._make_values()
        self._make_search()
        self._make_walks()
        self._decide()
        self.key: Ints | None = None

    # --- the document

    def _tree(self) -> Tree:
        part = self.part
        nodes, depth = count_nodes(part.kind)
        links = {
            name: np.empty(nodes, np.int32) for name in ("name", "parent", "end", "next", "prev", "token", "close")
        }
        tree = Tree(kind=np.empty(nodes, np.uint8), **links, start=part.start, stop=part.stop)
        build(part.kind, part.name, tree, np.empty(depth + 1, np.int32), np.empty(depth + 1, np.int32))
        return tree

    def _make_values(self) -> None:
        """The files of values, and a pool of texts: those of the tokens, constants, names where the query needs them,
        room for joined texts."""
        tables, part, made = self.tables, self.part, self.tables.tables
        free = np.zeros(1, np.int64)
        size = made.base + max(1, made.width) * 64
        self.values = new_values(size, made.code, made.base, made.stack, part.buffer, free)
        size = tables.stack + DEEPEST
        self.condition_values = new_values(size, tables.programs, 1 << 30, tables.stack, part.buffer, free)
        parts, size = [part.text_pool.tobytes()], part.text_pool.size
        file = [(self.values, place, constant) for place, constant in enumerate(made.constants)]
        file += [(self.condition_values, place, constant) for place, constant in tables.constants.items()]
        for values, place, constant in file:
            text = constant.text.encode()
            put_constant(values, place, text, size)
            parts.append(text)
            size += len(text)
        names_at = [size]
        if any(source.leaf is n.Leaf.TAG for source in tables.sources):
            for name in self.names.texts:
                parts.append(name)
                size += len(name)
                names_at.append(size)
        pool = np.zeros(size + 4096, np.uint8)
        pool[:size] = np.frombuffer(b"".join(parts), np.uint8)
        free[0] = size
        self._use_pool(pool)
        self.sources = self._sources(np.array(names_at, np.int32))

    def _use_pool(self, pool: NDArray[np.uint8]) -> None:
        self.values.text_pool = self.condition_values.text_pool = pool

    def _sources(self, names_at: Ints) -> Sources:
        tables = self.tables
        ids = {name: self.ids[number] for number, name in enumerate(tables.names)}
        steps = [step for source in tables.sources for step in source.steps]
        return Sources(
            tree=self.tree,
            leaf=np.array([LEAVES[source.leaf] for source in tables.sources] or [0], np.int32),
            name=np.array([self._id(source.name, ids) for source in tables.sources] or [0], np.int32),
            read=np.array(tables.read or [False], np.uint8),
            steps=np.cumsum([0] + [len(source.steps) for source in tables.sources]).astype(np.int32),
            axis=np.array([AXES[axis] for axis, _ in steps] or [0], np.int32),
            test=np.array([self._id(name, ids) for _, name in steps] or [0], np.int32),
            names_at=names_at,
            cursor=np.zeros(2 * lay.MOST_STEPS + 1, np.int32),
        )

    def _id(self, name: str, ids: dict[str, int]) -> int:
        return ids[name] if name in ids else self.names.id_of(name.encode()) if name else -1

    def _name_ids(self, numbers: Ints) -> Ints:
        return np.where(numbers < 0, np.int32(-9), self.ids[numbers]).astype(np.int32)

    # --- conditions

    def _make_search(self) -> None:
        tables, depth = self.tables, 64
        relative = tables.automaton.accepting.size - tables.states
        self.search = Search(
            tree=self.tree,
            sources=self.sources,
            automaton=tables.automaton,
            checks=tables.checks,
            values=self.condition_values,
            names=self._name_ids(tables.move_names),
            known=np.zeros(max(1, tables.remembered * self.nodes), np.uint8),
            first=tables.states,
            seen=zeros(max(1, relative * self.nodes)),
            number=np.ones(1, np.int32),
            state=zeros(depth),
            node=zeros(depth),
            move=zeros(depth),
            at=zeros(depth),
            width=tables.widest,
            marks=zeros(depth * tables.widest),
            found=zeros(1024),
            groups=zeros(2 * tables.groups + 4),
            pause=np.zeros(lay.PAUSE_SIZE, np.int64),
        )

    def _decide(self) -> None:
        """Decide checks for the searches of checks that they are a part of, on the elements they are asked of."""
        automaton = self.tables.automaton
        move_of = np.repeat(np.arange(automaton.axis.size), np.diff(automaton.checks))
        for check in self.tables.eager:
            names = np.unique(self.search.names[move_of[automaton.check == check]])
            asked = np.isin(self.tree.name, names) if names[0] >= 0 else np.ones(self.nodes, np.bool_)
            self._filter(check, np.flatnonzero(asked).astype(np.int32))

    def _filter(self, check: int, nodes: Ints) -> Ints:
        """Those of the nodes on which a check holds."""
        self.walks.nodes = nodes
        self._run(lay.FILTER, check)
        return nodes[nodes >= 0]

    def _run(self, task: int, check: int = 0, at: int = 0) -> None:
        self.walks.state[: lay.AT + 1] = task, check, at
        self.search.pause[lay.STEPS] = PAUSE
        while code := evaluate(self.walks):
            if code == lay.PAUSED:
                self.clock.check()
                self.search.pause[lay.STEPS] = PAUSE
            else:
                self._grow(code)

    def _grow(self, code: int) -> None:
        """Make room for what a kernel asked for."""
        search = self.search
        if code == lay.GROW_TEXT:
            pool = self.values.text_pool
            self._check_pool(2 * pool.size)
            self._use_pool(np.concatenate([pool, np.zeros_like(pool)]))
        elif code == lay.GROW_LIST:
            lengthen(search, 2 * search.found.size, "found")
        elif code == lay.GROW_PATH:
            size = 2 * search.state.size
            lengthen(search, size, "state", "node", "move", "at")
            lengthen(search, size * search.width, "marks")
        elif code == lay.GROW_CHAINS:
            self._grow_chains()
        elif code == lay.GROW_MEMO:
            self._grow_memo()
        elif code == lay.GROW_FRAMES:
            size = 2 * self.walks.frame_state.size
            lengthen(self.walks, size, "frame_state", "frame_node", "frame_chain", "frame_move", "frame_at")
            lengthen(self.walks, size * self.walks.width, "frame_marks")
        elif code == lay.GROW_OUT:
            most = self.limits.matches
            if self.walks.out_chain.size > most:
                raise LimitError(
                    "matches",
                    most,
                    reason="the query has too many matches",
                    fix=Message("make the path or its conditions stricter, or raise ", Limit("matches", "XSeqLimits")),
                )
            lengthen(self.walks, min(most + 1, 4 * self.walks.out_chain.size), "out_chain", "out_node")

    def _check_pool(self, size: int) -> None:
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
        self._run(lay.FIND, at=self.tables.keyed)
        count = int(self.walks.state[lay.FOUND])
        keyed = np.zeros(self.nodes, np.bool_)
        keyed[self.search.found[:count]] = True
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
        automaton = self.tables.automaton
        for check in automaton.check[automaton.checks[move] : automaton.checks[move + 1]]:
            nodes = self._filter(check, nodes)
        return nodes

    def walk(self, seeds: Ints, states: Ints) -> tuple[Ints, Ints]:
        """The matches of walks that begin on these nodes in these states: chains of bindings, and last nodes."""
        self.walks.update(nodes=seeds, node_states=states)
        self._run(lay.WALK)
        count = int(self.walks.state[lay.OUT])
        return self.walks.out_chain[:count], self.walks.out_node[:count]

    def _make_walks(self) -> None:
        tables, nodes, made = self.tables, self.nodes, self.tables.tables
        size, width = 64, tables.widest
        self.chains = new_chains(size)
        self.chains.done[0] = 1
        self.chains.node[0] = -1
        for slot, what in enumerate(tables.program.slots):
            counted = what.keep in (Keep.COUNT, Keep.ROUND)
            summed = what.keep in (Keep.SUM, Keep.MIN, Keep.MAX)
            self.values.kind[made.base + slot] = NUMBER if counted else NULL if summed else 0
            self.values.num[made.base + slot] = 0.0
        state = np.zeros(lay.STATE_SIZE, np.int64)
        state[[lay.DEPTH, lay.CHAINS_USED, lay.ANSWER]] = -1, 1, self.answer
        bare = unbound(tables)
        begin = tables.automaton.begin[: tables.states + 1]
        swept = np.isin(tables.automaton.axis[: begin[-1]], _TRANSITIVE)
        swept &= bare[np.repeat(np.arange(tables.states), np.diff(begin))]
        answers = min(1024, self.limits.matches + 1)
        self.walks = WalkSearch(
            search=self.search,
            writes=tables.writes,
            for_each=tables.for_each,
            values=self.values,
            chains=self.chains,
            state=state,
            nodes=zeros(0),
            node_states=zeros(0),
            width=width,
            frame_state=zeros(size),
            frame_node=zeros(size),
            frame_chain=zeros(size),
            frame_move=zeros(size),
            frame_at=zeros(size),
            frame_marks=zeros(size * width),
            memo_state=zeros(size),
            memo_node=zeros(size),
            memo_chain=zeros(size),
            memo_marks=zeros(size * width),
            memo_table=new_hash_table(size),
            state_row=np.cumsum(bare).astype(np.int32) - 1,
            visited=np.zeros(int(bare.sum()) * nodes, np.uint8),
            move_row=np.where(swept, np.cumsum(swept) - 1, -1).astype(np.int32),
            swept=np.zeros(max(1, int(swept.sum())) * nodes, np.uint8),
            out_chain=zeros(answers),
            out_node=zeros(answers),
            is_out=np.zeros(nodes if self.answer == lay.NODES else 1, np.uint8),
        )

    def _grow_chains(self) -> None:
        chains, made = self.chains, self.tables.tables
        size = 4 * chains.parent.size
        places = made.base + max(1, made.width) * size
        check_size(places)
        lengthen(chains, size, "parent", "label", "node", "done")
        chains.table = new_hash_table(size)
        enter_again(chains, int(self.walks.state[lay.CHAINS_USED]))
        lengthen(self.values, places, "kind", "num", "start", "size", "origin")

    def _grow_memo(self) -> None:
        walks = self.walks
        size = 4 * walks.memo_state.size
        check_size(size * walks.width)
        lengthen(walks, size, "memo_state", "memo_node", "memo_chain")
        lengthen(walks, size * walks.width, "memo_marks")
        walks.memo_table = new_hash_table(size)
        memo_again(walks)

    def text_slices(self, start: NDArray[Any], size: Ints, missing: NDArray[np.bool_] | None = None) -> TextSlices:
        """A column of texts of the document, or of the pool of texts beside it."""
        valid = np.ones(size.size, np.bool_) if missing is None else ~missing
        pool = self.values.text_pool
        return TextSlices(start.astype(np.int64), size.astype(np.int64) * valid, valid, self.part.buffer, pool)


def unbound(tables: TreeTables) -> NDArray[np.bool_]:
    """The states of the main walk where runs may be that have bound nothing and remember no node."""
    walk, labels = tables.program.walk, tables.writes.labels
    found = np.zeros(tables.states, np.bool_)
    queue, seen = [0], {0}
    while queue:
        state = queue.pop()
        found[state] = tables.automaton.marks[state] == 0
        for number in range(tables.automaton.begin[state], tables.automaton.begin[state + 1]):
            target = walk.moves[number].target
            if labels[number] == labels[number + 1] and target not in seen:
                seen.add(target)
                queue.append(target)
    return found
