"""Queries whose runs wait for the next sibling only: runs that are in one state move as one.

Such runs have all arrived at the same node, the last one of their key. Where the tests ahead of them ask for nothing
but that node and the next, what holds for one of them holds for all (runtime/one_pass/bundles.py says when).
So they are kept as a bundle: a list of runs, whose first run speaks for all of them. It is tested and written to; the
others keep what they began with, and are looked at only where they are matches, or are dropped.
"""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, void
from ostinato.xseq.kernels.one_pass.keys import release_cell
from ostinato.xseq.kernels.one_pass.layout import (
    FREE_RUN,
    HISTORY,
    LIVE,
    NEXT,
    NODES,
    ORDINAL,
    QUERY,
    ROLE_COUNT,
    STEPS,
    WORK,
    Nodes,
    QueryTables,
    Work,
)
from ostinato.xseq.kernels.one_pass.runs import emit_match, make_run
from ostinato.xseq.kernels.one_pass.values import all_pass, copy_value, local_bits, write_slots


@subroutine(void(WORK, int64))
def _drop_bundle(work: Work, head: int) -> None:
    run = head
    while run >= 0:
        work.run_state[run] = -1
        work.state[LIVE] -= 1
        run = work.run_next[run]
    work.run_next[work.bundle_tail[head]] = work.state[FREE_RUN]
    work.state[FREE_RUN] = head


@subroutine(void(WORK, int64))
def _drop_bundles(work: Work, head: int) -> None:
    while head >= 0:
        after = work.bundle_next[head]
        _drop_bundle(work, head)
        head = after


@subroutine(int64(WORK, int64, int64))
def _insert(work: Work, head: int, bundles: int) -> int:
    """Put a bundle into the list `bundles`, behind the one of its state or, where there is none, behind older ones.

    So the oldest runs come first, as their matches do, but for runs that overtake each other.
    """
    older, other = -1, bundles
    while other >= 0 and work.run_state[other] != work.run_state[head]:
        if work.run_history[other] < work.run_history[head]:
            older = other
        other = work.bundle_next[other]
    if other >= 0:
        work.run_next[work.bundle_tail[other]] = head
        work.bundle_tail[other] = work.bundle_tail[head]
    elif older >= 0:
        work.bundle_next[head] = work.bundle_next[older]
        work.bundle_next[older] = head
    else:
        work.bundle_next[head] = bundles
        bundles = head
    return bundles


@subroutine(void(QUERY, WORK, int64, int64, int64))
def _copy_shared(query: QueryTables, work: Work, head: int, run: int, state: int) -> None:
    """Give a run what the first of its bundle has for all of them in a state."""
    to, at = work.base + run * query.width, work.base + head * query.width
    for index in range(query.shared_range[state], query.shared_range[state + 1]):
        copy_value(work, to + query.shared[index], at + query.shared[index])


@subroutine(int64(QUERY, WORK, int64, int64))
def _first_move(query: QueryTables, work: Work, head: int, name: int) -> int:
    """The move that a bundle makes to a node of class `name`, or -1."""
    at = work.run_state[head] * ROLE_COUNT + NEXT
    for index in range(query.out_range[at], query.out_range[at + 1]):
        move = query.out_move[index]
        wants, mask = query.wants[move], query.local_mask[move]
        if (
            (wants == name or wants < 0)
            and (mask == 0 or local_bits(query, work, mask) == mask)
            and all_pass(query, work, query.tests_before[2 * move], query.tests_before[2 * move + 1], head)
        ):
            return move
    return -1


@subroutine(void(QUERY, WORK, int64, int64))
def _advance(query: QueryTables, work: Work, head: int, move: int) -> None:
    """Let a bundle make a move."""
    if query.written_to_all[move]:
        run = work.run_next[head]
        while run >= 0:
            _copy_shared(query, work, head, run, work.run_state[head])
            write_slots(query, work, move, run)
            work.state[STEPS] -= 1
            run = work.run_next[run]
    write_slots(query, work, move, head)
    work.run_state[head] = query.target[move]


@subroutine(void(QUERY, WORK, int64, int64))
def _emit_matches(query: QueryTables, work: Work, head: int, place: int) -> None:
    """A row for every run of a bundle that has walked the whole path and passes the tests of a whole match."""
    run = head
    while run >= 0:
        if run != head:
            _copy_shared(query, work, head, run, work.run_state[head])
        work.run_last[run] = work.state[ORDINAL] + place
        if all_pass(query, work, query.first_end, query.last_end, run):
            emit_match(query, work, run)
        work.state[STEPS] -= 1
        run = work.run_next[run]


@subroutine(int64(QUERY, WORK, int64, int64, boolean))
def _wait_or_drop(query: QueryTables, work: Work, head: int, bundles: int, element: bool) -> int:
    """Let a bundle that has come to a node wait among `bundles`, if something can come after it there."""
    if element and query.role_bits[work.run_state[head]] & 16:
        return _insert(work, head, bundles)
    _drop_bundle(work, head)
    return bundles


@subroutine(void(QUERY, WORK, NODES, int64, int64, int64, int64, int64))
def arrive_bundles(
    query: QueryTables, work: Work, nodes: Nodes, place: int, name: int, entry: int, depth: int, cell: int
) -> None:
    """Everything that happens at a node: runs begin, then every bundle that waits for it makes one move or is dropped.

    Matches are found bundle by bundle; those that end on one node are put in order of their histories later.
    """
    element = nodes.kind[place] == 0
    key = work.cell_key[cell] if cell >= 0 else -1
    frame = depth * ROLE_COUNT + NEXT
    bundles = -1
    for index in range(query.spawn_range[2 * entry], query.spawn_range[2 * entry + 1]):
        move = query.move_list[index]
        if not all_pass(query, work, query.tests_before[2 * move], query.tests_before[2 * move + 1], 0):
            continue
        head = make_run(query, work, 0, move, 0, place, key, False)
        work.run_next[head], work.bundle_tail[head] = -1, head
        if query.accept[query.target[move]]:
            # a match of one node has history 0: it comes before all others that end there
            _emit_matches(query, work, head, place)
        work.run_history[head] = work.state[HISTORY]
        work.state[HISTORY] += 1
        bundles = _wait_or_drop(query, work, head, bundles, element)
    if not element:
        return
    head = work.cell_next_run[cell] if cell >= 0 else work.waiting[frame]
    while head >= 0:
        after = work.bundle_next[head]
        move = _first_move(query, work, head, name)
        if move < 0:
            _drop_bundle(work, head)
        else:
            _advance(query, work, head, move)
            if query.accept[query.target[move]]:
                _emit_matches(query, work, head, place)
            bundles = _wait_or_drop(query, work, head, bundles, element)
        head = after
    if cell >= 0:
        work.cell_next_run[cell] = bundles
    else:
        work.waiting[frame] = bundles
        work.waiting_count[depth] = 1 if bundles >= 0 else 0


@subroutine(void(WORK, int64))
def leave_bundles(work: Work, depth: int) -> None:
    """An element closes: what waited inside it is dropped."""
    if work.waiting_count[depth]:
        _drop_bundles(work, work.waiting[depth * ROLE_COUNT + NEXT])
        work.waiting[depth * ROLE_COUNT + NEXT] = -1
        work.waiting_count[depth] = 0
    cell = work.first_cell[depth]
    while cell >= 0:
        _drop_bundles(work, work.cell_next_run[cell])
        cell = release_cell(work, cell)
    work.first_cell[depth] = -1
