"""Every walk over a tree along an automaton, depth first, each configuration once.

A configuration is a state, a node, what was bound, and the nodes that are remembered. Where nothing is bound or
remembered yet a table of bits knows which were visited, and nodes along an axis are offered to a move only once: then
all takes time linear in the tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import kernel
from ostinato.xseq.kernels.buffered.build import advance, passes
from ostinato.xseq.kernels.buffered.chains import all_hold, began, each_holds, mixed, place_of, remember
from ostinato.xseq.kernels.buffered.checks import check_holds, simply_holds

GROW_CHAINS, GROW_MEMO, GROW_FRAMES, GROW_OUT = 1, 2, 3, 4

# places in the state of a search
DEPTH, ENTERED, CHAINS, MEMO, OUT, SEED, ANSWER = 0, 1, 2, 3, 4, 5, 6
MATCHES, NODES, PAIRS = 0, 1, 2  # the answer: each match once, each node once, every match and node


class Frames(NamedTuple):
    """The walk at hand: one frame per move that was made."""

    state: NDArray[np.int32]
    node: NDArray[np.int32]
    chain: NDArray[np.int32]
    move: NDArray[np.int32]
    at: NDArray[np.int32]
    marks: NDArray[np.int32]


class Memo(NamedTuple):
    """The configurations with bindings or marks that were visited."""

    state: NDArray[np.int32]
    node: NDArray[np.int32]
    chain: NDArray[np.int32]
    marks: NDArray[np.int32]
    table: NDArray[np.int32]
    width: int


class Dense(NamedTuple):
    """Configurations without bindings and marks."""

    state: NDArray[np.int32]  # the row of a state in `visited`
    visited: NDArray[np.uint8]
    move: NDArray[np.int32]  # the row of a move in `swept`, -1 where it has none
    swept: NDArray[np.uint8]


class Out(NamedTuple):
    chain: NDArray[np.int32]
    node: NDArray[np.int32]
    ends: NDArray[np.uint8]  # per node whether it is there, for an answer of nodes


@kernel()
def memo_place(memo: Any, state: Any, node: Any, chain: Any, marks: Any, begin: Any, count: Any) -> Any:
    """Where in the table a configuration stands, or would."""
    value = mixed(state, node, chain)
    for mark in range(count):
        value = mixed(value & np.uint64(0xFFFFFFFF), marks[begin + mark], mark)
    mask = np.uint64(memo.table.size - 1)
    place = np.int64(value & mask)
    while True:
        entry = memo.table[place]
        if entry < 0:
            return place
        if memo.state[entry] == state and memo.node[entry] == node and memo.chain[entry] == chain:
            same = True
            for mark in range(count):
                if memo.marks[entry * memo.width + mark] != marks[begin + mark]:
                    same = False
            if same:
                return place
        place = (place + 1) & (memo.table.size - 1)


@kernel()
def memo_again(memo: Any, count: Any, live: Any) -> Any:
    """Fill a new table."""
    for entry in range(count):
        place = memo_place(
            memo, memo.state[entry], memo.node[entry], memo.chain[entry],
            memo.marks, entry * memo.width, live[memo.state[entry]],
        )  # fmt: skip
        memo.table[place] = entry


@kernel()
def walk(
    tree: Any, data: Any, sources: Any, auto: Any, checks: Any, room: Any, own: Any, work: Any, each: Any,
    values: Any, chains: Any, memo: Any, frames: Any, dense: Any, out: Any, seeds: Any, at_state: Any,
    st: Any, free: Any,
) -> Any:  # fmt: skip
    """Go on until all walks were made (0), or something has to be larger (what; then call again)."""
    nodes = tree.kind.size
    width = memo.width
    while True:
        depth = st[0]
        if depth < 0:
            if st[5] == seeds.size:
                return 0
            state, node = at_state[st[5]], seeds[st[5]]
            st[5] += 1
            place = dense.state[state] * nodes + node
            if dense.visited[place]:
                continue
            dense.visited[place] = 1
            frames.state[0], frames.node[0], frames.chain[0] = state, node, 0
            frames.move[0], frames.at[0] = auto.begin[state], -2
            st[0], st[1] = 0, 1
            depth = 0
        state, here, chain = frames.state[depth], frames.node[depth], frames.chain[depth]

        if st[1]:
            wanted = st[6] == 0 or (here > 0 and (st[6] == 2 or out.ends[here] == 0))
            if auto.accepting[state] and wanted:
                if st[4] >= out.chain.size:
                    return 4
                decided = chains.done[chain] & 2
                if not decided:
                    good = all_hold(work, data, values, chain, work.end_tests[0], work.end_tests[1])
                    if good and each.rows.shape[0]:
                        result = each_holds(
                            tree, data, sources, work, each, checks, chains, values, own, room, chain, free
                        )  # fmt: skip
                        if result > 1:
                            return result
                        good = result == 1
                    chains.done[chain] |= 6 if good else 2
                if chains.done[chain] & 4 and not (decided and st[6] == 0):
                    out.chain[st[4]], out.node[st[4]] = chain, here
                    st[4] += 1
                    if st[6] == 1:
                        out.ends[here] = 1
            st[1] = 0

        move = frames.move[depth]
        if move == auto.begin[state + 1]:
            st[0] = depth - 1
            continue
        axis = auto.axis[move]
        cursor = frames.at[depth]
        plain = chain == 0 and auto.marks[state] == 0
        if cursor == -3:
            at = -1
        elif axis >= 10:
            at = here if cursor == -2 else -1
            if at >= 0 and axis != 10 and axis != 13:
                marked = frames.marks[depth * width + auto.mark[move]]
                if axis == 11:
                    at = marked
                elif marked != here if axis == 12 else began(chains, marked, here):
                    at = -1
        else:
            at = advance(tree, axis, here, cursor)
        if at < 0:
            frames.move[depth] = move + 1
            frames.at[depth] = -2
            continue
        cursor = at
        sweep = -1
        if plain and dense.move[move] >= 0:
            sweep = dense.move[move] * nodes + at
            if dense.swept[sweep]:
                cursor = tree.end[at] - 1 if axis == 3 else -3

        good = axis >= 10 or passes(tree, axis, auto.test[move], auto.name[move], at)
        which, last = auto.checks[move], auto.checks[move + 1]
        while good and which < last:
            if checks.table[auto.check[which]] < 0:
                result = simply_holds(tree, data, sources, checks, auto.check[which], at, own, free)
            else:
                result = check_holds(tree, data, sources, auto, checks, room, auto.check[which], at, own, free)
            if result > 1:
                return result
            good = result == 1
            which += 1

        target = auto.target[move]
        bound = chain
        if good and work.labels[move] < work.labels[move + 1]:
            if st[2] + work.labels[move + 1] - work.labels[move] > chains.parent.size:
                return 1
            fresh = -1
            for label in range(work.labels[move], work.labels[move + 1]):
                variable = work.label[label]
                node = at if variable < work.variables else -1
                place = place_of(chains, bound, variable, node)
                if chains.table[place] < 0:
                    made = st[2]
                    chains.table[place] = made
                    chains.parent[made], chains.label[made], chains.node[made] = bound, variable, node
                    chains.done[made] = 0
                    st[2] = made + 1
                    fresh = place
                bound = chains.table[place]
            before = free[0]
            if chains.done[bound] & 1 == 0:
                if not remember(tree, data, sources, work, values, move, at, chain, bound, free):
                    return 11
                chains.done[bound] |= 1
            good = all_hold(work, data, values, bound, work.move_tests[move], work.move_tests[move + 1])
            if not good and fresh >= 0 and work.labels[move + 1] == work.labels[move] + 1:
                chains.table[fresh] = -1  # the last that was entered: nothing was put behind it yet
                st[2] -= 1
                free[0] = before
        if good:
            if depth + 2 >= frames.state.size:
                return 3
            live = auto.marks[target]
            begin = (depth + 1) * width
            for mark in range(live):
                frames.marks[begin + mark] = frames.marks[depth * width + mark]
            if axis == 10 and auto.mark[move] < live:
                frames.marks[begin + auto.mark[move]] = at
            elif (axis == 13 or axis == 14) and auto.mark[move] < live:  # a trail is a chain of the nodes
                if st[2] + 1 > chains.parent.size:
                    return 1
                trail = frames.marks[begin + auto.mark[move]] if axis == 14 else 0
                place = place_of(chains, trail, work.rounds, at)
                if chains.table[place] < 0:
                    made = st[2]
                    chains.table[place] = made
                    chains.parent[made], chains.label[made], chains.node[made] = trail, work.rounds, at
                    chains.done[made] = 0
                    st[2] = made + 1
                frames.marks[begin + auto.mark[move]] = chains.table[place]
            if bound == 0 and live == 0:
                place = dense.state[target] * nodes + at
                good = dense.visited[place] == 0
                dense.visited[place] = 1
            else:
                if st[3] >= memo.state.size:
                    return 2
                place = memo_place(memo, target, at, bound, frames.marks, begin, live)
                good = memo.table[place] < 0
                if good:
                    entry = st[3]
                    memo.table[place] = entry
                    memo.state[entry], memo.node[entry], memo.chain[entry] = target, at, bound
                    for mark in range(live):
                        memo.marks[entry * width + mark] = frames.marks[begin + mark]
                    st[3] = entry + 1
        frames.at[depth] = cursor
        if sweep >= 0:
            dense.swept[sweep] = 1
        if good:
            depth += 1
            frames.state[depth], frames.node[depth], frames.chain[depth] = target, at, bound
            frames.move[depth], frames.at[depth] = auto.begin[target], -2
            st[0], st[1] = depth, 1
