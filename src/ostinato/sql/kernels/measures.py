"""What measures read of matches: the rows that navigations lead to, and running totals.

An output row is a place in a match: that of its current row, -1 in an empty one. Output rows come match by match, and
in the order of their places. `members` says by state whether its row belongs to the variable that is asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrays import Float64, Int64, UInt8
from ostinato.core.jit import array, kernel, subroutine, view
from ostinato.core.jit.types import boolean, float64, int64, uint8, uint16, void
from ostinato.sql.kernels.layout import COUNT, LEAST, SUM

_PATH = (view(uint16), view(int64), view(uint8))
_OUTPUT = (view(int64), view(int64))
_LEAST, _GREATEST = -(2**63), 2**63 - 1


@kernel(void(*_PATH, *_OUTPUT, int64, int64, boolean, array(int64), array(int64)))
def navigate(
    path: np.ndarray,
    offsets: Int64,
    members: UInt8,
    matches: Int64,
    places: Int64,
    from_first: int,
    skip: int,
    final: bool,
    own: Int64,
    found: Int64,
) -> None:
    """Of each output row the place of the first or last row of a variable, `skip` rows inwards; -1 where there is none.

    `own` has room for the rows of the longest match.
    """
    match, known, read, first, length = -1, 0, 0, 0, 0
    for at in range(matches.size):
        if matches[at] != match:
            match = matches[at]
            first, known, read = offsets[match], 0, 0
            length = offsets[match + 1] - first
        limit = length if final else places[at] + 1
        while read < limit:
            if members[path[first + read]]:
                own[known] = read
                known += 1
            read += 1
        found[at] = -1 if skip >= known else own[skip] if from_first else own[known - 1 - skip]


@subroutine()
def sum_fits(total: Any, value: Any) -> Any:
    """Whether a sum of two whole numbers fits. Asked before adding: compiled code takes it that no sum wraps around."""
    return total <= _GREATEST - value if value >= 0 else total >= _LEAST - value


@subroutine()
def _total(
    path: np.ndarray,
    offsets: Int64,
    members: UInt8,
    matches: Int64,
    places: Int64,
    starts: Int64,
    values: Any,
    valid: UInt8,
    function: int,
    final: bool,
    totals: Any,
    counts: Int64,
    zero: Any,
    exact: bool,
) -> bool:
    """Of each output row an aggregate over the rows of a variable so far, and how many values it is of.

    Sums are from left to right; of `exact` ones that do not fit: False. NaN is greater than all others.
    """
    match, read, first, length = -1, 0, 0, 0
    total, count = zero, np.int64(0)
    for at in range(matches.size):
        if matches[at] != match:
            match = matches[at]
            first, read = offsets[match], 0
            length = offsets[match + 1] - first
            total, count = zero, np.int64(0)
        limit = length if final else places[at] + 1
        while read < limit:
            row = starts[match] + read
            if members[path[first + read]] and (valid.size == 0 or valid[row]):
                count += 1
                if function != COUNT:
                    value = values[row]
                    if function == SUM:
                        if exact and not sum_fits(total, value):
                            return False
                        total += value
                    elif function == LEAST:
                        if count == 1 or value < total or np.isnan(total):
                            total = value
                    elif count == 1 or value > total or (np.isnan(value) and not np.isnan(total)):
                        total = value
            read += 1
        totals[at], counts[at] = total, count
    return True


@kernel(boolean(*_PATH, *_OUTPUT, view(int64), view(int64), view(uint8), int64, boolean, array(int64), array(int64)))
def total_ints(
    path: np.ndarray,
    offsets: Int64,
    members: UInt8,
    matches: Int64,
    places: Int64,
    starts: Int64,
    values: Int64,
    valid: UInt8,
    function: int,
    final: bool,
    totals: Int64,
    counts: Int64,
) -> bool:
    """An aggregate of whole numbers; False where a sum does not fit."""
    zero, exact = np.int64(0), True
    return _total(
        path, offsets, members, matches, places, starts, values, valid, function, final, totals, counts, zero, exact
    )  # fmt: skip


@kernel(void(*_PATH, *_OUTPUT, view(int64), view(float64), view(uint8), int64, boolean, array(float64), array(int64)))
def total_floats(
    path: np.ndarray,
    offsets: Int64,
    members: UInt8,
    matches: Int64,
    places: Int64,
    starts: Int64,
    values: Float64,
    valid: UInt8,
    function: int,
    final: bool,
    totals: Float64,
    counts: Int64,
) -> None:
    """The same of floats."""
    _total(path, offsets, members, matches, places, starts, values, valid, function, final, totals, counts, 0.0, False)
