"""The match structure and the update loop: constant work per event, whatever was seen before (seed 000, section 7.2).

Partial complex events live in *lists*. A list is a node number, and a node is four integers of `nodes`:

    cell   value ≥ 0   child   next    newest     one marked event; `child` lists what precedes it, `next` the rest
    union  -1          left    right   newest     two lists at once

`value` packs position and symbol. `newest` is the tick of the latest first event of any partial match in the list: a
list whose `newest` is below the window's lower bound is dead and will stay dead, so readers may cut it off for good.
That makes enumeration linear in its output, and nodes reclaimable, without ever walking through expired matches.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ostinato.kernels.jit import kernel

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

BOTTOM = -1  # the empty partial match
NIL = -2  # the empty list
SYMBOL_BITS = 8

# What a kernel call returns: done, or what its caller must provide before calling again.
DONE, NEED_STEP, NEED_NODES, OUTPUT_FULL, NEED_STACK, NEED_RECORDS, NEED_CODE, NEED_FLIP, NEED_JOIN = range(9)
# The cursor vector: where to go on after such a return.
(AT, USED, STACK, EMITTING, PENDING, VALUES, MATCHES, EPOCH, EMITTED, CONFIG, CODE, LIVE) = range(12)
RECORDS, FREE, REPLAYED = range(12, 15)  # only where windows are replayed
CURSOR_SIZE = 15
# WITHIN: none; n events; ticks and lower bounds given per event.
NO_WINDOW, EVENT_WINDOW, TICK_WINDOW = range(3)
CONSUME_NONE, CONSUME_PARTITION, CONSUME_ANY = range(3)
# What to do with complete matches: only notice them, write them out, or count them one by one.
NOTICE, WRITE, WALK = range(3)

FOREVER = np.iinfo(np.int64).min


@kernel()
def alive(nodes: Int64, node: int, low: int) -> bool:
    return node >= 0 and nodes[4 * node + 3] >= low


@kernel()
def resolve(nodes: Int64, node: int, low: int) -> int:
    """The first node of a list that still has something to give; NIL when none has."""
    while node >= 0:
        at = 4 * node
        if nodes[at + 3] < low:
            return NIL
        left, right = nodes[at + 1], nodes[at + 2]
        if nodes[at] >= 0:
            if left == BOTTOM or alive(nodes, left, low):
                return node
            node = right
        elif not alive(nodes, left, low):
            node = right
        elif not alive(nodes, right, low):
            node = left
        else:
            return node
    return NIL


@kernel()
def apply(
    ops: Int32,
    begin: int,
    end: int,
    slots: Int32,
    base: int,
    fresh: Int32,
    nodes: Int64,
    cursor: Int64,
    position: int,
    tick: int,
    low: int,
) -> None:
    """Run one step's program: every list is built from the slots as they were before the event."""
    result = NIL
    groups = 0
    used = cursor[USED]
    for at in range(begin, end):
        source, symbol, destination = ops[at, 0], ops[at, 1], ops[at, 2]
        node = slots[base + source] if source >= 0 else BOTTOM
        if source < 0 or alive(nodes, node, low):
            if symbol == 0 and result < 0:
                result = node
            else:
                # A first event: nothing older can be newer than it, so its list's `newest` is its own tick.
                newest = nodes[4 * node + 3] if source >= 0 else tick
                if result >= 0:
                    newest = max(newest, nodes[4 * result + 3])
                spot = 4 * used
                nodes[spot + 3] = newest
                if symbol:
                    nodes[spot] = (position << SYMBOL_BITS) | symbol
                    nodes[spot + 1] = node
                    nodes[spot + 2] = result
                else:
                    nodes[spot] = -1
                    nodes[spot + 1] = result
                    nodes[spot + 2] = node
                result = used
                used += 1
        if destination >= 0:
            if groups == 0 and at == end - 1:
                slots[base + destination] = result
            else:
                fresh[2 * groups] = destination
                fresh[2 * groups + 1] = result
                groups += 1
                result = NIL
    for group in range(groups):
        slots[base + fresh[2 * group]] = fresh[2 * group + 1]
    cursor[USED] = used


@kernel()
def write_match(path: Int64, depth: int, cursor: Int64, values: Int64, ends: Int64, origins: Int64) -> bool:
    """Copy the marked events of the current path, earliest first; False when the output is full.

    `origins` remembers which event of the batch completed the match.
    """
    used = cursor[VALUES]
    if used + depth > len(values) or cursor[MATCHES] >= len(ends):
        return False
    for at in range(depth):
        values[used + at] = path[depth - 1 - at]
    cursor[VALUES] = used + depth
    ends[cursor[MATCHES]] = used + depth
    origins[cursor[MATCHES]] = cursor[AT]
    cursor[MATCHES] += 1
    return True


