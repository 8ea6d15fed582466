"""What the kernels over kept subtrees share, by name: the tree, the tables of a query, what walks write.

Python fills these structs. Where a kernel needs more room it returns GROW_…, and is called again with larger arrays.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Int32, Int64, UInt8
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField
from ostinato.core.jit.types import struct_type
from ostinato.xseq.kernels.values import Values

DOCUMENT, ELEMENT, ATTRIBUTE, TEXT = 0, 1, 2, 3  # kinds of nodes
MARK, BACK, MEET, BEGIN, AGAIN = 10, 11, 12, 13, 14  # jumps, numbered after the axes
# what has to be made larger before the kernel is called again; 0 and 1 are truth values
GROW_TEXT, GROW_LIST, GROW_PATH, GROW_CHAINS, GROW_MEMO, GROW_FRAMES, GROW_OUT = 11, 12, 13, 21, 22, 23, 24
PAUSED = 31  # nothing: so many steps were made; the kernel goes on where it was

# --- the places of `pause`: how many steps may be made, what was going on, and where
STEPS, GOING_ON, PAUSED_CHECK, PAUSED_NODE, STEP, TRUTHS, GROUP, BASE, FIND_DEPTH, FIND_COUNT = range(10)
PAUSE_SIZE = 10
IS_ATOM, IS_AND, IS_OR, IS_NOT = range(4)  # steps of a condition on a node
NOTHING, SEARCH_OF_NODES, COMBINATIONS, BINDINGS = 0, 1, 2, 3  # what was going on

# --- the places of the state of `WalkSearch`
TASK, CHECK, AT, FOUND, ANSWER, DEPTH, ENTERED, CHAINS_USED, MEMO, OUT = range(10)
STATE_SIZE = 10
WALK, FILTER, FIND = 0, 1, 2  # tasks: see evaluate.py
MATCHES, NODES, PAIRS = 0, 1, 2  # the answer: each match once, each node once, every match and node

MOST_STEPS = 32  # of a reference like $X/a/b/text()


class Tree(ArrayStruct):
    """A tree in flat arrays: a row per element, attribute and text, in document order. Node 0 is above the first.

    The nodes of a subtree are node … end[node] - 1; an element's attributes come directly after it, then its children,
    so that no list of children is needed.
    """

    kind = Field[UInt8](np.uint8, 1, "per node: DOCUMENT, ELEMENT, ATTRIBUTE or TEXT")
    name = Field[Int32](np.int32, 1, "per node: its name")
    parent = Field[Int32](np.int32, 1, "per node: its parent")
    end = Field[Int32](np.int32, 1, "per node: just after the last node of the subtree")
    next = Field[Int32](np.int32, 1, "per element: the next sibling element (of the same key), -1: none")
    prev = Field[Int32](np.int32, 1, "per element: the same for the one before")
    token = Field[Int32](np.int32, 1, "per node: its token")
    close = Field[Int32](np.int32, 1, "per node: the token that ends it")
    start = Field[Int32](
        np.int32, 1, "per token: where it begins in the buffer; -1 - p is place p of the pool of texts", constant=True
    )
    stop = Field[Int32](np.int32, 1, "per token: start and its size", constant=True)


class TreeValues(Values):
    """A file of values of nodes."""

    origin = Field[Int32](np.int32, 1, "per value: the node that it is, where it is one as a whole, else -1")
    free = Field[Int64](np.int64, 1, "one number: where the pool of texts has room for joined texts")


class Sources(ArrayStruct):
    """What may be asked of a node."""

    tree = StructField(Tree, "where the nodes are")
    leaf = Field[Int32](np.int32, 1, "per source: 0 attribute, 1 text, 2 tag, 3 the node itself", constant=True)
    name = Field[Int32](np.int32, 1, "per source: the name of the attribute", constant=True)
    read = Field[UInt8](
        np.uint8, 1, "per source: whether the text of a node matters, or only which one it is", constant=True
    )
    steps = Field[Int32](np.int32, 1, "per source: where its steps begin; then where the last end", constant=True)
    axis = Field[Int32](np.int32, 1, "per step: its axis", constant=True)
    test = Field[Int32](np.int32, 1, "per step: the name of the element", constant=True)
    names_at = Field[Int32](
        np.int32, 1, "per name: where it begins in the pool of texts; then where the last ends", constant=True
    )
    cursor = Field[Int32](np.int32, 1, "room for a node per step, twice")


class WalkMoves(ArrayStruct):
    """The moves of all walks, by the state they leave."""

    begin = Field[Int32](np.int32, 1, "per state: its first move; then where the last end", constant=True)
    axis = Field[Int32](np.int32, 1, "per move: its axis, or a jump", constant=True)
    target = Field[Int32](np.int32, 1, "per move: the state it leads to", constant=True)
    test = Field[Int32](np.int32, 1, "per move: 0 name, 1 any, 2 node(), 3 text()", constant=True)
    mark = Field[Int32](np.int32, 1, "per move: the node that a jump remembers or recalls", constant=True)
    checks = Field[Int32](
        np.int32, 1, "per move: where its checks begin in `check`; then where the last end", constant=True
    )
    check = Field[Int32](np.int32, 1, "the checks of all moves", constant=True)
    accepting = Field[UInt8](np.uint8, 1, "per state: whether a walk may end there", constant=True)
    marks = Field[Int32](np.int32, 1, "per state: how many nodes a run there may have to remember", constant=True)


class Checks(ArrayStruct):
    """Conditions as programs over atoms; an atom is a comparison that must hold for some nodes that paths reach."""

    begin = Field[Int32](np.int32, 1, "per check: where its program begins; then where the last ends", constant=True)
    code = Field[Int32](np.int32, 1, "pairs: IS_ATOM and its number, or IS_AND, IS_OR, IS_NOT", constant=True)
    table = Field[Int32](
        np.int32, 1, "per check: its row in `known`, if its results are remembered, else -1", constant=True
    )
    atoms = Field[Int32](
        np.int32,
        1,
        "seven per atom: 0 exists or 1 compares, holes begin, end, groups begin, end, code begin, end",
        constant=True,
    )
    holes = Field[Int32](
        np.int32, 1, "three each: place, group or -1 for the node itself, source", constant=True
    )  # fmt: skip
    groups = Field[Int32](np.int32, 1, "the states where relative paths begin", constant=True)


class Search(ArrayStruct):
    """Conditions on the nodes of a tree, and room for searches along relative paths."""

    tree = StructField(Tree, "where the nodes are")
    sources = StructField(Sources, "what may be asked of them")
    automaton = StructField(WalkMoves, "the moves of all walks")
    checks = StructField(Checks, "the conditions")
    values = StructField(TreeValues, "the constants of conditions and the values they are about")
    names = Field[Int32](np.int32, 1, "per move: the name that it tests, in this document", constant=True)
    known = Field[UInt8](np.uint8, 1, "per table and node: 0 not known, 1 fails, 2 holds")
    first = Field[int](np.int64, 0, "the first state of relative walks")
    seen = Field[Int32](np.int32, 1, "per state of relative walks and node: the search that was there last")
    number = Field[Int32](np.int32, 1, "one number: that of the search")
    state = Field[Int32](np.int32, 1, "per depth of the search: the state")
    node = Field[Int32](np.int32, 1, "per depth: the node")
    move = Field[Int32](np.int32, 1, "per depth: the move that is tried")
    at = Field[Int32](np.int32, 1, "per depth: where that move has led, -2 nowhere yet")
    width = Field[int](np.int64, 0, "how many marks there may be")
    marks = Field[Int32](np.int32, 1, "per depth: the nodes that are remembered")
    found = Field[Int32](np.int32, 1, "the nodes that were found")
    groups = Field[Int32](np.int32, 1, "where the nodes of each group begin and which is tried, in pairs")
    pause = Field[Int64](np.int64, 1, "numbers by their places, which are named above")


class Chains(ArrayStruct):
    """What runs have bound: chains of (label, node), each kept once. Chain 0 is empty."""

    parent = Field[Int32](np.int32, 1, "per chain: the one that it extends")
    label = Field[Int32](np.int32, 1, "per chain: a variable; or a path variable of which a round begins")
    node = Field[Int32](np.int32, 1, "per chain: the node bound last, -1 for a round")
    done = Field[UInt8](np.uint8, 1, "per chain, as bits: 1 its values are there, 2 its end was tested, 4 it matches")
    table = Field[Int32](np.int32, 1, "a hash table, its size a power of two; -1: free")


class Writes(ArrayStruct):
    """What moves write and test, as walk/tables.py lays it out."""

    ops = Field[Int32](np.int32, 2, "what moves write: operation, slot, two arguments", constant=True)
    move_ops = Field[Int32](np.int32, 1, "per move: where its operations begin; then where the last end", constant=True)
    tests = Field[Int32](np.int32, 2, "what moves test", constant=True)
    move_tests = Field[Int32](np.int32, 1, "per move: where its tests begin; then where the last end", constant=True)
    first_end = Field[int](np.int64, 0, "the first of the tests of a whole match")
    last_end = Field[int](np.int64, 0, "just after the last of these")
    needs = Field[Int32](np.int32, 1, "the slots that tests ask for", constant=True)
    labels = Field[Int32](
        np.int32, 1, "per move: where its labels begin in `label`; then where the last end", constant=True
    )
    label = Field[Int32](np.int32, 1, "the labels of all moves", constant=True)
    variables = Field[int](np.int64, 0, "how many labels are variables")
    rounds = Field[int](np.int64, 0, "the label of chains that are nodes where rounds began")
    first_source = Field[int](np.int64, 0, "where in the file of values the sources begin")
    width = Field[int](np.int64, 0, "how many values a run remembers")


class ForEach(ArrayStruct):
    """Conditions that must hold for every combination of bindings."""

    rows = Field[Int32](
        np.int32, 2, "per condition: variables begin, end, holes begin, end, code begin, end", constant=True
    )
    variables = Field[Int32](np.int32, 1, "the variables of all conditions", constant=True)
    holes = Field[Int32](
        np.int32, 2, "per hole: place, which of the variables or -2 for a slot, prev, source or slot", constant=True
    )


class WalkSearch(ArrayStruct):
    """A search for all matches. A configuration is a state, a node, what was bound, and the nodes remembered."""

    search = StructField(Search, "conditions on nodes")
    writes = StructField(Writes, "what moves write and test")
    for_each = StructField(ForEach, "conditions on all bindings")
    values = StructField(TreeValues, "what runs remember")
    chains = StructField(Chains, "what runs have bound")
    state = Field[Int64](np.int64, 1, "numbers by their places: see evaluate.py")
    nodes = Field[Int32](np.int32, 1, "the nodes where walks begin, or that a check is asked of")
    node_states = Field[Int32](np.int32, 1, "the states that walks begin in there", constant=True)
    width = Field[int](np.int64, 0, "how many marks there may be")
    frame_state = Field[Int32](np.int32, 1, "per move that was made on the walk at hand: the state it led to")
    frame_node = Field[Int32](np.int32, 1, "per frame: the node")
    frame_chain = Field[Int32](np.int32, 1, "per frame: what is bound")
    frame_move = Field[Int32](np.int32, 1, "per frame: the move that is tried next")
    frame_at = Field[Int32](np.int32, 1, "per frame: where that move has led, -2 nowhere yet, -3 it is done")
    frame_marks = Field[Int32](np.int32, 1, "per frame: the nodes that are remembered")
    memo_state = Field[Int32](np.int32, 1, "per configuration with bindings or marks that was visited: its state")
    memo_node = Field[Int32](np.int32, 1, "per such configuration: its node")
    memo_chain = Field[Int32](np.int32, 1, "per such configuration: what is bound")
    memo_marks = Field[Int32](np.int32, 1, "per such configuration: the nodes that are remembered")
    memo_table = Field[Int32](np.int32, 1, "a hash table of them, its size a power of two; -1: free")
    state_row = Field[Int32](np.int32, 1, "per state: its row in `visited`", constant=True)
    visited = Field[UInt8](np.uint8, 1, "per row and node: whether that was visited without bindings and marks")
    move_row = Field[Int32](np.int32, 1, "per move: its row in `swept`, -1 where it has none", constant=True)
    swept = Field[UInt8](np.uint8, 1, "per row and node: whether the node was offered to the move")
    out_chain = Field[Int32](np.int32, 1, "per answer: what was bound")
    out_node = Field[Int32](np.int32, 1, "per answer: the last node")
    is_out = Field[UInt8](np.uint8, 1, "per node whether it is put out, for an answer of nodes")


TREE, TREE_VALUES, SOURCES = struct_type(Tree), struct_type(TreeValues), struct_type(Sources)
SEARCH, CHAINS = struct_type(Search), struct_type(Chains)
WRITES, WALK_SEARCH = struct_type(Writes), struct_type(WalkSearch)
