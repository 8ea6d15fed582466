"""What the kernels of the one pass over a document share: the tables they read and the arrays they write."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import types

from ostinato.core.jit import array, view

DONE, MISSING, GROW = 0, 1, 2  # why a scan came back

# --- the places of `state`
(
    POS, DEPTH, LEVEL, ROWS, FREE_RUN, FREE_LINK, LIVE, HISTORY, ORDINAL, LIFTED, WAITING_ROWS, KEYS, KEY_BYTES, CELLS,
    MISSING_LEVEL, MISSING_CLASS, MISSING_BITS, NEED, RUNS_USED, LINKS_USED, SERIAL, LOADED, TRIES, FOLLOWS,
) = range(24)  # fmt: skip
STATE_SIZE = 24

# --- roles: the axes along which runs wait, as in walk_levels.ROLES, then those that are followed at once
CHILD, FIRST, BELOW, BESIDE, NEXT, SELF, ATTRIBUTE = range(7)
ROLE_COUNT = 7

ACCEPTS, KEYED = 1, 2  # flags of entries


class Query(NamedTuple):
    """Tables that a scan reads."""

    name_class: Any  # int32 per name: its class; names beyond the end are of class 1
    name_start: Any  # int64 per name: where its text is held; empty when no name is asked for
    name_size: Any  # int32 per name
    attribute_of: Any  # int32 per name: which of the wanted attributes it is, or -1
    classes: Any  # int64[1]: how many classes of names there are
    entry_of: Any  # int32 per level and class: an entry, -1 not known yet, -2 - g: group g of tests decides
    group_mask: Any  # int64 per group
    group_head: Any  # int32 per group: first of its chain
    chain_bits: Any  # int64
    chain_entry: Any  # int32
    chain_next: Any  # int32
    inner: Any  # int32 per entry
    after: Any
    flags: Any
    spawn_range: Any  # int32 pairs per entry, into move_list
    attribute_range: Any
    move_list: Any
    out_range: Any  # int32 per state and role: where its moves begin in out_move; the next place is where they end
    out_move: Any
    role_bits: Any  # int32 per state: the roles that it waits in
    target: Any  # int32 per move
    wants: Any  # int32 per move: class of names (0 text), -1 any element, -2 any node; to attributes: a name, -1 any
    binds: Any  # int32 per move: number of the variable, -1 none
    local: Any  # int64 per move: which tests of the node, as bits
    move_ops: Any
    ops: Any  # four per operation
    tests_before: Any  # int32 pairs per move: tests that can be made before it
    tests_after: Any
    tests: Any  # eight per test
    needs: Any
    code: Any
    accept: Any  # uint8 per state
    columns: Any  # three per column
    initial: Any  # uint8 per slot: its kind in a run that begins
    source_attribute: Any  # int32 per source: a wanted attribute, -1 the name, -2 the node's own value
    source_numeric: Any  # uint8
    shared_range: Any  # int32 per state, into shared: slots that are the same in all runs of a bundle
    shared: Any
    each: Any  # uint8 per move: it is written to every run of a bundle
    layout: Any  # int64: see below


# --- the places of `layout`
(
    CONSTANTS, SOURCES, STACK, BASE, WIDTH,  # of the file of values
    LOCAL, END_FROM, END_TO,  # in tests: those of single nodes, those of a finished match
    KEY,  # which wanted attribute partitions, or -1
    DEDUPE, HISTORIES, NODES, COLUMNS, BRANCHES, TO_ATTRIBUTES, ONWARDS,
) = range(16)  # fmt: skip


class Work(NamedTuple):
    """What a scan writes."""

    state: Any  # int64
    held: Any  # uint8: text put aside, after the constants
    kind: Any  # the file of values: uint8, float64, int64, int32
    num: Any
    start: Any
    size: Any
    run_state: Any  # int32 per run; run 0 is what every run begins as
    run_refs: Any
    run_next: Any  # int32: the next free one
    run_history: Any  # int64
    run_last: Any  # int64: number of the token where it last bound a variable
    run_key: Any  # int32: its partition, -1 none
    bundle_tail: Any  # int32 per run that is the first of a bundle: the last one, and the first of the next bundle
    bundle_next: Any
    link_run: Any  # int32: lists of runs
    link_next: Any
    resume: Any  # int32 per depth: the level after the element
    waiting: Any  # int32 per depth and role: head of a list of links
    busy: Any  # int32 per depth: how many runs wait in the frame
    lifted_to: Any  # int32 per depth: how many of `lifted` belong to frames outside
    had_child: Any  # uint8 per depth
    cells: Any  # int32 per depth: first cell of a key in this frame
    lifted: Any  # int32: runs that wait along the descendant axis, outermost first
    cell_depth: Any  # int32 per cell of a key in a frame
    cell_key: Any
    cell_beside: Any
    cell_next_run: Any
    cell_next: Any  # the next cell of the same frame, -1 the last, -2 not in use
    cell_table: Any  # int32: hash table of cells
    key_table: Any  # int32: hash table of keys
    key_hash: Any  # int64 per key
    key_start: Any  # int64 per key (one more than keys)
    key_bytes: Any  # uint8
    seen: Any  # int64, eight per place: stamp, history, tag, node, value
    offers: Any  # int32, three per offer of a node to a run: run, move, place of the node
    arrived: Any  # int32
    attribute_token: Any  # int32 per wanted attribute
    row_history: Any  # int64 per row
    row_last: Any
    row_key: Any  # int32
    out_kind: Any  # per row and column
    out_num: Any
    out_start: Any
    out_size: Any
    open_row: Any  # int32: rows whose element is not closed yet
    open_depth: Any  # int32
    history_parent: Any  # int64 per history
    history_node: Any  # int64: the node bound last
    history_variable: Any  # int32: the variable it was bound to
    history_done: Any  # uint8: it has its row


class Nodes(NamedTuple):
    """The tokens of a chunk."""

    kind: Any
    name: Any
    start: Any
    end: Any
    buffer: Any


# --- types: int32 where nothing else is said
_OTHER_TYPES: dict[str, Any] = {
    **dict.fromkeys(("name_start", "classes", "group_mask", "chain_bits", "local", "layout", "state"), np.int64),
    **dict.fromkeys(("start", "out_start", "history_parent", "history_node"), np.int64),
    **dict.fromkeys(("run_history", "run_last", "key_hash", "key_start", "seen", "row_history", "row_last"), np.int64),
    **dict.fromkeys(("accept", "each", "initial", "source_numeric", "held", "kind"), np.uint8),
    **dict.fromkeys(("had_child", "key_bytes", "out_kind", "history_done"), np.uint8),
    **dict.fromkeys(("num", "out_num"), np.float64),
}


def type_of(name: str) -> Any:
    """The type of the values of an array."""
    return _OTHER_TYPES.get(name, np.int32)


def _signature(name: str) -> Any:
    kind = types.int32 if type_of(name) is np.int32 else getattr(types, type_of(name).__name__)
    return array(kind)


_bytes, _ints = view(types.uint8), view(types.int32)
QUERY = types.NamedTuple([_signature(name) for name in Query._fields], Query)  # type: ignore[no-untyped-call]
WORK = types.NamedTuple([_signature(name) for name in Work._fields], Work)  # type: ignore[no-untyped-call]
NODES_OF_CHUNK = types.NamedTuple([_bytes, _ints, _ints, _ints, _bytes], Nodes)  # type: ignore[no-untyped-call]
SCAN = types.int64(QUERY, WORK, NODES_OF_CHUNK)
