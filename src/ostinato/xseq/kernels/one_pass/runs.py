"""Runs: how they begin, move on, wait, end and are dropped, in the one pass over a document. All of it is inlined:
a function that is handed dozens of arrays spends more on that than on what it does."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.jit import inlined
from ostinato.xseq.kernels.one_pass.layout import (
    BASE,
    COLUMNS,
    DEDUPE,
    FREE_LINK,
    FREE_RUN,
    HISTORIES,
    HISTORY,
    LIFTED,
    LINKS_USED,
    LIVE,
    ORDINAL,
    ROWS,
    RUNS_USED,
    SERIAL,
    STACK,
    TRIES,
    WAITING_ROWS,
    WIDTH,
)
from ostinato.xseq.kernels.one_pass.values import passes, write_slots
from ostinato.xseq.kernels.values import run_program


@inlined
def drop(work: Any, run: Any) -> Any:
    """One reference to a run less."""
    work.run_refs[run] -= 1
    if work.run_refs[run] == 0:
        work.run_state[run] = -1
        work.run_next[run] = work.state[FREE_RUN]
        work.state[FREE_RUN] = run
        work.state[LIVE] -= 1


@inlined
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


@inlined
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


@inlined
def _seen(work: Any, history: Any, tag: Any, node: Any, value: Any) -> Any:
    """What was stored for (history, tag, node) at this element, or `value`, which is stored now."""
    seen, serial = work.seen, work.state[SERIAL]
    mask = work.seen.size // 8 - 1
    place = ((history * 0x9E3779B1 + np.int64(tag) * 0x85EBCA77 + node) ^ (history >> 17)) & mask
    result = value
    while seen[8 * place] == serial:
        at = 8 * place
        if seen[at + 1] == history and seen[at + 2] == tag and seen[at + 3] == node:
            result = seen[at + 4]
            break
        place = (place + 1) & mask
    if seen[8 * place] != serial:
        at = 8 * place
        seen[at], seen[at + 1], seen[at + 2], seen[at + 3], seen[at + 4] = serial, history, tag, node, value
    return result


@inlined
def emit_node(work: Any, nodes: Any, place: Any, element: Any, depth: Any) -> None:
    """The node at `place` is an answer; once. An element is known to its end only when it closes."""
    state = work.state
    row, last = state[ROWS], state[ORDINAL] + place
    fresh = True
    before = row - 1
    while before >= 0 and work.row_last[before] >= state[ORDINAL] + element:
        if work.row_last[before] == last:
            fresh = False
        before -= 1
    if fresh:
        state[ROWS] += 1
        work.row_last[row] = last
        work.row_history[row], work.row_key[row] = row, -1
        work.out_kind[row], work.out_start[row] = 2, nodes.start[place]
        work.out_size[row] = nodes.end[place] - nodes.start[place]
        if nodes.kind[place] == 0:
            work.out_kind[row] = 0  # until it closes
            top = state[WAITING_ROWS]
            work.open_row[top], work.open_depth[top] = row, depth + 1
            state[WAITING_ROWS] += 1


@inlined
def emit_match(query: Any, work: Any, nodes: Any, run: Any) -> None:
    """A row for a run that has walked the whole path, unless its bindings have theirs already."""
    shift = run * query.layout[WIDTH]
    fresh = True
    if query.layout[HISTORIES]:
        fresh = not work.history_done[work.run_history[run]]
        work.history_done[work.run_history[run]] = 1
    if fresh:
        row = work.state[ROWS]
        work.state[ROWS] += 1
        work.row_history[row] = work.run_history[run]
        work.row_last[row] = work.run_last[run]
        work.row_key[row] = work.run_key[run]
        base, stack = query.layout[BASE], query.layout[STACK]
        for column in range(query.layout[COLUMNS]):
            out = row * query.layout[COLUMNS] + column
            form, code = query.columns[3 * column], query.columns[3 * column + 1]
            at = stack
            if form == 1:
                at = code if code < base else code + shift
            elif form == 0:
                run_program(query.code, code, query.columns[3 * column + 2], shift, base, stack,
                            work.kind, work.num, work.start, work.size, nodes.buffer, work.held)  # fmt: skip
            else:
                work.kind[stack] = 1
            work.out_kind[out], work.out_num[out] = work.kind[at], work.num[at]
            work.out_start[out], work.out_size[out] = work.start[at], work.size[at]


@inlined
def mint(query: Any, work: Any, run: Any, move: Any, place: Any) -> Any:
    """The history that a move gives to a run, or -1 if an equal run has made an equal move."""
    state = work.state
    history = work.run_history[run]
    variable = query.binds[move]
    minted = history
    if variable >= 0:
        minted = state[HISTORY]
        if query.layout[DEDUPE]:
            minted = _seen(work, history, -2 - variable, place, minted)
        if minted == state[HISTORY]:
            state[HISTORY] += 1
            if query.layout[HISTORIES]:
                work.history_parent[minted] = history
                work.history_node[minted] = state[ORDINAL] + place
                work.history_variable[minted] = variable
                work.history_done[minted] = 0
    if query.layout[DEDUPE]:
        state[TRIES] += 1
        if _seen(work, minted, query.target[move], place, state[TRIES]) != state[TRIES]:
            minted = -1
    return minted


@inlined
def make_run(
    query: Any, work: Any, nodes: Any, run: Any, move: Any, history: Any, place: Any, key: Any, spent: Any
) -> Any:
    """A run like `run` (0: one that begins) that has made a move to the node at `place`; itself where it is spent."""
    state = work.state
    width = query.layout[WIDTH]
    if spent:
        made = run
        work.run_refs[made] += 1
    else:
        made = state[FREE_RUN]
        if made >= 0:
            state[FREE_RUN] = work.run_next[made]
        else:
            made = state[RUNS_USED]
            state[RUNS_USED] += 1
        state[LIVE] += 1
        to, at = query.layout[BASE] + made * width, query.layout[BASE] + run * width
        work.run_last[made], work.run_key[made], work.run_refs[made] = work.run_last[run], work.run_key[run], 1
        for slot in range(width):
            work.kind[to + slot], work.num[to + slot] = work.kind[at + slot], work.num[at + slot]
            work.start[to + slot], work.size[to + slot] = work.start[at + slot], work.size[at + slot]
    work.run_state[made] = query.target[move]
    work.run_history[made] = history
    if query.binds[move] >= 0:
        work.run_last[made] = state[ORDINAL] + place
        if work.run_key[made] < 0:
            work.run_key[made] = key
    write_slots(query, work, nodes, move, made)
    return made


@inlined
def all_pass(query: Any, work: Any, nodes: Any, begin: Any, end: Any, run: Any) -> Any:
    """Whether a run passes the tests in a range."""
    shift = run * query.layout[WIDTH]
    result = True
    while result and begin < end:
        result = passes(query, work, nodes, begin, shift)
        begin += 1
    return result


@inlined
def lift(work: Any, run: Any) -> Any:
    """Let a run wait for descendants of the node that is open now."""
    work.lifted[work.state[LIFTED]] = run
    work.state[LIFTED] += 1
    work.run_refs[run] += 1
