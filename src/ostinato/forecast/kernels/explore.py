"""The pattern over symbols made deterministic, as far as its states can be reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Int32
from ostinato.core.jit import array, kernel, subroutine, table, types, view

SOURCE, TARGET, ENDS = range(3)
NO_RUN = -1  # as an age

_READ = table(types.int32, constant=True)
_WRITE = table(types.int32)


@subroutine(types.int64(_WRITE, types.int64, types.int64))
def _slot(rows: Int32, row: int, mask: int) -> Any:
    mixed = np.uint64(0)
    for place in range(rows.shape[1]):
        joined = (mixed ^ np.uint64(rows[row, place] + 1)) * np.uint64(0x9E3779B97F4A7C15)
        mixed = joined ^ (joined >> np.uint64(32))
    return np.int64(mixed) & mask


@subroutine(types.void(_WRITE, types.int64))
def _clear(rows: Int32, row: int) -> None:
    for place in range(rows.shape[1]):
        rows[row, place] = NO_RUN


@subroutine(types.boolean(_WRITE, types.int64, types.int64))
def _same(rows: Int32, one: int, other: int) -> bool:
    same = True
    for place in range(rows.shape[1]):
        same &= rows[one, place] == rows[other, place]
    return same


@subroutine(
    types.boolean(
        _READ, types.int64, types.int64, types.int64, view(types.int32), types.int64, _WRITE, types.int64, types.int64
    )
)
def _read(
    moves: Int32, begin: int, end: int, gap: int, last_age: Int32, bound: int, rows: Int32, state: int, to: int
) -> bool:
    """Writes where the pattern stands after an event to row `to`; whether the event completes a match."""
    _clear(rows, to)
    ends = False
    for move in range(begin, end):
        source, target = moves[move, SOURCE], moves[move, TARGET]
        older = np.int64(0)
        if source != 0:
            age = np.int64(rows[state, source])
            if age == NO_RUN:
                continue
            if bound >= 0:
                older = age + gap
                if older > bound:
                    continue
        if moves[move, ENDS] != 0:
            ends = True
        if older <= last_age[target] and (rows[to, target] == NO_RUN or older < rows[to, target]):
            rows[to, target] = older
    return ends


@kernel(
    types.int64(
        _READ, view(types.int32), _READ, view(types.int32), types.int64, types.boolean,
        array(types.int32), _WRITE, _WRITE, table(types.boolean),
    )
)  # fmt: skip
def explore(
    moves: Int32,
    begins: Int32,
    symbols: Int32,
    last_age: Int32,
    bound: int,
    consume: bool,
    table: Int32,
    rows: Int32,
    after: Int32,
    completes: Bools,
) -> int:
    """Breadth first from the state without runs; the number of states, or -1 when there is no room for one more.

    A state is a row of ages, one for each state of the transducer. Symbol c reads as reading symbols[c, 0], whose moves
    (source, target, whether it completes) are begins[r] … begins[r + 1], and makes runs older by symbols[c, 1]. `bound`
    is the largest age (negative: no window, and no run grows older). `table` has a power of two slots, filled with -1;
    the last row of `rows` is for the state that is being looked for.
    """
    room = rows.shape[0] - 1
    mask = table.size - 1
    _clear(rows, 0)
    table[_slot(rows, 0, mask)] = 0
    count, state = 1, 0
    while state < count:
        for column in range(symbols.shape[0]):
            reading, gap = symbols[column, 0], symbols[column, 1]
            ends = _read(moves, begins[reading], begins[reading + 1], gap, last_age, bound, rows, state, room)
            if ends and consume:
                _clear(rows, room)
            slot = _slot(rows, room, mask)
            while table[slot] >= 0 and not _same(rows, table[slot], room):
                slot = (slot + 1) & mask
            if table[slot] < 0:
                if count == room:
                    return -1
                table[slot] = count
                for place in range(rows.shape[1]):
                    rows[count, place] = rows[room, place]
                count += 1
            after[state, column], completes[state, column] = table[slot], ends
        state += 1
    return count
