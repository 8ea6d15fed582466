"""What an event completes where runs have registers: lists of partial matches, each with the symbol of the event."""

from __future__ import annotations

from collections.abc import Callable

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64, struct_type
from ostinato.patterns.kernels.enumeration import enumerate_matches, write_match
from ostinato.patterns.kernels.layout import CorrelatedState
from ostinato.patterns.kernels.protocol import (
    DONE,
    EMITTING,
    MATCHES,
    OUTPUT_FULL,
    STACK,
    SYMBOL_BITS,
    WALK,
)

STATE = struct_type(CorrelatedState)
Enumerate = Callable[[CorrelatedState, int, bool], int]


@subroutine()
def emit_roots(
    state: CorrelatedState, count: int, position: int, low: int, enumerate_list: Enumerate, alone: bool
) -> int:
    """The matches of the first `count` of `roots`, from where the last call stopped; `enumerate_list` is a kernel.

    `alone`: whether the event without any other counts, too.
    """
    cursor, roots, stack, path = state.cursor, state.roots, state.stack, state.path
    walk = state.mode == WALK
    while True:
        status = enumerate_list(state, low, walk)
        if status != DONE:
            return status
        root = cursor[EMITTING]
        if root == count:
            return DONE
        node, symbol = roots[2 * root], roots[2 * root + 1]
        depth = 0
        if symbol:
            path[0] = (position << SYMBOL_BITS) | symbol
            depth = 1
        if node >= 0:
            stack[0], stack[1] = node, depth
            cursor[STACK] = 1
        elif alone:
            if walk:
                cursor[MATCHES] += 1
            elif not write_match(state, depth):
                return OUTPUT_FULL
        cursor[EMITTING] += 1


@subroutine(int64(STATE, int64, int64, int64))
def emit_all(state: CorrelatedState, count: int, position: int, low: int) -> int:
    """Everything that the current event completes, from where the last call stopped."""
    return emit_roots(state, count, position, low, enumerate_matches, True)
