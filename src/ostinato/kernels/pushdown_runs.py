"""Runs: how they begin, move on, wait, end and are dropped, in the one pass over a document."""

from __future__ import annotations

from typing import Any

from numba import types

from ostinato.kernels.jit import kernel
from ostinato.kernels.pushdown_layout import (
    BASE,
    COLUMNS,
    DEDUPE,
    DEPTH,
    ELEMENT,
    END_FROM,
    END_TO,
    FREE_LINK,
    FREE_RUN,
    HISTORIES,
    HISTORY,
    LIFTED,
    LINKS_USED,
    LIVE,
    NODES,
    NODES_OF_CHUNK,
    NOW,
    ORDINAL,
    QUERY,
    ROWS,
    RUNS_USED,
    SERIAL,
    STACK,
    TRIES,
    WAITING_ROWS,
    WIDTH,
    WORK,
    numbers,
)
from ostinato.kernels.pushdown_values import local_bits, passes, write_slots
from ostinato.kernels.values import run_program


@kernel(numbers(types.void, WORK, count=1))
def drop(work: Any, run: Any) -> Any:
    """One reference to a run less."""
    work.run_refs[run] -= 1
    if work.run_refs[run] == 0:
        work.run_state[run] = -1
        work.run_next[run] = work.state[FREE_RUN]
        work.state[FREE_RUN] = run
        work.state[LIVE] -= 1


@kernel(numbers(types.int64, WORK, count=1))
def drop_list(work: Any, head: Any) -> Any:
    """Drop every run of a list, and the list; how many there were."""
    count = 0
    while head >= 0:
        after = work.link_next[head]
        drop(work, work.link_run[head])
        work.link_next[head] = work.state[FREE_LINK]
        work.state[FREE_LINK] = head
        head = after
        count += 1
    return count


@kernel(numbers(types.int64, WORK, count=2))
def link(work: Any, run: Any, tail: Any) -> Any:
    """A new link to a run, put behind `tail` (-1: none)."""
    free = work.state[FREE_LINK]
    if free >= 0:
        work.state[FREE_LINK] = work.link_next[free]
    else:
        free = work.state[LINKS_USED]
        work.state[LINKS_USED] += 1
    work.link_run[free] = run
    work.link_next[free] = -1
    work.run_refs[run] += 1
    if tail >= 0:
        work.link_next[tail] = free
    return free


@kernel(numbers(types.int64, WORK, count=3))
def _seen(work: Any, history: Any, tag: Any, value: Any) -> Any:
    """What was stored for (history, tag) at this node, or `value`, which is stored now."""
    seen, serial, node = work.seen, work.state[SERIAL], work.state[NOW]
    mask = work.seen.size // 8 - 1
    place = ((history * 0x9E3779B1 + tag * 0x85EBCA77 + node) ^ (history >> 17)) & mask
    while True:
        at = 8 * place
        if seen[at] != serial:
            seen[at], seen[at + 1], seen[at + 2], seen[at + 3], seen[at + 4] = serial, history, tag, node, value
            return value
        if seen[at + 1] == history and seen[at + 2] == tag and seen[at + 3] == node:
            return seen[at + 4]
        place = (place + 1) & mask


@kernel(numbers(types.void, QUERY, WORK, NODES_OF_CHUNK, count=0))
def emit_node(query: Any, work: Any, nodes: Any) -> Any:
    """The node at hand is an answer; once. An element is known to its end only when it closes."""
    state = work.state
    place, row = state[NOW], state[ROWS]
    last = state[ORDINAL] + place
    before = row - 1
    while before >= 0 and work.row_last[before] >= state[ORDINAL] + state[ELEMENT]:  # rows of this node's element
        if work.row_last[before] == last:
            return
        before -= 1
    state[ROWS] += 1
    work.row_last[row] = last
    work.row_history[row], work.row_key[row] = row, -1
    work.out_kind[row], work.out_start[row] = 2, nodes.start[place]
    work.out_size[row] = nodes.end[place] - nodes.start[place]
    if nodes.kind[place] == 0:
        work.out_kind[row] = 0  # until it closes
        top = state[WAITING_ROWS]
        work.open_row[top], work.open_depth[top] = row, state[DEPTH] + 1
        state[WAITING_ROWS] += 1


