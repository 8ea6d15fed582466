"""The arrays of the kernels, by name."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8, UInt64
from ostinato.core.jit.array_struct import ArrayStruct, Field



# Why a kernel came back.
DONE, MATCHES_FULL, PATH_FULL, PAUSED, NO_SKIP_ROW, SKIP_TO_START = range(6)
# Words of `state`.
PARTITION, ROW, NUMBER, MATCHES, USED, BUDGET, SKIP = range(7)
STATE_WORDS = 7
# Where the search goes on after a match.
PAST_LAST, TO_NEXT, TO_FIRST_OF, TO_LAST_OF = range(4)


class Rows(ArrayStruct):
    """The rows of a clause in order, an automaton over their codes, and the matches that are found."""

    edges = Field[Int64](np.int64, 1, "the targets of all states of the automaton")
    ends = Field[Int64](np.int64, 1, "where the targets of each state end, from 0 on")
    allowed = Field[UInt8](np.uint8, 2, "by code and state: whether such a row may lead to the state")
    codes = Field[Int32](np.int32, 1, "of each row: which variables it may be mapped to")
    bounds = Field[Int64](np.int64, 1, "where the rows of each partition end, from 0 on")
    ids = Field[Int32](np.int32, 1, "before each row: the number of a set of states in `alive`")
    alive = Field[UInt64](np.uint64, 2, "sets of states, as bits: those from which a match can still be completed")
    skip_member = Field[UInt8](np.uint8, 1, "by state: whether AFTER MATCH SKIP TO means its variable")
    starts = Field[Int64](np.int64, 1, "of each match: its first row")
    lengths = Field[Int64](np.int64, 1, "of each match: how many rows it has")
    numbers = Field[Int64](np.int64, 1, "of each match: its number in its partition, from 1 on")
    path = Field[np.ndarray](np.uint16, 1, "the states of the rows of all matches, one match after the other")
    state = Field[Int64](np.int64, 1, "where the search is; see PARTITION and so on")
