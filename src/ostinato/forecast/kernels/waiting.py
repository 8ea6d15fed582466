"""Waiting times of a Markov chain, for all of its states at once, and what can be said in short about each."""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64
from ostinato.core.jit import array, kernel, subroutine, table, types, view

_TABLE = table(types.int32, constant=True)
_MARKS = table(types.boolean, constant=True)
_ROWS = table(types.float64, constant=True)

_BELOW = 1 - 2.0**-24  # times this, a float32 is rounded to the next one towards zero


@kernel(
    types.void(
        _TABLE, _MARKS, _ROWS, array(types.float64), array(types.int64), array(types.int32), array(types.float64)
    )
)
def likely_edges(
    after: Int32, completes: Bools, probability: Float64, soon: Float64, ends: Int64, to: Int32, weight: Float64
) -> None:
    """Per state the probability that the next symbol completes, and the transitions with which it may go on instead.

    Those of a state are [ends[state], ends[state + 1]).
    """
    edges = 0
    for state in range(after.shape[0]):
        soon[state] = 0.0
        for symbol in range(after.shape[1]):
            if probability[state, symbol] > 0:
                if completes[state, symbol]:
                    soon[state] += probability[state, symbol]
                else:
                    to[edges], weight[edges] = after[state, symbol], probability[state, symbol]
                    edges += 1
        ends[state + 1] = edges


@kernel(types.void(view(types.int64), view(types.int32), view(types.float64), table(types.float64), types.int64))
def step_back(ends: Int64, to: Int32, weight: Float64, block: Float64, steps: int) -> None:
    """block[i + 1, s] from block[i]: the wait is one event longer than from the state that the next symbol leads to."""
    for step in range(steps):
        before, now = block[step], block[step + 1]
        edge = 0
        for state in range(now.size):
            total = 0.0
            while edge < ends[state + 1]:
                total += weight[edge] * before[to[edge]]
                edge += 1
            now[state] = total


@subroutine(types.float32(types.float64))
def round_down(value: Any) -> Any:
    """As a float32, rounded towards zero: what is promised is never more than what was found."""
    near = np.float32(value)
    return np.float32(near * _BELOW) if np.float64(near) > value else near


@kernel(types.void(_ROWS, types.int64, table(types.float32)))
def store(block: Float64, column: int, out: Any) -> None:
    """The steps of a block as columns of `out`, from `column` on."""
    for state in range(out.shape[0]):
        for step in range(block.shape[0]):
            out[state, column + step] = round_down(block[step, state])


@kernel(
    types.void(
        table(types.float32, constant=True),
        types.int64,
        types.float64,
        array(types.float64),
        array(types.float32),
        array(types.int32),
        array(types.int32),
        array(types.int32),
        array(types.float32),
    )
)
def summarise(
    waiting: Any,
    within: int,
    least: float,
    sums: Float64,
    probability: Any,
    point: Int32,
    earliest: Int32,
    latest: Int32,
    mass: Any,
) -> None:
    """Of each row: its sum, its highest place, and the shortest stretch with a sum of at least `least`, above zero.

    Places count from 1. `sums` is room for the sums of beginnings, which a float32 could not tell apart.
    """
    sums[0] = 0.0
    for state in range(waiting.shape[0]):
        highest, best = np.float32(0), 0
        for step in range(within):
            chance = waiting[state, step]
            sums[step + 1] = sums[step] + chance
            if chance > highest:
                highest, best = chance, step + 1
        point[state] = best
        probability[state] = round_down(sums[within])
        first, begin, end = 0, 0, within + 1
        for step in range(1, within + 1 if sums[within] >= least else 0):
            while sums[step] - sums[first + 1] >= least:
                first += 1
            if sums[step] - sums[first] >= least and step - first < end - begin:
                begin, end = first, step
        found = end <= within
        earliest[state], latest[state] = (begin + 1, end) if found else (0, 0)
        mass[state] = round_down(sums[end] - sums[begin]) if found else np.float32(0)
