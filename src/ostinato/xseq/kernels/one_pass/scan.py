"""The one pass over a document: levels for what has bound nothing yet, runs with slots for what has (XSeq, section 4).

A start tag looks up what its name does on the current level; most tags need no more than that. Where runs wait, or
where one begins, the node is offered to every run that waits for it. Runs wait in the frame of the element whose
children they wait for; the frame's end tag drops them. Nothing is read twice and no run is tried twice on a node: there
are no restarts to avoid (section 4.3).
"""

from __future__ import annotations

from typing import Any

from ostinato.core.jit import inlined, kernel
from ostinato.xseq.kernels.one_pass.keys import cell_of, drop_cells, key_of
from ostinato.xseq.kernels.one_pass.layout import (
    ATTRIBUTE,
    BELOW,
    BESIDE,
    BRANCHES,
    CELLS,
    CHILD,
    DEDUPE,
    DEPTH,
    DONE,
    END_FROM,
    END_TO,
    FIRST,
    FOLLOWS,
    GROW,
    HISTORIES,
    HISTORY,
    KEYS,
    LEVEL,
    LIFTED,
    LINKS_USED,
    LIVE,
    LOADED,
    MISSING,
    NEED,
    NEXT,
    NODES,
    ONWARDS,
    POS,
    ROLE_COUNT,
    ROWS,
    RUNS_USED,
    SCAN,
    SELF,
    SERIAL,
    TO_ATTRIBUTES,
    WAITING_ROWS,
)
from ostinato.xseq.kernels.one_pass.levels import entry_at
from ostinato.xseq.kernels.one_pass.runs import (
    all_pass,
    drop,
    drop_list,
    emit_match,
    emit_node,
    lift,
    link,
    make_run,
    mint,
)
from ostinato.xseq.kernels.one_pass.values import load, load_again, local_bits


@inlined
def _offer(query: Any, work: Any, run: Any, role: Any, place: Any, name: Any, count: Any) -> Any:
    """Put down the moves that a run can make along one axis to a node of class `name`; how many there are then."""
    at = work.run_state[run] * ROLE_COUNT + role
    for index in range(query.out_range[at], query.out_range[at + 1]):
        move = query.out_move[index]
        wants = query.wants[move]
        if wants == name or (wants == -1 and name != 0) or wants == -2:
            work.offers[3 * count], work.offers[3 * count + 1], work.offers[3 * count + 2] = run, move, place
            count += 1
    return count


@inlined
def _offer_list(query: Any, work: Any, head: Any, role: Any, place: Any, name: Any, count: Any) -> Any:
    while head >= 0:
        count = _offer(query, work, work.link_run[head], role, place, name, count)
        head = work.link_next[head]
    return count


@inlined
def _offer_attributes(query: Any, work: Any, nodes: Any, run: Any, move: Any, place: Any, count: Any) -> Any:
    """Put down a move to every attribute of an element that it wants."""
    here = place + 1
    while here < nodes.kind.size and nodes.kind[here] == 1:
        if query.wants[move] == -1 or query.wants[move] == nodes.name[here]:
            work.offers[3 * count], work.offers[3 * count + 1], work.offers[3 * count + 2] = run, move, here
            count += 1
        here += 1
    return count


@inlined
def _offers(query: Any, work: Any, nodes: Any, place: Any, name: Any, entry: Any, depth: Any, cell: Any) -> Any:
    """What a node offers to the runs that wait for it, those that begin there first; those it has been offered to
    for the last time are dropped when all is done, since what they carry is still needed."""
    element = nodes.kind[place] == 0
    count = 0
    for index in range(query.spawn_range[2 * entry], query.spawn_range[2 * entry + 1]):
        work.offers[3 * count], work.offers[3 * count + 1] = 0, query.move_list[index]
        work.offers[3 * count + 2] = place
        count += 1
    for at in range(work.state[LIFTED]):
        count = _offer(query, work, work.lifted[at], BELOW, place, name, count)
    frame = depth * ROLE_COUNT
    for role in range(5):
        head = -1
        if role == CHILD:
            head = work.waiting[frame + CHILD]
        elif element and role == FIRST and not work.had_child[depth]:
            head = work.waiting[frame + FIRST]
        elif element and role == BESIDE:
            head = work.cell_beside[cell] if cell >= 0 else work.waiting[frame + BESIDE]
        elif element and role == NEXT:
            head = work.cell_next_run[cell] if cell >= 0 else work.waiting[frame + NEXT]
            work.state[FOLLOWS] = count
        count = _offer_list(query, work, head, role, place, name, count)
    if not element:
        work.state[FOLLOWS] = count
    for index in range(query.attribute_range[2 * entry], query.attribute_range[2 * entry + 1]):
        count = _offer_attributes(query, work, nodes, 0, query.move_list[index], place, count)
    return count


