"""The product of a pattern and the contexts of a tree, as far as it can be reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.jit import array, kernel, subroutine, table, types, view

_READ = table(types.int32, constant=True)
_WRITE = table(types.int32)
_MARKS = table(types.boolean, constant=True)
_ROWS = table(types.float64, constant=True)


@subroutine(types.int64(types.int64, types.int64))
def _slot(pair: Any, mask: int) -> Any:
    mixed = np.uint64(pair) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed ^ (mixed >> np.uint64(32))) & mask


@kernel(
    types.int64(
        _READ,
        _READ,
        types.int64,
        types.boolean,
        types.int64,
        array(types.int64),
        array(types.int32),
        array(types.int32),
        _WRITE,
    )
)
def explore(
    pattern_next: Int32,
    context_next: Int32,
    start: int,
    rooted: bool,
    limit: int,
    table: Int64,
    pattern: Int32,
    context: Int32,
    after: Int32,
) -> int:
    """Breadth first from (start, 0); the number of states, or -1 when there are more than `limit`. With `rooted`, from
    every pattern state with nothing remembered, and state p is that of pattern state p; start must be 0 then.

    `table` has a power of two slots, a pair and its state (-1: free) side by side: a look-up touches one cache line.
    """
    contexts = context_next.shape[0]
    mask = table.size // 2 - 1
    pair = np.int64(start) * contexts
    slot = _slot(pair, mask)
    table[2 * slot], table[2 * slot + 1], pattern[0], context[0] = pair, 0, start, 0
    count, state = 1, 0
    for other in range(1, pattern_next.shape[0] if rooted else 1):
        if count == limit:
            return -1
        pair = np.int64(other) * contexts
        slot = _slot(pair, mask)
        while table[2 * slot + 1] >= 0:
            slot = (slot + 1) & mask
        table[2 * slot], table[2 * slot + 1], pattern[count], context[count] = pair, count, other, 0
        count += 1
    while state < count:
        for symbol in range(pattern_next.shape[1]):
            to = np.int64(pattern_next[pattern[state], symbol])
            if to < 0:
                after[state, symbol] = -1
                continue
            remembered = np.int64(context_next[context[state], symbol])
            pair = to * contexts + remembered
            slot = _slot(pair, mask)
            found = table[2 * slot + 1]
            while found >= 0 and table[2 * slot] != pair:
                slot = (slot + 1) & mask
                found = table[2 * slot + 1]
            if found < 0:
                if count == limit:
                    return -1
                found = count
                table[2 * slot], table[2 * slot + 1], pattern[count], context[count] = pair, count, to, remembered
                count += 1
            after[state, symbol] = found
        state += 1
    return count


@kernel(
    types.void(
        _READ,
        _MARKS,
        _ROWS,
        view(types.int32),
        view(types.int32),
        view(types.int32),
        table(types.boolean),
        table(types.float64),
    )
)
def fill_rows(
    after: Int32,
    marks: Bools,
    rows: Float64,
    node: Int32,
    pattern: Int32,
    context: Int32,
    completes: Bools,
    probability: Float64,
) -> None:
    """Where each state completes, and what comes next with which probability, given that it can come."""
    alphabet = after.shape[1]
    for state in range(after.shape[0]):
        row = rows[node[context[state]]]
        total, possible = 0.0, 0
        for symbol in range(alphabet):
            if after[state, symbol] >= 0:
                total += row[symbol]
                possible += 1
        for symbol in range(alphabet):
            if after[state, symbol] < 0:
                completes[state, symbol], probability[state, symbol] = False, 0.0
            else:
                completes[state, symbol] = marks[pattern[state], symbol]
                if possible == alphabet:
                    probability[state, symbol] = row[symbol]
                else:
                    probability[state, symbol] = row[symbol] / total if total > 0 else 1.0 / possible
