"""Counting matches without listing them: runs are counted by adding up, windows by a sliding product.

Reading one event is a linear map over the numbers of partial matches per cell. The matches of a window are those of
the product of its maps applied to "nothing marked yet", and the product over a sliding window costs a constant number
of map products per event (two stacks: suffix products of the older part, one running product of the newer).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.kernels.jit import kernel

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]


@kernel()
def reduce(value: Any, modulus: Any) -> Any:
    return value % modulus if modulus else value


@kernel()
def advance(product: Any, scratch: Any, edges: Int32, begin: int, end: int, modulus: Any) -> None:
    """product ← product · map: each column flows along the edges (source cell, target cell)."""
    scratch[:] = 0
    for at in range(begin, end):
        source, target = edges[at, 0], edges[at, 1]
        for row in range(product.shape[0]):
            scratch[row, target] = reduce(scratch[row, target] + product[row, source], modulus)
    product[:] = scratch


@kernel()
def precede(suffix: Any, scratch: Any, edges: Int32, begin: int, end: int, modulus: Any) -> None:
    """suffix ← map · suffix."""
    scratch[:] = 0
    for at in range(begin, end):
        source, target = edges[at, 0], edges[at, 1]
        for column in range(suffix.shape[1]):
            scratch[source, column] = reduce(scratch[source, column] + suffix[target, column], modulus)
    suffix[:] = scratch


@kernel()
def longest_window(groups: Int32, ticks: Int64, lows: Int64) -> int:
    """The most events any window holds before its last one."""
    longest, first = 0, 0
    for at in range(len(groups)):
        while first < at and (groups[first] != groups[at] or ticks[first] < lows[at]):
            first += 1
        longest = max(longest, at - first)
    return longest


@kernel()
def count_matches(
    codes: Int32,
    groups: Int32,
    ticks: Int64,
    lows: Int64,
    edges: Int32,
    edge_ends: Int64,
    completions: Any,
    product: Any,
    suffix: Any,
    modulus: Any,
) -> Any:
    """How many matches the events complete; each group (events of one number in a row) is a stream of its own.

    Cell 0 is "nothing marked yet". `completions[code, cell]` says in how many ways the code completes a partial match
    of the cell. The arithmetic is that of `product`: float64, or uint64 with a modulus (0: modulo 2⁶⁴). Without a
    window (`lows` is empty) `product` needs only its first row.
    """
    windowed = len(lows) > 0
    zero = product[0, 0] - product[0, 0]  # of the arithmetic's own type: uint64 and a plain 0 would make a float
    total = zero
    scratch = np.zeros_like(product)
    older = np.zeros((longest_window(groups, ticks, lows) if windowed else 0, product.shape[1]), product.dtype)
    first = split = base = 0  # the window is [first, at); `older` covers [first, split), `product` covers [split, at)
    for at in range(len(codes)):
        code = codes[at]
        if at == 0 or groups[at] != groups[at - 1]:
            first = split = at
            identity(product)
        while windowed and first < at and ticks[first] < lows[at]:
            first += 1
        if first > split:
            identity(suffix)
            for back in range(at - 1, first - 1, -1):
                begin = edge_ends[codes[back] - 1] if codes[back] else 0
                precede(suffix, scratch, edges, begin, edge_ends[codes[back]], modulus)
                older[back - first] = suffix[0]
            base, split = first, at
            identity(product)
        for cell in range(product.shape[1]):
            if completions[code, cell]:
                partial = product[0, cell]
                if first < split:
                    partial = zero
                    for middle in range(product.shape[1]):
                        partial = reduce(
                            partial + reduce(older[first - base, middle] * product[middle, cell], modulus), modulus
                        )
                total = reduce(total + reduce(partial * completions[code, cell], modulus), modulus)
        advance(product, scratch, edges, edge_ends[code - 1] if code else 0, edge_ends[code], modulus)
    return total


@kernel()
def identity(matrix: Any) -> None:
    matrix[:] = 0
    for cell in range(matrix.shape[0]):
        matrix[cell, cell] = 1
