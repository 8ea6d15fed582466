"""The kernel that evaluates a query over a tree: one for several tasks, so that what they share is compiled once."""

from __future__ import annotations

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import int64
from ostinato.xseq.kernels.buffered.checks import check_holds, find_nodes
from ostinato.xseq.kernels.buffered.layout import (
    AT,
    CHECK,
    FILTER,
    FIND,
    FOUND,
    GOING_ON,
    NOTHING,
    PAUSED,
    STEPS,
    TASK,
    WALK_SEARCH,
    WalkSearch,
)
from ostinato.xseq.kernels.buffered.walk import make_walks


@subroutine(int64(WALK_SEARCH))
def _filter(walks: WalkSearch) -> int:
    """Set to -1 those of the nodes, from state[AT] on, on which a check fails."""
    nodes, state = walks.nodes, walks.state
    pause = walks.search.pause
    while state[AT] < nodes.size:
        if pause[STEPS] <= 0 and pause[GOING_ON] == NOTHING:
            return PAUSED
        pause[STEPS] -= 1
        result = check_holds(walks.search, state[CHECK], nodes[state[AT]])
        if result > 1:
            return result
        if result == 0:
            nodes[state[AT]] = -1
        state[AT] += 1
    return 0


@kernel(int64(WALK_SEARCH))
def evaluate(walks: WalkSearch) -> int:
    """Do what state[TASK] asks for. 0 when that is done, else what has to be larger before this is called again; PAUSED
    after so many steps.

    WALK: make all walks from the nodes, FILTER: keep those of the nodes on which state[CHECK] holds, FIND: find the
    nodes that a path reaches from node 0, beginning in state[AT].
    """
    state = walks.state
    if state[TASK] == FILTER:
        return _filter(walks)
    if state[TASK] == FIND:
        count = find_nodes(walks.search, state[AT], 0, 0, True)
        state[FOUND] = count
        return -count if count < 0 else 0
    return make_walks(walks)
