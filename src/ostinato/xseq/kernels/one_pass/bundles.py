"""The one pass for queries whose runs wait for the next sibling only: runs that are in one state move as one.

Such runs have all arrived at the same node, the last one of their key. Where the tests ahead of them ask for nothing
but that node and the next, what holds for one of them holds for all (runtime/one_pass/bundles.py says when).
So they are kept as a bundle: a list of runs, whose first run speaks for all of them. It is tested and written to; the
others keep what they began with, and are looked at only where they are matches, or are dropped.
"""

from __future__ import annotations

from typing import Any

from ostinato.core.jit import inlined, kernel
from ostinato.xseq.kernels.one_pass.keys import cell_of, key_of
from ostinato.xseq.kernels.one_pass.layout import (
    BASE,
    CELLS,
    DEPTH,
    DONE,
    END_FROM,
    END_TO,
    FREE_RUN,
    GROW,
    HISTORY,
    KEYS,
    LEVEL,
    LIVE,
    LOADED,
    MISSING,
    NEED,
    NEXT,
    ORDINAL,
    POS,
    ROLE_COUNT,
    ROWS,
    RUNS_USED,
    SCAN,
    WIDTH,
)
from ostinato.xseq.kernels.one_pass.levels import entry_at
from ostinato.xseq.kernels.one_pass.runs import all_pass, emit_match, make_run
from ostinato.xseq.kernels.one_pass.values import load, local_bits, write_slots


@inlined
def _drop_bundle(work: Any, head: Any) -> None:
    run = head
    while run >= 0:
        work.run_state[run] = -1
        work.state[LIVE] -= 1
        run = work.run_next[run]
    work.run_next[work.bundle_tail[head]] = work.state[FREE_RUN]
    work.state[FREE_RUN] = head


@inlined
def _drop_bundles(work: Any, head: Any) -> None:
    while head >= 0:
        after = work.bundle_next[head]
        _drop_bundle(work, head)
        head = after


@inlined
def _joined(work: Any, head: Any, bundles: Any) -> Any:
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


@inlined
def _tell(query: Any, work: Any, head: Any, run: Any, state: Any) -> None:
    """Give a run what the first of its bundle holds for all of them in a state."""
    base, width = query.layout[BASE], query.layout[WIDTH]
    for index in range(query.shared_range[state], query.shared_range[state + 1]):
        at, to = base + head * width + query.shared[index], base + run * width + query.shared[index]
        work.kind[to], work.num[to] = work.kind[at], work.num[at]
        work.start[to], work.size[to] = work.start[at], work.size[at]


