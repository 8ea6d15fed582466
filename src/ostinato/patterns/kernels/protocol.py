"""What kernels and those who call them agree on: codes of nodes, of requests, of policies, and the cursor's fields."""

from __future__ import annotations

import numpy as np

BOTTOM = -1  # the empty partial match
NIL = -2  # the empty list
ALONE = -3  # in place of the rest of a list that is one partial match (best_runs.py)
SYMBOL_BITS = 8

# Entries of tables that are filled when first needed (automata/tables.py, automata/join_tables.py).
UNKNOWN = -1
NOTHING = -2  # this ending completes nothing after that opening
NO_LIST = -3  # the front half of the match marks nothing

# What a kernel call returns: done, or what its caller must provide before calling again.
DONE, NEED_STEP, NEED_NODES, OUTPUT_FULL, NEED_STACK, NEED_RECORDS, NEED_CODE, NEED_FLIP, NEED_JOIN = range(9)
NEED_PENDING, PAUSED = 9, 10  # paused: it has worked for a while, and only wants to be called again
COMPLETED = 11  # an event completed matches, and it must be asked what to do with those to come
# The cursor vector: where to go on after such a return.
(AT, USED, STACK, EMITTING, PENDING, VALUES, MATCHES, EPOCH, EMITTED, CONFIG, CODE, LIVE) = range(12)
RECORDS, FREE, REPLAYED = range(12, 15)  # only where windows are replayed
RUNS, CLOCK, FLOOR, FREED, CHOSEN = range(15, 20)  # only where runs have registers
NEEDED = CODE  # with NEED_NODES: how many nodes, and at most how many runs
CURSOR_SIZE = 20
# WITHIN: none; n events; ticks and lower bounds given per event, rising over the whole stream or in each key alone.
NO_WINDOW, EVENT_WINDOW, TICK_WINDOW, KEY_WINDOW = range(4)
# What an event does that completes matches. CONSUME_SKIP: only what begins at its key's bar or later counts, and moves
# the bar (skips.py); CONSUME_ASK: so it does, but the caller decides of each event.
CONSUME_NONE, CONSUME_PARTITION, CONSUME_ANY, CONSUME_ASK, CONSUME_SKIP = range(5)
# What to do with complete matches: only notice them, write them out, or count them one by one.
NOTICE, WRITE, WALK = range(3)

# The fuel vector: steps left before a kernel pauses, and the node that a choice goes on with.
FUEL, CHOOSING = range(2)

FOREVER = np.iinfo(np.int64).min
