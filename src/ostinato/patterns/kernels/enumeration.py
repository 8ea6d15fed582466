"""Complete matches out of lists, one after the other, without recursion; can stop when the output is full and go on."""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import boolean, int64, struct_type
from ostinato.patterns.kernels.layout import MatcherState, Steps
from ostinato.patterns.kernels.lists import resolve
from ostinato.patterns.kernels.protocol import (
    AT,
    BOTTOM,
    DONE,
    EMITTED,
    EMITTING,
    FUEL,
    MATCHES,
    NEED_STACK,
    NOTICE,
    OUTPUT_FULL,
    PAUSED,
    PENDING,
    STACK,
    SYMBOL_BITS,
    VALUES,
    WALK,
    WRITE,
)

STATE, STEPS = struct_type(MatcherState), struct_type(Steps)


@subroutine(boolean(STATE, int64), inline=False)
def write_match(state: MatcherState, depth: int) -> bool:
    """Copy the marked events of the current path, earliest first; False when the output is full.

    `origins` remembers which event of the batch completed the match.
    """
    cursor, path, values, ends, origins = state.cursor, state.path, state.values, state.ends, state.origins
    used = cursor[VALUES]
    if used + depth > len(values) or cursor[MATCHES] >= len(ends):
        return False
    for at in range(depth):
        values[used + at] = path[depth - 1 - at]
    cursor[VALUES] = used + depth
    ends[cursor[MATCHES]] = used + depth
    origins[cursor[MATCHES]] = cursor[AT]
    cursor[MATCHES] += 1
    return True


@subroutine(int64(STATE, int64, boolean), inline=False)
def enumerate_matches(state: MatcherState, low: int, walk: bool) -> int:
    """Depth first through the lists on the stack (Algorithm 2, without recursion). Can stop and go on anywhere."""
    nodes, cursor, stack, path, fuel = state.nodes, state.cursor, state.stack, state.path, state.fuel
    if cursor[PENDING]:
        if not write_match(state, cursor[PENDING]):
            return OUTPUT_FULL
        cursor[PENDING] = 0
    top = cursor[STACK]
    # From one match to the next there are few steps, and what is written fills the output: so matches are fuel enough.
    found, most = 0, fuel[FUEL]
    while top > 0:
        top -= 1
        node, depth = stack[2 * top], stack[2 * top + 1]
        while node >= 0:
            if found > most or depth + 2 >= len(path) or 2 * top + 4 >= len(stack):
                stack[2 * top], stack[2 * top + 1] = node, depth
                cursor[STACK] = top + 1
                cursor[MATCHES] += found
                fuel[FUEL] = most - found
                return PAUSED if found > most else NEED_STACK
            at = 4 * node
            if nodes[at] < 0:
                stack[2 * top], stack[2 * top + 1] = nodes[at + 2], depth
                top += 1
                node = resolve(nodes, nodes[at + 1], low)
                nodes[at + 1] = node
                continue
            child = nodes[at + 1]
            rest = nodes[at + 2]
            if rest >= 0:
                rest = resolve(nodes, rest, low)
                nodes[at + 2] = rest  # what is dead stays dead: the next reader need not look again
            while walk and child == BOTTOM and rest >= 0 and nodes[4 * rest] >= 0:  # along a list of first events
                found += 1
                at = 4 * rest
                child = nodes[at + 1]
                rest = nodes[at + 2]
                if rest >= 0:
                    rest = resolve(nodes, rest, low)
                    nodes[at + 2] = rest
            path[depth] = nodes[at]
            if child == BOTTOM:
                if walk:
                    found += 1
                elif not write_match(state, depth + 1):
                    if rest >= 0:
                        stack[2 * top], stack[2 * top + 1] = rest, depth
                        top += 1
                    cursor[STACK] = top
                    cursor[PENDING] = depth + 1
                    return OUTPUT_FULL
                node = rest
                continue
            if rest >= 0:
                stack[2 * top], stack[2 * top + 1] = rest, depth
                top += 1
            node = resolve(nodes, child, low)
            depth += 1
        # A union's right side is pushed unresolved; it is looked at when its turn comes.
        if top > 0:
            stack[2 * top - 2] = resolve(nodes, stack[2 * top - 2], low)
    cursor[STACK] = 0
    cursor[MATCHES] += found
    fuel[FUEL] = most - found
    return DONE


@subroutine(int64(STATE, STEPS, int64, int64, int64, int64, int64))
def emit(state: MatcherState, steps: Steps, begin: int, end: int, row: int, position: int, low: int) -> int:
    """Everything the current event completes for a row of slots, from where the last call stopped."""
    nodes, cursor, stack, path, mode = state.nodes, state.cursor, state.stack, state.path, state.mode
    emits, slots = steps.emits, steps.slots
    while True:
        status = enumerate_matches(state, low, mode == WALK)
        if status != DONE:
            return status
        at = begin + cursor[EMITTING]
        if at >= end:
            cursor[EMITTING] = 0
            return DONE
        source, symbol = emits[at, 0], emits[at, 1]
        depth = 0
        if symbol:
            path[0] = (position << SYMBOL_BITS) | symbol
            depth = 1
        if source < 0:
            cursor[EMITTED] = 1
            if mode == WRITE:
                if not write_match(state, depth):
                    return OUTPUT_FULL
            else:
                cursor[MATCHES] += mode == WALK
        else:
            node = resolve(nodes, slots[row, source], low)
            if node >= 0:
                cursor[EMITTED] = 1
                if mode != NOTICE:
                    stack[0], stack[1] = node, depth
                    cursor[STACK] = 1
        cursor[EMITTING] += 1
