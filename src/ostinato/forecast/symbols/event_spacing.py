"""How far the events of a history are apart along a window's time or attribute; the grid of ages is chosen by this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.clock import Clock
from ostinato.core.columns.keys import KeyTable
from ostinato.core.events import DEFAULT_TYPE, StreamColumns, with_columns
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.age_grid import Pace
from ostinato.patterns.syntax.nodes import event_types


def bind_rows(rows: pa.Table, pattern: ForecastPattern, binding: Mapping[str, Any]) -> tuple[pa.Table, StreamColumns]:
    """The rows with the columns that the pattern needs, and which of them have the time and type of events."""
    query = pattern.compiled.query
    names = {binding["type"] or DEFAULT_TYPE, *binding["order_by"], *pattern.columns}
    rows = with_columns(rows, names, time=binding["time"])
    columns = StreamColumns.resolve(
        rows.schema,
        **binding,
        needs_time=query.window is not None and query.window.kind == "time",
        relations=[name for name in event_types(query.formula) if name is not None] or query.relations,
    )
    return rows, columns


def window_clock(schema: pa.Schema, pattern: ForecastPattern, binding: StreamColumns) -> Clock | None:
    """What a window along time or an attribute is measured by; None where there is no such window."""
    window = pattern.compiled.query.window
    if window is None or window.kind == "events":
        return None
    column = binding.time if window.kind == "time" else window.attribute
    assert column is not None
    return Clock.of(schema, column, attribute=window.kind == "attribute")


class PaceMeter:
    """Measures a history batch by batch, in any order."""

    def __init__(self, pattern: ForecastPattern, binding: Mapping[str, Any]) -> None:
        self.pattern, self._binding = pattern, binding
        self.keys = KeyTable()
        # Per key: the ticks of one event, of the first and of the last in time, and how many there are.
        self.one, self.low, self.high, self.count = (np.zeros(0, np.int64) for _ in range(4))
        self.pulses, self.clock = 0, Clock("", pa.int64())

    def add(self, rows: pa.Table) -> None:
        """Raises the same errors as reading the rows."""
        rows, columns = bind_rows(rows, self.pattern, self._binding)
        clock = window_clock(rows.schema, self.pattern, columns)
        assert clock is not None
        ticks = clock.ticks(rows[clock.column])
        if not len(ticks):
            return
        names = self.pattern.partition_by
        keys = self.keys.encode([rows[name] for name in names], names) if names else np.zeros(len(ticks), np.int32)
        order = np.argsort(keys, kind="stable")
        found, first, counts = np.unique(keys[order], return_index=True, return_counts=True)
        ordered = ticks[order]
        more = int(found[-1]) + 1 - len(self.count)
        if more > 0:
            fresh = ordered[first[-more:]]  # new keys are numbered last
            self.one, self.low, self.high = (np.concatenate([each, fresh]) for each in (self.one, self.low, self.high))
            self.count = np.concatenate([self.count, np.zeros(more, np.int64)])
        self.low[found] = np.minimum(self.low[found], np.minimum.reduceat(ordered, first))
        self.high[found] = np.maximum(self.high[found], np.maximum.reduceat(ordered, first))
        self.count[found] += counts
        # Of whole numbers, the greatest common divisor of their distances is that of those from any one of them.
        beyond = np.abs(clock.to_pulses(ticks) - clock.to_pulses(self.one)[keys])
        self.pulses, self.clock = int(np.gcd.reduce(beyond, initial=self.pulses)), clock

    @property
    def pace(self) -> Pace:
        if not len(self.count):
            return Pace()
        total = float(self.clock.distance(self.low, self.high).sum())
        return Pace(int(self.count.sum()) - len(self.count), total, self.pulses, self.clock.pulse)
