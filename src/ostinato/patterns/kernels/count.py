"""Counting matches without listing them: runs are counted by adding up, windows by a sliding product.

Reading one event is a linear map over the numbers of partial matches per cell. Without a window these numbers are all
there is to know of the past. The matches of a window are those of the product of its maps applied to "nothing marked
yet", and the product over a sliding window costs a constant number of map products per event (two stacks: suffix
products of the older part, one running product of the newer).

Numbers of matches grow beyond all integers. So they are counted modulo 2⁶⁴ first, and as floats at the same time, which
tell by how many further moduli they must be counted again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64, UInt64
from ostinato.core.jit import kernel, subroutine, types, view
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import float64, int32, int64, struct_type, uint64, void


class _Count(ArrayStruct):
    """Events, what they do to partial matches, and how many of these there are. Cell 0 is "nothing marked yet"."""

    codes = Field[Int32](np.int32, 1, "per event: which conditions it satisfies, as one code", constant=True)
    keys = Field[Int32](np.int32, 1, "per event: its key", constant=True)
    edges = Field[Int32](np.int32, 2, "source and target cell, code by code", constant=True)
    edge_ends = Field[Int64](np.int64, 1, "per code: where its edges end", constant=True)
    completions = Field[Int64](
        np.int64, 2, "per code and cell: in how many ways it completes a partial match", constant=True
    )
    modulus = Field[int](np.int64, 0, "what numbers are counted by; 0 stands for 2⁶⁴, and only then for floats as well")
    sizes = Field[Float64](np.float64, 2, "about how many partial matches there are")
    counts = Field[UInt64](np.uint64, 2, "the same, modulo")


class RunCount(_Count):
    """Without windows. `sizes` and `counts` have a row per key and a column per cell, carried from call to call."""

    spare_sizes = Field[Float64](np.float64, 1, "per cell: written to")
    spare_counts = Field[UInt64](np.uint64, 1, "per cell: written to")


class WindowCount(_Count):
    """With windows. The events of a key stand together, and each key is a stream of its own.

    `sizes` and `counts` are four squares of cells: the product of the newer part, transposed, and a suffix product,
    each twice, since the next one is made from the last.
    """

    ticks = Field[Int64](np.int64, 1, "per event: where it stands along the window", constant=True)
    lows = Field[Int64](np.int64, 1, "per event: the lowest tick that is in one window with it", constant=True)
    counted = Field[Bools](np.bool_, 1, "per event: whether what it completes is counted", constant=True)
    older_sizes = Field[Float64](np.float64, 2, "per event of the older part and cell: row 0 of its suffix product")
    older_counts = Field[UInt64](np.uint64, 2, "the same, modulo")
    steps = Field[int](np.int64, 0, "how many additions a call may take")
    progress = Field[Int64](np.int64, 1, "where the next call goes on: AT, FIRST, SPLIT, BASE, PRODUCT, SUFFIX, BACK")


# The event to go on with; where the window, its newer part and the rows of its older part begin; the squares in use;
# and, where the older part is being made, the event before which its next row is for, else -1.
AT, FIRST, SPLIT, BASE, PRODUCT, SUFFIX, BACK = range(7)
RUNS, WINDOWS = struct_type(RunCount), struct_type(WindowCount)
_FOUND = types.results(float64, uint64)


@subroutine(uint64(uint64, uint64, uint64))
def _plus(left: Any, right: Any, modulus: Any) -> Any:
    """Of two numbers below the modulus. Where that is 2⁶⁴, the sum needs no more."""
    total = left + right
    return total - modulus if total >= modulus else total


@subroutine(uint64(uint64, uint64, uint64))
def _times(left: Any, right: Any, modulus: Any) -> Any:
    return left * right % modulus if modulus else left * right


@kernel(_FOUND(RUNS))
def count_runs(state: RunCount) -> Any:
    """How many matches the events complete, without a window: the size of the number, and its remainder."""
    codes, keys, edges, edge_ends = state.codes, state.keys, state.edges, state.edge_ends
    completions, sizes, counts = state.completions, state.sizes, state.counts
    spare_sizes, spare_counts = state.spare_sizes, state.spare_counts
    modulus, cells = np.uint64(state.modulus), completions.shape[1]
    size, count = 0.0, np.uint64(0)
    for at in range(len(codes)):
        code, key = np.uint64(codes[at]), np.uint64(keys[at])
        for cell in range(cells):
            ways = completions[code, cell]
            if ways:
                size += sizes[key, cell] * ways
                count = _plus(count, _times(counts[key, cell], np.uint64(ways), modulus), modulus)
            spare_sizes[cell], spare_counts[cell] = 0.0, np.uint64(0)
        for edge in range(edge_ends[code - np.uint64(1)] if code else 0, edge_ends[code]):
            source, target = np.uint64(edges[edge, 0]), np.uint64(edges[edge, 1])
            spare_sizes[target] += sizes[key, source]
            spare_counts[target] = _plus(spare_counts[target], counts[key, source], modulus)
        for cell in range(cells):
            counts[key, cell] = spare_counts[cell]
            if not modulus:
                sizes[key, cell] = spare_sizes[cell]
    return size, count


@kernel(int64(view(int32), view(int64), view(int64)))
def longest_window(keys: Int32, ticks: Int64, lows: Int64) -> int:
    """The most events any window holds before its last one."""
    longest, first = 0, 0
    for at in range(len(keys)):
        while first < at and (keys[first] != keys[at] or ticks[first] < lows[at]):
            first += 1
        longest = max(longest, at - first)
    return longest


@subroutine(void(WINDOWS, int64))
def _identity(state: WindowCount, square: int) -> None:
    """Make a square, by the number of its first row, the product of no maps."""
    cells = state.completions.shape[1]
    for row in range(cells):
        for cell in range(cells):
            state.sizes[square + row, cell] = 1.0 if row == cell else 0.0
            state.counts[square + row, cell] = np.uint64(row == cell)


@subroutine(int64(WINDOWS, int64, int64, int64, int64))
def _multiply(state: WindowCount, code: int, square: int, result: int, side: int) -> int:
    """Make a square another one times the map of a code: its rows flow along the edges, from side 0 to 1 or back.

    Returns how many steps that takes.
    """
    edges, edge_ends, sizes, counts = state.edges, state.edge_ends, state.sizes, state.counts
    modulus, cells = np.uint64(state.modulus), state.completions.shape[1]
    for row in range(result, result + cells):
        for cell in range(cells):
            sizes[row, cell], counts[row, cell] = 0.0, np.uint64(0)
    for edge in range(edge_ends[code - 1] if code else 0, edge_ends[code]):
        here, there = square + edges[edge, side], result + edges[edge, 1 - side]
        if modulus:
            for cell in range(cells):
                counts[there, cell] = _plus(counts[there, cell], counts[here, cell], modulus)
        else:
            for cell in range(cells):
                sizes[there, cell] += sizes[here, cell]
                counts[there, cell] += counts[here, cell]
    steps: int = cells * (cells + edge_ends[code] - (edge_ends[code - 1] if code else 0))
    return steps


@kernel(_FOUND(WINDOWS))
def count_windows(state: WindowCount) -> Any:
    """How many matches within their windows the `counted` events complete: the size of the number, and its remainder.

    The older part has as many rows as the longest window has events. What is returned is for the events that this call
    read: it is to be called again until progress[AT] is behind the last one.
    """
    codes, keys, ticks, lows, counted = state.codes, state.keys, state.ticks, state.lows, state.counted
    completions, sizes, counts, progress = state.completions, state.sizes, state.counts, state.progress
    older_sizes, older_counts = state.older_sizes, state.older_counts
    modulus, cells = np.uint64(state.modulus), completions.shape[1]
    size, count, left = 0.0, np.uint64(0), state.steps
    # The window is [first, at); the older part is [first, split), the newer one [split, at).
    first, split, base = progress[FIRST], progress[SPLIT], progress[BASE]
    product, suffix = progress[PRODUCT], progress[SUFFIX]
    for at in range(progress[AT], len(codes)):
        code = int(codes[at])
        if progress[BACK] < 0:
            if left < 0:
                progress[AT], progress[FIRST], progress[SPLIT], progress[BASE] = at, first, split, base
                progress[PRODUCT], progress[SUFFIX] = product, suffix
                return size, count
            if at == 0 or keys[at] != keys[at - 1]:
                first = split = at
                _identity(state, product)
            while first < at and ticks[first] < lows[at]:
                first += 1
            if first > split:
                _identity(state, suffix)
                progress[BACK] = at
        while progress[BACK] > first:
            if left < 0:
                progress[AT], progress[FIRST], progress[SPLIT], progress[BASE] = at, first, split, base
                progress[PRODUCT], progress[SUFFIX] = product, suffix
                return size, count
            back = progress[BACK] - 1
            left -= _multiply(state, int(codes[back]), suffix, 5 * cells - suffix, 1)
            suffix = 5 * cells - suffix
            for cell in range(cells):
                older_sizes[back - first, cell] = sizes[suffix, cell]
                older_counts[back - first, cell] = counts[suffix, cell]
            progress[BACK] = back
        if progress[BACK] >= 0:
            progress[BACK] = -1
            base, split = first, at
            _identity(state, product)
        for cell in range(cells if counted[at] else 0):
            ways = completions[code, cell]
            if ways:
                some, partial = sizes[product + cell, 0], counts[product + cell, 0]
                if first < split:
                    some, partial = 0.0, np.uint64(0)
                    for middle in range(cells):
                        if modulus or sizes[product + cell, middle]:  # else infinity · 0 would be NaN
                            some += older_sizes[first - base, middle] * sizes[product + cell, middle]
                            found = _times(older_counts[first - base, middle], counts[product + cell, middle], modulus)
                            partial = _plus(partial, found, modulus)
                size += some * ways
                count = _plus(count, _times(partial, np.uint64(ways), modulus), modulus)
        left -= _multiply(state, code, product, cells - product, 0)
        product = cells - product
    progress[AT] = len(codes)
    return size, count


@kernel(_FOUND(WINDOWS))
def count_starts(state: WindowCount) -> Any:
    """As `count_windows`, for windows that hold fewer events than there are cells.

    The matches that begin with each event of the window are counted apart, a row of the older part for each, which has
    one more row than the longest window has events.
    """
    codes, keys, ticks, lows, counted = state.codes, state.keys, state.ticks, state.lows, state.counted
    completions, edges, edge_ends, progress = state.completions, state.edges, state.edge_ends, state.progress
    sizes, counts, spare_sizes, spare_counts = state.older_sizes, state.older_counts, state.sizes, state.counts
    modulus, cells, rows = np.uint64(state.modulus), completions.shape[1], len(state.older_sizes)
    size, count, left, first = 0.0, np.uint64(0), state.steps, progress[FIRST]
    for at in range(progress[AT], len(codes)):
        if left < 0:
            progress[AT], progress[FIRST] = at, first
            return size, count
        code = int(codes[at])
        if at == 0 or keys[at] != keys[at - 1]:
            first = at
        while first < at and ticks[first] < lows[at]:
            first += 1
        first_edge, last_edge = edge_ends[code - 1] if code else 0, edge_ends[code]
        for cell in range(cells):  # of the event itself: nothing is marked before it
            sizes[at % rows, cell], counts[at % rows, cell] = 0.0, np.uint64(0)
        sizes[at % rows, 0], counts[at % rows, 0] = 1.0, np.uint64(1)
        for start in range(first, at + 1):
            row = start % rows
            if start < at and sizes[row, 0] != 0.0:
                continue  # no match can begin there any more
            left -= cells + last_edge - first_edge
            living = False
            for cell in range(cells):
                ways = completions[code, cell]
                if ways and counted[at]:
                    size += sizes[row, cell] * ways
                    count = _plus(count, _times(counts[row, cell], np.uint64(ways), modulus), modulus)
                spare_sizes[0, cell], spare_counts[0, cell] = 0.0, np.uint64(0)
            for edge in range(first_edge, last_edge):
                source, target = edges[edge, 0], edges[edge, 1]
                if target and sizes[row, source] != 0.0:
                    living = True
                    spare_sizes[0, target] += sizes[row, source]
                    spare_counts[0, target] = _plus(spare_counts[0, target], counts[row, source], modulus)
            for cell in range(cells):
                sizes[row, cell], counts[row, cell] = spare_sizes[0, cell], spare_counts[0, cell]
            if not living:
                sizes[row, 0] = 1.0
    progress[AT] = len(codes)
    return size, count
