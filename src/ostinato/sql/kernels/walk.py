"""The matches of patterns whose conditions look at rows alone: a walk that never has to turn back.

Before each row it is known from which states a match can still be completed, so the first target of a state from which
that is possible is the right one.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64
from ostinato.sql.automaton.build import ACCEPT, ACCEPT_AT_END, AT_FIRST, ELSEWHERE
from ostinato.sql.kernels.after_match_skip import resume
from ostinato.sql.kernels.layout import (
    BUDGET,
    DONE,
    MATCHES,
    MATCHES_FULL,
    NUMBER,
    PARTITION,
    PATH_FULL,
    PAUSED,
    ROW,
    ROWS,
    USED,
    Rows,
)


@subroutine(boolean(ROWS, int64, int64, int64))
def is_alive(rows: Rows, row: int, end: int, state: int) -> bool:
    """Whether a match can be completed from a state before a row; `end` ends the partition."""
    known = 0 if row == end else int(rows.ids[row])
    return bool((rows.alive[known, state >> 6] >> np.uint64(state & 63)) & np.uint64(1) != 0)


@kernel(int64(ROWS))
def walk(rows: Rows) -> int:
    """Find matches from the place in rows.state on; comes back when all are found, or an array is full."""
    state, edges, ends, bounds, codes, path = (
        rows.state, rows.edges, rows.ends, rows.bounds, rows.codes, rows.path
    )  # fmt: skip
    allowed = rows.allowed
    budget = state[BUDGET]
    while state[PARTITION] < bounds.size - 1:
        first, end = bounds[state[PARTITION]], bounds[state[PARTITION] + 1]
        start = state[ROW]
        while start < end:
            at = AT_FIRST if start == first else ELSEWHERE
            if not is_alive(rows, start, end, at):
                start += 1
                continue
            if state[MATCHES] == rows.starts.size:
                state[ROW] = start
                return MATCHES_FULL
            row, used = start, state[USED]
            while True:
                taken = ACCEPT_AT_END
                for edge in range(ends[at], ends[at + 1]):
                    to = edges[edge]
                    if to == ACCEPT or (to == ACCEPT_AT_END and row == end):
                        break
                    if to >= 0 and row < end and allowed[codes[row], to] != 0 and is_alive(rows, row + 1, end, to):
                        taken = to
                        break
                if taken < 0:
                    break
                if used == path.size:
                    state[ROW] = start
                    return PATH_FULL
                path[used] = taken
                used += 1
                at = taken
                row += 1
            length = row - start
            then = resume(rows, start, length)
            if then < 0:
                state[ROW] = start
                return -then
            found = state[MATCHES]
            state[NUMBER] += 1
            rows.starts[found], rows.lengths[found], rows.numbers[found] = start, length, state[NUMBER]
            state[MATCHES], state[USED] = found + 1, used
            start = then
            budget -= length + 1
            if budget < 0:
                state[ROW] = start
                return PAUSED
        state[PARTITION] += 1
        state[NUMBER] = 0
        state[ROW] = end
    return DONE
