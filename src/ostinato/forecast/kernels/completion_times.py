"""Completion times of a Markov chain whose transitions take time, on a grid of equal steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Float32, Float64, Int32, Int64
from ostinato.core.jit import array, kernel, table, types
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import struct_type
from ostinato.forecast.kernels.waiting import round_down

_GRID = table(types.float32)
_READ = table(types.float32, constant=True)
_CLOSE = 2e-7  # where a round changes less, it was the last


class TimedChain(ArrayStruct):
    """The transitions of a chain, and the gaps before them on a grid.

    An arrival is a state that is reached after a kind of gap. The gap is folded in once for each arrival (`passed`),
    not once for each edge. Edges and steps begin where those before end.
    """

    arrival_ends = Field[Int64](np.int64, 1, "per kind of gap: its arrivals", constant=True)
    arrival_to = Field[Int32](np.int32, 1, "per arrival: its state", constant=True)
    edge_ends = Field[Int64](np.int64, 1, "per state: its transitions that do not complete", constant=True)
    edge_to = Field[Int32](np.int32, 1, "per transition: the state that it leads to", constant=True)
    edge_arrival = Field[Int32](np.int32, 1, "per transition: the arrival that it is", constant=True)
    edge_weight = Field[Float64](np.float64, 1, "per transition: its probability", constant=True)
    last_ends = Field[Int64](np.int64, 1, "per state: its transitions that complete", constant=True)
    last_kind = Field[Int32](np.int32, 1, "per transition that completes: the kind of gap before it", constant=True)
    last_weight = Field[Float64](np.float64, 1, "per transition that completes: its probability", constant=True)
    last_gaps = Field[Float64](np.float64, 2, "per kind and step of the grid: the gap before completing", constant=True)
    step_ends = Field[Int64](np.int64, 1, "per kind: the gaps before other transitions", constant=True)
    step_size = Field[Int32](np.int32, 1, "per gap: its length in steps of the grid", constant=True)
    step_weight = Field[Float64](np.float64, 1, "per gap: its probability", constant=True)
    at_once = Field[Float64](np.float64, 1, "per transition: its probability without any gap", constant=True)
    passed = Field[Float64](np.float64, 1, "room for a number per arrival")
    fixed = Field[Float64](np.float64, 1, "room for a number per state")
    out = Field[Float32](np.float32, 2, "output, per step and state: whether the next completion comes then")


class TimeSummary(ArrayStruct):
    """Completion times of all states, and what is said of each in short."""

    mass = Field[Float32](np.float32, 2, "per state and cell: the probability of a completion then", constant=True)
    times = Field[Float64](np.float64, 1, "per cell: seconds ahead", constant=True)
    slack = Field[Float64](np.float64, 1, "per cell: how many seconds it covers on both sides", constant=True)
    most = Field[Float32](np.float32, 1, "per state: as far as its sum is at most this", constant=True)
    sums = Field[Float64](np.float64, 1, "room for the sums of beginnings")
    point = Field[Float64](np.float64, 1, "output, per state: the median")
    earliest = Field[Float64](np.float64, 1, "output, per state: where the shortest likely span begins")
    latest = Field[Float64](np.float64, 1, "output, per state: where it ends")
    inside = Field[Float64](np.float64, 1, "output, per state: its probability")


@kernel(types.void(struct_type(TimedChain), types.int64))
def complete_times(chain: TimedChain, rounds: int) -> None:
    """out[b, state]: the probability that the next completion comes after b steps of the grid.

    Gaps that are no step at all lead to a state at the same time: `at_once[edge]`. These go round until it no longer
    matters, at most `rounds` times.
    """
    arrival_ends, arrival_to, passed = chain.arrival_ends, chain.arrival_to, chain.passed
    edge_ends, edge_to, at_once = chain.edge_ends, chain.edge_to, chain.at_once
    step_ends, step_size, step_weight = chain.step_ends, chain.step_size, chain.step_weight
    last_ends, last_kind, last_weight = chain.last_ends, chain.last_kind, chain.last_weight
    edge_arrival, edge_weight, last_gaps = chain.edge_arrival, chain.edge_weight, chain.last_gaps
    fixed, out = chain.fixed, chain.out
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


@kernel(types.void(struct_type(TimeSummary), types.float64))
def summarise_times(summary: TimeSummary, least: float) -> None:
    """Of each row, as far as its sum is at most `most`: its median, and the shortest span with a sum of at least
    `least`, and this sum; NaN where there is none."""
    mass, times, slack = summary.mass, summary.times, summary.slack
    most, sums, point = summary.most, summary.sums, summary.point
    earliest, latest, inside = summary.earliest, summary.latest, summary.inside
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
