"""Reads small batches of plain columns: one kernel call makes codes, keys and ticks of them, and one matches these.

Batches change the same state as larger ones do (state.py). What is not plain here (a row that comes late, a value of a
class that no row had before, a query with more than a kernel to it) is read as a larger batch is.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ostinato.core.columns import batch_layout as layout
from ostinato.core.columns.batch_layout import storage_of
from ostinato.core.columns.batch_reader import BatchColumns, BatchReader
from ostinato.core.window_bounds import lower_bounds, whole_reach
from ostinato.patterns.kernels import protocol
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matches import Matches

if TYPE_CHECKING:
    from ostinato.patterns.runtime.bound_query import BoundQuery
    from ostinato.patterns.runtime.state import EngineState

MOST_ROWS = 1 << 12  # of a small batch: to read larger ones column by column costs no more
_MOST_INDEXED = 1 << 10  # where matches wait: more events change arrays faster than objects
_NONE = np.zeros(0, np.int64)


class SmallBatches:
    """Reads batches for one engine that is bound to its columns."""

    def __init__(self, engine: EngineState, columns: BatchColumns) -> None:
        self.engine, self.reader = engine, BatchReader(columns, MOST_ROWS)
        window = engine.compiled.query.window
        self.indexed = engine.indexed
        self.bound = columns.bound
        # Bounds along floats are a matter of rounding.
        self.measured = window.amount if window is not None and engine.stream.ruler and not columns.bound else None
        self._events: Events | None = None

    @staticmethod
    def of(engine: EngineState) -> SmallBatches | None:
        """For an engine whose batches can be read so."""
        columns = _columns(engine)
        return SmallBatches(engine, columns) if columns is not None else None

    def push(self, rows: pa.Table) -> Sequence[Matches] | None:
        """The matches that some events complete; None, and nothing is changed, where they are to be read otherwise."""
        engine = self.engine
        stream, reorder, matcher = engine.stream, engine.reorder, engine.matcher
        if reorder.holds_rows or (self.indexed is not None and len(rows) > _MOST_INDEXED):
            return None
        read = self.reader.read(rows, stream.keys, reorder.watermark, engine.read)
        if read is None:
            return None
        count, first = len(read.codes), engine.events
        ticks, lows = _NONE, _NONE
        if self.bound == layout.COUNTED:
            ticks, lows = read.places, read.lows
        elif self.bound == layout.MEASURED:
            ticks, lows = read.times, read.lows
        elif self.measured is not None and stream.ruler is not None:
            ticks, lows = read.times, lower_bounds(stream.ruler, read.times, self.measured)
        if stream.clock is not None:
            reorder.watermark = int(read.times[-1])
        if len(lows):
            engine.low, engine.newest = int(lows[-1]), int(ticks[-1])
        engine.events += count
        engine.read += count
        if stream.ties is not None:
            stream.ties.read += count
        events = Events(
            read.codes, read.keys, stream.keys.size if stream.keys is not None else 1, _NONE, first, ticks, lows
        )
        if self.indexed is None:
            engine.history.open(rows, range(first, first + count))
            noted = engine.notes_completed
            return [Matches.unpack(chunk, events, completed=noted) for chunk in matcher.run_few(events)]
        assert stream.clock is not None
        times = stream.clock.to_pulses(read.times).copy()
        rows = engine.with_places(rows, None, times, np.arange(engine.read - count, engine.read))
        engine.history.open(rows, range(first, first + count))
        found = Matches.concat([Matches.unpack(chunk, events) for chunk in matcher.run_few(events)])
        self.indexed.take_over()
        self.indexed.see(rows, read.codes, read.keys, times, found)
        certain = self.indexed.until(int(times[-1]))
        return () if certain is None else (certain,)


def _columns(engine: EngineState) -> BatchColumns | None:
    """What is to be read of batches; None where a kernel cannot."""
    compiled, stream = engine.compiled, engine.stream
    schema, window = stream.schema, compiled.query.window
    along = window is not None and window.kind == "attribute"
    if stream.recent:
        return None
    waits = stream.clock is not None and (engine.options.lateness != 0 or bool(stream.binding.order_by))
    if not engine.takes_few or along or waits or stream.terms is not None or len(stream.key_columns) > 1:
        return None
    clock = stream.clock
    if clock is not None and storage_of(schema.field(clock.column).type) not in (layout.INTEGERS, layout.FLOATS):
        return None
    key = stream.key_columns[0] if stream.key_columns else None
    if key is not None and storage_of(schema.field(key).type) in (layout.ABSENT, layout.FLOATS):
        return None
    if stream.ties is not None and compiled.contiguous:
        return None
    codes = stream.encoder.classes_for(schema, stream.binding.type)
    if codes is None or not codes.is_plain:
        return None
    return BatchColumns(schema, clock, codes, key, stream.ties is not None, *_bound(stream))


def _bound(stream: BoundQuery) -> tuple[int, int]:
    """How lower bounds are found, and how far a window reaches."""
    window = stream.compiled.query.window
    if stream.event_width:
        return layout.COUNTED, stream.event_width - 1
    if stream.ruler is None or window is None or stream.window != protocol.TICK_WINDOW:
        return layout.NO_BOUND, 0
    reach = whole_reach(stream.ruler, window.amount)
    return (layout.NO_BOUND, 0) if reach is None else (layout.MEASURED, reach)
