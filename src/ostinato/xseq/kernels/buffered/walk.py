"""Every walk over a tree along an automaton, depth first, each configuration once.

A configuration is a state, a node, what was bound, and the nodes that are remembered. Where nothing is bound or
remembered yet a table of bits knows which were visited, and nodes along an axis are offered to a move only once: then
all takes time linear in the tree.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, void
from ostinato.xseq.kernels.buffered.build import advance, passes
from ostinato.xseq.kernels.buffered.chains import all_hold, began, each_holds, enter, hash_of, place_of, remember
from ostinato.xseq.kernels.buffered.checks import move_holds
from ostinato.xseq.kernels.buffered.layout import (
    AGAIN,
    ANSWER,
    AT,
    BACK,
    BEGIN,
    CHAINS_USED,
    DEPTH,
    ENTERED,
    GROW_CHAINS,
    GROW_FRAMES,
    GROW_MEMO,
    GROW_OUT,
    GROW_TEXT,
    MARK,
    MATCHES,
    MEET,
    MEMO,
    NODES,
    OUT,
    PAUSED,
    STEPS,
    WALK_SEARCH,
    WalkSearch,
)

_DONE = -3  # a move that needs no more nodes
_DESCENDANT = 3


@subroutine(int64(WALK_SEARCH, int64, int64, int64, int64, int64))
def _memo_place(walks: WalkSearch, state: int, node: int, chain: int, frame: int, entry: int) -> int:
    """Where in the table a configuration stands, or would. Its marks are those of a frame, or of an entry (from 0)."""
    marks, begin, width = walks.frame_marks, frame * walks.width, walks.width
    if entry >= 0:
        marks, begin = walks.memo_marks, entry * width
    count = walks.search.automaton.marks[state]
    value = hash_of(state, node, chain)
    for mark in range(count):
        low: Any = np.int64(value & np.uint64(0xFFFFFFFF))
        value = hash_of(low, marks[begin + mark], mark)
    mask = walks.memo_table.size - 1
    place: Any = np.int64(value & np.uint64(mask))
    while True:
        found = walks.memo_table[place]
        if found < 0:
            return place
        if walks.memo_state[found] == state and walks.memo_node[found] == node and walks.memo_chain[found] == chain:
            same = True
            for mark in range(count):
                if walks.memo_marks[found * width + mark] != marks[begin + mark]:
                    same = False
            if same:
                return place
        place = (place + 1) & mask


@kernel(void(WALK_SEARCH))
def memo_again(walks: WalkSearch) -> None:
    """Fill a new table."""
    for entry in range(walks.state[MEMO]):
        state, node, chain = walks.memo_state[entry], walks.memo_node[entry], walks.memo_chain[entry]
        walks.memo_table[_memo_place(walks, state, node, chain, 0, entry)] = entry


@subroutine(boolean(WALK_SEARCH, int64, int64))
def _visit_bare(walks: WalkSearch, state: int, node: int) -> bool:
    """Whether nothing has been at a node in a state before without bindings and marks."""
    place = walks.state_row[state] * walks.search.tree.kind.size + node
    fresh = walks.visited[place] == 0
    walks.visited[place] = 1
    return fresh


@subroutine(void(WALK_SEARCH, int64, int64, int64, int64))
def _push(walks: WalkSearch, depth: int, state: int, node: int, chain: int) -> None:
    """A new frame."""
    walks.frame_state[depth] = state
    walks.frame_node[depth] = node
    walks.frame_chain[depth] = chain
    walks.frame_move[depth] = walks.search.automaton.begin[state]
    walks.frame_at[depth] = -2
    walks.state[DEPTH] = depth
    walks.state[ENTERED] = 1


@subroutine(boolean(WALK_SEARCH))
def _start(walks: WalkSearch) -> bool:
    """Begin at the next node that was not visited; False if there is none."""
    while walks.state[AT] < walks.nodes.size:
        state, node = walks.node_states[walks.state[AT]], walks.nodes[walks.state[AT]]
        walks.state[AT] += 1
        if _visit_bare(walks, state, node):
            _push(walks, 0, state, node, 0)
            return True
    return False


@subroutine(int64(WALK_SEARCH, int64, int64))
def _put_out(walks: WalkSearch, node: int, chain: int) -> int:
    """Put out a walk that may end here, if it is a match; not 0 when there is no room."""
    done, answer = walks.chains.done, walks.state[ANSWER]
    if answer != MATCHES and (node == 0 or (answer == NODES and walks.is_out[node])):
        return 0
    at = walks.state[OUT]
    if at >= walks.out_chain.size:
        return GROW_OUT
    decided = done[chain] & 2 != 0
    if not decided:
        good = all_hold(walks, chain, walks.writes.first_end, walks.writes.last_end)
        if good and walks.for_each.rows.shape[0]:
            result = each_holds(walks, chain)
            if result > 1:
                return result
            good = result == 1
        done[chain] |= 6 if good else 2
    if done[chain] & 4 and not (decided and answer == MATCHES):
        walks.out_chain[at] = chain
        walks.out_node[at] = node
        walks.state[OUT] = at + 1
        if answer == NODES:
            walks.is_out[node] = 1
    return 0


@subroutine(int64(WALK_SEARCH, int64, int64), inline=True)
def _next_node(walks: WalkSearch, depth: int, move: int) -> int:
    """The next node that a move leads to, -1 if there is none."""
    automaton = walks.search.automaton
    axis, here, cursor = automaton.axis[move], walks.frame_node[depth], walks.frame_at[depth]
    if cursor == _DONE:
        return -1
    if axis < MARK:
        return advance(walks.search.tree, axis, here, cursor)
    if cursor != -2:
        return -1
    if axis in (MARK, BEGIN):
        return here
    marked = walks.frame_marks[depth * walks.width + automaton.mark[move]]
    if axis == BACK:
        return marked
    if axis == MEET:
        return here if marked == here else -1
    return -1 if began(walks.chains, marked, here) else here  # AGAIN


@subroutine(int64(WALK_SEARCH, int64, int64, int64), inline=True)
def _bind(walks: WalkSearch, move: int, node: int, chain: int) -> int:
    """The chain after a move that binds variables or begins rounds: -1 if a test fails, -1 - what has to grow."""
    writes, chains, state = walks.writes, walks.chains, walks.state
    low, high = writes.labels[move], writes.labels[move + 1]
    if state[CHAINS_USED] + high - low > chains.parent.size:
        return -1 - GROW_CHAINS
    bound, fresh = chain, -1
    for index in range(low, high):
        label = writes.label[index]
        what = node if label < writes.variables else -1
        place = place_of(chains, bound, label, what)
        if chains.table[place] < 0:
            enter(chains, place, state[CHAINS_USED], bound, label, what)
            chains.done[state[CHAINS_USED]] = 0
            state[CHAINS_USED] += 1
            fresh = place
        bound = chains.table[place]
    before = walks.values.free[0]
    if chains.done[bound] & 1 == 0:
        if not remember(walks, move, node, chain, bound):
            return -1 - GROW_TEXT
        chains.done[bound] |= 1
    if all_hold(walks, bound, writes.move_tests[move], writes.move_tests[move + 1]):
        return bound
    if fresh >= 0 and high == low + 1:
        chains.table[fresh] = -1  # the last that was entered: nothing was put behind it yet
        state[CHAINS_USED] -= 1
        walks.values.free[0] = before
    return -1


@subroutine(int64(WALK_SEARCH, int64, int64))
def _trail(walks: WalkSearch, trail: int, node: int) -> int:
    """The chain of the nodes where rounds began, with one more; -1 when there is no room."""
    chains, state = walks.chains, walks.state
    if state[CHAINS_USED] + 1 > chains.parent.size:
        return -1
    place = place_of(chains, trail, walks.writes.rounds, node)
    if chains.table[place] < 0:
        enter(chains, place, state[CHAINS_USED], trail, walks.writes.rounds, node)
        chains.done[state[CHAINS_USED]] = 0
        state[CHAINS_USED] += 1
    return chains.table[place]


@subroutine(int64(WALK_SEARCH, int64, int64, int64, int64), inline=True)
def _visit(walks: WalkSearch, depth: int, move: int, node: int, chain: int) -> int:
    """1 if the configuration after a move is a new one, 0 if it is not, more when there is no room."""
    automaton, marks, width, state = walks.search.automaton, walks.frame_marks, walks.width, walks.state
    if depth + 2 >= walks.frame_state.size:
        return GROW_FRAMES
    target, axis, mark = automaton.target[move], automaton.axis[move], automaton.mark[move]
    live, begin = automaton.marks[target], (depth + 1) * width
    for each in range(live):
        marks[begin + each] = marks[begin - width + each]
    if mark < live and axis == MARK:
        marks[begin + mark] = node
    elif mark < live and axis in (BEGIN, AGAIN):
        trail = _trail(walks, marks[begin + mark] if axis == AGAIN else 0, node)
        if trail < 0:
            return GROW_CHAINS
        marks[begin + mark] = trail
    if chain == 0 and live == 0:
        return int(_visit_bare(walks, target, node))
    entry = state[MEMO]
    if entry >= walks.memo_state.size:
        return GROW_MEMO
    place = _memo_place(walks, target, node, chain, depth + 1, -1)
    if walks.memo_table[place] >= 0:
        return 0
    walks.memo_table[place] = entry
    walks.memo_state[entry] = target
    walks.memo_node[entry] = node
    walks.memo_chain[entry] = chain
    for each in range(live):
        walks.memo_marks[entry * width + each] = marks[begin + each]
    state[MEMO] = entry + 1
    return 1


@subroutine(int64(WALK_SEARCH, int64, int64, int64), inline=True)
def _make_move(walks: WalkSearch, depth: int, move: int, node: int) -> int:
    """Go on to a node if a move allows that and it leads to something new; not 0 when there is no room."""
    search, writes, automaton = walks.search, walks.writes, walks.search.automaton
    axis, chain = automaton.axis[move], walks.frame_chain[depth]
    cursor, swept = node, -1
    if chain == 0 and automaton.marks[walks.frame_state[depth]] == 0 and walks.move_row[move] >= 0:
        swept = walks.move_row[move] * search.tree.kind.size + node
        if walks.swept[swept]:
            cursor = search.tree.end[node] - 1 if axis == _DESCENDANT else _DONE
    result = 0
    if axis >= MARK or passes(search.tree, axis, automaton.test[move], search.names[move], node):
        result = move_holds(search, move, node)
    bound = chain
    if result == 1 and writes.labels[move] < writes.labels[move + 1]:
        bound = _bind(walks, move, node, chain)
        if bound < 0:
            result = -1 - bound
    if result == 1:
        result = _visit(walks, depth, move, node, bound)
    if result > 1:
        return result
    walks.frame_at[depth] = cursor
    if swept >= 0:
        walks.swept[swept] = 1
    if result:
        _push(walks, depth + 1, automaton.target[move], node, bound)
    return 0


@subroutine(int64(WALK_SEARCH))
def make_walks(walks: WalkSearch) -> int:
    """Go on until all walks were made (0), or something has to be larger (what; then call again), or for a pause."""
    automaton, state, pause = walks.search.automaton, walks.state, walks.search.pause
    while state[DEPTH] >= 0 or _start(walks):
        if pause[STEPS] <= 0:
            return PAUSED
        pause[STEPS] -= 1
        depth = state[DEPTH]
        at_state = walks.frame_state[depth]
        if state[ENTERED]:
            if automaton.accepting[at_state]:
                result = _put_out(walks, walks.frame_node[depth], walks.frame_chain[depth])
                if result:
                    return result
            state[ENTERED] = 0
        move = walks.frame_move[depth]
        if move == automaton.begin[at_state + 1]:
            state[DEPTH] = depth - 1
            continue
        node = _next_node(walks, depth, move)
        if node < 0:
            walks.frame_move[depth] = move + 1
            walks.frame_at[depth] = -2
            continue
        result = _make_move(walks, depth, move, node)
        if result:
            return result
    return 0
