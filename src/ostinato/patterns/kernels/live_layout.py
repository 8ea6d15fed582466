"""What the kernel for many queries reads and writes, by name (live.py)."""

from __future__ import annotations

import numpy as np

from ostinato.core.arrays import Float64, Int32, Int64
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructField, StructsField
from ostinato.patterns.kernels.layout import DirectState

ASLEEP = -2  # in place of a code: an event that cannot change the query
# The lowest bits of a code that is stored: whether a match may begin with the event, and whether that is all it does.
STARTS, ONLY_STARTS, FLAG_BITS = 1, 2, 2
ROW_SHIFT = 32
# What the caller must provide, beside what one query may need (protocol.py).
NEED_POSTINGS, NEED_QUERY_CODE, NEED_KEYS = 20, 21, 22
WAKES_OTHER = 23  # the next query that is awake has an engine of its own, whose events are there
# The cursor: rows looked at, pairs found, queries woken, the next of them to run, whether that one has begun, queries
# that completed matches, steps left before a pause, whether a match may hold the last event, the number of the last
# event, and what is needed: a range of postings or a query, and a class or a number.
ROW, PAIRS, AWAKE, NEXT, BEGUN, COMPLETED, FUEL, HELD, SERIAL, NEEDED, NEEDED_FOR = range(11)
CURSOR_SIZE = 11
# Columns of `frames`.
KEY_FRAME, TICK_FRAME, LOW_FRAME, IDLE_FRAME = range(4)
APART = -2  # in place of a key frame: the query has an engine of its own


class WakeTables(ArrayStruct):
    """Which queries an event wakes. A query's number stands for the event's type and the predicates that hold of it, as
    its own encoder makes it (core/columns/event_codes.py)."""

    base_ends = Field[Int32](np.int32, 1, "per type: where its rows of `base` end", constant=True)
    base = Field[Int32](np.int32, 2, "queries that the type alone may wake: query, number, code", constant=True)
    probe_ends = Field[Int32](np.int32, 1, "per type: where its rows of `probes` end", constant=True)
    probes = Field[Int32](np.int32, 2, "attributes to look at: feature, first row of `ranges`", constant=True)
    ranges = Field[Int32](np.int32, 2, "per probe and class: begin and end in `postings`; -1: unknown", constant=True)
    postings = Field[Int32](np.int32, 2, "predicates that hold: query, bits of its number", constant=True)
    code_starts = Field[Int64](np.int64, 1, "per query: where its part of `codes` begins", constant=True)
    codes = Field[Int32](
        np.int32, 1, "per query and number: code << FLAG_BITS and flags, ASLEEP, or UNKNOWN", constant=True
    )


class SharedState(ArrayStruct):
    """Many queries over one stream."""

    queries = StructsField(DirectState, "the state of each query")
    wake = StructField(WakeTables, "which of them an event wakes")
    frames = Field[Int32](
        np.int32, 2, "per query: its rows of `keys`, `ticks`, `reaches`, and of `reaches` again", constant=True
    )
    idle = Field[Int32](np.int32, 1, "per query: the last of its frames, which is looked at most", constant=True)
    types = Field[Int32](np.int32, 1, "per event: the number of its type; 0: one that no query names", constant=True)
    classes = Field[Int32](np.int32, 2, "per feature and event: its class", constant=True)
    keys = Field[Int32](np.int32, 2, "per frame and event: its partition; -1: in none", constant=True)
    ticks = Field[Int64](np.int64, 2, "per frame and event: where it stands along the window", constant=True)
    lows = Field[Int64](np.int64, 2, "per window, of the first few, and event: the lowest tick in it", constant=True)
    reaches = Field[Int64](np.int64, 1, "per window: how many ticks it reaches back; -1: `widths` says", constant=True)
    widths = Field[Float64](np.float64, 1, "per window: its nanoseconds, where ticks are floats", constant=True)
    bounded = Field[Int64](np.int64, 1, "per window over floats: the last tick whose bound was worked out")
    bounds = Field[Int64](np.int64, 1, "and that bound")
    bits = Field[Int64](np.int64, 1, "room for one number, to see it as a float")
    positions = Field[Int64](np.int64, 1, "per event: its position in the stream", constant=True)
    cursor = Field[Int64](np.int64, 1, "where to go on")
    newest = Field[Int64](np.int64, 1, "per query: the tick of the last event that a match may have begun with")
    stamps = Field[Int64](np.int64, 1, "per query: the last event that might wake it")
    numbers = Field[Int32](np.int32, 1, "per query: its number for that event")
    candidates = Field[Int32](np.int32, 1, "the queries that an event might wake")
    pair_queries = Field[Int32](np.int32, 1, "per pair of an event and a query that it wakes: the query")
    pair_events = Field[Int64](np.int64, 1, "per pair: event << ROW_SHIFT, and its code for the query with flags")
    counts = Field[Int64](np.int64, 1, "per query: its pairs")
    ends = Field[Int64](np.int64, 1, "per query: where its part of `events` ends")
    awake = Field[Int32](np.int32, 1, "the queries that have pairs")
    events = Field[Int64](np.int64, 1, "the events of the pairs, with codes, query by query")
    completed = Field[Int32](np.int32, 1, "the queries that completed matches")
    noted = Field[Int32](np.int32, 1, "per query: whether it is among them")
    matches = Field[Int64](np.int64, 1, "per query: matches so far")
    out_values = Field[Int64](np.int64, 1, "the marked events of the matches of all queries that completed some")
    out_ends = Field[Int64](np.int64, 1, "per match: where its marked events end there")
    out_origins = Field[Int64](np.int64, 1, "per match: the event that completed it")
    out_keys = Field[Int64](np.int64, 1, "per match: its partition")
    out_counts = Field[Int64](np.int64, 1, "per query that completed some: its matches")
    reads = Field[Int64](np.int64, 1, "per query: events that it read")
    steps = Field[Int64](np.int64, 1, "per query: steps that it took")
