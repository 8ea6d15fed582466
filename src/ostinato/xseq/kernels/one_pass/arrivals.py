"""What happens at a node where single runs wait or begin: moves that are offered are made, and runs wait again."""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, void
from ostinato.xseq.kernels.one_pass.keys import release_cell
from ostinato.xseq.kernels.one_pass.layout import (
    ACCEPTS,
    BESIDE,
    CHILD,
    DESCENDANT_RUNS,
    FIRST,
    LOADED,
    NEXT,
    NODES,
    OPEN_ROWS,
    QUERY,
    ROLE_COUNT,
    SERIAL,
    WAITING_ROLES,
    WORK,
    Nodes,
    QueryTables,
    Work,
)
from ostinato.xseq.kernels.one_pass.offers import offer_node, offer_onwards, passes_tests
from ostinato.xseq.kernels.one_pass.runs import (
    drop,
    drop_list,
    emit_match,
    emit_node,
    extend_history,
    link,
    make_run,
    wait_for_descendants,
)
from ostinato.xseq.kernels.one_pass.values import all_pass, load


@subroutine(void(QUERY, WORK, int64, int64, int64, int64))
def _wait(query: QueryTables, work: Work, depth: int, cell: int, started: int, count: int) -> None:
    """Let what arrived at an element wait along the axes that lead on from it, the oldest first.

    Of the `count` runs that arrived the first `started` have begun there.
    """
    frame, inside = depth * ROLE_COUNT, (depth + 1) * ROLE_COUNT
    child = first = following = -1
    beside = work.cell_beside[cell] if cell >= 0 else work.waiting[frame + BESIDE]
    last = beside
    while last >= 0 and work.link_next[last] >= 0:
        last = work.link_next[last]
    for at in range(started, started + count):
        run = work.arrived[at if at < count else at - count]
        roles = query.role_bits[work.run_state[run]]
        if roles & 1:
            child = link(work, run, child)
            if work.waiting[inside + CHILD] < 0:
                work.waiting[inside + CHILD] = child
            work.waiting_count[depth + 1] += 1
        if roles & 2:
            first = link(work, run, first)
            if work.waiting[inside + FIRST] < 0:
                work.waiting[inside + FIRST] = first
            work.waiting_count[depth + 1] += 1
        if roles & 4:
            wait_for_descendants(work, run)
        if roles & 8:
            last = link(work, run, last)
            if beside < 0:
                beside = last
                if cell >= 0:
                    work.cell_beside[cell] = last
                else:
                    work.waiting[frame + BESIDE] = last
            if cell < 0:
                work.waiting_count[depth] += 1
        if roles & 16:
            following = link(work, run, following)
            if cell >= 0:
                if work.cell_next_run[cell] < 0:
                    work.cell_next_run[cell] = following
            else:
                if work.waiting[frame + NEXT] < 0:
                    work.waiting[frame + NEXT] = following
                work.waiting_count[depth] += 1


@subroutine(void(WORK, int64, int64))
def _drop_passed(work: Work, depth: int, cell: int) -> None:
    """Drop the runs that waited for an element as the first child or the next sibling: it has passed."""
    frame = depth * ROLE_COUNT
    if not work.had_child[depth]:
        work.waiting_count[depth] -= drop_list(work, work.waiting[frame + FIRST])
        work.waiting[frame + FIRST] = -1
    if cell >= 0:
        drop_list(work, work.cell_next_run[cell])
        work.cell_next_run[cell] = -1
    else:
        work.waiting_count[depth] -= drop_list(work, work.waiting[frame + NEXT])
        work.waiting[frame + NEXT] = -1


@subroutine(boolean(QUERY, WORK, NODES, int64, int64, int64, int64, int64))
def _keep(query: QueryTables, work: Work, nodes: Nodes, run: int, move: int, node: int, place: int, depth: int) -> bool:
    """Whether a run goes on after a move: it passes the tests that had to wait for it. A whole match is put out."""
    begin, end = query.tests_after[2 * move], query.tests_after[2 * move + 1]
    if begin < end and not all_pass(query, work, begin, end, run):
        return False
    if query.accept[query.target[move]] and all_pass(query, work, query.first_end, query.last_end, run):
        if query.answers_nodes:
            emit_node(work, nodes, node, place, depth)
        else:
            emit_match(query, work, run)
    return node == place  # nothing waits at an attribute


