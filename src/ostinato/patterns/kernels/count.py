"""Counting matches without listing them: runs are counted by adding up, windows by a sliding product.

Reading one event is a linear map over the numbers of partial matches per cell. Without a window these numbers are all
there is to know of the past. The matches of a window are those of the product of its maps applied to "nothing marked
yet", and the product over a sliding window costs a constant number of map products per event (two stacks: suffix
products of the older part, one running product of the newer).

Cell 0 is "nothing marked yet". `completions[code, cell]` says in how many ways the code completes a partial match of
the cell; the edges (source cell, target cell) of a code are `edges[edge_ends[code - 1] : edge_ends[code]]`. The
arithmetic is that of `modulus`: float64, or uint64 with a modulus (0: modulo 2⁶⁴).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.core.jit import kernel


@kernel(allocates=True)
def reduce(value: Any, modulus: Any) -> Any:
    return value % modulus if modulus else value


@kernel(allocates=True)
def advance(product: Any, scratch: Any, edges: Int32, begin: int, end: int, modulus: Any) -> None:
    """product ← product · map: each column flows along the edges (source cell, target cell)."""
    scratch[:] = 0
    for at in range(begin, end):
        source, target = edges[at, 0], edges[at, 1]
        for row in range(product.shape[0]):
            scratch[row, target] = reduce(scratch[row, target] + product[row, source], modulus)
    product[:] = scratch


@kernel(allocates=True)
def precede(suffix: Any, scratch: Any, edges: Int32, begin: int, end: int, modulus: Any) -> None:
    """suffix ← map · suffix."""
    scratch[:] = 0
    for at in range(begin, end):
        source, target = edges[at, 0], edges[at, 1]
        for column in range(suffix.shape[1]):
            scratch[source, column] = reduce(scratch[source, column] + suffix[target, column], modulus)
    suffix[:] = scratch


@kernel(allocates=True)
def identity(matrix: Any) -> None:
    matrix[:] = 0
    for cell in range(matrix.shape[0]):
        matrix[cell, cell] = 1


@kernel(allocates=True)
def count_runs(
    codes: Int32, keys: Int32, edges: Int32, edge_ends: Int64, completions: Any, partial: Any, modulus: Any
) -> Any:
    """How many matches the events complete, without a window. `partial[key, cell]` is carried from call to call."""
    total = modulus - modulus  # zero of the arithmetic's own type: uint64 and a plain 0 would make a float
    scratch = np.zeros((1, partial.shape[1]), partial.dtype)
    for at in range(len(codes)):
        code = codes[at]
        row = partial[keys[at] : keys[at] + 1]
        for cell in range(row.shape[1]):
            if completions[code, cell]:
                total = reduce(total + reduce(row[0, cell] * completions[code, cell], modulus), modulus)
        advance(row, scratch, edges, edge_ends[code - 1] if code else 0, edge_ends[code], modulus)
    return total


@kernel(allocates=True)
def longest_window(groups: Int32, ticks: Int64, lows: Int64) -> int:
    """The most events any window holds before its last one."""
    longest, first = 0, 0
    for at in range(len(groups)):
        while first < at and (groups[first] != groups[at] or ticks[first] < lows[at]):
            first += 1
        longest = max(longest, at - first)
    return longest


@kernel(allocates=True)
def count_windows(
    codes: Int32,
    groups: Int32,
    ticks: Int64,
    lows: Int64,
    counted: Bools,
    edges: Int32,
    edge_ends: Int64,
    completions: Any,
    modulus: Any,
) -> Any:
    """How many matches within their windows the `counted` events complete; the others are only read.

    Each group (events of one number in a row) is a stream of its own.
    """
    total = modulus - modulus
    cells = completions.shape[1]
    product = np.zeros((cells, cells), completions.dtype)
    suffix, scratch = np.zeros_like(product), np.zeros_like(product)
    older = np.zeros((longest_window(groups, ticks, lows), cells), completions.dtype)
    first = split = base = 0  # the window is [first, at); `older` covers [first, split), `product` covers [split, at)
    for at in range(len(codes)):
        code = codes[at]
        if at == 0 or groups[at] != groups[at - 1]:
            first = split = at
            identity(product)
        while first < at and ticks[first] < lows[at]:
            first += 1
        if first > split:
            identity(suffix)
            for back in range(at - 1, first - 1, -1):
                begin = edge_ends[codes[back] - 1] if codes[back] else 0
                precede(suffix, scratch, edges, begin, edge_ends[codes[back]], modulus)
                older[back - first] = suffix[0]
            base, split = first, at
            identity(product)
        for cell in range(cells if counted[at] else 0):
            if completions[code, cell]:
                partial = product[0, cell]
                if first < split:
                    partial = modulus - modulus
                    for middle in range(cells):
                        if product[middle, cell]:  # else infinity · 0 would be NaN
                            found = reduce(older[first - base, middle] * product[middle, cell], modulus)
                            partial = reduce(partial + found, modulus)
                total = reduce(total + reduce(partial * completions[code, cell], modulus), modulus)
        advance(product, scratch, edges, edge_ends[code - 1] if code else 0, edge_ends[code], modulus)
    return total
