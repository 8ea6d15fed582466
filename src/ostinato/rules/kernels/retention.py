"""Tuples that nothing later can need are forgotten (temporal relevance), and answers that were given."""

from __future__ import annotations

import numpy as np

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.rules.kernels.layout import (
    COMMITTED,
    COUNT,
    DERIVED,
    DIRTY,
    DIRTY_SIZE,
    DONE,
    FOREVER,
    KEPT,
    KIND,
    STORED,
    UNBOUNDED,
    Point,
    ProgramState,
)  # fmt: skip
from ostinato.rules.kernels.stores import relink

STATE, POINT = struct_type(ProgramState), struct_type(Point)
_MANY = 1_000  # fewer tuples are not worth looking through


@subroutine(int64(POINT, int64))
def deadline(point: Point, row: int) -> int:
    """Until when a tuple can take part in something new (temporal relevance)."""
    rows, ends, until = point.rows, point.ends, point.until
    latest = rows[row, ends[0]]
    for at in range(1, ends.shape[0]):
        latest = max(latest, rows[row, ends[at]])
    for use in range(point.uses.shape[0]):
        soonest = np.int64(FOREVER)
        for at in range(point.uses[use, 0], point.uses[use, 1]):
            time = until[at, 1] if until[at, 0] < 0 else rows[row, until[at, 0]] + until[at, 1]
            soonest = min(soonest, time)
        latest = max(latest, soonest)
    return int(latest)


@subroutine(void(STATE, int64, int64))
def _compact(state: ProgramState, number: int, now: int) -> None:
    point = state.points[number]
    rows, kept = point.rows, 0
    for row in range(point.marks[COUNT]):
        if deadline(point, row) > now:
            if kept < row:
                for column in range(rows.shape[1]):
                    rows[kept, column] = rows[row, column]
            kept += 1
    if kept < point.marks[COUNT]:
        point.marks[COUNT] = point.marks[COMMITTED] = kept
        relink(state, point)
        for at in range(state.driven_ranges[number, 0], state.driven_ranges[number, 1]):
            delta = state.driven[at]
            if delta >= 0:
                state.deltas[delta, DONE] = kept
    point.marks[KEPT] = kept


@kernel(void(STATE, int64, boolean))
def forget(state: ProgramState, now: int, all_of_it: bool) -> None:
    """Drop tuples that no later event can meet from points that grew, once they may be half of a point; or from all."""
    words, dirty, left = state.marks, state.dirty, 0
    if all_of_it:
        for number in range(1, state.driven_ranges.shape[0]):
            point = state.points[number]
            if point.marks[KIND] == STORED and not point.marks[UNBOUNDED]:
                _compact(state, number, now)
    for at in range(words[DIRTY_SIZE]):
        number = dirty[at]
        point = state.points[number]
        if point.marks[KIND] == DERIVED and point.marks[COUNT] > 0:  # its answer is to be given
            dirty[left] = number
            left += 1
            continue
        is_large = point.marks[COUNT] >= 2 * point.marks[KEPT] + _MANY
        if point.marks[KIND] == STORED and is_large and not point.marks[UNBOUNDED]:
            _compact(state, number, now)
        point.marks[DIRTY] = 0
    words[DIRTY_SIZE] = left


@kernel(void(STATE, int64))
def clear(state: ProgramState, number: int) -> None:
    """Empty a set of derived events whose answer was given."""
    point = state.points[number]
    links, tails = point.links, point.tails
    for row in range(point.marks[COUNT]):
        tails[0, links[0, row]] = -1
    point.marks[COUNT] = point.marks[COMMITTED] = 0
    for at in range(state.driven_ranges[number, 0], state.driven_ranges[number, 1]):
        delta = state.driven[at]
        state.deltas[delta if delta >= 0 else ~delta, DONE] = 0
