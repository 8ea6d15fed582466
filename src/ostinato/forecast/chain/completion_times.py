"""When the next match completes by the clock: the time from a state is the sum of the gaps before the events ahead.

Time is cut into equal steps, and the recursion of the waiting times runs over steps instead of events. The time from a
state is the gap before the next symbol, which may depend on the last one, plus the time from the state it leads to,
unless the symbol completes. A gap that falls between two steps is shared by both, so that the mean does not change. If
most gaps are far shorter than the mean, one grid is not enough: finer ones tell the near future, coarser ones what lies
beyond their end.

A forecast is about a completion within the horizon, which counts events. So only the earliest times are kept, with as
much mass as a completion within the horizon has. That is exact if all gaps are the same, and close otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ostinato.core.arrays import Float32, Float64, Int32, Int64
from ostinato.core.arrow import read_only
from ostinato.forecast.chain.intervals import least_mass
from ostinato.forecast.chain.product import Product
from ostinato.forecast.learn.gaps import GapKinds, Gaps, number_distinct

_FINENESS = (4, 2, 1)  # steps of the finest grid to a typical gap, as memory allows
_COARSER = 8  # times as far reaches the next grid
_COARSE = 129  # cells at most of a grid that is not the finest
_FEWEST = 64  # cells of a grid
_PARTS = 16  # a bin of the last gap is spread over so many points
_SAME = 1e-5  # of its size a gap may be off and still be the same: clocks are read as floating-point seconds
_DENSE = 1 << 28  # places up to which a table of bits is quicker than sorting
_MERGED = 4  # bins taken together for the gaps before it: their sum smooths itself


@dataclass(frozen=True, eq=False)
class CompletionTimes:
    """`mass[state, cell]`: the probability that the next completion is `times[cell]` seconds ahead.

    A cell covers completions up to `slack[cell]` before and after; 0 if all gaps fit the grid, and times are exact.
    """

    times: Float64
    slack: Float64
    mass: Float32


@dataclass(frozen=True, eq=False)
class SecondsAhead:
    """Per state; NaN: no forecast."""

    point: Float64  # the median, given that a match completes within the horizon
    earliest: Float64  # the shortest span that is likely enough, of several the earliest
    latest: Float64
    mass: Float64  # the probability of that span, never below the threshold


def seconds_ahead(completion: CompletionTimes, within: Float32, threshold: float) -> SecondsAhead:
    """`within` is the probability per state of a completion within the horizon."""
    from ostinato.forecast.kernels.completion_times import TimeSummary, summarise_times

    found = SecondsAhead(*(np.empty(len(completion.mass)) for _ in range(4)))
    summary = TimeSummary(
        mass=completion.mass,
        times=completion.times,
        slack=completion.slack,
        most=within,
        sums=np.empty(len(completion.times) + 1),
        point=found.point,
        earliest=found.earliest,
        latest=found.latest,
        inside=found.mass,
    )
    summarise_times(summary, least_mass(threshold))
    return found


def completion_times(product: Product, gaps: Gaps, horizon: int, *, max_bytes: int = 1 << 27) -> CompletionTimes:
    """Up to `horizon` mean gaps ahead. The more states there are, the coarser the grid, to stay within `max_bytes`."""
    from ostinato.forecast.kernels.completion_times import TimedChain, append, complete_times

    grids = _grids(gaps, horizon, max_bytes // (4 * product.states))
    kinds = gaps.kinds
    chain = _Chain.of(product, kinds)
    times, slack, sums = np.empty(0), np.empty(0), np.zeros(product.states)
    mass = np.empty((product.states, sum(grid.cells - grid.first for grid in grids)), np.float32)
    passed, fixed = np.empty(len(chain.arrival_to)), np.empty(product.states)
    for grid in grids:
        last, between, exact = _on_grid(kinds, grid.step, grid.cells)
        rows, sizes = np.nonzero(between[:, 1:])
        found = np.empty((grid.cells, product.states), np.float32)
        timed = TimedChain(
            last_gaps=last,
            step_ends=_ends(rows, len(kinds.sums)),
            step_size=(sizes + 1).astype(np.int32),
            step_weight=between[rows, sizes + 1],
            at_once=chain.edge_weight * between[chain.edge_kind, 0],
            passed=passed,
            fixed=fixed,
            out=found,
            **chain.arrays(),
        )
        complete_times(timed, horizon)
        append(read_only(found), grid.first, len(times), sums, mass)
        times = np.append(times, np.arange(grid.first, grid.cells) * grid.step)
        slack = np.append(slack, np.full(grid.cells - grid.first, 0.0 if exact else grid.step / 2))
    return CompletionTimes(times, slack, mass)


@dataclass(frozen=True)
class _Chain:
    """The transitions of a product that may happen, as flat lists: those of state s are [ends[s], ends[s + 1]).

    Each waits for a gap of some kind first.
    """

    arrival_ends: Int64  # per kind
    arrival_to: Int32
    edge_ends: Int64
    edge_to: Int32
    edge_arrival: Int32
    edge_weight: Float64
    edge_kind: Int32
    last_ends: Int64  # transitions that complete
    last_kind: Int32
    last_weight: Float64

    @classmethod
    def of(cls, product: Product, kinds: GapKinds) -> _Chain:
        possible = product.probability > 0
        state, symbol = np.nonzero(possible & ~product.completes)
        kind = kinds.of[product.last[state], symbol]
        places = kind.astype(np.int64) * product.states + product.next[state, symbol]
        arrivals, number = number_distinct(places, int(places.max(initial=-1)) + 1, _DENSE)
        last_state, last_symbol = np.nonzero(possible & product.completes)
        return cls(
            _ends(arrivals // product.states, len(kinds.sums)),
            (arrivals % product.states).astype(np.int32),
            _ends(state, product.states),
            product.next[state, symbol],
            number,
            product.probability[state, symbol],
            kind,
            _ends(last_state, product.states),
            kinds.of[product.last[last_state], last_symbol],
            product.probability[last_state, last_symbol],
        )

    def arrays(self) -> dict[str, Any]:
        """Those that the kernel reads, by name."""
        return {name: array for name, array in vars(self).items() if name != "edge_kind"}


def _ends(rows: Int64, count: int) -> Int64:
    """Where each row's entries begin, and where the last ends; `rows` are sorted."""
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=count))]).astype(np.int64)


