"""The events of each key's window, in one pool of records with a list of free ones.

A record is one event that can change a configuration: its position (FREED when the record is free), tick and code, and
the records of the same key after and before it. `heads` and `tails` are the oldest and newest records of each key.
"""

from __future__ import annotations

from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.types import int64, struct_type, void
from ostinato.patterns.kernels.layout import ReplayedState
from ostinato.patterns.kernels.protocol import EPOCH, FREE, NIL, RECORDS

POSITION, TICK, WHAT, NEXT, BEFORE = range(5)
RECORD_SIZE = 5
FREED = -1
# What an event's code means to a window: it changes nothing, or it may complete something. -1: not yet known.
INERT, CLOSES = 1, 2


STATE = struct_type(ReplayedState)


@subroutine(void(STATE, int64))
def drop_oldest(state: ReplayedState, key: int) -> None:
    heads, records, cursor = state.heads, state.records, state.cursor
    head = heads[key]
    heads[key] = records[head, NEXT]
    records[head, POSITION] = FREED
    records[head, NEXT] = cursor[FREE]
    cursor[FREE] = head


@subroutine(void(STATE, int64))
def drop_all(state: ReplayedState, key: int) -> None:
    heads = state.heads
    while heads[key] >= 0:
        drop_oldest(state, key)


@kernel(void(STATE, int64))
def drop_expired(state: ReplayedState, low: int) -> None:
    """Drop what left the windows of silent keys."""
    heads, records = state.heads, state.records
    for key in range(len(heads)):
        if state.key_epoch[key] == state.cursor[EPOCH]:
            while heads[key] >= 0 and records[heads[key], TICK] < low:
                drop_oldest(state, key)


@subroutine(int64(STATE, int64, int64, int64, int64))
def append_record(state: ReplayedState, key: int, position: int, tick: int, code: int) -> int:
    """The number of the new record; there must be room for it."""
    heads, tails, records, cursor = state.heads, state.tails, state.records, state.cursor
    record: int = cursor[FREE]
    if record >= 0:
        cursor[FREE] = records[record, NEXT]
    else:
        record = cursor[RECORDS]
        cursor[RECORDS] += 1
    records[record, POSITION], records[record, TICK], records[record, WHAT] = position, tick, code
    records[record, NEXT], records[record, BEFORE] = NIL, tails[key]
    if heads[key] < 0:
        heads[key] = record
    else:
        records[tails[key], NEXT] = record
    tails[key] = record
    return record
