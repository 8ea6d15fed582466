"""Completion times of a Markov chain whose transitions take time, on a grid of equal steps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.jit import array, kernel, view
from ostinato.forecast.kernels.waiting import round_down

_GRID = types.Array(types.float32, 2, "C")
_READ = types.Array(types.float32, 2, "C", readonly=True)
_ROWS = types.Array(types.float64, 2, "C", readonly=True)
_CLOSE = 2e-7  # where a round changes less, it was the last


@kernel(
    types.void(
        view(types.int64),
        view(types.int32),
        view(types.int64),
        view(types.int32),
        view(types.int32),
        view(types.float64),
        view(types.int64),
        view(types.int32),
        view(types.float64),
        _ROWS,
        view(types.int64),
        view(types.int32),
        view(types.float64),
        view(types.float64),
        types.int64,
        array(types.float64),
        array(types.float64),
        _GRID,
    )
)
def complete_times(
    arrival_ends: Int64,
    arrival_to: Int32,
    edge_ends: Int64,
    edge_to: Int32,
    edge_arrival: Int32,
    edge_weight: Float64,
    last_ends: Int64,
    last_kind: Int32,
    last_weight: Float64,
    last_gaps: Float64,
    step_ends: Int64,
    step_size: Int32,
    step_weight: Float64,
    at_once: Float64,
    rounds: int,
    passed: Float64,
    fixed: Float64,
    out: Any,
) -> None:
    """out[b, state]: the probability that the next completion comes after b steps of the grid.

    An arrival is a state that is reached after a kind of gap: those of a kind are [arrival_ends[kind],
    arrival_ends[kind + 1]). The gap is folded in once for each arrival (`passed`), not once for each edge.
    Gaps that are no step at all lead to a state at the same time: `at_once[edge]`. These go round until it no longer
    matters, at most `rounds` times.
    """
    immediate = False
    for edge in range(at_once.size):
        immediate |= at_once[edge] > 0
    for time in range(out.shape[0]):
        now = out[time]
        for kind in range(arrival_ends.size - 1):
            begin, end = arrival_ends[kind], arrival_ends[kind + 1]
            for arrival in range(begin, end):
                passed[arrival] = 0.0
            for step in range(step_ends[kind], step_ends[kind + 1]):
                if step_size[step] > time:
                    break
                before, weight = out[time - step_size[step]], step_weight[step]
                for arrival in range(begin, end):
                    passed[arrival] += weight * before[arrival_to[arrival]]
        for state in range(now.size):
            total = 0.0
            for edge in range(last_ends[state], last_ends[state + 1]):
                total += last_weight[edge] * last_gaps[last_kind[edge], time]
            for edge in range(edge_ends[state], edge_ends[state + 1]):
                total += edge_weight[edge] * passed[edge_arrival[edge]]
            fixed[state] = total
            # What comes at once is not known yet. Going on as before is a good guess, and leaves few rounds to do.
            guess = 2.0 * out[time - 1, state] - out[time - 2, state] if immediate and time >= 2 else total
            now[state] = max(guess, total)
        for _ in range(rounds if immediate else 0):
            change = 0.0
            for state in range(now.size - 1, -1, -1):  # states were found breadth first: most edges lead onwards
                total = fixed[state]
                for edge in range(edge_ends[state], edge_ends[state + 1]):
                    total += at_once[edge] * now[edge_to[edge]]
                change = max(change, abs(total - now[state]))
                now[state] = total
            if change < _CLOSE:
                break


@kernel(types.void(_READ, types.int64, types.int64, array(types.float64), _GRID))
def append(grid: Any, first: int, column: int, sums: Float64, out: Any) -> None:
    """The steps of a grid from `first` on as columns of `out`; `sums` has what the columns before hold.

    Grids of different steps do not quite agree on that: what one has already counted is not counted again.
    """
    for state in range(out.shape[0]):
        reached, counted = 0.0, sums[state]
        for time in range(grid.shape[0]):
            reached = min(reached + grid[time, state], 1.0)
            if time >= first:
                more = max(reached - counted, 0.0)
                counted += more
                out[state, column + time - first] = round_down(more)
        sums[state] = counted


@kernel(
    types.void(
        _READ,
        view(types.float64),
        view(types.float64),
        view(types.float32),
        types.float64,
        array(types.float64),
        array(types.float64),
        array(types.float64),
        array(types.float64),
        array(types.float64),
    )
)
def summarise_times(
    mass: Any,
    times: Float64,
    slack: Float64,
    most: Any,
    least: float,
    sums: Float64,
    point: Float64,
    earliest: Float64,
    latest: Float64,
    inside: Float64,
) -> None:
    """Of each row, as far as its sum is at most `most`: its median, and the shortest span with a sum of at least
    `least`, and this sum; NaN where there is none."""
    sums[0] = 0.0
    cells = times.size
    for state in range(mass.shape[0]):
        for cell in range(cells):
            sums[cell + 1] = min(sums[cell] + mass[state, cell], most[state])
        point[state], earliest[state], latest[state], inside[state] = np.nan, np.nan, np.nan, np.nan
        if sums[cells] <= 0:
            continue
        middle = 0
        while 2 * sums[middle + 1] < sums[cells]:
            middle += 1
        begin, end = max(times[middle] - slack[middle], 0.0), times[middle] + slack[middle]
        share = (sums[cells] / 2 - sums[middle]) / (sums[middle + 1] - sums[middle])  # of what the cell stands for
        point[state] = begin + share * (end - begin)
        first, shortest = 0, np.inf
        for cell in range(1, cells + 1 if sums[cells] >= least else 0):
            while sums[cell] - sums[first + 1] >= least:
                first += 1
            if sums[cell] - sums[first] >= least:
                begin, end = max(times[first] - slack[first], 0.0), times[cell - 1] + slack[cell - 1]
                if end - begin < shortest * (1 - 1e-9):  # of spans of the same length, the first
                    shortest = end - begin
                    earliest[state], latest[state] = begin, end
                    inside[state] = sums[cell] - sums[first]
