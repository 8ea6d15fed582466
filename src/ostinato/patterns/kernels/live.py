"""Many queries over one stream: each event goes to the queries that it can change, and to no others.

Events are first paired with the queries they wake. Then each query reads its events in a row, so that its state is in
the cache while it does.
"""

from __future__ import annotations

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import int64, results, struct_type, void
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels.live_layout import (
    APART,
    ASLEEP,
    AWAKE,
    BEGUN,
    COMPLETED,
    FLAG_BITS,
    FUEL,
    HELD,
    IDLE_FRAME,
    KEY_FRAME,
    LOW_FRAME,
    NEED_KEYS,
    NEED_POSTINGS,
    NEED_QUERY_CODE,
    NEEDED,
    NEEDED_FOR,
    NEXT,
    ONLY_STARTS,
    PAIRS,
    ROW,
    ROW_SHIFT,
    SERIAL,
    STARTS,
    TICK_FRAME,
    WAKES_OTHER,
    SharedState,
)
from ostinato.patterns.kernels.live_windows import find_bound
from ostinato.patterns.kernels.match import read_event
from ostinato.patterns.kernels.protocol import (
    AT,
    DONE,
    EVENT_WINDOW,
    FOREVER,
    MATCHES,
    NO_WINDOW,
    PAUSED,
    UNKNOWN,
    VALUES,
)

STATE = struct_type(SharedState)
CODE_MASK = (1 << ROW_SHIFT) - 1


@subroutine(int64(STATE, int64), inline=False)
def find_candidates(live: SharedState, row: int) -> int:
    """Which queries the predicates that hold of an event might wake, and their numbers; -1 where postings are missing,
    else how many."""
    wake, cursor = live.wake, live.cursor
    stamps, numbers, candidates = live.stamps, live.numbers, live.candidates
    kind = live.types[row]
    cursor[SERIAL] += 1
    serial = cursor[SERIAL]
    found = 0
    for at in range(wake.base_ends[kind - 1] if kind else 0, wake.base_ends[kind]):
        query = wake.base[at, 0]
        stamps[query], numbers[query], candidates[found] = serial, wake.base[at, 1], query
        found += 1
    for probe in range(wake.probe_ends[kind - 1] if kind else 0, wake.probe_ends[kind]):
        place = live.classes[wake.probes[probe, 0], row]
        slot = wake.probes[probe, 1] + place
        if wake.ranges[slot, 0] < 0:
            cursor[NEEDED], cursor[NEEDED_FOR] = probe, place
            return -1
        for at in range(wake.ranges[slot, 0], wake.ranges[slot, 1]):
            query = wake.postings[at, 0]
            if stamps[query] != serial:
                stamps[query], numbers[query], candidates[found] = serial, 0, query
                found += 1
            numbers[query] |= wake.postings[at, 1]
    return found


@subroutine(int64(STATE, int64, int64, int64, int64), inline=True)
def add_pair(live: SharedState, query: int, row: int, code: int, used: int) -> int:
    """Pair an event with a query, unless it can only go on with matches and all have expired; returns how many pairs
    there are."""
    if code == ASLEEP:
        return used
    idle = live.idle[query]
    if idle >= 0:
        if code & STARTS:
            live.newest[query] = live.ticks[live.frames[query, TICK_FRAME], row]
        elif live.newest[query] < (
            live.lows[idle, row]
            if idle < len(live.lows)
            else find_bound(live, idle, live.ticks[live.frames[query, TICK_FRAME], row])
        ):
            return used
    live.pair_queries[used], live.pair_events[used] = query, row << ROW_SHIFT | code
    return used + 1


@subroutine(int64(STATE), inline=False)
def pair(live: SharedState) -> int:
    """Pair events, from cursor[ROW] on, with the queries that they wake, while there is room."""
    wake, cursor = live.wake, live.cursor
    while cursor[ROW] < len(live.types):
        row, used = cursor[ROW], cursor[PAIRS]
        if used + len(live.stamps) > len(live.pair_events):
            return DONE  # the rest comes after these
        kind = live.types[row]
        if wake.probe_ends[kind] == (wake.probe_ends[kind - 1] if kind else 0):
            for at in range(wake.base_ends[kind - 1] if kind else 0, wake.base_ends[kind]):
                used = add_pair(live, wake.base[at, 0], row, wake.base[at, 2], used)
        else:
            found = find_candidates(live, row)
            if found < 0:
                return NEED_POSTINGS
            for at in range(found):
                query = live.candidates[at]
                code = wake.codes[wake.code_starts[query] + live.numbers[query]]
                if code == UNKNOWN:
                    cursor[NEEDED], cursor[NEEDED_FOR] = query, live.numbers[query]
                    return NEED_QUERY_CODE
                used = add_pair(live, query, row, code, used)
        cursor[PAIRS] = used
        cursor[ROW] = row + 1
    return DONE


@subroutine(void(STATE), inline=False)
def sort_pairs(live: SharedState) -> None:
    """Put the pairs of each query together, in the order of events."""
    cursor, counts, ends, awake = live.cursor, live.counts, live.ends, live.awake
    queries, events = live.pair_queries, live.pair_events
    used = cursor[PAIRS]
    found = 0
    for at in range(used):
        query = queries[at]
        if counts[query] == 0:
            awake[found] = query
            found += 1
        counts[query] += 1
    total = 0
    for at in range(found):
        query = awake[at]
        ends[query] = total
        total += counts[query]
    for at in range(used):
        query = queries[at]
        live.events[ends[query]] = events[at]
        ends[query] += 1
    cursor[AWAKE], cursor[NEXT], cursor[BEGUN] = found, 0, 0


