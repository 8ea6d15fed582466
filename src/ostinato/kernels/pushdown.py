"""The one pass over a document: levels for what has bound nothing yet, runs with slots for what has (XSeq, section 4).

A start tag looks up what its name does on the current level; most tags need no more than that. Where runs wait, or where
one begins, every waiting run is offered the node along the axis it waits on. Runs wait in the frame of the element whose
children they wait for; the frame's end tag drops them. Nothing is read twice and no run is tried twice on a node.
"""

from __future__ import annotations

from typing import Any

from numba import types

from ostinato.kernels.jit import kernel
from ostinato.kernels.pushdown_keys import cell_of, drop_cells, key_of
from ostinato.kernels.pushdown_layout import (
    ATTRIBUTE,
    ATTRIBUTES_OF,
    BELOW,
    BESIDE,
    BRANCHES,
    CELLS,
    CHILD,
    DEDUPE,
    DEPTH,
    DONE,
    ELEMENT,
    FIRST,
    GROW,
    HISTORIES,
    HISTORY,
    KEYS,
    LEVEL,
    LIFTED,
    LINKS_USED,
    LIVE,
    MISSING,
    MISSING_BITS,
    MISSING_CLASS,
    MISSING_LEVEL,
    NEED,
    NEXT,
    NODES_OF_CHUNK,
    NOW,
    POS,
    QUERY,
    ROLE_COUNT,
    ROWS,
    RUNS_USED,
    SELF,
    SERIAL,
    SOURCES,
    TO_ATTRIBUTES,
    WAITING_ROWS,
    WORK,
    numbers,
)
from ostinato.kernels.pushdown_runs import drop, drop_list, emit_node, lift, link, try_move
from ostinato.kernels.pushdown_values import load, load_own, local_bits


@kernel(numbers(types.int64, QUERY, WORK, NODES_OF_CHUNK, count=6))
def _offer(query: Any, work: Any, nodes: Any, run: Any, role: Any, place: Any, name: Any, key: Any, count: Any) -> Any:
    """Offer a node of class `name` to a run along one axis; how many have arrived then."""
    at = work.run_state[run] * ROLE_COUNT + role
    for index in range(query.out_range[at], query.out_range[at + 1]):
        move = query.out_move[index]
        wants = query.wants[move]
        if wants == name or (wants == -1 and name != 0) or wants == -2:
            count = try_move(query, work, nodes, run, move, place, False, key, count)
    return count


@kernel(numbers(types.int64, QUERY, WORK, NODES_OF_CHUNK, count=6))
def _offer_list(query: Any, work: Any, nodes: Any, head: Any, role: Any, place: Any, name: Any, key: Any, count: Any) -> Any:
    while head >= 0:
        count = _offer(query, work, nodes, work.link_run[head], role, place, name, key, count)
        head = work.link_next[head]
    return count


@kernel(numbers(types.void, QUERY, WORK, NODES_OF_CHUNK, count=5))
def _offer_attributes(query: Any, work: Any, nodes: Any, run: Any, move: Any, place: Any, key: Any, count: Any) -> Any:
    """Let a run go on to the attributes of an element; those end there."""
    here = place + 1
    while here < nodes.kind.size and nodes.kind[here] == 1:
        if query.wants[move] == -1 or query.wants[move] == nodes.name[here]:
            work.state[NOW] = here
            load_own(query, work, nodes, here)
            if try_move(query, work, nodes, run, move, here, True, key, count) > count:
                drop(work, work.arrived[count])
        here += 1
    work.state[NOW] = place


@kernel(numbers(types.void, QUERY, WORK, count=4))
def _wait(query: Any, work: Any, depth: Any, cell: Any, begun: Any, count: Any) -> Any:
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


