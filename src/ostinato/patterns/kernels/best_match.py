"""NXT and LAST where runs have registers: the best complex event that an event completes (CEL paper, section 4).

All of them are in lists that share their parts, so the best of a list is found from the best of its parts, older nodes
first: work for each node, not for each complex event. Which of two events came first is told by their nodes, since
positions need not be in the order of the stream.
"""

from __future__ import annotations

from typing import Any

from ostinato.core.arrays import Int64
from ostinato.core.jit import kernel
from ostinato.patterns.kernels.enumeration import write_match
from ostinato.patterns.kernels.lists import resolve
from ostinato.patterns.kernels.protocol import (
    BOTTOM,
    DONE,
    MATCHES,
    NEED_STACK,
    NIL,
    OUTPUT_FULL,
    PENDING,
    STACK,
    SYMBOL_BITS,
)

NO_CHOICE, CHOOSE_NEXT, CHOOSE_LAST = range(3)


@kernel()
def _before(nodes: Int64, best: Int64, cell: int, low: int) -> Any:
    """The best cell before a marked one; BOTTOM where there is none."""
    child = nodes[4 * cell + 1]
    return child if child == BOTTOM else best[resolve(nodes, child, low)]


@kernel()
def _better(nodes: Int64, best: Int64, left: int, right: int, low: int, choice: int, room: Int64) -> int:
    """Which of two cells ends the better complex event; NIL when `room` is too small to tell. One may be NIL."""
    if left == right or right == NIL:
        return left
    if left == NIL:
        return right
    if choice == CHOOSE_LAST:
        one, other = left, right
        while one >= 0 and other >= 0 and one != other:
            if nodes[4 * one] >> SYMBOL_BITS != nodes[4 * other] >> SYMBOL_BITS:
                return left if one > other else right
            one, other = _before(nodes, best, one, low), _before(nodes, best, other, low)
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
            cell = _before(nodes, best, cell, low)
        if side == 0:
            sizes = at
        else:
            lengths = at - half
    for at in range(min(sizes, lengths)):
        one, other = room[sizes - 1 - at], room[half + lengths - 1 - at]
        if nodes[4 * one] >> SYMBOL_BITS != nodes[4 * other] >> SYMBOL_BITS:
            return left if one < other else right
    return left if sizes >= lengths else right


@kernel()
def choose(
    nodes: Int64, roots: Int64, count: int, low: int, choice: int, marks: Int64, best: Int64, room: Int64, target: Int64
) -> int:
    """Write the positions of the best complex event of the first `count` lists to `target`, latest first, from place 1
    on; returns how many there are with the last event, or NIL when there is too little room.

    A root is a list and the symbol that its last event gets.
    """
    top = -1
    for root in range(count):
        top = max(top, roots[2 * root])
    for node in range(top + 1):
        marks[node] = 0
    for root in range(count):
        if roots[2 * root] >= 0:
            marks[roots[2 * root]] = 1
    for node in range(top, -1, -1):
        if marks[node]:
            for side in range(1, 3):
                child = nodes[4 * node + side]
                if child >= 0:
                    child = resolve(nodes, child, low)
                if child >= 0:
                    marks[child] = 1
    for node in range(top + 1):
        if not marks[node]:
            continue
        left, right = nodes[4 * node + 1], nodes[4 * node + 2]
        own = other = NIL
        if right >= 0 and resolve(nodes, right, low) >= 0:
            other = best[resolve(nodes, right, low)]
        if nodes[4 * node] >= 0 and left == BOTTOM:
            own = node
        elif resolve(nodes, left, low) >= 0:
            own = node if nodes[4 * node] >= 0 else best[resolve(nodes, left, low)]
        best[node] = _better(nodes, best, own, other, low, choice, room)
        if best[node] == NIL:
            return NIL
    chosen = NIL
    for root in range(count):
        if roots[2 * root] >= 0:
            chosen = _better(nodes, best, chosen, best[roots[2 * root]], low, choice, room)
            if chosen == NIL:
                return NIL
    length = 1
    while chosen >= 0:
        if length >= len(target):
            return NIL
        target[length] = nodes[4 * chosen] >> SYMBOL_BITS
        length += 1
        chosen = _before(nodes, best, chosen, low)
    return length


@kernel()
def enumerate_equal(
    nodes: Int64,
    low: int,
    walk: bool,
    target: Int64,
    length: int,
    cursor: Int64,
    stack: Int64,
    path: Int64,
    values: Int64,
    ends: Int64,
    origins: Int64,
) -> int:
    """As `enumerate_matches`, but only complex events at the positions of `target`, however they are labelled."""
    if cursor[PENDING]:
        if not write_match(path, cursor[PENDING], cursor, values, ends, origins):
            return OUTPUT_FULL
        cursor[PENDING] = 0
    top = cursor[STACK]
    while top > 0:
        top -= 1
        node, depth = resolve(nodes, stack[2 * top], low), stack[2 * top + 1]
        while node >= 0:
            if depth + 2 >= len(path) or 2 * top + 4 >= len(stack):
                stack[2 * top], stack[2 * top + 1] = node, depth
                cursor[STACK] = top + 1
                return NEED_STACK
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
                elif not write_match(path, length, cursor, values, ends, origins):
                    cursor[STACK] = top
                    cursor[PENDING] = length
                    return OUTPUT_FULL
    cursor[STACK] = 0
    return DONE