@inlined
def _arrive(query: Any, work: Any, nodes: Any, place: Any, name: Any, entry: Any, depth: Any) -> None:
    """Everything that happens at a node: runs begin, then every bundle that waits for it makes one move or is dropped.

    Matches are found bundle by bundle; those that end on one node are put in order of their histories later.
    """
    state = work.state
    element = nodes.kind[place] == 0
    if state[LOADED] != place:
        load(query, work, nodes, place)
    cell, key = -1, -1
    if query.flags[entry] & 2:
        key = key_of(query, work, nodes)
        cell = cell_of(work, depth, key)
    frame = depth * ROLE_COUNT + NEXT
    waiting, bundles = -1, -1
    if element:
        waiting = work.cell_next_run[cell] if cell >= 0 else work.waiting[frame]
    spawn, spawns = query.spawn_range[2 * entry], query.spawn_range[2 * entry + 1]
    while spawn < spawns or waiting >= 0:
        begins, head = spawn < spawns, 0
        if begins:
            low, high = spawn, spawn + 1
            spawn += 1
        else:
            head = waiting
            waiting = work.bundle_next[head]
            at = work.run_state[head] * ROLE_COUNT + NEXT
            low, high = query.out_range[at], query.out_range[at + 1]
        found = -1
        while found < 0 and low < high:
            move = query.move_list[low] if begins else query.out_move[low]
            low += 1
            wants, mask = query.wants[move], query.local[move]
            fits = begins or (
                (wants == name or wants < 0) and (mask == 0 or local_bits(query, work, nodes, mask) == mask)
            )
            if fits and all_pass(
                query, work, nodes, query.tests_before[2 * move], query.tests_before[2 * move + 1], head
            ):
                found = move
        if found >= 0:
            target = query.target[found]
            if begins:
                head = make_run(query, work, nodes, 0, found, 0, place, key, False)
                work.run_next[head], work.bundle_tail[head] = -1, head
            else:
                if query.each[found]:
                    run = work.run_next[head]
                    while run >= 0:
                        _tell(query, work, head, run, work.run_state[head])
                        write_slots(query, work, nodes, found, run)
                        run = work.run_next[run]
                write_slots(query, work, nodes, found, head)
                work.run_state[head] = target
            if query.accept[target]:
                run = head
                while run >= 0:
                    if run != head:
                        _tell(query, work, head, run, target)
                    work.run_last[run] = state[ORDINAL] + place
                    if all_pass(query, work, nodes, query.layout[END_FROM], query.layout[END_TO], run):
                        emit_match(query, work, nodes, run)
                    run = work.run_next[run]
            if begins:  # a match of one node has history 0: it comes before all others that end there
                work.run_history[head] = state[HISTORY]
                state[HISTORY] += 1
        if found >= 0 and element and query.role_bits[query.target[found]] & 16:
            bundles = _joined(work, head, bundles)
        elif head > 0:
            _drop_bundle(work, head)
    if element:
        if cell >= 0:
            work.cell_next_run[cell] = bundles
        else:
            work.waiting[frame] = bundles
            work.busy[depth] = 1 if bundles >= 0 else 0


@inlined
def _leave(work: Any, depth: Any) -> None:
    """An element closes: what waited inside it is dropped."""
    if work.busy[depth]:
        _drop_bundles(work, work.waiting[depth * ROLE_COUNT + NEXT])
        work.waiting[depth * ROLE_COUNT + NEXT] = -1
        work.busy[depth] = 0
    cell = work.cells[depth]
    while cell >= 0:
        _drop_bundles(work, work.cell_next_run[cell])
        work.cell_next_run[cell] = -1
        after = work.cell_next[cell]
        work.cell_next[cell] = -2
        cell = after
    work.cells[depth] = -1


@inlined
def _short_of_room(work: Any, begins: Any) -> Any:
    """Whether the arrays might not hold what one more node brings."""
    state = work.state
    state[NEED] = state[LIVE] + begins + 2
    return (
        state[RUNS_USED] + begins > work.run_state.size
        or state[ROWS] + state[NEED] > work.row_last.size
        or state[KEYS] + 2 > work.key_hash.size
        or 2 * state[KEYS] + 4 > work.key_table.size
        or state[CELLS] + 2 > work.cell_key.size
        or 2 * state[CELLS] + 4 > work.cell_table.size
    )


@kernel(SCAN)
def scan_bundles(query: Any, work: Any, nodes: Any) -> Any:
    """Read tokens from state[POS] on. Comes back at their end, or where something must be made first."""
    state = work.state
    place, depth, level = state[POS], state[DEPTH], state[LEVEL]
    result = DONE
    while place < nodes.kind.size:
        kind = nodes.kind[place]
        if kind == 1:
            place += 1
            continue
        if kind == 3:
            _leave(work, depth)
            depth -= 1
            level = work.resume[depth]
            place += 1
            continue
        if depth + 3 >= work.resume.size:
            state[NEED] = 0
            result = GROW
            break
        name, entry = entry_at(query, work, nodes, place, level)
        if entry < 0:
            result = MISSING
            break
        begins = query.spawn_range[2 * entry + 1] - query.spawn_range[2 * entry]
        if query.flags[entry] or begins or work.busy[depth]:
            if _short_of_room(work, begins):
                result = GROW
                break
            _arrive(query, work, nodes, place, name, entry, depth)
        if kind == 0:
            work.resume[depth] = query.after[entry]
            depth += 1
            level = query.inner[entry]
        place += 1
    state[POS], state[DEPTH], state[LEVEL] = place, depth, level
    return result
