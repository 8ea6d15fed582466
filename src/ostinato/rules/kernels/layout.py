"""What the kernels of live rules read and write: points, delta queries, and their instructions.

A *point* is a table of tuples: a materialisation point of the plan, the events that come in, or those that rules derive
under a label. A tuple is a row of 64-bit codes (incremental/codes.py). A *delta query*, `delta` in the code, is one
operand of the differences of Figure 11: instructions that run for each new tuple of the point that drives it, and add
tuples to another point.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float64, Int64
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructsField, ViewField

FIRST_NULL = -0x0006_4C2E_8591_3DA5  # the code of NULL, until a value has it (incremental/null_code.py)
NO_HASH = FIRST_NULL  # of a key with a part that is NULL
LOWEST = -(1 << 63)
FOREVER = (1 << 63) - 1
HELD = 1 << 62  # until when a row of a table holds that no other has replaced

# The words of a point.
COUNT, COMMITTED, KIND, KEPT, TOUCHED, DIRTY, FREE, USED, WAITING, UNBOUNDED = range(10)
POINT_WORDS = 10
TRANSIENT, STORED, DERIVED = 0, 1, 2  # kept for a step; for later ones; as a set, until the answer is given
WAITS, IS_FREE, WENT = 0, 1, 2  # the states of a pending tuple, in its last column; before it, the step it came in

# The columns of an index.
KEYS_BEGIN, KEYS_END, TIME = range(3)

# The columns of a delta query.
(
    SOURCE,
    DELTA_KIND,
    CODE_BEGIN,
    CODE_END,
    LOADS_BEGIN,
    LOADS_END,
    DONE,
    QUEUED,
    NODE,
    MOST_ROUNDS,
    ROUNDS,
    ROUND_STEP,
) = range(12)
DELTA_FIELDS = 12
BATCH, DISPATCH, HOST_DELTA = 0, 1, 2

# The columns of a node and of its switches.
PLAIN_BEGIN, PLAIN_END, SWITCH_BEGIN, SWITCH_END = range(4)
SWITCH_KIND, SWITCH_COLUMN, FLOATING, FIRST, LAST, MASK = range(6)
EQUAL, ABOVE, FROM, BELOW, UP_TO = range(5)  # the column is …  the constant

# The words of the whole.
(
    QUEUE_SIZE, DUE_SIZE, LOG_SIZE, TOUCHED_SIZE, DIRTY_SIZE, NOW, FINAL, NEXT_EVENT, EVENTS, PHASE, DELTA, PC, DEPTH,
    RESUMES, SKIP, WHO, GROUP_ROWS, STEP, CHUNK, DONE_NOW, FEW_ROWS, IS_NULL_TAKEN, LAST_SERIAL,
) = range(23)  # fmt: skip
WORDS = 23
BETWEEN, WAKING, WORKING = 0, 1, 2  # phases

# Why a kernel returns.
FINISHED, NEED_ROWS, NEED_PENDING, NEED_DUE, NEED_GROUP, NEED_WINDOWS, HOST, TOO_MANY_ROUNDS, NEED_NULL = range(9)

# Instructions: operation, then operands. First what moves between tuples, then what computes slots.
OP, DST, A, B = 0, 1, 2, 3
OPERANDS = 10
TEST, PRESENT, MISSING, LOOKUP, ABSENT, GROUP, ACCUMULATE, CLOSE, EMIT = range(9)
# LOOKUP and ABSENT
(POINT, INDEX, KEY_BEGIN, KEY_END, LOW, HIGH, LIMIT, LOAD_BEGIN, LOAD_END) = range(1, 10)
# ABSENT and CLOSE have no loads, but a time, and the column that it is compared with, or set in
WINDOW_SLOT, WINDOW_COLUMN = LOAD_BEGIN, LOAD_END
# GROUP
AFTER, AGGREGATES_BEGIN, AGGREGATES_END = 1, 2, 3
WINDOWS, FROM_SLOT, WINDOW_LOW, WINDOW_HIGH = range(4, 8)  # -1: they are not kept
# ACCUMULATE
ROW_BEGIN, ROW_END = 1, 2
# EMIT
TARGET, SLOTS_BEGIN, SLOTS_END, END_SLOT = 1, 2, 3, 4

MOVE = 9
ADD_I, SUB_I, MUL_I, MOD_I, NEG_I, ABS_I, LEAST, GREATEST = range(10, 18)
ADD_F, SUB_F, MUL_F, DIV_F, MOD_F, NEG_F, ABS_F, ROUND_F, FLOOR_F, CEIL_F, SQRT_F = range(18, 29)
I_TO_F, EXACT_I_TO_F, EXACT_F_TO_I, TERM_PLAIN = range(29, 33)
EQ_I, NE_I, LT_I, LE_I, GT_I, GE_I = range(33, 39)
EQ_F, NE_F, LT_F, LE_F, GT_F, GE_F = range(39, 45)
AND, OR, NOT, IS_NULL, IS_TRUE, COALESCE = range(45, 51)
DIV_I, CHOOSE = 51, 52  # rounded down; A of a condition: B, or else the one after it
SERIAL = 53  # a number that no other tuple has

# What a TERM holds, where it is plain.
NUMBER, TRUTH, MOMENT, TEXT = 1, 2, 3, 4

# The columns of an aggregate.
NAME, VALUE, IS_FLOAT, DISTINCT_BEGIN, DISTINCT_END, ORDER_BEGIN, ORDER_END, RESULT, WORDS_AT = range(9)
AGGREGATE_FIELDS = 9
COUNT_ALL, SUM, AVG, MEDIAN, STDDEV, MIN, MAX, FIRST_OF, LAST_OF = range(9)  # from MIN on, they pick a row


class Point(ArrayStruct):
    """A table of tuples, found by the keys of its indexes in the order of time."""

    rows = Field[Int64](np.int64, 2, "its tuples")
    links = Field[Int64](np.int64, 2, "per index and tuple: the next older one of its bucket, or -1")
    hashes = Field[Int64](np.int64, 2, "per index and tuple: the hash of its key")
    tails = Field[Int64](np.int64, 2, "per index and bucket: the newest tuple, or -1")
    specs = Field[Int64](np.int64, 2, "per index: its range of `keys`, and the column whose order it keeps")
    keys = Field[Int64](np.int64, 2, "the columns of keys, each with what a TERM in it is compared as, or 0")
    pending = Field[Int64](np.int64, 2, "tuples that end in the future, and the step they came in, and their state")
    ends = Field[Int64](np.int64, 1, "the columns of ends")
    uses = Field[Int64](np.int64, 2, "per bound of its relevance: a range of `until`")
    until = Field[Int64](np.int64, 2, "a column of a time, or -1, and what is added to it")
    marks = Field[Int64](np.int64, 1, "COUNT, COMMITTED, …")


# The words of kept windows, and the columns of a window; then come its key and its aggregates, each with words of its
# own.
BEGIN_COLUMN, WINDOW_COUNT, ROWS_USED, FREE_ROW, LIVE_ROWS, BINDINGS_USED, FREE_BINDING, LIVE_BINDINGS = range(8)
WINDOW_MARKS = 8
KEY_HASH, FIRST_TIME, LAST_TIME, OLDEST, NEWEST, WINDOW_ROWS, KEY_VALUES = range(7)
AMOUNT = 0
HIGH_PART, LOW_PART = 1, 2  # sum and avg of whole numbers
BEST_OLDEST, BEST_NEWEST = 1, 2  # what picks a row
ROOT = 1  # median
LARGE, EXACT_SUM = 1, 2  # sum and avg of floats, stddev
# The columns of the links of a row: of the order of begins, then of those of each aggregate that may still be the best.
BEFORE, BEHIND = 0, 1
UNLINKED = -2
# The columns of a binding; then come its values.
NEXT_BINDING, OF_WINDOW, OF_AGGREGATE, TIMES, BINDING_VALUES = range(5)


class Windows(ArrayStruct):
    """What the traces of a delta query have collected, by key: the next one of a key changes what enters and leaves."""

    windows = Field[Int64](np.int64, 2, "KEY_HASH, …")
    table = Field[Int64](np.int64, 1, "a hash table of windows; -1 where free")
    rows = Field[Int64](np.int64, 2, "the rows of groups that windows hold")
    floats = ViewField[Float64](np.float64, rows, "the same as floats")
    links = Field[Int64](np.int64, 2, "per row: BEFORE, BEHIND, …")
    bindings = Field[Int64](np.int64, 2, "NEXT_BINDING, …")
    buckets = Field[Int64](np.int64, 1, "a hash table of bindings, chained")
    tree = Field[Int64](np.int64, 2, "per binding, where there is a median: LEFT, RIGHT, …")
    tree_floats = ViewField[Float64](np.float64, tree, "the same as floats")
    marks = Field[Int64](np.int64, 1, "BEGIN_COLUMN, …")


class ProgramState(ArrayStruct):
    """All points and delta queries of a program."""

    null = Field[int](np.int64, 0, "the code of NULL, which no value at hand has")
    points = StructsField(Point, "the points, by number; 0 has the events that come in, the label in column 0")
    frame = Field[Int64](np.int64, 1, "slots: what delta queries compute with; the first ones are scratch")
    floats = ViewField[Float64](np.float64, frame, "the same as floats")
    code = Field[Int64](np.int64, 2, "instructions")
    loads = Field[Int64](np.int64, 2, "slots, each with the column of a tuple that it gets")
    slots = Field[Int64](np.int64, 1, "lists of slots")
    loops = Field[Int64](np.int64, 2, "per instruction: the tuple a LOOKUP is at, and the hash of its key")
    deltas = Field[Int64](np.int64, 2, "SOURCE, DELTA_KIND, …")
    driven = Field[Int64](np.int64, 1, "lists of delta queries that a point drives; ~delta where one begins again")
    driven_ranges = Field[Int64](np.int64, 2, "per point: its range of `driven`")
    nodes = Field[Int64](
        np.int64, 2, "of labels that come in, and of points: which delta queries run for a tuple at once"
    )
    label_nodes = Field[Int64](np.int64, 1, "the node of each label")
    node_deltas = Field[Int64](np.int64, 1, "lists of delta queries")
    switches = Field[Int64](np.int64, 2, "indexes over the constants that tuples are compared with")
    cases = Field[Int64](np.int64, 2, "of switches by equality: constant and range of `node_deltas`; -1 where free")
    thresholds = Field[Int64](np.int64, 1, "of switches by order: the constants, ascending; those of `node_deltas`")
    threshold_floats = ViewField[Float64](np.float64, thresholds, "the same as floats")
    aggregates = Field[Int64](np.int64, 2, "NAME, VALUE, …")
    columns = Field[Int64](np.int64, 1, "lists of columns of a group's rows")
    queue = Field[Int64](np.int64, 1, "a heap of delta queries that have new tuples")
    stack = Field[Int64](np.int64, 1, "the loops that are under way")
    due = Field[Int64](np.int64, 2, "a heap of pending tuples: end, point, place")
    log = Field[Int64](np.int64, 2, "pending tuples that went off in this step: point, place")
    touched = Field[Int64](np.int64, 1, "points that have new tuples in this step")
    dirty = Field[Int64](np.int64, 1, "points that have new tuples since they were last looked through")
    plain_kinds = Field[Int64](np.int64, 1, "per text or term: NUMBER, TRUTH, MOMENT, TEXT or 0")
    plains = Field[Int64](np.int64, 1, "per text or term: its value, where it is plain")
    group = Field[Int64](np.int64, 2, "the rows of a group")
    group_floats = ViewField[Float64](np.float64, group, "the same as floats")
    windows = StructsField(Windows, "of delta queries whose groups slide")
    sums = Field[Int64](np.int64, 2, "exact sums of a group, and two rows of digits to compute with")
    ranked = Field[Int64](np.int64, 1, "the values of a group, for its median")
    ranked_floats = ViewField[Float64](np.float64, ranked, "the same as floats")
    distinct = Field[Int64](np.int64, 1, "a hash table of rows of a group")
    marks = Field[Int64](np.int64, 1, "QUEUE_SIZE, DUE_SIZE, …")
