"""Runs: how they begin, move on, wait, end and are dropped, in the one pass over a document."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, void
from ostinato.xseq.kernels.one_pass.layout import (
    DESCENDANT_RUNS,
    FREE_LINK,
    FREE_RUN,
    HISTORY,
    LINKS_USED,
    LIVE,
    NODES,
    OPEN_ROWS,
    ORDINAL,
    QUERY,
    ROWS,
    RUNS_USED,
    SERIAL,
    TRIES,
    WORK,
    Nodes,
    QueryTables,
    Work,
)
from ostinato.xseq.kernels.one_pass.values import copy_value, write_slots
from ostinato.xseq.kernels.values import run_program


@subroutine(void(WORK, int64))
def drop(work: Work, run: int) -> None:
    """One reference to a run less."""
    work.run_refs[run] -= 1
    if work.run_refs[run] == 0:
        work.run_state[run] = -1
        work.run_next[run] = work.state[FREE_RUN]
        work.state[FREE_RUN] = run
        work.state[LIVE] -= 1


@subroutine(int64(WORK, int64))
def drop_list(work: Work, head: int) -> int:
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


@subroutine(int64(WORK, int64, int64))
def link(work: Work, run: int, tail: int) -> int:
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


@subroutine(void(WORK, int64))
def wait_for_descendants(work: Work, run: int) -> None:
    """Let a run wait for descendants of the node that is open now."""
    work.descendant_runs[work.state[DESCENDANT_RUNS]] = run
    work.state[DESCENDANT_RUNS] += 1
    work.run_refs[run] += 1


@subroutine(int64(WORK, int64, int64, int64, int64))
def _find_or_store(work: Work, history: int, tag: int, node: int, value: int) -> int:
    """What was stored for (history, tag, node) at this element, or `value`, which is stored now."""
    seen, serial = work.seen, work.state[SERIAL]
    mask = seen.size // 8 - 1
    place = ((history * 0x9E3779B1 + np.int64(tag) * 0x85EBCA77 + node) ^ (history >> 17)) & mask
    while seen[8 * place] == serial:
        at = 8 * place
        if seen[at + 1] == history and seen[at + 2] == tag and seen[at + 3] == node:
            return seen[at + 4]
        place = (place + 1) & mask
    at = 8 * place
    seen[at], seen[at + 1], seen[at + 2], seen[at + 3], seen[at + 4] = serial, history, tag, node, value
    return value


@subroutine(int64(QUERY, WORK, int64, int64, int64))
def extend_history(query: QueryTables, work: Work, run: int, move: int, place: int) -> int:
    """The history that a move gives to a run, or -1 if an equal run has made an equal move."""
    state = work.state
    history, variable = work.run_history[run], query.binds[move]
    extended = history
    if variable >= 0:
        extended = state[HISTORY]
        if query.dedupe:
            extended = _find_or_store(work, history, -2 - variable, place, extended)
        if extended == state[HISTORY]:
            state[HISTORY] += 1
            if query.histories:
                work.history_parent[extended] = history
                work.history_node[extended] = state[ORDINAL] + place
                work.history_variable[extended] = variable
                work.history_done[extended] = 0
    if query.dedupe:
        state[TRIES] += 1
        if _find_or_store(work, extended, query.target[move], place, state[TRIES]) != state[TRIES]:
            return -1
    return extended


@subroutine(int64(QUERY, WORK, int64))
def _copy_run(query: QueryTables, work: Work, run: int) -> int:
    """A new run, like `run`."""
    state = work.state
    made = state[FREE_RUN]
    if made >= 0:
        state[FREE_RUN] = work.run_next[made]
    else:
        made = state[RUNS_USED]
        state[RUNS_USED] += 1
    state[LIVE] += 1
    work.run_last[made], work.run_key[made], work.run_refs[made] = work.run_last[run], work.run_key[run], 1
    to, at = work.base + made * query.width, work.base + run * query.width
    for slot in range(query.width):
        copy_value(work, to + slot, at + slot)
    return made


@subroutine(int64(QUERY, WORK, int64, int64, int64, int64, int64, boolean))
def make_run(
    query: QueryTables, work: Work, run: int, move: int, history: int, place: int, key: int, reuse: bool
) -> int:
    """A run like `run` (0: one that begins) that has made a move to the node at `place`; itself with `reuse`."""
    made = run
    if reuse:
        work.run_refs[made] += 1
    else:
        made = _copy_run(query, work, run)
    work.run_state[made] = query.target[move]
    work.run_history[made] = history
    if query.binds[move] >= 0:
        work.run_last[made] = work.state[ORDINAL] + place
        if work.run_key[made] < 0:
            work.run_key[made] = key
    write_slots(query, work, move, made)
    return made


@subroutine(void(WORK, NODES, int64, int64, int64))
def emit_node(work: Work, nodes: Nodes, place: int, element: int, depth: int) -> None:
    """The node at `place` is an answer; once. An element is known to its end only when it closes."""
    state = work.state
    row, last = state[ROWS], state[ORDINAL] + place
    before = row - 1
    while before >= 0 and work.row_last[before] >= state[ORDINAL] + element:
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
        top = state[OPEN_ROWS]
        work.open_row[top], work.open_depth[top] = row, depth + 1
        state[OPEN_ROWS] += 1


@subroutine(void(QUERY, WORK, int64))
def emit_match(query: QueryTables, work: Work, run: int) -> None:
    """A row for a run that has walked the whole path, unless its bindings have theirs already."""
    if query.histories:
        if work.history_done[work.run_history[run]]:
            return
        work.history_done[work.run_history[run]] = 1
    shift = run * query.width
    row = work.state[ROWS]
    work.state[ROWS] += 1
    work.row_history[row] = work.run_history[run]
    work.row_last[row] = work.run_last[run]
    work.row_key[row] = work.run_key[run]
    for column in range(query.column_count):
        out = row * query.column_count + column
        form, code = query.columns[3 * column], query.columns[3 * column + 1]
        at = work.stack
        if form == 1:
            at = code if code < work.base else code + shift
        elif form == 0:
            run_program(work, code, query.columns[3 * column + 2], shift)
        else:
            work.kind[at] = 1
        work.out_kind[out], work.out_num[out] = work.kind[at], work.num[at]
        work.out_start[out], work.out_size[out] = work.start[at], work.size[at]
