"""NXT and LAST where runs have registers: the best complex event that an event completes (CEL paper, section 4).

All of them are in lists that share their parts, so the best of a list is found from the best of its parts, older nodes
first: work for each node, not for each complex event. The nodes of two events say which of them came first, since
positions need not be in the order of the stream.
"""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, struct_type
from ostinato.patterns.kernels.completions import emit_roots
from ostinato.patterns.kernels.enumeration import write_match
from ostinato.patterns.kernels.layout import CorrelatedState
from ostinato.patterns.kernels.lists import resolve
from ostinato.patterns.kernels.protocol import (
    BOTTOM,
    CHOOSING,
    CHOSEN,
    DONE,
    EMITTING,
    FUEL,
    MATCHES,
    NEED_STACK,
    NIL,
    OUTPUT_FULL,
    PAUSED,
    PENDING,
    STACK,
    SYMBOL_BITS,
)
from ostinato.patterns.kernels.register_layout import CHOOSE_LAST

STATE = struct_type(CorrelatedState)
PAUSE = -3  # in place of a length


@subroutine(int64(STATE, int64, int64))
def _cell_before(state: CorrelatedState, cell: int, low: int) -> int:
    """The best cell before a marked one; BOTTOM where there is none."""
    nodes = state.nodes
    child: int = nodes[4 * cell + 1]
    return child if child == BOTTOM else state.best[resolve(nodes, child, low)]


@subroutine(int64(STATE, int64, int64, int64))
def _better_cell(state: CorrelatedState, left: int, right: int, low: int) -> int:
    """Which of two cells ends the better complex event; NIL when the stack is too small to tell. One may be NIL."""
    nodes, room = state.nodes, state.stack
    if left == right or right == NIL:
        return left
    if left == NIL:
        return right
    if state.choice == CHOOSE_LAST:
        one, other = left, right
        while one >= 0 and other >= 0 and one != other:
            if nodes[4 * one] >> SYMBOL_BITS != nodes[4 * other] >> SYMBOL_BITS:
                return left if one > other else right
            one, other = _cell_before(state, one, low), _cell_before(state, other, low)
            state.fuel[FUEL] -= 1
        return right if one < 0 and other >= 0 else left  # any event is better than none
    # ≤next begins with the earliest events, and lists with the latest.
    half = len(room) // 2
    sizes = 0
    lengths = 0
    for side in range(2):
        cell = left if side == 0 else right
        at = side * half
        while cell >= 0:
            if at >= (side + 1) * half:
                return NIL
            room[at] = cell
            at += 1
            cell = _cell_before(state, cell, low)
        if side == 0:
            sizes = at
        else:
            lengths = at - half
    state.fuel[FUEL] -= sizes + lengths
    for at in range(min(sizes, lengths)):
        one, other = room[sizes - 1 - at], room[half + lengths - 1 - at]
        if nodes[4 * one] >> SYMBOL_BITS != nodes[4 * other] >> SYMBOL_BITS:
            return left if one < other else right
    return left if sizes >= lengths else right


@subroutine(int64(STATE, int64, int64))
def choose(state: CorrelatedState, count: int, low: int) -> int:
    """Write the positions of the best complex event of the first `count` roots to `target`, latest first, from place 1
    on; returns how many there are with the last event, NIL when there is too little room, or PAUSE."""
    nodes, roots, marks, best, target = state.nodes, state.roots, state.marks, state.best, state.target
    fuel = state.fuel
    top = -1
    for root in range(count):
        top = max(top, roots[2 * root])
    first, fuel[CHOOSING] = fuel[CHOOSING], 0
    for node in range(0 if first else top + 1):
        marks[node] = 0
    for root in range(0 if first else count):
        if roots[2 * root] >= 0:
            marks[roots[2 * root]] = 1
    for node in range(-1 if first else top, -1, -1):
        if marks[node]:
            for side in range(1, 3):
                child = nodes[4 * node + side]
                if child >= 0:
                    child = resolve(nodes, child, low)
                if child >= 0:
                    marks[child] = 1
    for node in range(first, top + 1):
        if not marks[node]:
            continue
        if fuel[FUEL] < 0 and node > first:
            fuel[CHOOSING] = node
            return PAUSE
        fuel[FUEL] -= 1
        left, right = nodes[4 * node + 1], nodes[4 * node + 2]
        own = other = NIL
        if right >= 0 and resolve(nodes, right, low) >= 0:
            other = best[resolve(nodes, right, low)]
        if nodes[4 * node] >= 0 and left == BOTTOM:
            own = node
        elif resolve(nodes, left, low) >= 0:
            own = node if nodes[4 * node] >= 0 else best[resolve(nodes, left, low)]
        best[node] = _better_cell(state, own, other, low)
        if best[node] == NIL:
            return NIL
    chosen = NIL
    for root in range(count):
        if roots[2 * root] >= 0:
            chosen = _better_cell(state, chosen, best[roots[2 * root]], low)
            if chosen == NIL:
                return NIL
    length = 1
    while chosen >= 0:
        if length >= len(target):
            return NIL
        target[length] = nodes[4 * chosen] >> SYMBOL_BITS
        length += 1
        chosen = _cell_before(state, chosen, low)
    return length


@subroutine(int64(STATE, int64, boolean))
def enumerate_equal(state: CorrelatedState, low: int, walk: bool) -> int:
    """As `enumerate_matches`, but only complex events at the positions of `target`, however they are labelled."""
    nodes, cursor, stack, path, target = state.nodes, state.cursor, state.stack, state.path, state.target
    length, fuel = cursor[CHOSEN], state.fuel
    if cursor[PENDING]:
        if not write_match(state, cursor[PENDING]):
            return OUTPUT_FULL
        cursor[PENDING] = 0
    top = cursor[STACK]
    while top > 0:
        top -= 1
        node, depth = resolve(nodes, stack[2 * top], low), stack[2 * top + 1]
        while node >= 0:
            fuel[FUEL] -= 1
            if fuel[FUEL] < 0 or depth + 2 >= len(path) or 2 * top + 4 >= len(stack):
                stack[2 * top], stack[2 * top + 1] = node, depth
                cursor[STACK] = top + 1
                return PAUSED if fuel[FUEL] < 0 else NEED_STACK
            at = 4 * node
            if nodes[at + 2] >= 0:
                stack[2 * top], stack[2 * top + 1] = nodes[at + 2], depth
                top += 1
            child = nodes[at + 1]
            if nodes[at] < 0:
                node = resolve(nodes, child, low)
                continue
            node = NIL
            if depth >= length or nodes[at] >> SYMBOL_BITS != target[depth]:
                continue
            path[depth] = nodes[at]
            if child != BOTTOM:
                node = resolve(nodes, child, low)
                depth += 1
            elif depth + 1 == length:
                if walk:
                    cursor[MATCHES] += 1
                elif not write_match(state, length):
                    cursor[STACK] = top
                    cursor[PENDING] = length
                    return OUTPUT_FULL
    cursor[STACK] = 0
    return DONE


@subroutine(int64(STATE, int64, int64, int64))
def emit_best(state: CorrelatedState, count: int, position: int, low: int) -> int:
    """As `emit_all`, but only the best of what the event completes."""
    cursor = state.cursor
    if cursor[EMITTING] == 0:
        cursor[CHOSEN] = choose(state, count, low)
        if cursor[CHOSEN] == NIL:
            return NEED_STACK
        if cursor[CHOSEN] == PAUSE:
            return PAUSED
    return emit_roots(state, count, position, low, enumerate_equal, cursor[CHOSEN] == 1)
