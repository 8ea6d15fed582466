"""Ages in windows along time or an attribute: counted in cells of a grid, not in gaps between events.

An event makes runs older by the number of grid lines that were crossed since the last event of its key. These numbers
add up to the lines between any two events, so an age is never off by more than a cell, however many events make it up.
A run is alive while it has crossed at most `parts` lines. Where it began within its cell is not known: with cells of
W / (parts + 1/2), a run that may have begun anywhere in its cell lives as long as the window W on average.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from math import floor, gcd, isfinite

import numpy as np

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.arrow import read_only
from ostinato.core.clock import Clock

# Numbers of parts that are tried, the finest first: as fine as a comfortable number of states allows.
_LADDER = (512, 384, 256, 192, 128, 96, 64, 48, 40, 32, 28, 24, 20, 16, 14, 12, 10, 8, 6, 4)
# Cells to a mean gap, at most: finer ones would tell no more, and what follows what is seen less often. Fewer where
# events are compared, since there is a symbol for each step and outcome.
_PER_GAP, _PER_GAP_COMPARED = 4, 2
_EXACT, _COMFORTABLE = 5, 25  # how many times fewer states than the limit allows: they are multiplied by contexts
_PARTS = 32  # where no gap was seen
_PLAIN = 8  # steps up to which all are told apart; longer ones are rounded, by at most an eighth


@dataclass(frozen=True)
class Pace:
    """How the events of each key follow each other along what the window is measured in.

    Every gap is a whole number of `pulses` (0: there was no gap but of 0), each `pulse` long (0: not known).
    """

    gaps: int = 0
    total: float = 0.0
    pulses: int = 0
    pulse: float = 0.0

    @property
    def mean(self) -> float:
        """The mean gap, to the digits that do not depend on the order in which gaps are added up; 0: not known."""
        mean = float(f"{self.total / self.gaps:.9g}") if self.gaps else 0.0
        return mean if isfinite(mean) else 0.0

    @property
    def unit(self) -> float:
        return self.pulses * self.pulse

    def merge(self, other: Pace) -> Pace:
        """Of further keys."""
        pulses = gcd(self.pulses, other.pulses)
        return Pace(self.gaps + other.gaps, self.total + other.total, pulses, max(self.pulse, other.pulse))


@dataclass(frozen=True)
class Grid:
    """`cell`: how far its lines are apart; `parts`: the most of them that a run may cross and still complete; `usual`:
    how many a mean gap crosses, which is what the first event of a key is taken to do."""

    cell: float
    parts: int
    usual: int

    @property
    def end(self) -> int:
        """The step that ends every run."""
        return self.parts + 1

    @property
    def steps(self) -> list[int]:
        """The steps that are told apart."""
        found, step = list(range(min(_PLAIN, self.parts) + 1)), _PLAIN
        while step < self.parts:
            step += 1 << max(0, step.bit_length() - 3)
            found.append(min(step, self.parts))
        return [*found, self.end]

    @property
    def provided(self) -> list[int]:
        """Steps that add up to any number of lines within few events."""
        return [0, *(1 << power for power in range(self.parts.bit_length())), self.end]

    def lines(self, passed: Float64) -> Int64:
        """How many lines lie that far after the first event of a key, which is in the middle of its cell."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.floor(passed / self.cell + 0.5)
        return np.nan_to_num(found, nan=0.0).clip(0, 2.0**62).astype(np.int64)


class GridWalk:
    """How far each key of a stream has come along a grid. Later steps make up for what rounded ones leave over.

    `origin` is the tick of its first event, `position` the number of lines that its steps add up to.
    """

    def __init__(self, grid: Grid, clock: Clock, steps: Iterable[int]) -> None:
        self.grid, self.clock = grid, clock
        self.steps = sorted({0, grid.end, *steps})
        self.origin: Int64 = np.zeros(0, np.int64)
        self.position: Int64 = np.zeros(0, np.int64)

    @cached_property
    def _nearest(self) -> Int32:
        """For so many lines up to the end, the nearest step; of two the shorter."""
        far = np.abs(np.subtract.outer(np.arange(self.grid.end + 1), self.steps))
        found: Int32 = np.array(self.steps, np.int32)[far.argmin(axis=1)]
        return found

    def lines(self, keys: Int32, ticks: Int64) -> Int64:
        """How many lines lie between the first event of the key and each tick."""
        return self.grid.lines(self.clock.distance(self.origin[keys], ticks))

    def advance(self, keys: Int32, ticks: Int64, key_count: int) -> tuple[Int32, Int64, Int64]:
        """The steps of events, in stream order, and the positions of their keys before and after them."""
        from ostinato.forecast.kernels.age_grid import walk

        self._add_keys(keys, ticks, key_count)
        found = (np.empty(len(keys), np.int32), np.empty(len(keys), np.int64), np.empty(len(keys), np.int64))
        usual = int(self._nearest[min(self.grid.usual, self.grid.end)])
        lines = read_only(self.lines(keys, ticks))
        walk(lines, read_only(keys), read_only(self._nearest), usual, self.position, *found)
        return found

    def _add_keys(self, keys: Int32, ticks: Int64, key_count: int) -> None:
        """Keys that were not seen before begin with their first event."""
        more = key_count - len(self.origin)
        self.origin = np.concatenate([self.origin, np.zeros(more, np.int64)])
        self.position = np.concatenate([self.position, np.full(more, -1, np.int64)])
        first = np.zeros(key_count, np.int64)
        first[keys[::-1]] = ticks[::-1]  # of several the last one that is written stays
        self.origin = np.where(self.position < 0, first, self.origin)


def choose_grid(amount: float, pace: Pace, fits: Callable[[int, int], bool], *, compared: bool = False) -> Grid:
    """The grid for a window of this length; `fits(parts, times)`: whether states are `times` fewer than the limit.

    If all gaps are a few times the same unit, cells of one unit make ages exact, and there are few steps: that is worth
    more states.
    """
    reach, unit, mean = float(amount), pace.unit, pace.mean
    if unit and (mean <= _PLAIN * unit or not reach):
        parts = floor(reach / unit * (1 + 1e-12))
        if parts <= _LADDER[0] and fits(parts, _EXACT):
            return _grid(unit, parts, mean)
    if not reach:
        return _grid(unit or 1.0, 0, mean)
    # Of times that are multiples of a unit, those up to half a unit beyond the window are within it.
    reach += unit / 2
    wanted = (_PER_GAP_COMPARED if compared else _PER_GAP) * reach / mean if mean else _PARTS
    for parts in _LADDER:
        if parts == _LADDER[-1] or (parts <= wanted and fits(parts, _COMFORTABLE)):
            break
    return _grid(reach / (parts + 0.5), parts, mean)


def _grid(cell: float, parts: int, mean: float) -> Grid:
    return Grid(cell, parts, min(round(mean / cell), parts + 1))
