"""The update loop: constant work per event, whatever was seen before (CEL paper, section 7.2, Algorithm 1)."""

from __future__ import annotations

from ostinato.core.arrays import Bools
from ostinato.core.jit import array, kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.patterns.kernels.completed_skips import UNDECIDED, take_completed
from ostinato.patterns.kernels.enumeration import emit
from ostinato.patterns.kernels.layout import DirectState
from ostinato.patterns.kernels.lists import apply, resolve, slide
from ostinato.patterns.kernels.protocol import (
    AT,
    CODE,
    COMPLETED,
    CONFIG,
    CONSUME_ANY,
    CONSUME_ASK,
    CONSUME_NONE,
    CONSUME_SKIP,
    DONE,
    EMITTED,
    EPOCH,
    EVENT_WINDOW,
    FOREVER,
    FUEL,
    KEY_WINDOW,
    NEED_NODES,
    NEED_STEP,
    NO_WINDOW,
    PAUSED,
    USED,
)

STATE = struct_type(DirectState)


@kernel(void(STATE, int64))
def collect(state: DirectState, low: int) -> None:
    """Keep only the nodes that can still matter; each key may have its own lower bound."""
    nodes, marks, cursor, window = state.nodes, state.marks, state.cursor, state.window
    key_config, key_epoch, key_count = state.key_config, state.key_epoch, state.key_count
    slots, slot_ends, slot_list = state.steps.slots, state.steps.slot_ends, state.steps.slot_list
    for node in range(cursor[USED]):
        marks[node] = FOREVER
    for key in range(len(key_config)):
        if key_epoch[key] != cursor[EPOCH]:
            continue
        bound = low
        if window == EVENT_WINDOW:
            bound = key_count[key] - state.width + 1
        elif window == KEY_WINDOW:
            bound = key_count[key]
        config = key_config[key]
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            node = resolve(nodes, slots[key, slot_list[at]], bound)
            slots[key, slot_list[at]] = node
            if node >= 0:
                # FOREVER itself means "not reached"; a bound that low keeps everything, as does the next one.
                marks[node] = max(bound, FOREVER + 1)
    slide(state)
    for key in range(len(key_config)):
        if key_epoch[key] != cursor[EPOCH]:
            continue
        config = key_config[key]
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            node = slots[key, slot_list[at]]
            if node >= 0:
                slots[key, slot_list[at]] = marks[node]


@kernel(void(STATE, array(boolean)))
def find_live(state: DirectState, live: Bools) -> None:
    """Which keys have partial matches; to be asked after `collect`, which empties the lists that expired."""
    key_config, key_epoch, cursor, window = state.key_config, state.key_epoch, state.cursor, state.window
    slots, slot_ends, slot_list = state.steps.slots, state.steps.slot_ends, state.steps.slot_list
    for key in range(len(key_config)):
        config = key_config[key]
        if key_epoch[key] == cursor[EPOCH] and config:
            live[key] = window == NO_WINDOW  # without a window nothing expires
            for at in range(slot_ends[config - 1], slot_ends[config]):
                live[key] |= slots[key, slot_list[at]] >= 0


@subroutine(int64(STATE, int64, int64, int64, int64, int64, int64), inline=True)
def read_event(state: DirectState, at: int, key: int, code: int, position: int, tick: int, low: int) -> int:
    """Take one event, which is `at` that place in what is read, to its key's lists. Where it cannot be done whole,
    cursor[AT] says where to go on."""
    cursor, key_config, key_epoch, key_count = state.cursor, state.key_config, state.key_epoch, state.key_count
    steps, fuel, window, consume = state.steps, state.fuel, state.window, state.consume
    entries = steps.entries
    if key_epoch[key] != cursor[EPOCH]:
        key_epoch[key] = cursor[EPOCH]
        key_config[key] = 0
    config = key_config[key]
    entry = config * steps.stride + code
    if code >= steps.stride or entries[entry, 0] < 0:
        cursor[AT], cursor[CONFIG], cursor[CODE] = at, config, code
        return NEED_STEP
    op_begin, op_end, emit_begin, emit_end = (
        entries[entry, 1],
        entries[entry, 2],
        entries[entry, 3],
        entries[entry, 4],
    )
    if op_begin != op_end or emit_begin != emit_end:
        if fuel[FUEL] < 0:
            cursor[AT] = at
            return PAUSED
        fuel[FUEL] -= 1 + op_end - op_begin
        capacity = len(state.nodes) // 4
        if cursor[USED] + op_end - op_begin > capacity:
            collect(state, low)
            if 4 * cursor[USED] + op_end - op_begin > capacity:
                cursor[AT] = at
                return NEED_NODES
        if emit_begin != emit_end:
            cursor[AT] = at
            status = emit(state, steps, emit_begin, emit_end, key, position, low)
            if status != DONE:
                return status
            if cursor[EMITTED]:
                cursor[EMITTED] = 0
                bar = take_completed(state, at, low) if consume == CONSUME_SKIP else UNDECIDED
                if bar != UNDECIDED:
                    apply(state, steps, op_begin, op_end, key, position, tick, low)
                    key_config[key] = entries[entry, 0]
                    key_count[key] = bar
                    return DONE
                if consume in (CONSUME_ASK, CONSUME_SKIP):
                    apply(state, steps, op_begin, op_end, key, position, tick, low)
                    key_config[key] = entries[entry, 0]
                    if window != NO_WINDOW:
                        key_count[key] = tick if window == EVENT_WINDOW else low
                    cursor[AT] = at + 1
                    return COMPLETED
                if consume != CONSUME_NONE:
                    if window == EVENT_WINDOW:
                        key_count[key] = tick
                    key_config[key] = 0
                    if consume == CONSUME_ANY or len(key_config) == 1:
                        cursor[EPOCH] += 1
                        cursor[USED] = 0
                    return DONE
        apply(state, steps, op_begin, op_end, key, position, tick, low)
    key_config[key] = entries[entry, 0]
    if window == EVENT_WINDOW:
        key_count[key] = tick
    elif window == KEY_WINDOW:
        key_count[key] = low
    return DONE


@kernel(int64(STATE))
def run(state: DirectState) -> int:
    """Read events from cursor[AT] on (Algorithm 1). Empty `keys` or `positions` mean one key, rows as they come."""
    codes, keys, positions, first_position = state.codes, state.keys, state.positions, state.first_position
    ticks, lows, window, width, consume = state.ticks, state.lows, state.window, state.width, state.consume
    cursor, key_count = state.cursor, state.key_count
    count = len(codes)
    keyed, placed = len(keys) > 0, len(positions) > 0
    tick, low = 0, FOREVER
    for at in range(cursor[AT], count):
        key = keys[at] if keyed else 0
        if window == EVENT_WINDOW:
            tick = key_count[key] + 1
            low = tick - width + 1
        elif window != NO_WINDOW:
            tick, low = ticks[at], key_count[key] if consume == CONSUME_SKIP else lows[at]
        status = read_event(state, at, key, codes[at], positions[at] if placed else first_position + at, tick, low)
        if status != DONE:
            return status
    cursor[AT] = count
    return DONE
