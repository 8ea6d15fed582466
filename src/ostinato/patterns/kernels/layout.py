"""What the kernels of patterns read and write, by name: one struct for each kernel, built by its matcher.

Arrays that grow (nodes, stack and path, records, runs, pending and roots, output) are replaced by the matcher when a
kernel returns NEED_… or OUTPUT_FULL (protocol.py); the kernel then goes on where the cursor says it stopped.
"""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Bools, Float64, Int32, Int64, UInt8
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField, ViewField


class MatcherState(ArrayStruct):
    """What all kernels share: a batch of events, the scope of matches, the lists of partial matches, the output."""

    codes = Field[Int32](np.int32, 1, "per event: which conditions it satisfies, as one code", constant=True)
    keys = Field[Int32](np.int32, 1, "per event: its partition; empty if there is only one", constant=True)
    positions = Field[Int64](
        np.int64, 1, "per event: its position in the stream; empty if they are in a row", constant=True
    )
    first_position = Field[int](np.int64, 0, "the position of the first event, if they are in a row")
    ticks = Field[Int64](
        np.int64, 1, "per event: where it stands along the window; empty if nothing measures that", constant=True
    )
    lows = Field[Int64](np.int64, 1, "per event: the lowest tick that is in one window with it", constant=True)
    window = Field[int](np.int64, 0, "NO_WINDOW, EVENT_WINDOW, TICK_WINDOW or KEY_WINDOW")
    width = Field[int](np.int64, 0, "how many events an EVENT_WINDOW holds")
    consume = Field[int](np.int64, 0, "CONSUME_NONE, CONSUME_PARTITION, CONSUME_ANY, CONSUME_ASK or CONSUME_SKIP")
    mode = Field[int](np.int64, 0, "NOTICE, WRITE or WALK")
    cursor = Field[Int64](np.int64, 1, "where to go on: see protocol.py for its fields")
    fuel = Field[Int64](np.int64, 1, "how long this call may take: see protocol.py for its fields")
    key_count = Field[Int64](np.int64, 1, "per key: events so far (EVENT_WINDOW), or its lower bound (KEY_WINDOW)")
    nodes = Field[Int64](np.int64, 1, "lists of partial matches, four per node: see lists.py")
    marks = Field[Int64](np.int64, 1, "per node: used when nodes are collected")
    stack = Field[Int64](np.int64, 1, "lists that are still to be enumerated: node and depth of each")
    path = Field[Int64](np.int64, 1, "per depth: the marked event on the way to the match that is enumerated")
    values = Field[Int64](np.int64, 1, "output: the marked events of all matches, position << SYMBOL_BITS | symbol")
    ends = Field[Int64](np.int64, 1, "output, per match: where its marked events end in `values`")
    origins = Field[Int64](np.int64, 1, "output, per match: the event of the batch that completed it")


class Steps(ArrayStruct):
    """The steps of a lazily determinised machine (patterns/automata/tables.py), and the lists of its cells."""

    entries = Field[Int32](
        np.int32, 2, "per configuration and code: next configuration, ranges of ops and of emits", constant=True
    )
    stride = Field[int](np.int64, 0, "how many codes each configuration has in `entries`")
    ops = Field[Int32](np.int32, 2, "what a step does: source slot, symbol, destination slot", constant=True)
    emits = Field[Int32](np.int32, 2, "what a step completes: source slot, symbol", constant=True)
    slot_ends = Field[Int32](np.int32, 1, "per configuration: where its slots end in `slot_list`", constant=True)
    slot_list = Field[Int32](np.int32, 1, "the slots in use, configuration by configuration", constant=True)
    slots = Field[Int32](np.int32, 2, "per key and slot: a list; only one row if the keys take turns")
    fresh = Field[Int32](np.int32, 1, "while a step is under way: slots and their new lists")


class SteppedState(MatcherState):
    """Where a machine reads the events."""

    key_epoch = Field[Int64](np.int64, 1, "per key: the epoch of its state; what is older counts as forgotten")
    steps = StructField(Steps, "the machine that reads events from first to last")


class DirectState(SteppedState):
    """For match.py: every event is read once."""

    key_config = Field[Int32](np.int32, 1, "per key: its configuration")
    skipped_to = Field[Bools](np.bool_, 1, "per symbol: whether later matches may begin there (CONSUME_SKIP)")
    to_first = Field[int](np.int64, 0, "whether at the first of them, not the last (CONSUME_SKIP)")
    chosen_next = Field[int](np.int64, 0, "whether an event gives only its first match in order (CONSUME_SKIP)")


class ReplayedState(SteppedState):
    """For replay.py: windows are read again."""

    heads = Field[Int32](np.int32, 1, "per key: the oldest record of its window")
    tails = Field[Int32](np.int32, 1, "per key: the newest record of its window")
    records = Field[Int64](np.int64, 2, "the events of all windows, a row each: see window_events.py")
    meaning = Field[Int32](np.int32, 1, "per code: INERT, CLOSES or neither; -1 if not known yet", constant=True)


