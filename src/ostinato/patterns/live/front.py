"""What comes before all queries: the columns of the stream, and events in order of time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from ostinato.core.arrow import is_text
from ostinato.core.clock import Clock
from ostinato.core.events import StreamColumns
from ostinato.core.reorder import ReorderBuffer, SingleRow
from ostinato.core.rows import plain_check, plain_ticks
from ostinato.core.stream_schema import align_rows, types_of_empty_columns, with_types
from ostinato.errors import DataError, Message, Option

_TYPES = Message("push values of one type, or name the types of the columns ahead with ", Option("schema"))


class Front:
    """Events of one schema, which wait for earlier ones."""

    def __init__(self, schema: pa.Schema, columns: StreamColumns, lateness: int | None) -> None:
        self.schema, self.columns, self.lateness = schema, columns, lateness
        self.names = schema.names  # of the values of a tuple
        self.clock = Clock.of(schema, columns.time) if columns.time is not None else None
        self.reorder = ReorderBuffer(self.clock, columns, schema, lateness)

    def new_schema(self, later: pa.Schema) -> pa.Schema | None:
        """The schema with types for columns that held only NULL so far; None if there is no new type."""
        types = types_of_empty_columns(self.schema, later)
        return with_types(self.schema, types) if types else None

    def migrate_schema(self, schema: pa.Schema) -> None:
        self.schema = schema
        self.reorder.load(self.reorder.rows.cast(schema), self.reorder.positions)

    def check_times(self, rows: pa.Table) -> None:
        """Raise DataError where a row has no time."""
        if self.clock is not None:
            self.clock.ticks(rows[self.clock.column])

    def align(self, rows: pa.Table) -> pa.Table:
        return align_rows(rows, self.schema, fix=_TYPES) if rows.num_columns else self.schema.empty_table()

    def name_values(self, event: Mapping[str, Any] | Sequence[Any]) -> Mapping[str, Any]:
        """An event by name; a tuple has a value for each name."""
        if isinstance(event, Mapping):
            return event
        names = self.names
        if len(event) != len(names):
            reason = f"an event has {len(event)} values, and the stream has {len(names)} columns"
            raise DataError(reason, fix=f"give a value for each of {', '.join(names)}")
        return dict(zip(names, event, strict=True))


class PlainRows:
    """Reads events as Python values: those that the columns take as they are, and that come in time."""

    def __init__(self, front: Front, needed: Sequence[str], *, whole: bool) -> None:
        """`needed` are the attributes that queries read; with `whole` all are taken."""
        schema, columns, clock = front.schema, front.columns, front.clock
        waits = clock is not None and front.lateness != 0
        own = [name for name in (columns.type, columns.time) if name is not None]
        self.front = front
        self.names = schema.names if waits or whole else list(dict.fromkeys([*own, *needed]))
        checks = [plain_check(schema.field(name).type) for name in self.names]
        self._checks = [check for check in checks if check is not None]
        self._time, self._type = columns.time, columns.type
        self._tick_of = plain_ticks(clock) if clock is not None else None
        texts = columns.type is None or is_text(schema.field(columns.type).type)
        ordered = bool(columns.order_by) and front.lateness != 0  # events of one time are put in order
        self.possible = (
            texts and not ordered and len(self._checks) == len(checks) and (clock is None) == (self._tick_of is None)
        )

    def see_all(self, rows: Sequence[Mapping[str, Any]], position: int) -> list[SingleRow] | None:
        """Events in a row; None where they must be read as a batch."""
        reorder = self.front.reorder
        if not self.possible or not reorder.take_over(self._see):
            return None
        seen: list[SingleRow] = []
        for place, row in enumerate(rows, position):
            event = self._see(row, place)
            if event is None or event.tick < reorder.watermark or (seen and event.tick < seen[-1].tick):
                return None
            seen.append(event)
        return seen

    def _see(self, row: Mapping[str, Any], position: int) -> SingleRow | None:
        get = row.get
        values = {name: get(name) for name in self.names}
        for check, value in zip(self._checks, values.values(), strict=True):
            if not check(value):
                return None
        tick = 0
        if self._tick_of is not None and self._time is not None:
            now = values[self._time]
            if now is None or now != now:
                return None
            tick = self._tick_of(now)
        return SingleRow(tick, position, values, values[self._type] if self._type is not None else None)