@kernel()
def enumerate_matches(
    nodes: Int64,
    low: int,
    walk: bool,
    cursor: Int64,
    stack: Int64,
    path: Int64,
    values: Int64,
    ends: Int64,
    origins: Int64,
) -> int:
    """Depth first through the lists on the stack (Algorithm 2, without recursion). Can stop and go on anywhere."""
    if cursor[PENDING]:
        if not write_match(path, cursor[PENDING], cursor, values, ends, origins):
            return OUTPUT_FULL
        cursor[PENDING] = 0
    top = cursor[STACK]
    found = 0
    while top > 0:
        top -= 1
        node, depth = stack[2 * top], stack[2 * top + 1]
        while node >= 0:
            if depth + 2 >= len(path) or 2 * top + 4 >= len(stack):
                stack[2 * top], stack[2 * top + 1] = node, depth
                cursor[STACK] = top + 1
                return NEED_STACK
            at = 4 * node
            if nodes[at] < 0:
                stack[2 * top], stack[2 * top + 1] = nodes[at + 2], depth
                top += 1
                node = resolve(nodes, nodes[at + 1], low)
                nodes[at + 1] = node
                continue
            child = nodes[at + 1]
            rest = nodes[at + 2]
            if rest >= 0:
                rest = resolve(nodes, rest, low)
                nodes[at + 2] = rest  # what is dead stays dead: the next reader need not look again
            path[depth] = nodes[at]
            if child == BOTTOM:
                if walk:
                    found += 1
                elif not write_match(path, depth + 1, cursor, values, ends, origins):
                    if rest >= 0:
                        stack[2 * top], stack[2 * top + 1] = rest, depth
                        top += 1
                    cursor[STACK] = top
                    cursor[PENDING] = depth + 1
                    return OUTPUT_FULL
                node = rest
                continue
            if rest >= 0:
                stack[2 * top], stack[2 * top + 1] = rest, depth
                top += 1
            node = resolve(nodes, child, low)
            depth += 1
        # A union's right side is pushed unresolved; it is looked at when its turn comes.
        if top > 0:
            stack[2 * top - 2] = resolve(nodes, stack[2 * top - 2], low)
    cursor[STACK] = 0
    cursor[MATCHES] += found
    return DONE


@kernel()
def emit(
    emits: Int32,
    begin: int,
    end: int,
    slots: Int32,
    base: int,
    nodes: Int64,
    position: int,
    low: int,
    mode: int,
    cursor: Int64,
    stack: Int64,
    path: Int64,
    values: Int64,
    ends: Int64,
    origins: Int64,
) -> int:
    """Everything the current event completes, from where the last call stopped."""
    while True:
        status = enumerate_matches(nodes, low, mode == WALK, cursor, stack, path, values, ends, origins)
        if status != DONE:
            return status
        at = begin + cursor[EMITTING]
        if at >= end:
            cursor[EMITTING] = 0
            return DONE
        source, symbol = emits[at, 0], emits[at, 1]
        depth = 0
        if symbol:
            path[0] = (position << SYMBOL_BITS) | symbol
            depth = 1
        if source < 0:
            cursor[EMITTED] = 1
            if mode == WRITE:
                if not write_match(path, depth, cursor, values, ends, origins):
                    return OUTPUT_FULL
            else:
                cursor[MATCHES] += mode == WALK
        else:
            node = resolve(nodes, slots[base + source], low)
            if node >= 0:
                cursor[EMITTED] = 1
                if mode != NOTICE:
                    stack[0], stack[1] = node, depth
                    cursor[STACK] = 1
        cursor[EMITTING] += 1


@kernel()
def slide(nodes: Int64, marks: Int64, cursor: Int64) -> None:
    """Slide the marked nodes and all they lead to to the front. Children are older than parents, so two sweeps do.

    `marks` holds the lower bound that applies to a node (FOREVER: not marked), and is then its new number.
    """
    used = cursor[USED]
    for node in range(used - 1, -1, -1):
        bound = marks[node]
        if bound == FOREVER:
            continue
        for side in range(1, 3):
            child = nodes[4 * node + side]
            if child >= 0:
                child = resolve(nodes, child, bound)
                nodes[4 * node + side] = child
                if child >= 0:
                    marks[child] = bound
    kept = 0
    for node in range(used):
        if marks[node] == FOREVER:
            continue
        at, to = 4 * node, 4 * kept
        for side in range(1, 3):
            child = nodes[at + side]
            nodes[to + side] = marks[child] if child >= 0 else child
        nodes[to], nodes[to + 3] = nodes[at], nodes[at + 3]
        marks[node] = kept
        kept += 1
    cursor[USED] = kept
    cursor[LIVE] = kept


