"""The two halves of each key's window, for NXT and LAST (patterns/automata/ranked.py).

The window of a key is its list of records (window_events.py). The oldest of them are its front half: such a record
holds its *opening* and the lists of the best strings from it to the end of the front half. The others are the back
half, described by the key's configuration and slots. When the front half is used up, the back half becomes the new one
(a *flip*), but only once a match may complete: until then the key is STALE, and events are only recorded.

Lists are chains of cells (match.py): newest event first in the back half, oldest first in the front half.
"""

from __future__ import annotations

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import boolean, int64, struct_type, void
from ostinato.patterns.kernels.layout import RankedState
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


STATE = struct_type(RankedState)


@subroutine(void(STATE, int64, int64))
def evict(state: RankedState, key: int, low: int) -> None:
    """Drop the records that left the window."""
    key_config, heads, records = state.key_config, state.heads, state.records
    while heads[key] >= 0 and records[heads[key], TICK] < low:
        if records[heads[key], OPENING] == NIL:
            key_config[key] = STALE
        drop_oldest(state, key)
    if heads[key] < 0:
        key_config[key] = 0


@subroutine(void(STATE, boolean))
def visit_lists(state: RankedState, renumber: bool) -> None:
    """Mark the first node of every list in use, or (`renumber`) put its new number in its place."""
    marks, cursor, key_config, key_epoch = state.marks, state.cursor, state.key_config, state.key_epoch
    slots, slot_ends, slot_list = state.back.slots, state.back.slot_ends, state.back.slot_list
    heads, records = state.heads, state.records
    for key in range(len(key_config)):
        config = key_config[key]
        if key_epoch[key] != cursor[EPOCH] or config == STALE:
            continue
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            slot = slot_list[at]
            if renumber:
                slots[key, slot] = marks[slots[key, slot]]
            else:
                marks[slots[key, slot]] = FOREVER + 1
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


@kernel(void(STATE, int64))
def collect_halves(state: RankedState, low: int) -> None:
    """Drop what left the windows of silent keys, and keep only the nodes that can still matter."""
    marks, cursor, key_epoch = state.marks, state.cursor, state.key_epoch
    if state.window == TICK_WINDOW:
        for key in range(len(key_epoch)):
            if key_epoch[key] == cursor[EPOCH]:
                evict(state, key, low)
    for node in range(cursor[USED]):
        marks[node] = FOREVER
    visit_lists(state, False)
    slide(state)
    visit_lists(state, True)


@subroutine(int64(STATE, int64))
def flip(state: RankedState, key: int) -> int:
    """Make the records of a key's window its front half. What stops halfway is done again from the start."""
    records, cursor, openings, front = state.records, state.cursor, state.openings, state.front
    entries, stride, slots = front.entries, front.stride, front.slots
    slot_ends, slot_list = front.slot_ends, front.slot_list
    used = cursor[USED]
    config = 0
    record, head = state.tails[key], state.heads[key]
    while True:
        code = records[record, WHAT]
        entry = config * stride + code
        if code >= stride or entries[entry, 0] < 0:
            cursor[USED], cursor[CONFIG], cursor[CODE] = used, config, code
            return NEED_FLIP
        begin, end = entries[entry, 1], entries[entry, 2]
        if cursor[USED] + end - begin > len(state.nodes) // 4:
            cursor[USED] = used
            return NEED_NODES
        apply(state, front, begin, end, 0, records[record, POSITION], 0, FOREVER)
        config = entries[entry, 0]
        records[record, OPENING] = openings[config]
        place = LISTS
        for at in range(slot_ends[config - 1] if config else 0, slot_ends[config]):
            records[record, place] = slots[0, slot_list[at]]
            place += 1
        if place < records.shape[1]:
            records[record, place] = NIL
        if record == head:
            return DONE
        record = records[record, BEFORE]
