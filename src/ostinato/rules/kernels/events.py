"""The events that wait for time: in the order of their end, those that are done taken away."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import kernel
from ostinato.core.jit.types import int64, struct_type, void
from ostinato.rules.kernels.layout import COMMITTED, COUNT, DONE, EVENTS, NEXT_EVENT, ProgramState

STATE = struct_type(ProgramState)
MOST = 64  # events that are sorted here: a few, which mostly come in order
_END = 2


@kernel(int64(STATE, int64))
def sort_few(state: ProgramState, now: int) -> int:
    """Sort few events; returns how many end up to now."""
    rows, count = state.points[0].rows, state.marks[EVENTS]
    for row in range(1, count):
        at = row
        while at > 0 and rows[at - 1, _END] > rows[at, _END]:
            for column in range(rows.shape[1]):
                rows[at, column], rows[at - 1, column] = rows[at - 1, column], rows[at, column]
            at -= 1
    ripe = np.int64(0)
    while ripe < count and rows[ripe, _END] <= now:
        ripe += 1
    return int(ripe)


@kernel(void(STATE, int64))
def drop_done(state: ProgramState, total: int) -> None:
    """Forget the events that are done, of so many."""
    events, words = state.points[0], state.marks
    rows, done = events.rows, events.marks[COMMITTED]
    if done > 0:
        for row in range(done, total):
            for column in range(rows.shape[1]):
                rows[row - done, column] = rows[row, column]
    events.marks[COUNT] = events.marks[COMMITTED] = 0
    words[EVENTS], words[NEXT_EVENT] = total - done, 0
    for at in range(state.driven_ranges[0, 0], state.driven_ranges[0, 1]):
        state.deltas[state.driven[at], DONE] = 0