@subroutine(void(QUERY, WORK, NODES, int64, int64, int64, int64, int64))
def arrive(
    query: QueryTables, work: Work, nodes: Nodes, place: int, name: int, entry: int, depth: int, cell: int
) -> None:
    """Everything that happens at a node where runs wait or begin. After texts and attributes nothing waits.

    Runs that it was offered to for the last time are dropped when all is done, since what they carry is still needed.
    """
    state, offers = work.state, work.offers
    state[SERIAL] += 1
    element = nodes.kind[place] == 0
    key = work.cell_key[cell] if cell >= 0 else -1
    if query.flags[entry] & ACCEPTS:
        emit_node(work, nodes, place, place, depth)
    spawns = query.spawn_range[2 * entry + 1] - query.spawn_range[2 * entry]
    offered, follows = offer_node(query, work, nodes, place, name, entry, depth, cell)
    started = count = offer = 0
    while offer < offered:
        passed, first = offer, offer == 0
        spawned = following = 0
        for at in range(offer, offered):  # those that pass are moved to the front
            if passes_tests(query, work, nodes, at, first and at < spawns):
                offers[3 * passed], offers[3 * passed + 1], offers[3 * passed + 2] = (
                    offers[3 * at], offers[3 * at + 1], offers[3 * at + 2],
                )  # fmt: skip
                passed += 1
            if at < spawns:
                spawned = passed
            if at < follows:
                following = passed
        offered = passed
        while offer < passed:
            run, move, node = offers[3 * offer], offers[3 * offer + 1], offers[3 * offer + 2]
            offer += 1
            if state[LOADED] != node:
                load(query, work, nodes, node)
            history = extend_history(query, work, run, move, node)
            if history < 0:
                continue
            # a run that waited for this node only and has no other way on is not needed any more
            reuse = first and offer > following and work.run_refs[run] == 1
            reuse = reuse and (offer == passed or offers[3 * offer] != run)
            made = make_run(query, work, run, move, history, node, key, reuse)
            if _keep(query, work, nodes, made, move, node, place, depth):
                work.arrived[count] = made
                count += 1
                if element and query.onwards:
                    offered = offer_onwards(query, work, nodes, made, place, name, offered)
            else:
                drop(work, made)
            if first and offer == spawned:
                started = count
    if element:
        _drop_passed(work, depth, cell)
        _wait(query, work, depth, cell, started, count)
    for at in range(count):
        drop(work, work.arrived[at])


@subroutine(boolean(WORK, int64))
def something_ends(work: Work, depth: int) -> bool:
    """Whether there is anything to do when an element closes."""
    state = work.state
    return (
        work.waiting_count[depth] != 0
        or work.first_cell[depth] >= 0
        or state[DESCENDANT_RUNS] > work.descendants_outside[depth]
        or (state[OPEN_ROWS] and work.open_depth[state[OPEN_ROWS] - 1] == depth)
    )


@subroutine(void(WORK, NODES, int64, int64))
def leave(work: Work, nodes: Nodes, place: int, depth: int) -> None:
    """An element closes: what waited inside it is dropped, rows that show it are complete."""
    state = work.state
    if work.waiting_count[depth]:
        for role in range(WAITING_ROLES):
            drop_list(work, work.waiting[depth * ROLE_COUNT + role])
            work.waiting[depth * ROLE_COUNT + role] = -1
        work.waiting_count[depth] = 0
    cell = work.first_cell[depth]
    while cell >= 0:
        drop_list(work, work.cell_beside[cell])
        drop_list(work, work.cell_next_run[cell])
        cell = release_cell(work, cell)
    work.first_cell[depth] = -1
    while state[DESCENDANT_RUNS] > work.descendants_outside[depth]:
        state[DESCENDANT_RUNS] -= 1
        drop(work, work.descendant_runs[state[DESCENDANT_RUNS]])
    while state[OPEN_ROWS] and work.open_depth[state[OPEN_ROWS] - 1] == depth:
        state[OPEN_ROWS] -= 1
        row = work.open_row[state[OPEN_ROWS]]
        work.out_kind[row] = 2
        work.out_size[row] = nodes.end[place] - work.out_start[row]