@inlined
def _wait(query: Any, work: Any, depth: Any, cell: Any, begun: Any, count: Any) -> None:
    """Let what arrived at an element wait along the axes that lead on from it, the oldest first."""
    frame, inside = depth * ROLE_COUNT, (depth + 1) * ROLE_COUNT
    child, first, following = -1, -1, -1
    beside = work.cell_beside[cell] if cell >= 0 else work.waiting[frame + BESIDE]
    last = beside
    while last >= 0 and work.link_next[last] >= 0:
        last = work.link_next[last]
    for at in range(begun, begun + count):
        run = work.arrived[at if at < count else at - count]
        roles = query.role_bits[work.run_state[run]]
        if roles & 1:
            child = link(work, run, child)
            if work.waiting[inside + CHILD] < 0:
                work.waiting[inside + CHILD] = child
            work.busy[depth + 1] += 1
        if roles & 2:
            first = link(work, run, first)
            if work.waiting[inside + FIRST] < 0:
                work.waiting[inside + FIRST] = first
            work.busy[depth + 1] += 1
        if roles & 4:
            lift(work, run)
        if roles & 8:
            last = link(work, run, last)
            if beside < 0:
                beside = last
                if cell >= 0:
                    work.cell_beside[cell] = last
                else:
                    work.waiting[frame + BESIDE] = last
            if cell < 0:
                work.busy[depth] += 1
        if roles & 16:
            following = link(work, run, following)
            if cell >= 0:
                if work.cell_next_run[cell] < 0:
                    work.cell_next_run[cell] = following
            else:
                if work.waiting[frame + NEXT] < 0:
                    work.waiting[frame + NEXT] = following
                work.busy[depth] += 1


@inlined
def _arrive(query: Any, work: Any, nodes: Any, place: Any, name: Any, entry: Any, depth: Any) -> None:
    """Everything that happens at a node where runs wait or begin. After texts and attributes nothing waits."""
    state = work.state
    state[SERIAL] += 1
    element = nodes.kind[place] == 0
    if state[LOADED] != place:
        load(query, work, nodes, place)
    cell, key = -1, -1
    if query.flags[entry] & 2:
        key = key_of(query, work, nodes)
        cell = cell_of(work, depth, key)
    if query.flags[entry] & 1:
        emit_node(work, nodes, place, place, depth)
    offers = _offers(query, work, nodes, place, name, entry, depth, cell)
    spawns = query.spawn_range[2 * entry + 1] - query.spawn_range[2 * entry]
    follows = state[FOLLOWS]  # from here on runs waited for the next sibling only
    begun, count, offer = 0, 0, 0
    while offer < offers:
        passed, first = offer, offer == 0
        spawned, following = 0, 0
        for at in range(offer, offers):  # those that pass are moved to the front
            run, move, node = work.offers[3 * at], work.offers[3 * at + 1], work.offers[3 * at + 2]
            if state[LOADED] != node:
                load_again(query, work, nodes, node)
            mask = query.local[move]
            known = mask == 0 or (first and at < spawns)
            if (known or local_bits(query, work, nodes, mask) == mask) and all_pass(
                query, work, nodes, query.tests_before[2 * move], query.tests_before[2 * move + 1], run
            ):
                work.offers[3 * passed], work.offers[3 * passed + 1], work.offers[3 * passed + 2] = run, move, node
                passed += 1
            if at < spawns:
                spawned = passed
            if at < follows:
                following = passed
        offers = passed
        while offer < passed:
            run, move, node = work.offers[3 * offer], work.offers[3 * offer + 1], work.offers[3 * offer + 2]
            offer += 1
            if state[LOADED] != node:
                load_again(query, work, nodes, node)
            history = mint(query, work, run, move, node)
            if history < 0:
                continue
            # a run that waited for this node only and has no other way on is not needed any more
            spent = first and offer > following and work.run_refs[run] == 1
            spent = spent and (offer == passed or work.offers[3 * offer] != run)
            made = make_run(query, work, nodes, run, move, history, node, key, spent)
            target = query.target[move]
            kept, accepted = True, False
            begin, end = query.tests_after[2 * move], query.tests_after[2 * move + 1]
            for last in range(2):  # the tests of the move, then those of a whole match
                passed_all = begin == end or all_pass(query, work, nodes, begin, end, made)
                if last == 0:
                    kept = passed_all
                    begin, end = query.layout[END_FROM], query.layout[END_TO]
                    if not kept or not query.accept[target]:
                        break
                else:
                    accepted = passed_all
            if accepted:
                if query.layout[NODES]:
                    emit_node(work, nodes, node, place, depth)
                else:
                    emit_match(query, work, nodes, made)
            kept = kept and node == place  # nothing waits at an attribute
            if kept:
                work.arrived[count] = made
                count += 1
                if element and query.layout[ONWARDS]:
                    offers = _offer(query, work, made, SELF, place, name, offers)
                    out = target * ROLE_COUNT + ATTRIBUTE
                    for index in range(query.out_range[out], query.out_range[out + 1]):
                        offers = _offer_attributes(query, work, nodes, made, query.out_move[index], place, offers)
            else:
                drop(work, made)
            if first and offer == spawned:
                begun = count
    if element:
        frame = depth * ROLE_COUNT
        if not work.had_child[depth]:
            work.busy[depth] -= drop_list(work, work.waiting[frame + FIRST])
            work.waiting[frame + FIRST] = -1
        if cell >= 0:
            drop_list(work, work.cell_next_run[cell])
            work.cell_next_run[cell] = -1
        else:
            work.busy[depth] -= drop_list(work, work.waiting[frame + NEXT])
            work.waiting[frame + NEXT] = -1
        _wait(query, work, depth, cell, begun, count)
    for at in range(count):
        drop(work, work.arrived[at])


