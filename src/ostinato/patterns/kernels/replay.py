"""NXT, LAST and MAX under WITHIN: the strategy must choose among what the window leaves, so the window is replayed.

What the best complex event is can change just because an older one expired; no finite machine over the whole past can
know that. So each key keeps the events of its window (those that can change a configuration), and an event that may
complete something runs the unwindowed machine over them. Work is constant for all other events.
"""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import kernel
from ostinato.patterns.kernels.enumeration import emit
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
    NEED_CODE,
    NEED_NODES,
    NEED_RECORDS,
    NEED_STEP,
    NIL,
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


@kernel()
def replay(
    head: int,
    code: int,
    records: Int64,
    slots: Int32,
    fresh: Int32,
    entries: Int32,
    stride: int,
    ops: Int32,
    nodes: Int64,
    cursor: Int64,
) -> int:
    """Run the machine over a window; cursor[CONFIG] is then the configuration before the current event."""
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
        if cursor[USED] + entries[entry, 2] - entries[entry, 1] > len(nodes) // 4:
            return NEED_NODES
        apply(
            ops,
            entries[entry, 1],
            entries[entry, 2],
            slots,
            0,
            fresh,
            nodes,
            cursor,
            records[head, POSITION],
            0,
            FOREVER,
        )
        config = entries[entry, 0]
        head = records[head, NEXT]


@kernel()
def run_replay(
    codes: Int32,
    keys: Int32,
    positions: Int64,
    first_position: int,
    ticks: Int64,
    lows: Int64,
    window: int,
    width: int,
    consume: int,
    mode: int,
    key_epoch: Int64,
    key_count: Int64,
    heads: Int32,
    tails: Int32,
    records: Int64,
    meaning: Int32,
    slots: Int32,
    fresh: Int32,
    entries: Int32,
    stride: int,
    ops: Int32,
    emits: Int32,
    nodes: Int64,
    cursor: Int64,
    stack: Int64,
    path: Int64,
    values: Int64,
    ends: Int64,
    origins: Int64,
) -> int:
    """Read events from cursor[AT] on, as `match.run` does."""
    keyed, placed = len(keys) > 0, len(positions) > 0
    tick, low = 0, FOREVER
    for at in range(cursor[AT], len(codes)):
        cursor[AT] = at
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
            drop_oldest(key, heads, records, cursor)
        position = positions[at] if placed else first_position + at
        consumed = False
        if meaning[code] == CLOSES:
            if not cursor[REPLAYED]:
                status = replay(heads[key], code, records, slots, fresh, entries, stride, ops, nodes, cursor)
                if status != DONE:
                    return status
                cursor[REPLAYED] = 1
            entry = cursor[CONFIG] * stride + code
            status = emit(
                emits,
                entries[entry, 3],
                entries[entry, 4],
                slots,
                0,
                nodes,
                position,
                FOREVER,
                mode,
                cursor,
                stack,
                path,
                values,
                ends,
                origins,
            )
            if status != DONE:
                return status
            cursor[REPLAYED] = 0
            consumed = cursor[EMITTED] != 0 and consume != CONSUME_NONE
            cursor[EMITTED] = 0
        if window == EVENT_WINDOW:
            key_count[key] = tick
        if not consumed:
            if meaning[code] != INERT:
                append_record(key, position, tick, code, heads, tails, records, cursor)
        elif consume == CONSUME_ANY or not keyed:
            cursor[EPOCH] += 1
            cursor[RECORDS] = 0
            cursor[FREE] = NIL
        else:
            drop_all(key, heads, records, cursor)
    cursor[AT] = len(codes)
    return DONE