@kernel(numbers(types.void, QUERY, WORK, NODES_OF_CHUNK, count=3))
def _arrive(query: Any, work: Any, nodes: Any, place: Any, name: Any, entry: Any) -> Any:
    """Everything that happens at a node where runs wait or begin. For texts nothing waits afterwards."""
    state = work.state
    depth = state[DEPTH]
    state[SERIAL] += 1
    state[NOW] = state[ELEMENT] = place
    element = nodes.kind[place] == 0
    cell, key = -1, -1
    if query.flags[entry] & 2:
        key = key_of(query, work, nodes, place)
        cell = cell_of(work, depth, key)
    if query.flags[entry] & 1:
        emit_node(query, work, nodes)
    if not element:
        load_own(query, work, nodes, place)
    elif query.layout[SOURCES]:
        load(query, work, nodes, place)
    frame = depth * ROLE_COUNT
    count = 0
    for index in range(query.spawn_range[2 * entry], query.spawn_range[2 * entry + 1]):
        count = try_move(query, work, nodes, -1, query.move_list[index], place, True, key, count)
    begun = count
    for at in range(state[LIFTED]):
        count = _offer(query, work, nodes, work.lifted[at], BELOW, place, name, key, count)
    count = _offer_list(query, work, nodes, work.waiting[frame + CHILD], CHILD, place, name, key, count)
    if element:
        if not work.had_child[depth]:
            count = _offer_list(query, work, nodes, work.waiting[frame + FIRST], FIRST, place, name, key, count)
            work.busy[depth] -= drop_list(work, work.waiting[frame + FIRST])
            work.waiting[frame + FIRST] = -1
        beside = work.cell_beside[cell] if cell >= 0 else work.waiting[frame + BESIDE]
        following = work.cell_next_run[cell] if cell >= 0 else work.waiting[frame + NEXT]
        count = _offer_list(query, work, nodes, beside, BESIDE, place, name, key, count)
        count = _offer_list(query, work, nodes, following, NEXT, place, name, key, count)
        dropped = drop_list(work, following)
        if cell >= 0:
            work.cell_next_run[cell] = -1
        else:
            work.busy[depth] -= dropped
            work.waiting[frame + NEXT] = -1
    if element:
        at = 0
        while at < count:  # `self` goes on from what has just arrived
            count = _offer(query, work, nodes, work.arrived[at], SELF, place, name, key, count)
            at += 1
        for at in range(count):
            out = work.run_state[work.arrived[at]] * ROLE_COUNT + ATTRIBUTE
            for index in range(query.out_range[out], query.out_range[out + 1]):
                _offer_attributes(query, work, nodes, work.arrived[at], query.out_move[index], place, key, count)
        for index in range(query.attribute_range[2 * entry], query.attribute_range[2 * entry + 1]):
            _offer_attributes(query, work, nodes, -1, query.move_list[index], place, key, count)
        _wait(query, work, depth, cell, begun, count)
    for at in range(count):
        drop(work, work.arrived[at])


@kernel(numbers(types.boolean, QUERY, WORK, NODES_OF_CHUNK, count=2))
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
        or (query.layout[DEDUPE] and 4 * need > work.seen.size // 8)
        or state[WAITING_ROWS] + 2 > work.open_row.size
        or (query.layout[HISTORIES] and state[HISTORY] + need > work.history_node.size)
        or state[KEYS] + 2 > work.key_hash.size
        or 2 * state[KEYS] + 4 > work.key_table.size
        or state[CELLS] + 2 > work.cell_key.size
        or 2 * state[CELLS] + 4 > work.cell_table.size
    )


@kernel(numbers(types.int64, QUERY, WORK, NODES_OF_CHUNK, count=0))
def scan(query: Any, work: Any, nodes: Any) -> Any:
    """Read tokens from state[POS] on. Comes back at their end, or where something must be made first."""
    state = work.state
    place, depth, level = state[POS], state[DEPTH], state[LEVEL]
    classes = query.classes[0]
    kinds, names = nodes.kind, nodes.name
    result = DONE
    while place < kinds.size:
        kind = kinds[place]
        if kind == 1:
            place += 1
            continue
        if kind == 3:
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
            depth -= 1
            level = work.resume[depth]
            place += 1
            continue
        name = 0
        if depth + 3 >= work.resume.size:
            state[NEED] = 0
            result = GROW
            break
        if kind == 0:
            name = query.name_class[names[place]] if names[place] < query.name_class.size else 1
        entry = query.entry_of[level * classes + name]
        if entry < 0:
            bits = 0
            state[ATTRIBUTES_OF] = -1
            if entry != -1:
                group = -2 - entry
                bits = local_bits(query, work, nodes, place, query.group_mask[group])
                link_at = query.group_head[group]
                while link_at >= 0 and query.chain_bits[link_at] != bits:
                    link_at = query.chain_next[link_at]
                entry = query.chain_entry[link_at] if link_at >= 0 else -1
            if entry < 0:
                state[MISSING_LEVEL], state[MISSING_CLASS], state[MISSING_BITS] = level, name, bits
                result = MISSING
                break
        else:
            state[ATTRIBUTES_OF] = -1
        spawns = query.spawn_range[2 * entry + 1] - query.spawn_range[2 * entry]
        attributes = query.attribute_range[2 * entry + 1] - query.attribute_range[2 * entry]
        if query.flags[entry] or spawns or attributes or state[LIFTED] or work.busy[depth]:
            if _short_of_room(query, work, nodes, place, spawns + attributes):
                result = GROW
                break
            state[DEPTH] = depth
            lifted = state[LIFTED]
            _arrive(query, work, nodes, place, name, entry)
            if kind == 0:
                work.lifted_to[depth + 1] = lifted
        elif kind == 0:
            work.lifted_to[depth + 1] = 0
        if kind == 0:
            work.had_child[depth] = 1
            work.resume[depth] = query.after[entry]
            depth += 1
            work.had_child[depth] = 0
            level = query.inner[entry]
        place += 1
    state[POS], state[DEPTH], state[LEVEL] = place, depth, level
    return result

