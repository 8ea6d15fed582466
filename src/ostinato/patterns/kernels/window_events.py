"""The events of each key's window, in one pool of records with a list of free ones.

A record is one event that can change a configuration: its position (FREED when the record is free), tick and code, and
the records of the same key after and before it. `heads` and `tails` are the oldest and newest records of each key.
"""

from __future__ import annotations

from ostinato.core.arrays import Int32, Int64
from ostinato.core.jit import kernel
from ostinato.patterns.kernels.protocol import EPOCH, FREE, NIL, RECORDS

POSITION, TICK, WHAT, NEXT, BEFORE = range(5)
RECORD_SIZE = 5
FREED = -1
# What an event's code means to a window: it changes nothing, or it may complete something. -1: not yet known.
INERT, CLOSES = 1, 2


@kernel()
def drop_oldest(key: int, heads: Int32, records: Int64, cursor: Int64) -> None:
    head = heads[key]
    heads[key] = records[head, NEXT]
    records[head, POSITION] = FREED
    records[head, NEXT] = cursor[FREE]
    cursor[FREE] = head


@kernel()
def drop_all(key: int, heads: Int32, records: Int64, cursor: Int64) -> None:
    while heads[key] >= 0:
        drop_oldest(key, heads, records, cursor)


@kernel()
def drop_expired(low: int, key_epoch: Int64, heads: Int32, records: Int64, cursor: Int64) -> None:
    """Drop what left the windows of silent keys."""
    for key in range(len(heads)):
        if key_epoch[key] == cursor[EPOCH]:
            while heads[key] >= 0 and records[heads[key], TICK] < low:
                drop_oldest(key, heads, records, cursor)


@kernel()
def append_record(
    key: int, position: int, tick: int, code: int, heads: Int32, tails: Int32, records: Int64, cursor: Int64
) -> int:
    """The number of the new record; there must be room for it."""
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
