"""The one pass over a document: levels for what has bound nothing yet, runs with slots for what has (XSeq, section 4).

A start tag looks up what its name does on the current level; most tags need no more than that. Where runs wait, or
where one begins, the node is offered to every run that waits for it. Runs wait in the frame of the element whose
children they wait for; the frame's end tag drops them. Nothing is read twice and no run is tried twice on a node: there
are no restarts to avoid (section 4.3).
"""

from __future__ import annotations

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64
from ostinato.xseq.kernels.one_pass.arrivals import arrive, leave, something_ends
from ostinato.xseq.kernels.one_pass.bundles import arrive_bundles, leave_bundles
from ostinato.xseq.kernels.one_pass.keys import cell_of, key_of
from ostinato.xseq.kernels.one_pass.layout import (
    CELLS,
    DEPTH,
    DESCENDANT_RUNS,
    DONE,
    GROW,
    HISTORY,
    KEYED,
    KEYS,
    LEVEL,
    LIVE,
    LOADED,
    MISSING,
    NEED,
    NODES,
    OPEN_ROWS,
    PAUSED,
    POS,
    QUERY,
    ROWS,
    RUNS_USED,
    SCAN,
    STEPS,
    WORK,
    Nodes,
    QueryTables,
    Work,
)
from ostinato.xseq.kernels.one_pass.levels import class_of, tested_entry
from ostinato.xseq.kernels.one_pass.values import load


@subroutine(boolean(QUERY, WORK, NODES, int64, int64))
def _is_short_of_room(query: QueryTables, work: Work, nodes: Nodes, place: int, begins: int) -> bool:
    """Whether the arrays might not hold what one more node brings; NEED says how many runs move there at most.

    Other arrays grow with these: those per run are long enough for what runs can do (runtime/one_pass/arrays.py).
    """
    state = work.state
    need = (state[LIVE] + begins + 2) * query.branches
    if query.to_attributes:
        here = place + 1
        while here < nodes.kind.size and nodes.kind[here] == 1:
            here += 1
        need *= here - place
    state[NEED] = need
    return (
        state[RUNS_USED] + (begins if query.bundled else need) > work.run_state.size
        or state[ROWS] + need > work.row_last.size
        or state[OPEN_ROWS] + 2 > work.open_row.size
        or (query.histories and state[HISTORY] + need > work.history_node.size)
        or state[KEYS] + 2 > work.key_hash.size
        or state[CELLS] + 2 > work.cell_key.size
    )


@kernel(SCAN)
def scan(query: QueryTables, work: Work, nodes: Nodes) -> int:
    """Read tokens from state[POS] on. Comes back at their end, where something must be made first, or between two nodes
    when it has made state[STEPS] steps: offers to runs. (One node has no more than runs may be open.)"""
    state = work.state
    place, depth, level = state[POS], state[DEPTH], state[LEVEL]
    result = DONE
    while place < nodes.kind.size:
        kind = nodes.kind[place]
        if kind == 1:
            place += 1
            continue
        if kind == 3:
            if something_ends(work, depth):
                if query.bundled:
                    leave_bundles(work, depth)
                else:
                    leave(work, nodes, place, depth)
            depth -= 1
            level = work.resume[depth]
            place += 1
            continue
        if depth + 3 >= work.resume.size:
            state[NEED] = 0
            result = GROW
            break
        name = class_of(query, nodes, place)
        entry = query.entry_of[level * query.class_count + name]
        if entry < 0:
            entry = tested_entry(query, work, nodes, place, level, name)
            if entry < 0:
                result = MISSING
                break
        begins = query.spawn_range[2 * entry + 1] - query.spawn_range[2 * entry]
        begins += query.attribute_range[2 * entry + 1] - query.attribute_range[2 * entry]
        flags, descendants = query.flags[entry], state[DESCENDANT_RUNS]
        if flags or begins or descendants or work.waiting_count[depth]:
            if state[STEPS] <= 0:
                result = PAUSED
                break
            if _is_short_of_room(query, work, nodes, place, begins):
                result = GROW
                break
            if state[LOADED] != place:
                load(query, work, nodes, place)
            cell = cell_of(work, depth, key_of(query, work, nodes)) if flags & KEYED else -1
            if query.bundled:
                arrive_bundles(query, work, nodes, place, name, entry, depth, cell)
            else:
                arrive(query, work, nodes, place, name, entry, depth, cell)
        if kind == 0:
            work.had_child[depth] = 1
            work.resume[depth] = query.level_after[entry]
            depth += 1
            work.descendants_outside[depth] = descendants
            work.had_child[depth] = 0
            level = query.level_inside[entry]
        place += 1
    state[POS], state[DEPTH], state[LEVEL] = place, depth, level
    return result