class RankedState(ReplayedState):
    """For ranked.py: the two halves of each window (patterns/automata/join_tables.py)."""

    key_config = Field[Int32](np.int32, 1, "per key: the configuration of its back half, or STALE")
    back = StructField(Steps, "the machine of back halves; the number of an ending stands in place of emits")
    front = StructField(Steps, "the machine of front halves, which reads from the last event to the first")
    openings = Field[Int32](np.int32, 1, "per configuration of the front half: its opening", constant=True)
    joins = Field[Int32](
        np.int32, 3, "per opening and ending: a place among the opening's lists, a slot; or NOTHING", constant=True
    )


class RunTables(ArrayStruct):
    """Runs with registers, and what events may do to them (rows and columns: register_layout.py).

    Forecasting follows runs by them, too (forecast/kernels/exact_runs.py).
    """

    code_ranges = Field[Int32](np.int32, 2, "per code: its ranges of `actions` and `kills`", constant=True)
    actions = Field[Int32](np.int32, 2, "what an event may do to the runs of a state", constant=True)
    kills = Field[Int32](np.int32, 2, "fragile states that an event leaves no run in", constant=True)
    probes = Field[Int32](np.int32, 2, "look-ups: a term of the event, and whether it is a float", constant=True)
    tests = Field[Int32](np.int32, 2, "kind, cell, term, outcomes; or PROGRAM, first step, end of steps", constant=True)
    steps = Field[Int32](np.int32, 2, "instructions of programs: operation, argument", constant=True)
    writes = Field[Int32](np.int32, 2, "what an action remembers: cell, term", constant=True)
    folds = Field[Int32](
        np.int32,
        2,
        "what an action takes into cells of earlier events: cell, operation, stored cell, term",
        constant=True,
    )
    states = Field[Int32](np.int32, 2, "per state: its ranges of `cells`, PLAIN, FRAGILE, RANGED", constant=True)
    cells = Field[Int32](np.int32, 1, "the cells that matter in each state, looked-up ones first", constant=True)
    floating = Field[Bools](np.bool_, 1, "per cell: whether it is a float", constant=True)
    bounds = Field[Int64](np.int64, 2, "per cell: where buckets begin but the first, as `ordered` numbers")
    bound_counts = Field[Int64](np.int64, 1, "per cell: how many of its bounds there are")
    terms = Field[Int64](np.int64, 2, "per term and event: its value, for floats their bits", constant=True)
    term_floats = ViewField[Float64](np.float64, terms, "the same as floats")
    present = Field[Bools](np.bool_, 2, "per term and event: whether it has a value", constant=True)
    text_ends = Field[Int64](np.int64, 1, "where each text begins in `texts`, then where the last ends", constant=True)
    texts = Field[UInt8](np.uint8, 1, "all texts, in UTF-8", constant=True)
    runs = Field[Int64](np.int64, 2, "a column per run")
    run_floats = ViewField[Float64](np.float64, runs, "the same as floats")
    candidates = Field[Int32](np.int32, 1, "runs that an action may be for")
    stack_kinds = Field[Int32](np.int32, 1, "the stack of a program: NULL, whole number or float")
    stack_whole = Field[Int64](np.int64, 1, "the stack of a program: whole numbers")
    stack_floats = Field[Float64](np.float64, 1, "the stack of a program: floats")


class CorrelatedState(MatcherState):
    """For correlated.py: patterns that compare events with each other."""

    tables = StructField(RunTables, "the runs of all keys, and what events may do to them")
    apart = Field[int](np.int64, 0, "whether runs that began at different events stay apart, and hold one match each")
    choice = Field[int](np.int64, 0, "NO_CHOICE, CHOOSE_NEXT or CHOOSE_LAST")
    ranking = Field[Int32](
        np.int32, 1, "per cell: LESS or GREATER if that is as good for all tests, else EQUAL; empty if that is no use"
    )
    killed = Field[Int64](np.int64, 2, "per key: when all its runs died last, then those of each fragile state")
    run_heads = Field[Int32](np.int32, 2, "two hash tables: the first run of each chain, by place and by contents")
    pending = Field[Int64](np.int64, 1, "what the event does, three each: action, run, its list before the event")
    roots = Field[Int64](np.int64, 1, "what the event completes, two each: list, symbol of the event")
    held = Field[Int64](np.int64, 2, "per cell: the contents of the run that is entered")
    held_floats = ViewField[Float64](np.float64, held, "the same as floats")
    best = Field[Int64](np.int64, 1, "per node: the last cell of its best match, where there is a choice")
    target = Field[Int64](np.int64, 1, "the positions of the best match, latest first")
