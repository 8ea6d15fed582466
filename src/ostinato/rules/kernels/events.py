"""The events that wait for time: in the order of their end, those that are done taken away."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit import array, kernel, subroutine, table, view
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.rules.kernels.layout import COMMITTED, COUNT, DONE, EVENTS, NEXT_EVENT, ProgramState
from ostinato.rules.kernels.stores import hash_with

STATE = struct_type(ProgramState)
MOST = 64  # events that are sorted here: a few, which mostly come in order
_LABEL, _END = 0, 2


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


@kernel(void(STATE, int64, view(int64), array(int64)))
def drop_repeats(state: ProgramState, count: int, counted: Int64, seen: Int64) -> None:
    """Of the first events, which are sorted, let those have no label that equal one before them, where events of their
    label are counted one by one: events are a set. `seen` is a hash table with room for them, all of it -1."""
    rows, mask = state.points[0].rows, seen.shape[0] - 1
    for row in range(count):
        if not counted[rows[row, _LABEL]]:
            continue
        end = rows[row, _END]
        if (row == 0 or rows[row - 1, _END] != end) and (row + 1 == count or rows[row + 1, _END] != end):
            continue
        hashed: Any = np.int64(0)
        for column in range(rows.shape[1]):
            hashed = hash_with(hashed, rows[row, column])
        slot = hashed & mask
        while seen[slot] >= 0 and not _is_same(rows, seen[slot], row):
            slot = (slot + 1) & mask
        if seen[slot] >= 0:
            rows[row, _LABEL] = 0
        else:
            seen[slot] = row


@subroutine(boolean(table(int64), int64, int64))
def _is_same(rows: Int64, one: int, other: int) -> bool:
    same = True
    for column in range(rows.shape[1]):
        same &= rows[one, column] == rows[other, column]
    return same


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
