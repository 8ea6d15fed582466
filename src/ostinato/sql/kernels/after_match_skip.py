"""AFTER MATCH SKIP: the row at which the search for the next match begins."""

from __future__ import annotations

from ostinato.core.jit import subroutine
from ostinato.core.jit.types import int64
from ostinato.sql.kernels.layout import (
    NO_SKIP_ROW,
    PAST_LAST,
    ROWS,
    SKIP,
    SKIP_TO_START,
    TO_FIRST_OF,
    TO_NEXT,
    USED,
    Rows,
)


@subroutine(int64(ROWS, int64, int64))
def resume(rows: Rows, start: int, length: int) -> int:
    """Where the search goes on after a match, whose states are the last ones of the path; below 0 where it cannot."""
    skip = rows.state[SKIP]
    if length == 0 or skip == TO_NEXT:
        return start + 1
    if skip == PAST_LAST:
        return start + length
    first = rows.state[USED]
    found = -1
    for at in range(length):
        if rows.skip_member[rows.path[first + at]] != 0:
            found = at
            if skip == TO_FIRST_OF:
                break
    if found < 0:
        return -NO_SKIP_ROW
    return -SKIP_TO_START if found == 0 else start + found
