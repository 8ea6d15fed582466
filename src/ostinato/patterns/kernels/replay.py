"""NXT, LAST and MAX under WITHIN: the strategy must choose among what the window leaves, so the window is replayed.

What the best complex event is can change just because an older one expired; no finite machine over the whole past can
know that. So each key keeps the events of its window (those that can change a configuration), and an event that may
complete something runs the unwindowed machine over them. Work is constant for all other events.
"""

from __future__ import annotations

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import int64, struct_type
from ostinato.patterns.kernels.enumeration import emit
from ostinato.patterns.kernels.layout import ReplayedState
from ostinato.patterns.kernels.lists import apply
from ostinato.patterns.kernels.protocol import (
    AT,
    CODE,
    CONFIG,
    CONSUME_ANY,
    CONSUME_NONE,
    DONE,
    EMITTED,
    EPOCH,
    EVENT_WINDOW,
    FOREVER,
    FREE,
    FUEL,
    NEED_CODE,
    NEED_NODES,
    NEED_RECORDS,
    NEED_STEP,
    NIL,
    PAUSED,
    RECORDS,
    REPLAYED,
    USED,
)
from ostinato.patterns.kernels.window_events import (
    CLOSES,
    INERT,
    NEXT,
    POSITION,
    TICK,
    WHAT,
    append_record,
    drop_all,
    drop_oldest,
)

STATE = struct_type(ReplayedState)


@subroutine(int64(STATE, int64, int64))
def replay(state: ReplayedState, head: int, code: int) -> int:
    """Run the machine over a window; cursor[CONFIG] is then the configuration before the current event."""
    records, cursor, steps, fuel = state.records, state.cursor, state.steps, state.fuel
    entries, stride = steps.entries, steps.stride
    cursor[USED] = 0
    config = 0
    while True:
        step = records[head, WHAT] if head >= 0 else code
        entry = config * stride + step
        if step >= stride or entries[entry, 0] < 0:
            cursor[CONFIG], cursor[CODE] = config, step
            return NEED_STEP
        if head < 0:
            cursor[CONFIG] = config
            return DONE
        if cursor[USED] + entries[entry, 2] - entries[entry, 1] > len(state.nodes) // 4:
            return NEED_NODES
        begin, end = entries[entry, 1], entries[entry, 2]
        fuel[FUEL] -= 1 + end - begin
        apply(state, steps, begin, end, 0, records[head, POSITION], 0, FOREVER)
        config = entries[entry, 0]
        head = records[head, NEXT]


@kernel(int64(STATE))
def run_replay(state: ReplayedState) -> int:
    """Read events from cursor[AT] on, as `match.run` does."""
    codes, keys, positions, first_position = state.codes, state.keys, state.positions, state.first_position
    ticks, lows, window, width, consume = state.ticks, state.lows, state.window, state.width, state.consume
    cursor, key_epoch, key_count, meaning = state.cursor, state.key_epoch, state.key_count, state.meaning
    heads, records, steps = state.heads, state.records, state.steps
    entries, stride = steps.entries, steps.stride
    keyed, placed = len(keys) > 0, len(positions) > 0
    tick, low = 0, FOREVER
    for at in range(cursor[AT], len(codes)):
        cursor[AT] = at
        if state.fuel[FUEL] < 0:
            return PAUSED
        key = keys[at] if keyed else 0
        code = codes[at]
        if code >= len(meaning) or meaning[code] < 0:
            cursor[CODE] = code
            return NEED_CODE
        if cursor[FREE] < 0 and cursor[RECORDS] >= len(records):
            return NEED_RECORDS
        if window == EVENT_WINDOW:
            tick = key_count[key] + 1
            low = tick - width + 1
        else:
            tick, low = ticks[at], lows[at]
        if key_epoch[key] != cursor[EPOCH]:
            key_epoch[key] = cursor[EPOCH]
            heads[key] = NIL
        while heads[key] >= 0 and records[heads[key], TICK] < low:
            drop_oldest(state, key)
        position = positions[at] if placed else first_position + at
        consumed = False
        if meaning[code] == CLOSES:
            if not cursor[REPLAYED]:
                status = replay(state, heads[key], code)
                if status != DONE:
                    return status
                cursor[REPLAYED] = 1
            entry = cursor[CONFIG] * stride + code
            status = emit(state, steps, entries[entry, 3], entries[entry, 4], 0, position, FOREVER)
            if status != DONE:
                return status
            cursor[REPLAYED] = 0
            consumed = cursor[EMITTED] != 0 and consume != CONSUME_NONE
            cursor[EMITTED] = 0
        if window == EVENT_WINDOW:
            key_count[key] = tick
        if not consumed:
            if meaning[code] != INERT:
                append_record(state, key, position, tick, code)
        elif consume == CONSUME_ANY or not keyed:
            cursor[EPOCH] += 1
            cursor[RECORDS] = 0
            cursor[FREE] = NIL
        else:
            drop_all(state, key)
    cursor[AT] = len(codes)
    return DONE