@kernel()
def collect(
    nodes: Int64,
    marks: Int64,
    cursor: Int64,
    key_config: Int32,
    key_epoch: Int64,
    key_count: Int64,
    slots: Int32,
    slot_width: int,
    slot_ends: Int32,
    slot_list: Int32,
    window: int,
    width: int,
    low: int,
) -> None:
    """Keep only the nodes that can still matter; each key may have its own lower bound."""
    marks[: cursor[USED]] = FOREVER
    for key in range(len(key_config)):
        if key_epoch[key] != cursor[EPOCH]:
            continue
        bound = key_count[key] - width + 1 if window == EVENT_WINDOW else low
        config = key_config[key]
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            node = resolve(nodes, slots[key * slot_width + slot_list[at]], bound)
            slots[key * slot_width + slot_list[at]] = node
            if node >= 0:
                # FOREVER itself means "not reached"; a bound that low keeps everything, as does the next one.
                marks[node] = max(bound, FOREVER + 1)
    slide(nodes, marks, cursor)
    for key in range(len(key_config)):
        if key_epoch[key] != cursor[EPOCH]:
            continue
        config = key_config[key]
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            node = slots[key * slot_width + slot_list[at]]
            if node >= 0:
                slots[key * slot_width + slot_list[at]] = marks[node]


@kernel()
def run(
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
    key_config: Int32,
    key_epoch: Int64,
    key_count: Int64,
    slots: Int32,
    slot_width: int,
    fresh: Int32,
    entries: Int32,
    stride: int,
    ops: Int32,
    emits: Int32,
    slot_ends: Int32,
    slot_list: Int32,
    nodes: Int64,
    marks: Int64,
    cursor: Int64,
    stack: Int64,
    path: Int64,
    values: Int64,
    ends: Int64,
    origins: Int64,
) -> int:
    """Read events from cursor[AT] on (Algorithm 1). Empty `keys` or `positions` mean one key, rows as they come."""
    count = len(codes)
    keyed, placed = len(keys) > 0, len(positions) > 0
    capacity = len(nodes) // 4
    tick, low = 0, FOREVER
    for at in range(cursor[AT], count):
        key = keys[at] if keyed else 0
        if key_epoch[key] != cursor[EPOCH]:
            key_epoch[key] = cursor[EPOCH]
            key_config[key] = 0
        config = key_config[key]
        if window == EVENT_WINDOW:
            tick = key_count[key] + 1
            low = tick - width + 1
        elif window == TICK_WINDOW:
            tick, low = ticks[at], lows[at]
        code = codes[at]
        entry = config * stride + code
        if code >= stride or entries[entry, 0] < 0:
            cursor[AT], cursor[CONFIG], cursor[CODE] = at, config, code
            return NEED_STEP
        op_begin, op_end, emit_begin, emit_end = (
            entries[entry, 1],
            entries[entry, 2],
            entries[entry, 3],
            entries[entry, 4],
        )
        if op_begin != op_end or emit_begin != emit_end:
            if cursor[USED] + op_end - op_begin > capacity:
                collect(
                    nodes,
                    marks,
                    cursor,
                    key_config,
                    key_epoch,
                    key_count,
                    slots,
                    slot_width,
                    slot_ends,
                    slot_list,
                    window,
                    width,
                    low,
                )
                if 4 * cursor[USED] + op_end - op_begin > capacity:
                    cursor[AT] = at
                    return NEED_NODES
            position = positions[at] if placed else first_position + at
            if emit_begin != emit_end:
                cursor[AT] = at
                status = emit(
                    emits,
                    emit_begin,
                    emit_end,
                    slots,
                    key * slot_width,
                    nodes,
                    position,
                    low,
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
                if cursor[EMITTED]:
                    cursor[EMITTED] = 0
                    if consume != CONSUME_NONE:
                        if window == EVENT_WINDOW:
                            key_count[key] = tick
                        key_config[key] = 0
                        if consume == CONSUME_ANY or not keyed:
                            cursor[EPOCH] += 1
                            cursor[USED] = 0
                        continue
            apply(ops, op_begin, op_end, slots, key * slot_width, fresh, nodes, cursor, position, tick, low)
        key_config[key] = entries[entry, 0]
        if window == EVENT_WINDOW:
            key_count[key] = tick
    cursor[AT] = count
    return DONE
