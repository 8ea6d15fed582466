"""The arrays of the kernels, by name, and the numbers in them."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float64, Int32, Int64, UInt8, UInt64
from ostinato.core.jit.array_struct import ArrayStruct, Field, ViewField
from ostinato.core.jit.types import struct_type

# Why a kernel came back.
DONE, MATCHES_FULL, PATH_FULL, PAUSED, NO_SKIP_ROW, SKIP_TO_START, FRAMES_FULL, ASK, BAD_VALUE, TOO_LONG, CALL = range(
    11
)
# Words of `state`.
PARTITION, ROW, NUMBER, MATCHES, USED, BUDGET, SKIP, CLOSED, ANSWER, ASKED, TRIED, MOST_TRIED, TIME, TOP = range(14)
STATE_WORDS = 14
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


ROWS = struct_type(Rows)


# Words of `attempts`: the first row of the match that is sought, how many rows it has so far (-1: none is sought), the
# number of matches found.
START, DEPTH, FOUND = range(3)
# Words of a frame; after them the numbers of rows of each set of variables, the places of those rows, the numbers of
# values of each total, and the totals that are whole numbers.
STATE, CURSOR = range(2)
FRAME_WORDS = 2
# Columns of `places`: a set of variables (-1: all), whether to count from the first row, rows inwards, rows onwards.
SET, FROM_FIRST, INWARDS, ONWARDS = range(4)
# Columns of `totals`: a set of variables (-1: all), a function, a column of values (-1: none), whether of floats.
TOTAL_SET, FUNCTION, VALUES, OF_FLOATS = range(4)
COUNT, SUM, LEAST, GREATEST, DISTINCT_COUNT = range(5)
# Kinds of what conditions yet to come may read, in `live`.
LIVE_FIRST, LIVE_LAST, LIVE_TOTAL, LIVE_START, LIVE_LABELS, LIVE_LABEL = range(6)
# Kinds of values on the stack of a program.
THERE, NULL, BAD = range(3)
# Columns of `calls`: how many operands, bits of those that are floats, whether the result is one.
CALL_OPERANDS, CALL_FLOATS, CALL_RESULT_FLOAT = range(3)
# Answers.
NO, YES, UNASKED = range(3)


class Search(Rows):
    """The same where conditions look at the match so far."""

    firsts = Field[Int64](np.int64, 1, "the first row of each partition")
    lasts = Field[Int64](np.int64, 1, "where the known rows of each partition end")
    ready = Field[Int64](np.int64, 1, "where those of them end of which it is known what conditions by place say")
    deadlines = Field[Int64](np.int64, 1, "of each row: the time when a match that begins there is over; may be empty")
    begun = Field[Int64](np.int64, 1, "of each partition: its first row, or -1 if that is gone")
    touched = Field[Int64](np.int64, 1, "the partitions to look at")
    attempts = Field[Int64](np.int64, 2, "of each partition: the match that is sought; see START and so on")
    bases = Field[Int64](np.int64, 1, "of each partition: its first frame; one number if they take turns")
    rooms = Field[Int64](np.int64, 1, "of each partition: how many frames it has")
    frames = Field[Int64](np.int64, 2, "one for each row of the match that is sought, and one before; see STATE")
    float_frames = Field[Float64](np.float64, 2, "the totals that are floats, frame by frame")
    float_bits = ViewField[Int64](np.int64, float_frames, "the same as bits")
    members = Field[UInt8](np.uint8, 2, "by set of variables and variable: whether it is in the set")
    variables = Field[Int64](np.int64, 1, "by state: the variable of its row")
    steps = Field[Int64](np.int64, 2, "the programs of all variables: operator, arguments, next tests; see programs.py")
    programs = Field[Int64](np.int64, 1, "where the program of each variable ends, from 0 on")
    places = Field[Int64](np.int64, 2, "the rows that programs read; see SET and so on")
    totals = Field[Int64](np.int64, 2, "the aggregates that programs read; see TOTAL_SET and so on")
    ints = Field[Int64](np.int64, 2, "by column and row: values that are whole numbers; the last is for no row")
    floats = Field[Float64](np.float64, 2, "by column and row: values that are floats; the last is for no row")
    int_nulls = Field[UInt8](np.uint8, 2, "whether those are NULL")
    float_nulls = Field[UInt8](np.uint8, 2, "whether those are NULL")
    constants = Field[Float64](np.float64, 1, "the floats that programs name")
    labels = Field[Int64](np.int64, 1, "by variable: its name as a value")
    live = Field[Int64](np.int64, 2, "what conditions after each state may read: kind, what, rows inwards")
    live_ends = Field[Int64](np.int64, 1, "where that ends for each state, from 0 on")
    failed = Field[UInt64](np.uint64, 2, "fingerprints of what is known to lead nowhere, as a hash table")
    counts = Field[Int64](np.int64, 1, "how many fingerprints there are, and how many values of functions are known")
    tried = Field[Int64](np.int64, 1, "by variable: how often its condition was evaluated for the match that is sought")
    stack = Field[Int64](np.int64, 2, "of a program: kinds and whole numbers")
    float_stack = Field[Float64](np.float64, 1, "of a program: floats")
    float_stack_bits = ViewField[Int64](np.int64, float_stack, "the same as bits")
    calls = Field[Int64](np.int64, 2, "functions of DuckDB that programs call; see CALL_OPERANDS and so on")
    known = Field[UInt64](np.uint64, 2, "fingerprints of calls with operands whose value is known, as a hash table")
    known_values = Field[Int64](np.int64, 2, "those values: kind, and the number or the bits of the float")
