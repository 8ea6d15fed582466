"""What the kernel of small batches reads and writes (batch_kernel.py)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Float64, Int32, Int64, UInt8, UInt64
from ostinato.core.jit.array_struct import ArrayStruct, Field, StructsField

# How a column is stored.
ABSENT, INTEGERS, FLOATS, NARROW_TEXTS, WIDE_TEXTS = range(5)
# How a lower bound follows from where an event stands.
NO_BOUND, COUNTED, MEASURED = range(3)
# What the kernel returns if rows have to be read otherwise; nothing has changed then but keys that have numbers now.
OTHERWISE = -1


def storage_of(kind: pa.DataType) -> int:
    """How values are stored; ABSENT for what the kernel cannot read."""
    if pa.types.is_int64(kind) or pa.types.is_timestamp(kind):
        return INTEGERS
    kinds = {pa.float64(): FLOATS, pa.string(): NARROW_TEXTS, pa.large_string(): WIDE_TEXTS}
    return kinds.get(kind, ABSENT)


class NameTables(ArrayStruct):
    """The names that texts are looked up among (name_matcher.py)."""

    edges = Field[UInt64](np.uint64, 1, "per name: its first and its last eight bytes", constant=True)
    names = Field[UInt8](np.uint8, 1, "all names", constant=True)
    starts = Field[Int64](np.int64, 1, "where each name begins in `names`", constant=True)
    heads = Field[Int64](np.int64, 1, "per bucket: its first name", constant=True)
    chain = Field[Int64](np.int64, 1, "per name: the next one of its bucket", constant=True)


class BatchState(ArrayStruct):
    """How columns become codes, keys and ticks, and room for these."""

    time = Field[int](np.int64, 0, "the place of the time column")
    time_storage = Field[int](np.int64, 0, "how it is stored: INTEGERS or FLOATS, or ABSENT if there is none")
    classified = Field[Int64](
        np.int64,
        2,
        "per column that codes depend on: place, storage, weight, first and last of its `bounds` or its number among"
        " `texts`, class of NULL",
        constant=True,
    )
    bounds = Field[Float64](np.float64, 1, "what numbers are compared with, column by column", constant=True)
    texts = StructsField(NameTables, "what texts are compared with")
    codes_of = Field[Int32](
        np.int32, 1, "per combination of classes: its code; below 0 if not known yet", constant=True
    )
    key = Field[int](np.int64, 0, "the place of the column that partitions the stream")
    key_storage = Field[int](np.int64, 0, "how it is stored; ABSENT if there is none")
    key_slots = Field[Int64](np.int64, 1, "the interner of keys (intern.py): its hash table")
    key_hashes = Field[Int64](np.int64, 1, "keys, or their hashes")
    key_state = Field[Int64](np.int64, 1, "how many there are, and which one is NULL")
    key_ends = Field[Int64](np.int64, 1, "of keys that are texts (intern_bytes.py): where each ends in `key_store`")
    key_store = Field[UInt8](np.uint8, 1, "their bytes")
    key_block = Field[Int64](np.int64, 1, "room to look them up in")
    drops_null = Field[int](np.int64, 0, "1 where events without a key are left out, so that NULL is read otherwise")
    bound = Field[int](np.int64, 0, "NO_BOUND, COUNTED along places, or MEASURED along time")
    reach = Field[int](np.int64, 0, "how far a window reaches back from its last event")
    valid = Field[UInt8](np.uint8, 1, "per row, while a column is read: whether it has a value")
    floats = Field[Float64](np.float64, 1, "its numbers")
    found = Field[Int32](np.int32, 1, "its classes")
    numbers = Field[Int32](np.int32, 1, "per row: its combination of classes")
    codes = Field[Int32](np.int32, 1, "output, per row: its code")
    keys = Field[Int32](np.int32, 1, "output, per row: its key")
    times = Field[Int64](np.int64, 1, "output, per row: its tick in time")
    places = Field[Int64](np.int64, 1, "output, per row: its place in the stream, if COUNTED")
    lows = Field[Int64](np.int64, 1, "output, per row: the lowest tick, or place, that is in one window with it")
