"""What the kernels of the one pass over a document share, by name: the tables they read and the arrays they write.

Python fills these structs. Where a kernel needs more room it returns GROW, and is called again with larger arrays.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float64, Int32, Int64, UInt8
from ostinato.core.jit.array_struct import ArrayStruct, Field
from ostinato.core.jit.types import int64, struct_type
from ostinato.xseq.kernels.values import Values

DONE, MISSING, GROW, PAUSED = 0, 1, 2, 3  # why a scan came back

# --- the places of `state`
(
    POS, DEPTH, LEVEL, ROWS, FREE_RUN, FREE_LINK, LIVE, HISTORY, ORDINAL, DESCENDANT_RUNS, OPEN_ROWS, KEYS, KEY_BYTES,
    CELLS, MISSING_LEVEL, MISSING_CLASS, MISSING_BITS, NEED, RUNS_USED, LINKS_USED, SERIAL, LOADED, TRIES,
    STEPS,
) = range(24)  # fmt: skip
STATE_SIZE = 24

# --- roles: the axes along which runs wait, as in xseq/walk/determinise.ROLES, then those that are followed at once
CHILD, FIRST, BELOW, BESIDE, NEXT, SELF, ATTRIBUTE = range(7)
WAITING_ROLES = 5
ROLE_COUNT = 7

ACCEPTS, KEYED = 1, 2  # flags of entries


class QueryTables(ArrayStruct):
    """Tables that a scan reads. An entry is what a name does on a level; a move leads from one state to another."""

    name_class = Field[Int32](np.int32, 1, "per name: its class; names beyond the end are of class 1", constant=True)
    name_start = Field[Int64](
        np.int64, 1, "per name: where it is in the pool of texts; empty when no name is asked for", constant=True
    )
    name_size = Field[Int32](np.int32, 1, "per name: how many bytes it has", constant=True)
    attribute_of = Field[Int32](
        np.int32, 1, "per name: which of the wanted attributes it is, or -1; none beyond the end", constant=True
    )
    class_count = Field[int](np.int64, 0, "how many classes of names there are")
    entry_of = Field[Int32](
        np.int32, 1, "per level and class: an entry, -1 not known yet, -2 - g: group g of tests decides", constant=True
    )
    group_mask = Field[Int64](np.int64, 1, "per group: its tests, as bits", constant=True)
    group_head = Field[Int32](np.int32, 1, "per group: the first of its chain", constant=True)
    chain_bits = Field[Int64](np.int64, 1, "per link of a chain: the tests that a node passes", constant=True)
    chain_entry = Field[Int32](np.int32, 1, "per link of a chain: the entry for such a node", constant=True)
    chain_next = Field[Int32](np.int32, 1, "per link of a chain: the next one, or -1", constant=True)
    level_inside = Field[Int32](np.int32, 1, "per entry: the level of the node's children", constant=True)
    level_after = Field[Int32](np.int32, 1, "per entry: the level of the node's next sibling", constant=True)
    flags = Field[Int32](np.int32, 1, "per entry: ACCEPTS, KEYED", constant=True)
    spawn_range = Field[Int32](
        np.int32, 1, "pairs per entry: where in `move_list` the moves are that runs begin with", constant=True
    )
    attribute_range = Field[Int32](np.int32, 1, "the same for moves to attributes", constant=True)
    move_list = Field[Int32](np.int32, 1, "the moves of all entries", constant=True)
    out_range = Field[Int32](
        np.int32, 1, "per state and role: where its moves begin in `out_move`; then where the last end", constant=True
    )
    out_move = Field[Int32](np.int32, 1, "the moves of all states and roles", constant=True)
    role_bits = Field[Int32](np.int32, 1, "per state: the roles that it waits in", constant=True)
    target = Field[Int32](np.int32, 1, "per move: the state it leads to", constant=True)
    wants = Field[Int32](
        np.int32,
        1,
        "per move: class of names (0 text), -1 any element, -2 any node; to attributes: a name, -1 any",
        constant=True,
    )
    binds = Field[Int32](np.int32, 1, "per move: the number of the variable, -1 none", constant=True)
    local_mask = Field[Int64](np.int64, 1, "per move: which tests of the node, as bits", constant=True)
    move_ops = Field[Int32](np.int32, 1, "per move: where its operations begin; then where the last end", constant=True)
    ops = Field[Int32](np.int32, 1, "what moves write, four each: see walk/tables.py", constant=True)
    tests_before = Field[Int32](np.int32, 1, "pairs per move: tests that can be made before it", constant=True)
    tests_after = Field[Int32](np.int32, 1, "pairs per move: tests that have to wait for it", constant=True)
    tests = Field[Int32](np.int32, 1, "eight each: see walk/tables.py", constant=True)
    needs = Field[Int32](np.int32, 1, "the slots that tests ask for", constant=True)
    accept = Field[UInt8](np.uint8, 1, "per state: whether the whole path is walked there", constant=True)
    columns = Field[Int32](np.int32, 1, "three per column: form, code, end of code", constant=True)
    source_attribute = Field[Int32](
        np.int32, 1, "per source: a wanted attribute, -1 the name, -2 the node's own value", constant=True
    )
    source_numeric = Field[UInt8](np.uint8, 1, "per source: whether it may have to be read as a number", constant=True)
    shared_range = Field[Int32](
        np.int32, 1, "per state, into `shared`: slots that are the same in all runs of a bundle", constant=True
    )
    shared = Field[Int32](np.int32, 1, "the shared slots of all states", constant=True)
    written_to_all = Field[UInt8](np.uint8, 1, "per move: it is written to every run of a bundle", constant=True)
    constant_count = Field[int](np.int64, 0, "how many constants there are; then come the sources")
    source_count = Field[int](np.int64, 0, "how many values are asked of a node")
    width = Field[int](np.int64, 0, "how many slots a run has")
    first_local = Field[int](np.int64, 0, "the first of the tests of single nodes")
    first_end = Field[int](np.int64, 0, "the first of the tests of a whole match")
    last_end = Field[int](np.int64, 0, "just after the last of these")
    key_attribute = Field[int](np.int64, 0, "which wanted attribute partitions, or -1")
    dedupe = Field[int](np.int64, 0, "whether equal runs may meet")
    histories = Field[int](np.int64, 0, "whether it must be known what each run has bound, node by node")
    answers_nodes = Field[int](np.int64, 0, "whether nodes are the answer, not matches")
    column_count = Field[int](np.int64, 0, "how many columns a row has")
    branches = Field[int](np.int64, 0, "how many runs may come of one at a node")
    to_attributes = Field[int](np.int64, 0, "whether moves lead to attributes")
    bundled = Field[int](np.int64, 0, "whether runs move in bundles: see bundles.py")
    onwards = Field[int](np.int64, 0, "whether moves lead on at the same element: to itself, to its attributes")


class Work(Values):
    """What a scan writes. Run 0 is what every run begins as; links make lists of runs that wait."""

    state = Field[Int64](np.int64, 1, "numbers by their places, which are named above")
    run_state = Field[Int32](np.int32, 1, "per run: its state, -1 when it is free")
    run_refs = Field[Int32](np.int32, 1, "per run: how many lists it is in")
    run_next = Field[Int32](np.int32, 1, "per run: the next free one, or the next of its bundle")
    run_history = Field[Int64](np.int64, 1, "per run: what it has bound")
    run_last = Field[Int64](np.int64, 1, "per run: the number of the token where it last bound a variable")
    run_key = Field[Int32](np.int32, 1, "per run: its partition, -1 none")
    bundle_tail = Field[Int32](np.int32, 1, "per run that is the first of a bundle: the last one")
    bundle_next = Field[Int32](np.int32, 1, "per run that is the first of a bundle: the first of the next bundle")
    link_run = Field[Int32](np.int32, 1, "per link: a run")
    link_next = Field[Int32](np.int32, 1, "per link: the next one, or -1")
    resume = Field[Int32](np.int32, 1, "per depth: the level after the element")
    waiting = Field[Int32](np.int32, 1, "per depth and role: the first link of those that wait there")
    waiting_count = Field[Int32](np.int32, 1, "per depth: how many runs wait in the frame")
    descendants_outside = Field[Int32](np.int32, 1, "per depth: how many of `descendant_runs` wait in frames outside")
    had_child = Field[UInt8](np.uint8, 1, "per depth: whether an element has been there")
    first_cell = Field[Int32](np.int32, 1, "per depth: the first cell of a key in this frame")
    descendant_runs = Field[Int32](np.int32, 1, "runs that wait along the descendant axis, outermost first")
    cell_depth = Field[Int32](np.int32, 1, "per cell, that is a key in a frame: the depth of the frame")
    cell_key = Field[Int32](np.int32, 1, "per cell: its key")
    cell_beside = Field[Int32](np.int32, 1, "per cell: the first link of those that wait for a later sibling")
    cell_next_run = Field[Int32](np.int32, 1, "per cell: the same for the next sibling; or the first bundle")
    cell_next = Field[Int32](np.int32, 1, "per cell: the next one of the same frame, -1 the last, -2 not in use")
    cell_table = Field[Int32](np.int32, 1, "a hash table of cells")
    key_table = Field[Int32](np.int32, 1, "a hash table of keys")
    key_hash = Field[Int64](np.int64, 1, "per key: its hash")
    key_start = Field[Int64](np.int64, 1, "per key: where it begins in `key_bytes`; then where the last ends")
    key_bytes = Field[UInt8](np.uint8, 1, "the texts of all keys")
    seen = Field[Int64](np.int64, 1, "a hash table, eight per place: stamp, history, tag, node, value")
    offers = Field[Int32](np.int32, 1, "three per offer of a node to a run: run, move, place of the node")
    arrived = Field[Int32](np.int32, 1, "runs that have come to the node at hand")
    attribute_token = Field[Int32](np.int32, 1, "per wanted attribute: its token, or -1")
    row_history = Field[Int64](np.int64, 1, "per row: what its match has bound")
    row_last = Field[Int64](np.int64, 1, "per row: the number of the token that was bound last")
    row_key = Field[Int32](np.int32, 1, "per row: its partition")
    out_kind = Field[UInt8](np.uint8, 1, "per row and column: as in the file of values")
    out_num = Field[Float64](np.float64, 1, "per row and column: as in the file of values")
    out_start = Field[Int64](np.int64, 1, "per row and column: as in the file of values")
    out_size = Field[Int32](np.int32, 1, "per row and column: as in the file of values")
    open_row = Field[Int32](np.int32, 1, "rows whose element is not closed yet")
    open_depth = Field[Int32](np.int32, 1, "the depths of these elements")
    history_parent = Field[Int64](np.int64, 1, "per history: the one that it extends by a binding")
    history_node = Field[Int64](np.int64, 1, "per history: the node bound last")
    history_variable = Field[Int32](np.int32, 1, "per history: the variable it was bound to")
    history_done = Field[UInt8](np.uint8, 1, "per history: whether it has its row")


class Nodes(ArrayStruct):
    """The tokens of a chunk (documents/tokens.py)."""

    kind = Field[UInt8](np.uint8, 1, "per token: OPEN, ATTR, TEXT or CLOSE", constant=True)
    name = Field[Int32](np.int32, 1, "per token: its name", constant=True)
    start = Field[Int32](np.int32, 1, "per token: where it begins in the buffer", constant=True)
    end = Field[Int32](np.int32, 1, "per token: where it ends in the buffer", constant=True)


QUERY, WORK, NODES = struct_type(QueryTables), struct_type(Work), struct_type(Nodes)
SCAN = int64(QUERY, WORK, NODES)
