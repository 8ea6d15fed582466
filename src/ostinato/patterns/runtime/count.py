"""Counting matches, a batch at a time: by adding up where a match is a run of the machine (kernels/count.py), else by
walking over them. What is kept between batches is bounded by the window and the number of keys."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.events import time_order, to_arrow
from ostinato.errors import DataError, OstinatoError
from ostinato.patterns.runtime.tallies import must_list, tally_for
from ostinato.patterns.runtime.tally import Tally

if TYPE_CHECKING:
    from ostinato.patterns.runtime.engine import Engine


SLICE = 1 << 18  # rows of a large table at a time


class OutOfOrder(DataError):
    """A batch goes behind an earlier one, so that only the whole stream can be put in order."""


def count_table(engine: Engine, data: Any) -> int:
    """The number of rows `engine.run_batch(data)` would have."""
    rows = engine.conform(to_arrow(data))
    in_order = time_order(rows, engine.stream.binding) is None
    size = SLICE if in_order else len(rows)
    return count_batches(engine, (rows.slice(at, size) for at in range(0, len(rows), max(1, size))))


def count_batches(engine: Engine, batches: Iterable[Any]) -> int:
    """The number of matches in a stream whose batches follow each other in time."""
    counter = Counter(engine)
    for batch in batches:
        counter.push(batch)
    return counter.total()


class Counter:
    """Counts the matches of one stream. The engine must be fresh, and is read by nobody else."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.events = 0
        self._lists = must_list(engine.compiled)
        self._listed = 0
        self._tally: Tally | None = None
        self._last: pa.Table | None = None  # the last event read: the next batch must not go behind it
        self._stopped: OstinatoError | None = None
        self._clock = engine.options.limits.clock()

    def push(self, batch: Any) -> None:
        """Read events. Within a batch they are put in order; OutOfOrder where a batch goes behind an earlier one."""
        self._check_open()
        self._clock.check()
        rows = to_arrow(batch)
        if not rows.num_columns:
            return  # an empty list of events names no columns
        if not self.engine.bound or not rows.schema.equals(self.engine.stream.schema):
            self.engine.push(rows.slice(0, 0))  # meets the columns and their types
            rows = self.engine.stream.align(rows)
        if not len(rows):
            return
        order = self._order(rows)
        self._stopped = OstinatoError("this count stopped in the middle of a batch", fix="count again from the start")
        self._read(rows, order)
        self.events += len(rows)
        self._stopped = None

    def total(self) -> int:
        """The stream has ended: the number of its matches."""
        self._check_open()
        self._stopped = OstinatoError("this count has ended", fix="start another one")
        if self._lists:
            return self._listed + (len(self.engine.flush()) if self.engine.bound else 0)
        return self._tally.total() if self._tally is not None else 0

    def _check_open(self) -> None:
        if self._stopped is not None:
            raise self._stopped

    def _order(self, rows: pa.Table) -> Int64 | None:
        """What puts the rows in stream order, once they are known to follow the last event before them."""
        clock, binding = self.engine.stream.clock, self.engine.stream.binding
        names = list(dict.fromkeys([*([clock.column] if clock is not None else []), *binding.order_by]))
        if not names:
            return None
        ordering = rows.select(names)
        before = 0 if self._last is None else 1
        both = ordering if self._last is None else pa.concat_tables([self._last.cast(ordering.schema), ordering])
        ticks = clock.ticks(both[clock.column], first_row=self.events - before) if clock is not None else None
        order = time_order(both, binding, ticks)
        if order is not None:
            if before and order[0] != 0:
                raise OutOfOrder(
                    f"the events go back in time, at row {self.events:,} or later",
                    fix="sort them by time, or count them as one table",
                )
            order = order[before:] - before
        self._last = ordering.take([len(rows) - 1 if order is None else int(order[-1])])
        return order

    def _read(self, rows: pa.Table, order: Int64 | None) -> None:
        if self._lists:
            for found in self.engine.push_each(rows):
                self._listed += len(found)
                self._clock.check()
            return
        events = self.engine.stream.events(rows, np.arange(self.events, self.events + len(rows)), order)
        if self._tally is None:
            self._tally = tally_for(self.engine)
        self._tally.read(events)