@inlined
def _short_of_room(query: Any, work: Any, nodes: Any, place: Any, spawns: Any) -> Any:
    """Whether the arrays might not hold what one more node brings; NEED says how many runs that can be."""
    state = work.state
    need = (state[LIVE] + spawns + 2) * query.layout[BRANCHES]
    if query.layout[TO_ATTRIBUTES]:
        here = place + 1
        while here < nodes.kind.size and nodes.kind[here] == 1:
            here += 1
        need *= here - place
    state[NEED] = need
    return (
        state[RUNS_USED] + need > work.run_state.size
        or state[LINKS_USED] + 4 * need > work.link_run.size
        or state[ROWS] + need > work.row_last.size
        or state[LIFTED] + need > work.lifted.size
        or need > work.arrived.size
        or 6 * need > work.offers.size
        or (query.layout[DEDUPE] and 4 * need > work.seen.size // 8)
        or state[WAITING_ROWS] + 2 > work.open_row.size
        or (query.layout[HISTORIES] and state[HISTORY] + need > work.history_node.size)
        or state[KEYS] + 2 > work.key_hash.size
        or 2 * state[KEYS] + 4 > work.key_table.size
        or state[CELLS] + 2 > work.cell_key.size
        or 2 * state[CELLS] + 4 > work.cell_table.size
    )


@inlined
def _leave(work: Any, nodes: Any, place: Any, depth: Any) -> None:
    """An element closes: what waited inside it is dropped, rows that show it are complete."""
    state = work.state
    if work.busy[depth]:
        for role in range(5):
            drop_list(work, work.waiting[depth * ROLE_COUNT + role])
            work.waiting[depth * ROLE_COUNT + role] = -1
        work.busy[depth] = 0
    if work.cells[depth] >= 0:
        drop_cells(work, depth)
    while state[LIFTED] > work.lifted_to[depth]:
        state[LIFTED] -= 1
        drop(work, work.lifted[state[LIFTED]])
    while state[WAITING_ROWS] and work.open_depth[state[WAITING_ROWS] - 1] == depth:
        state[WAITING_ROWS] -= 1
        row = work.open_row[state[WAITING_ROWS]]
        work.out_kind[row] = 2
        work.out_size[row] = nodes.end[place] - work.out_start[row]


@kernel(SCAN)
def scan(query: Any, work: Any, nodes: Any) -> Any:
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
            _leave(work, nodes, place, depth)
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
        begins += query.attribute_range[2 * entry + 1] - query.attribute_range[2 * entry]
        lifted = state[LIFTED]
        if query.flags[entry] or begins or lifted or work.busy[depth]:
            if _short_of_room(query, work, nodes, place, begins):
                result = GROW
                break
            _arrive(query, work, nodes, place, name, entry, depth)
        if kind == 0:
            work.had_child[depth] = 1
            work.resume[depth] = query.after[entry]
            depth += 1
            work.lifted_to[depth] = lifted
            work.had_child[depth] = 0
            level = query.inner[entry]
        place += 1
    state[POS], state[DEPTH], state[LEVEL] = place, depth, level
    return result
