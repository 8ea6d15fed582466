"""From which states a match can still be completed, before each row: one pass over the rows of a partition, backwards.

The sets of states are numbered as they appear, and a table says which set comes before which row. Where there are too
many of them, each row has a set of its own, as `reach_sets` computes them.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import array, kernel, table, view
from ostinato.core.jit.types import int32, int64, void
from ostinato.sql.automaton.build import ACCEPT
from ostinato.sql.kernels.layout import ROWS, Rows

AT_END = 0  # the number of the set after the last row of a partition


@kernel(int64(view(int32), view(int64), table(int32), array(int32), array(int64)))
def reach_back(codes: Int32, bounds: Int64, steps: Int32, ids: Int32, state: Int64) -> int:
    """Fill `ids` from the row state[0] of partition state[1] back to the first; state[2] is the set after that row.

    Comes back with the row at which `steps` has no entry, or -1.
    """
    row, partition, found = state[0], state[1], state[2]
    while partition >= 0:
        first = bounds[partition]
        while row >= first:
            before = steps[found, codes[row]]
            if before < 0:
                state[0], state[1], state[2] = row, partition, found
                return int(row)
            found = np.int64(before)
            ids[row] = before
            row -= 1
        partition -= 1
        found = AT_END
    state[0], state[1] = row, partition
    return -1


@kernel(void(ROWS, int64, int64))
def reach_sets(rows: Rows, first: int, last: int) -> None:
    """The sets before the rows of partitions first … last-1, each with the number of its row, from 1 on.

    rows.alive[0] is the set after the last row of a partition; the others are all zero.
    """
    edges, ends, codes, allowed, alive, ids = (
        rows.edges, rows.ends, rows.codes, rows.allowed, rows.alive, rows.ids
    )  # fmt: skip
    one = np.uint64(1)
    for partition in range(first, last):
        after = 0
        for row in range(rows.bounds[partition + 1] - 1, rows.bounds[partition] - 1, -1):
            here = row - rows.bounds[first] + 1
            code = codes[row]
            for state in range(ends.size - 1):
                for at in range(ends[state], ends[state + 1]):
                    to = edges[at]
                    goes_on = to == ACCEPT or (
                        to >= 0 and allowed[code, to] != 0 and (alive[after, to >> 6] >> np.uint64(to & 63)) & one != 0
                    )
                    if goes_on:
                        alive[here, state >> 6] |= one << np.uint64(state & 63)
                        break
            ids[row] = here
            after = here
