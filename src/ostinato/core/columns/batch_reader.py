"""Small batches become codes, keys and ticks in one call (batch_kernel.py), if their columns are plain.

That is: times, numbers and keys of 64 bits, and texts that are stored in a row. What is known of values so far says
the rest: the kernel learns nothing, and leaves rows that have anything new to the readers of columns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32, Int64
from ostinato.core.arrow_export import ExportedBatch
from ostinato.core.clock import Clock
from ostinato.core.columns import batch_layout as layout
from ostinato.core.columns.batch_kernel import read_batch
from ostinato.core.columns.batch_layout import storage_of
from ostinato.core.columns.class_codes import ClassCodes
from ostinato.core.columns.keys import KeyTable
from ostinato.core.jit import prefetch
from ostinato.core.jit.array_struct import StructList

_FEW_COLUMNS = 2  # that nobody reads are exported with the others: to leave them out costs more
_SIZES = 64  # of batches, whose views are kept


@dataclass(frozen=True)
class BatchColumns:
    """What is read of a batch; `reach` is how far a window reaches back along `bound`."""

    schema: pa.Schema
    clock: Clock | None
    codes: ClassCodes
    key: str | None
    drops_null: bool
    bound: int
    reach: int


@dataclass(frozen=True)
class ReadRows:
    """What became of so many rows."""

    codes: Int32
    keys: Int32
    times: Int64
    places: Int64
    lows: Int64


class BatchReader:
    """Reads batches of at most so many rows."""

    def __init__(self, columns: BatchColumns, most: int) -> None:
        prefetch(read_batch)
        self._is_keyed = columns.key is not None
        clock, schema = columns.clock, columns.schema
        times = [clock.column] if clock is not None else []
        names = list(dict.fromkeys([*times, *columns.codes.names, *([columns.key] if columns.key is not None else [])]))
        self._selected: list[str] | None = names if len(schema) > len(names) + _FEW_COLUMNS else None
        places = {name: place for place, name in enumerate(schema.names if self._selected is None else names)}
        classified, bounds, texts = columns.codes.layout(places)
        empty = np.zeros(0, np.int64)
        self.state = layout.BatchState(
            time=places[clock.column] if clock is not None else 0,
            time_storage=storage_of(clock.type) if clock is not None else layout.ABSENT,
            classified=classified, bounds=bounds, texts=StructList(texts), codes_of=columns.codes.codes,
            key=places[columns.key] if columns.key is not None else 0,
            key_storage=storage_of(schema.field(columns.key).type) if columns.key is not None else layout.ABSENT,
            key_slots=empty, key_hashes=empty, key_state=empty, key_ends=empty, key_store=np.zeros(0, np.uint8),
            key_block=empty, drops_null=int(columns.drops_null), bound=columns.bound, reach=columns.reach,
            valid=np.empty(most, np.uint8), floats=np.empty(most), found=np.empty(most, np.int32),
            numbers=np.empty(most, np.int32), codes=np.empty(most, np.int32), keys=np.empty(most, np.int32),
            times=np.empty(most, np.int64), places=np.empty(most, np.int64), lows=np.empty(most, np.int64),
        )  # fmt: skip
        self._room = ExportedBatch()
        self._views: dict[int, ReadRows] = {}

    def read(self, rows: pa.Table, keys: KeyTable | None, watermark: int, place: int) -> ReadRows | None:
        """Rows that may not be before the watermark; the first of them is at a place in the stream. None where they
        have to be read otherwise."""
        if keys is not None and not keys.fill(self.state):
            return None
        batches = (rows if self._selected is None else rows.select(self._selected)).to_batches()
        if len(batches) != 1:
            return None
        address = self._room.show(batches[0])
        try:
            count = read_batch(self.state, address, watermark, place)
        finally:
            self._room.release()
        return self._view(count) if count != layout.OTHERWISE else None

    def _view(self, count: int) -> ReadRows:
        """The rows that were read. Batches are often of one size."""
        found = self._views.get(count)
        if found is None:
            state = self.state
            codes, lows = state.codes[:count], state.lows[:count]
            keys = state.keys[: count if self._is_keyed else 0]
            found = ReadRows(codes, keys, state.times[:count], state.places[:count], lows)
            if len(self._views) >= _SIZES:
                self._views.clear()
            self._views[count] = found
        return found