@dataclass(frozen=True)
class _Grid:
    step: float
    cells: int
    first: int  # the first cell beyond the grid before


def _grids(gaps: Gaps, horizon: int, room: int) -> list[_Grid]:
    """Finest first."""
    mean = gaps.mean
    if mean <= 0:
        return [_Grid(1.0, 1, 0)]
    pooled = gaps.by_symbol.sum(axis=0)
    middle = pooled[np.searchsorted(np.cumsum(pooled[:, 0]), pooled[:, 0].sum() / 2)]
    median = middle[1] / middle[0]
    typical = median if 0 < median < mean / 2 else mean
    fineness = next((steps for steps in _FINENESS if steps * horizon < room), 1)
    cells = min(fineness * horizon + 1, max(room, _FEWEST))
    grids = [_Grid(typical / fineness, cells, 0)]
    reach = grids[0].step * (cells - 1)
    while reach < horizon * mean * (1 - 1e-9):
        further, cells = min(_COARSER * reach, horizon * mean), min(cells, _COARSE)
        step = further / (cells - 1)
        grids.append(_Grid(step, cells, int(reach / step + 1e-9) + 1))
        reach = further
    return grids


def _on_grid(kinds: GapKinds, step: float, cells: int) -> tuple[Float64, Float64, bool]:
    """[kinds, cells]: the gap before the event that completes, and before others; whether all gaps fit the grid.

    What is beyond the grid is left out.
    """
    sums = kinds.sums
    rows, bins = np.nonzero(sums[:, :, 0])
    weight, seconds, squares = sums[rows, bins].T
    weight = weight / np.bincount(rows, weight, len(sums))[rows]
    mean = seconds / sums[rows, bins, 0]
    # The variance of a uniform spread of ± h is h²/3. Below the rounding errors of the sums there is none.
    variance = np.maximum(squares / sums[rows, bins, 0] - mean**2, 0.0)
    half = np.where(variance > (_SAME * mean) ** 2, np.minimum(np.sqrt(3 * variance), mean), 0.0)
    points = (np.arange(_PARTS) + 0.5) / _PARTS * 2 - 1
    spread = mean[:, None] + half[:, None] * points
    last = np.zeros((len(sums), cells))
    exact = _share(last, np.repeat(rows, _PARTS), spread.ravel() / step, np.repeat(weight / _PARTS, _PARTS))
    groups, place = np.unique(rows * np.int64(1 << 32) + (bins + _MERGED - 1) // _MERGED, return_inverse=True)
    merged: Float64 = np.bincount(place, weight).astype(np.float64)
    between = np.zeros((len(sums), cells))
    centre = np.bincount(place, weight * mean) / merged
    exact &= _share(between, groups >> 32, centre / step, merged)
    return last, between, bool(exact)


def _share(grid: Float64, rows: Int64, places: Float64, weights: Float64) -> bool:
    """Share each weight between the two nearest cells; returns whether every place is exactly that of a cell."""
    near = np.rint(places)
    places = np.where(np.abs(places - near) < _SAME * np.maximum(near, 1), near, places)
    below = np.floor(places)
    above = places - below
    for cell, share in ((below, weights * (1 - above)), (below + 1, weights * above)):
        kept = cell < grid.shape[1]
        np.add.at(grid, (rows[kept], cell[kept].astype(np.int64)), share[kept])
    return not above.any()
