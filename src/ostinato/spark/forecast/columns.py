"""What forecasting reads of a DataFrame: checked before any job starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.core.events import DEFAULT_TYPE, StreamColumns
from ostinato.errors import OstinatoError
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.reader import SymbolReader
from ostinato.spark.columns import arrow_schema, column, placeholder_schema, tie_breakers, time_column
from ostinato.spark.frames import check_names
from ostinato.spark.shipping import NeededKernels, ship

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class EventFrame:
    """A DataFrame whose rows fit a pattern. `settings` name the time column and what orders rows of equal time."""

    frame: DataFrame
    schema: pa.Schema
    pattern: ForecastPattern
    settings: Settings

    @property
    def time(self) -> str:
        assert self.settings.time is not None
        return self.settings.time

    def by_key(self) -> DataFrame:
        """All rows of a key in one task; without a key, all rows in one."""
        keys = self.pattern.partition_by
        return self.frame.repartition(*map(column, keys)) if keys else self.frame.repartition(1)


def event_frame(frame: DataFrame, pattern: ForecastPattern, settings: Settings, *, all_columns: bool) -> EventFrame:
    """The columns that the pattern reads, or all of them. Raises the same errors as reading the rows without Spark."""
    check_names(frame)
    ship(frame.sparkSession, NeededKernels(("core", "forecast")))
    time = time_column(settings.time, frame.schema)
    read = {settings.type or DEFAULT_TYPE, *settings.order_by, *pattern.columns}
    schema = arrow_schema(frame.schema, read | {time})
    binding = {**settings.binding, "time": time}
    try:
        SymbolReader(pattern, binding).read(schema.empty_table())
    except OstinatoError:
        # With the names of all columns at hand, the message can suggest the one that was meant.
        SymbolReader(pattern, binding).read(placeholder_schema(frame.columns, schema).empty_table())
        raise
    if all_columns:
        schema = arrow_schema(frame.schema)
    else:
        frame = frame.select(*(column(name) for name in schema.names))
    bound = replace(settings, time=time, order_by=tie_breakers([read], schema, settings.order_by, time))
    return EventFrame(frame, schema, replace(pattern), bound)


def sort_columns(settings: Settings) -> StreamColumns:
    """What the rows of a task are sorted by."""
    return StreamColumns(settings.time, None, settings.order_by)