@subroutine(int64(STATE, int64), inline=False)
def run_query(live: SharedState, number: int) -> int:
    """Let a query read its events."""
    state = live.queries[number]
    cursor, events, positions = state.cursor, live.events, live.positions
    keys, ticks, lows = live.keys, live.ticks, live.lows
    few = len(lows)
    key_frame, tick_frame, low_frame, idle_frame = (
        live.frames[number, KEY_FRAME],
        live.frames[number, TICK_FRAME],
        live.frames[number, LOW_FRAME],
        live.frames[number, IDLE_FRAME],
    )
    window, width = state.window, state.width
    matches = cursor[MATCHES]
    fuel = state.fuel[protocol.FUEL]
    status = DONE
    tick, low, key = 0, FOREVER, 0
    end = live.ends[number]
    at = cursor[AT]
    while at < end:
        row, code = events[at] >> ROW_SHIFT, events[at] & CODE_MASK
        idles = code & ONLY_STARTS and idle_frame >= 0 and at + 1 < end
        if idles:
            following = events[at + 1] >> ROW_SHIFT
            if idle_frame < few:
                low = lows[idle_frame, following]
            else:
                low = find_bound(live, idle_frame, ticks[tick_frame, following])
            if low > ticks[tick_frame, row]:
                at += 1  # what begins here has expired when the query reads the next event
                continue
        if key_frame >= 0:
            key = keys[key_frame, row]
            if key < 0:
                at += 1
                continue
            if key >= len(state.key_count):
                cursor[AT], live.cursor[NEEDED_FOR] = at, key
                status = NEED_KEYS
                break
        low = FOREVER
        if window == EVENT_WINDOW:
            tick = ticks[tick_frame, row]
            low = tick - width + 1
        elif window != NO_WINDOW:
            tick = ticks[tick_frame, row]
            low = lows[low_frame, row] if low_frame < few else find_bound(live, low_frame, tick)
        status = read_event(state, at, key, code >> FLAG_BITS, positions[row], tick, low)
        if status != DONE:
            break
        at += 1
    for match in range(matches, cursor[MATCHES]):
        state.origins[match] = events[state.origins[match]] >> ROW_SHIFT
    live.steps[number] += fuel - state.fuel[protocol.FUEL]
    return status


@kernel(int64(STATE))
def read(live: SharedState) -> int:
    """Read events from cursor[ROW] on. Where a query needs something, it is awake[cursor[NEXT]]."""
    cursor = live.cursor
    while True:
        if cursor[NEXT] == cursor[AWAKE]:
            for at in range(cursor[AWAKE]):
                live.counts[live.awake[at]] = 0
            if cursor[AWAKE]:
                cursor[PAIRS] = cursor[AWAKE] = cursor[NEXT] = 0
            if cursor[ROW] == len(live.types) and cursor[PAIRS] == 0:
                return DONE
            status = pair(live)
            if status != DONE:
                return status
            if cursor[PAIRS] == 0:
                return DONE
            sort_pairs(live)
        while cursor[NEXT] < cursor[AWAKE]:
            number = live.awake[cursor[NEXT]]
            if live.frames[number, KEY_FRAME] == APART:
                return WAKES_OTHER
            state = live.queries[number]
            if cursor[BEGUN] == 0:
                state.cursor[AT] = live.ends[number] - live.counts[number]
                cursor[BEGUN] = 1
            if cursor[FUEL] < 0:
                return PAUSED
            state.fuel[protocol.FUEL] = cursor[FUEL]
            status = run_query(live, number)
            if state.fuel[protocol.FUEL] != cursor[FUEL]:
                cursor[HELD] = 1
                cursor[FUEL] = state.fuel[protocol.FUEL]
            if state.cursor[MATCHES] > 0 and live.noted[number] == 0:
                live.noted[number] = 1
                live.completed[cursor[COMPLETED]] = number
                cursor[COMPLETED] += 1
            if status != DONE:
                return status
            live.reads[number] += live.counts[number]
            cursor[BEGUN] = 0
            cursor[NEXT] += 1


@kernel(results(int64, int64)(STATE))
def measure_output(live: SharedState) -> tuple[int, int]:
    """How many matches the queries have completed, and how many marked events those have."""
    matches, values = 0, 0
    for at in range(live.cursor[COMPLETED]):
        cursor = live.queries[live.completed[at]].cursor
        matches += cursor[MATCHES]
        values += cursor[VALUES]
    return matches, values


@kernel(void(STATE))
def collect_output(live: SharedState) -> None:
    """Put the matches of all queries together, query by query."""
    matches, values = 0, 0
    for at in range(live.cursor[COMPLETED]):
        number = live.completed[at]
        state = live.queries[number]
        cursor = state.cursor
        frame = live.frames[number, KEY_FRAME]
        for match in range(cursor[MATCHES]):
            live.out_keys[matches + match] = live.keys[frame, state.origins[match]] if frame >= 0 else 0
            live.out_ends[matches + match] = values + state.ends[match]
            live.out_origins[matches + match] = state.origins[match]
        for value in range(cursor[VALUES]):
            live.out_values[values + value] = state.values[value]
        live.out_counts[at] = cursor[MATCHES]
        live.matches[number] += cursor[MATCHES]
        matches += cursor[MATCHES]
        values += cursor[VALUES]
        cursor[MATCHES] = cursor[VALUES] = 0
        live.noted[number] = 0