@kernel(numbers(types.void, QUERY, WORK, NODES_OF_CHUNK, count=1))
def accept(query: Any, work: Any, nodes: Any, run: Any) -> Any:
    """A run has walked the whole path: a row, if the last tests hold."""
    shift = run * query.layout[WIDTH]
    for test in range(query.layout[END_FROM], query.layout[END_TO]):
        if not passes(query, work, nodes, test, shift):
            return
    if query.layout[NODES]:
        emit_node(query, work, nodes)
        return
    if query.layout[HISTORIES]:
        if work.history_done[work.run_history[run]]:
            return
        work.history_done[work.run_history[run]] = 1
    row = work.state[ROWS]
    work.state[ROWS] += 1
    work.row_history[row] = work.run_history[run]
    work.row_last[row] = work.run_last[run]
    work.row_key[row] = work.run_key[run]
    base, stack = query.layout[BASE], query.layout[STACK]
    for column in range(query.layout[COLUMNS]):
        out = row * query.layout[COLUMNS] + column
        form, code = query.columns[column, 0], query.columns[column, 1]
        at = stack
        if form == 1:
            at = code if code < base else code + shift
        elif form == 0:
            run_program(query.code, code, query.columns[column, 2], shift, base, stack,
                        work.kind, work.num, work.start, work.size, nodes.buffer, work.held)  # fmt: skip
        else:
            work.kind[stack] = 1
        work.out_kind[out], work.out_num[out] = work.kind[at], work.num[at]
        work.out_start[out], work.out_size[out] = work.start[at], work.size[at]


@kernel(numbers(types.int64, QUERY, WORK, NODES_OF_CHUNK, count=6))
def try_move(query: Any, work: Any, nodes: Any, run: Any, move: Any, place: Any, known: Any, key: Any, count: Any) -> Any:
    """Let a run (-1: one that begins here) make a move to the node at `place`; how many have arrived there then.

    `known` says whether the tests of the node itself are known to hold.
    """
    state = work.state
    mask = query.local[move]
    if mask and not known and local_bits(query, work, nodes, place, mask) != mask:
        return count
    history = work.run_history[run] if run >= 0 else 0
    variable, target = query.binds[move], query.target[move]
    minted = history
    if variable >= 0:
        minted = state[HISTORY]
        if query.layout[DEDUPE]:
            minted = _seen(work, history, -2 - variable, minted)
    if query.layout[DEDUPE]:
        state[TRIES] += 1
        if _seen(work, minted, target, state[TRIES]) != state[TRIES]:
            return count
    if variable >= 0 and minted == state[HISTORY]:
        state[HISTORY] += 1
        if query.layout[HISTORIES]:
            work.history_parent[minted] = history
            work.history_node[minted] = state[ORDINAL] + state[NOW]
            work.history_variable[minted] = variable
            work.history_done[minted] = 0
    made = state[FREE_RUN]
    if made >= 0:
        state[FREE_RUN] = work.run_next[made]
    else:
        made = state[RUNS_USED]
        state[RUNS_USED] += 1
    state[LIVE] += 1
    base, width = query.layout[BASE], query.layout[WIDTH]
    to = base + made * width
    if run >= 0:
        work.run_last[made], work.run_key[made] = work.run_last[run], work.run_key[run]
        at = base + run * width
        for slot in range(width):
            work.kind[to + slot], work.num[to + slot] = work.kind[at + slot], work.num[at + slot]
            work.start[to + slot], work.size[to + slot] = work.start[at + slot], work.size[at + slot]
    else:
        work.run_last[made], work.run_key[made] = -1, -1
        for slot in range(width):
            work.kind[to + slot], work.num[to + slot] = query.initial[slot], 0.0
    work.run_state[made] = target
    work.run_history[made] = minted
    work.run_refs[made] = 1
    if variable >= 0:
        work.run_last[made] = state[ORDINAL] + state[NOW]
        if work.run_key[made] < 0:
            work.run_key[made] = key
    write_slots(query, work, nodes, move, made)
    shift = made * width
    for test in range(query.move_tests[move], query.move_tests[move + 1]):
        if not passes(query, work, nodes, test, shift):
            drop(work, made)
            return count
    if query.accept[target]:
        accept(query, work, nodes, made)
    work.arrived[count] = made
    return count + 1


@kernel(numbers(types.void, WORK, count=1))
def lift(work: Any, run: Any) -> Any:
    """Let a run wait for descendants of the node that is open now."""
    work.lifted[work.state[LIFTED]] = run
    work.state[LIFTED] += 1
    work.run_refs[run] += 1
