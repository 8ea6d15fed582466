"""Reads a small batch in one call: its codes, keys and times, from where Arrow has the columns.

Each step is the kernel that reads larger batches column by column, of which Python calls many more. The batch is given
by Arrow's C data interface (arrow_export.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ostinato.core.arrow_export import BUFFERS, CHILD_COUNT, CHILDREN, LENGTH, NULL_COUNT, OFFSET, WORDS
from ostinato.core.clock import MAX_TICK, MIN_TICK
from ostinato.core.columns.batch_layout import (
    ABSENT,
    COUNTED,
    FLOATS,
    INTEGERS,
    MEASURED,
    OTHERWISE,
    WIDE_TEXTS,
    BatchState,
)
from ostinato.core.columns.class_codes import add_number_classes
from ostinato.core.columns.intern import intern_ints
from ostinato.core.columns.intern_bytes import intern_bytes
from ostinato.core.columns.name_matcher import look_up, match_names
from ostinato.core.jit import kernel, subroutine
from ostinato.core.jit.memory import float64_at, int32_at, int64_at, uint8_at
from ostinato.core.jit.types import boolean, int64, struct_type, void

_INFINITY = 0x7FF0000000000000  # as a float; what is above it is not a number


@subroutine()
def _read_validity(column: Any, begin: Any, count: Any, valid: Any) -> bool:
    """Whether a column has NULL in some row; `valid` says where not, then."""
    bits = int64_at(column[BUFFERS], 1)[0]
    if column[NULL_COUNT] == 0 or bits == 0:
        return False
    flags = uint8_at(bits, (begin + count + 7) // 8)
    every = np.uint8(1)
    for row in range(count):
        at = begin + row
        valid[row] = (flags[at >> 3] >> np.uint8(at & 7)) & 1
        every &= valid[row]
    return bool(every == 0)


@subroutine()
def _texts(column: Any, begin: Any, count: Any, storage: Any) -> Any:
    """Offsets of 32 or of 64 bits, the others being empty, and bytes."""
    buffers = int64_at(column[BUFFERS], 3)
    is_wide = storage == WIDE_TEXTS
    narrow = int32_at(buffers[1] + 4 * begin, 0 if is_wide else count + 1)
    wide = int64_at(buffers[1] + 8 * begin, count + 1 if is_wide else 0)
    size: Any = wide[count] if is_wide else np.int64(narrow[count])
    return narrow, wide, uint8_at(buffers[2], size)


@subroutine(boolean(struct_type(BatchState), int64, int64, int64, int64))
def _read_times(state: BatchState, address: Any, begin: Any, count: Any, watermark: Any) -> bool:
    """Whether all rows have a time, and are in order of it."""
    column, times = int64_at(address, WORDS), state.times
    if _read_validity(column, begin, count, state.valid):
        return False
    stored = int64_at(int64_at(column[BUFFERS], 2)[1] + 8 * begin, count)
    last, in_order = watermark, True
    if state.time_storage == INTEGERS:
        for row in range(count):
            tick = stored[row]
            in_order &= tick >= last
            times[row] = last = tick
        return in_order
    for row in range(count):
        bits = stored[row]
        if bits & MAX_TICK > _INFINITY:  # NaN
            return False
        if bits == MIN_TICK:  # -0.0
            bits = np.int64(0)
        tick = bits ^ ((bits >> 63) & MAX_TICK)
        in_order &= tick >= last
        times[row] = last = tick
    return in_order


@subroutine(void(struct_type(BatchState), int64, int64, int64, int64))
def _add_classes(state: BatchState, which: Any, address: Any, begin: Any, count: Any) -> None:
    """Add what one column says to the numbers of all rows."""
    storage, weight = state.classified[which, 1], np.int32(state.classified[which, 2])
    first, last, null = state.classified[which, 3], state.classified[which, 4], np.int32(state.classified[which, 5])
    column, valid, numbers = int64_at(address, WORDS), state.valid, state.numbers[:count]
    nulls = _read_validity(column, begin, count, valid)
    mask = valid[: count if nulls else 0]
    if storage in (INTEGERS, FLOATS):
        values = int64_at(column[BUFFERS], 2)[1] + 8 * begin
        bounds = state.bounds[first:last]
        if storage == FLOATS:
            add_number_classes(float64_at(values, count), mask, bounds, weight, numbers)
            return
        integers, floats = int64_at(values, count), state.floats[:count]
        for row in range(count):
            floats[row] = integers[row]
        add_number_classes(floats, mask, bounds, weight, numbers)
        return
    found, names = state.found[:count], state.texts[first]
    narrow, wide, data = _texts(column, begin, count, storage)
    match_names(
        narrow, wide, data, valid[:0], names.edges, names.names, names.starts,
        names.heads, names.chain, found,
    )  # fmt: skip
    for row in range(mask.size):
        if not mask[row]:
            found[row] = null
    for row in range(count):
        numbers[row] += weight * found[row]


@subroutine(int64(struct_type(BatchState), int64, int64, int64))
def _read_keys(state: BatchState, address: Any, begin: Any, count: Any) -> int:
    """How many rows have keys now: the hash table may have no room for more."""
    column, valid, keys = int64_at(address, WORDS), state.valid, state.keys[:count]
    nulls = _read_validity(column, begin, count, valid)
    if nulls and state.drops_null:
        return OTHERWISE
    mask = valid[: count if nulls else 0]
    if state.key_storage == INTEGERS:
        values = int64_at(int64_at(column[BUFFERS], 2)[1] + 8 * begin, count)
        return intern_ints(values, mask, 0, state.key_slots, state.key_hashes, state.key_state, keys)
    narrow, wide, data = _texts(column, begin, count, state.key_storage)
    return intern_bytes(
        narrow, wide, data, mask, 0, state.key_block, state.key_slots,
        state.key_hashes, state.key_ends, state.key_store, state.key_state, keys,
    )  # fmt: skip


@subroutine(void(struct_type(BatchState), int64, int64))
def _bound_windows(state: BatchState, count: Any, place: Any) -> None:
    lows, reach = state.lows, state.reach
    if state.bound == MEASURED:
        for row in range(count):
            lows[row] = max(state.times[row], MIN_TICK + reach) - reach
    elif state.bound == COUNTED:
        for row in range(count):
            state.places[row] = place + row
            lows[row] = place + row - reach


@kernel(int64(struct_type(BatchState), int64, int64, int64))
def read_batch(state: BatchState, address: int, watermark: int, place: int) -> Any:
    """Read the batch at an address, if its rows come one after the other, not before the watermark, and all of their
    values are of classes that some row had before. Its first row is at a place in the stream.

    Returns how many rows there are, or OTHERWISE."""
    batch = int64_at(address, WORDS)
    count, offset = batch[LENGTH], batch[OFFSET]
    columns = int64_at(batch[CHILDREN], batch[CHILD_COUNT])
    if state.time_storage != ABSENT:
        column = columns[state.time]
        begin = int64_at(column, WORDS)[OFFSET] + offset
        if not _read_times(state, column, begin, count, watermark):
            return OTHERWISE
    numbers = state.numbers[:count]
    for row in range(count):
        numbers[row] = 0
    for which in range(state.classified.shape[0]):
        column = columns[state.classified[which, 0]]
        begin = int64_at(column, WORDS)[OFFSET] + offset
        _add_classes(state, which, column, begin, count)
    if look_up(numbers, state.codes_of, state.codes[:count]) < 0:
        return OTHERWISE
    if state.key_storage != ABSENT:
        column = columns[state.key]
        begin = int64_at(column, WORDS)[OFFSET] + offset
        if _read_keys(state, column, begin, count) != count:
            return OTHERWISE
    _bound_windows(state, count, place)
    return count
