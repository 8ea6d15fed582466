"""NXT and LAST under WITHIN in amortised constant time: two halves of each window, joined when a match completes."""

from __future__ import annotations

from ostinato.core.arrays import Int64
from ostinato.core.jit import array, kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type
from ostinato.patterns.kernels.layout import RankedState
from ostinato.patterns.kernels.lists import apply
from ostinato.patterns.kernels.protocol import (
    AT,
    CODE,
    CONFIG,
    CONSUME_ANY,
    CONSUME_NONE,
    DONE,
    EPOCH,
    EVENT_WINDOW,
    FOREVER,
    FREE,
    FUEL,
    MATCHES,
    NEED_CODE,
    NEED_FLIP,
    NEED_JOIN,
    NEED_NODES,
    NEED_RECORDS,
    NEED_STEP,
    NIL,
    NOTHING,
    OUTPUT_FULL,
    PAUSED,
    PENDING,
    RECORDS,
    SYMBOL_BITS,
    UNKNOWN,
    USED,
    VALUES,
    WALK,
    WRITE,
)
from ostinato.patterns.kernels.window_events import CLOSES, INERT, append_record, drop_all
from ostinato.patterns.kernels.window_halves import LISTS, OPENING, STALE, collect_halves, evict, flip

STATE = struct_type(RankedState)


@subroutine(int64(int64, array(int64)))
def list_length(node: int, nodes: Int64) -> int:
    length = 0
    while node >= 0:
        length += 1
        node = nodes[4 * node + 1]
    return length


@subroutine(boolean(STATE, int64, int64, int64))
def write_joined(state: RankedState, front: int, back: int, position: int) -> bool:
    """Write one match, earliest event first: its list of the front half, of the back half, and the last event.

    False when the output is full.
    """
    nodes, cursor, values, ends, origins = state.nodes, state.cursor, state.values, state.ends, state.origins
    at = cursor[VALUES]
    length = 1 + list_length(front, nodes) + list_length(back, nodes)
    end = at + length
    if end > len(values) or cursor[MATCHES] >= len(ends):
        cursor[PENDING] = length
        return False
    cursor[PENDING] = 0
    while front >= 0:
        values[at] = nodes[4 * front]
        front = nodes[4 * front + 1]
        at += 1
    at = end - 1
    values[at] = (position << SYMBOL_BITS) | 1
    while back >= 0:
        at -= 1
        values[at] = nodes[4 * back]
        back = nodes[4 * back + 1]
    cursor[VALUES] = end
    ends[cursor[MATCHES]] = end
    origins[cursor[MATCHES]] = cursor[AT]
    cursor[MATCHES] += 1
    return True


@kernel(int64(STATE))
def run_ranked(state: RankedState) -> int:
    """Read events from cursor[AT] on, as `match.run` does. Nothing is changed before all it takes is there."""
    codes, keys, positions, first_position = state.codes, state.keys, state.positions, state.first_position
    ticks, lows, window, width, consume = state.ticks, state.lows, state.window, state.width, state.consume
    cursor, key_config, key_epoch, key_count = state.cursor, state.key_config, state.key_epoch, state.key_count
    heads, records, meaning, joins, mode = state.heads, state.records, state.meaning, state.joins, state.mode
    steps, fuel = state.back, state.fuel
    entries, stride = steps.entries, steps.stride
    keyed, placed = len(keys) > 0, len(positions) > 0
    capacity = len(state.nodes) // 4
    tick, low = 0, FOREVER
    for at in range(cursor[AT], len(codes)):
        cursor[AT] = at
        key = keys[at] if keyed else 0
        code = codes[at]
        if code >= len(meaning) or meaning[code] < 0:
            cursor[CODE] = code
            return NEED_CODE
        if window == EVENT_WINDOW:
            tick = key_count[key] + 1
            low = tick - width + 1
        else:
            tick, low = ticks[at], lows[at]
        if meaning[code] == INERT:
            if window == EVENT_WINDOW:
                key_count[key] = tick
            continue
        if fuel[FUEL] < 0:
            return PAUSED
        fuel[FUEL] -= 1
        if key_epoch[key] != cursor[EPOCH]:
            key_epoch[key] = cursor[EPOCH]
            key_config[key] = 0
            heads[key] = NIL
        evict(state, key, low)
        if cursor[FREE] < 0 and cursor[RECORDS] >= len(records):
            return NEED_RECORDS
        collected = False
        while True:
            status, needed = DONE, 0
            if key_config[key] == STALE and meaning[code] == CLOSES:
                status = flip(state, key)
                if status == NEED_FLIP:
                    return status
                if status == DONE:
                    key_config[key] = 0
            config = key_config[key]
            if config != STALE and status == DONE:
                entry = config * stride + code
                if code >= stride or entries[entry, 0] < 0:
                    cursor[CONFIG], cursor[CODE] = config, code
                    return NEED_STEP
                needed = entries[entry, 2] - entries[entry, 1]
                fuel[FUEL] -= needed
            if status == DONE and cursor[USED] + needed <= capacity:
                break
            if collected:
                return NEED_NODES
            collected = True
            collect_halves(state, low)
            if 2 * cursor[USED] + needed > capacity:
                return NEED_NODES
        position = positions[at] if placed else first_position + at
        consumed = False
        if meaning[code] == CLOSES:
            head = heads[key]
            opening = 0
            if head >= 0 and records[head, OPENING] != NIL:
                opening = records[head, OPENING]
            ending = entries[entry, 3]
            if opening >= joins.shape[0] or ending >= joins.shape[1] or joins[opening, ending, 0] == UNKNOWN:
                cursor[CONFIG], cursor[CODE] = opening, ending
                return NEED_JOIN
            place, slot = joins[opening, ending, 0], joins[opening, ending, 1]
            if place != NOTHING:
                if mode == WRITE:
                    front = records[head, LISTS + place] if place >= 0 else NIL
                    back = steps.slots[key, slot] if slot >= 0 else NIL
                    if not write_joined(state, front, back, position):
                        return OUTPUT_FULL
                else:
                    cursor[MATCHES] += mode == WALK
                consumed = consume != CONSUME_NONE
        if window == EVENT_WINDOW:
            key_count[key] = tick
        if not consumed:
            record = append_record(state, key, position, tick, code)
            records[record, OPENING] = NIL
            if config != STALE:
                begin, end = entries[entry, 1], entries[entry, 2]
                apply(state, steps, begin, end, key, position, 0, FOREVER)
                key_config[key] = entries[entry, 0]
        elif consume == CONSUME_ANY or not keyed:
            cursor[EPOCH] += 1
            cursor[RECORDS] = 0
            cursor[FREE] = NIL
            cursor[USED] = 0
        else:
            drop_all(state, key)
            key_config[key] = 0
    cursor[AT] = len(codes)
    return DONE
