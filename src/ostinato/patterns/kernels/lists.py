"""Lists of partial complex events, shared and compact (CEL paper, section 7.2).

A list is a node number, and a node is four integers of `nodes`:

    cell   value ≥ 0   child   next    newest     one marked event; `child` lists what precedes it, `next` the rest
    union  -1          left    right   newest     two lists at once

`value` packs position and symbol. `newest` is the tick of the latest first event of any partial match in the list: a
list whose `newest` is below the window's lower bound is dead and will stay dead, so readers may cut it off for good.
That makes enumeration linear in its output, and nodes reclaimable, without ever walking through expired matches.
"""

from __future__ import annotations

from ostinato.core.arrays import Int64
from ostinato.core.jit import array, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.patterns.kernels.layout import MatcherState, Steps
from ostinato.patterns.kernels.protocol import BOTTOM, FOREVER, LIVE, NIL, SYMBOL_BITS, USED

STATE, STEPS = struct_type(MatcherState), struct_type(Steps)


@subroutine(boolean(array(int64), int64, int64))
def alive(nodes: Int64, node: int, low: int) -> bool:
    return node >= 0 and nodes[4 * node + 3] >= low


@subroutine(int64(array(int64), int64, int64))
def resolve(nodes: Int64, node: int, low: int) -> int:
    """The first node of a list that still has something to give; NIL when none has."""
    while node >= 0:
        at = 4 * node
        if nodes[at + 3] < low:
            return NIL
        left, right = nodes[at + 1], nodes[at + 2]
        if nodes[at] >= 0:
            if left == BOTTOM or alive(nodes, left, low):
                return node
            node = right
        elif not alive(nodes, left, low):
            node = right
        elif not alive(nodes, right, low):
            node = left
        else:
            return node
    return NIL


@subroutine(void(STATE, STEPS, int64, int64, int64, int64, int64, int64))
def apply(
    state: MatcherState, steps: Steps, begin: int, end: int, row: int, position: int, tick: int, low: int
) -> None:
    """Run the program of one step for a row of slots: all lists are built from the slots as they were before."""
    nodes, cursor = state.nodes, state.cursor
    ops, slots, fresh = steps.ops, steps.slots, steps.fresh
    result = NIL
    groups = 0
    used = cursor[USED]
    for at in range(begin, end):
        source, symbol, destination = ops[at, 0], ops[at, 1], ops[at, 2]
        node = slots[row, source] if source >= 0 else BOTTOM
        if source < 0 or alive(nodes, node, low):
            if symbol == 0 and result < 0:
                result = node
            else:
                # A first event: nothing older can be newer than it, so its list's `newest` is its own tick.
                newest = nodes[4 * node + 3] if source >= 0 else tick
                if result >= 0:
                    newest = max(newest, nodes[4 * result + 3])
                spot = 4 * used
                nodes[spot + 3] = newest
                if symbol:
                    nodes[spot] = (position << SYMBOL_BITS) | symbol
                    nodes[spot + 1] = node
                    nodes[spot + 2] = result
                else:
                    nodes[spot] = -1
                    nodes[spot + 1] = result
                    nodes[spot + 2] = node
                result = used
                used += 1
        if destination >= 0:
            if groups == 0 and at == end - 1:
                slots[row, destination] = result
            else:
                fresh[2 * groups] = destination
                fresh[2 * groups + 1] = result
                groups += 1
                result = NIL
    for group in range(groups):
        slots[row, fresh[2 * group]] = fresh[2 * group + 1]
    cursor[USED] = used


@subroutine(void(STATE))
def slide(state: MatcherState) -> None:
    """Slide the marked nodes and all they lead to to the front. Children are older than parents, so two sweeps do.

    `marks` holds the lower bound that applies to a node (FOREVER: not marked), and is then its new number.
    """
    nodes, marks, cursor = state.nodes, state.marks, state.cursor
    used = cursor[USED]
    for node in range(used - 1, -1, -1):
        bound = marks[node]
        if bound == FOREVER:
            continue
        for side in range(1, 3):
            child = nodes[4 * node + side]
            if child >= 0:
                child = resolve(nodes, child, bound)
                nodes[4 * node + side] = child
                if child >= 0:
                    marks[child] = bound
    kept = 0
    for node in range(used):
        if marks[node] == FOREVER:
            continue
        at, to = 4 * node, 4 * kept
        for side in range(1, 3):
            child = nodes[at + side]
            nodes[to + side] = marks[child] if child >= 0 else child
        nodes[to], nodes[to + 3] = nodes[at], nodes[at + 3]
        marks[node] = kept
        kept += 1
    cursor[USED] = kept
    cursor[LIVE] = kept
