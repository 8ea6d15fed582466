"""The two halves of each key's window, for NXT and LAST (patterns/automata/ranked.py).

The window of a key is its list of records (window_events.py). The oldest of them are its front half: such a record
holds its *opening* and the lists of the best strings from it to the end of the front half. The others are the back
half, told by the key's configuration and slots. When the front half is used up, the back half becomes the new one (a
*flip*), but only once a match may complete: until then the key is STALE, and events are only recorded.

Lists are chains of cells (match.py): newest event first in the back half, oldest first in the front half.
"""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import kernel
from ostinato.patterns.kernels.lists import apply, slide
from ostinato.patterns.kernels.protocol import (
    CODE,
    CONFIG,
    DONE,
    EPOCH,
    FOREVER,
    NEED_FLIP,
    NEED_NODES,
    NIL,
    TICK_WINDOW,
    USED,
)
from ostinato.patterns.kernels.window_events import BEFORE, NEXT, POSITION, RECORD_SIZE, TICK, WHAT, drop_oldest

# More columns of a record: the opening (NIL in the back half), then its lists.
OPENING = RECORD_SIZE
LISTS = RECORD_SIZE + 1
STALE = -1  # the configuration of a key whose back half has lost events


@kernel()
def evict(key: int, low: int, key_config: Int32, heads: Int32, records: Int64, cursor: Int64) -> None:
    """Drop the records that left the window."""
    while heads[key] >= 0 and records[heads[key], TICK] < low:
        if records[heads[key], OPENING] == NIL:
            key_config[key] = STALE
        drop_oldest(key, heads, records, cursor)
    if heads[key] < 0:
        key_config[key] = 0


@kernel()
def visit_lists(
    renumber: bool,
    marks: Int64,
    cursor: Int64,
    key_config: Int32,
    key_epoch: Int64,
    slots: Int32,
    slot_width: int,
    slot_ends: Int32,
    slot_list: Int32,
    heads: Int32,
    records: Int64,
) -> None:
    """Mark the first node of every list in use, or (`renumber`) put its new number in its place."""
    for key in range(len(key_config)):
        config = key_config[key]
        if key_epoch[key] != cursor[EPOCH] or config == STALE:
            continue
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            slot = key * slot_width + slot_list[at]
            if renumber:
                slots[slot] = marks[slots[slot]]
            else:
                marks[slots[slot]] = FOREVER + 1
        record = heads[key]
        while record >= 0 and records[record, OPENING] != NIL:
            for place in range(LISTS, records.shape[1]):
                node = records[record, place]
                if node < 0:
                    break
                if renumber:
                    records[record, place] = marks[node]
                else:
                    marks[node] = FOREVER + 1
            record = records[record, NEXT]


@kernel()
def collect_halves(
    nodes: Int64,
    marks: Int64,
    cursor: Int64,
    key_config: Int32,
    key_epoch: Int64,
    slots: Int32,
    slot_width: int,
    slot_ends: Int32,
    slot_list: Int32,
    heads: Int32,
    records: Int64,
    window: int,
    low: int,
) -> None:
    """Drop what left the windows of silent keys, and keep only the nodes that can still matter."""
    if window == TICK_WINDOW:
        for key in range(len(key_config)):
            if key_epoch[key] == cursor[EPOCH]:
                evict(key, low, key_config, heads, records, cursor)
    marks[: cursor[USED]] = FOREVER
    for renumber in (False, True):
        visit_lists(
            renumber,
            marks,
            cursor,
            key_config,
            key_epoch,
            slots,
            slot_width,
            slot_ends,
            slot_list,
            heads,
            records,
        )
        if not renumber:
            slide(nodes, marks, cursor)


@kernel()
def flip(
    head: int,
    tail: int,
    records: Int64,
    slots: Int32,
    fresh: Int32,
    entries: Int32,
    stride: int,
    ops: Int32,
    openings: Int32,
    slot_ends: Int32,
    slot_list: Int32,
    nodes: Int64,
    cursor: Int64,
) -> int:
    """Make a window's records its front half. What stops halfway is done again from the start."""
    used = cursor[USED]
    config = 0
    record = tail
    while True:
        code = records[record, WHAT]
        entry = config * stride + code
        if code >= stride or entries[entry, 0] < 0:
            cursor[USED], cursor[CONFIG], cursor[CODE] = used, config, code
            return NEED_FLIP
        begin, end = entries[entry, 1], entries[entry, 2]
        if cursor[USED] + end - begin > len(nodes) // 4:
            cursor[USED] = used
            return NEED_NODES
        apply(ops, begin, end, slots, 0, fresh, nodes, cursor, records[record, POSITION], 0, FOREVER)
        config = entries[entry, 0]
        records[record, OPENING] = openings[config]
        place = LISTS
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            records[record, place] = slots[slot_list[at]]
            place += 1
        if place < records.shape[1]:
            records[record, place] = NIL
        if record == head:
            return DONE
        record = records[record, BEFORE]
