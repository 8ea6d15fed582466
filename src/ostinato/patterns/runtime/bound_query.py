"""A query bound to the columns of a stream: how rows become what the kernels read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32, Int64
from ostinato.core.clock import Clock
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.columns.keys import KeyTable
from ostinato.core.columns.name_matcher import look_up
from ostinato.core.deadlines import later, reach
from ostinato.core.events import StreamColumns, column_kinds
from ostinato.core.reorder import Positions, at_places, write_out
from ostinato.core.stream_schema import align_rows, types_of_empty_columns, with_types
from ostinato.core.threads import cuts, run_pieces
from ostinato.core.window_bounds import lower_bounds
from ostinato.errors import DataError, Message, Option
from ostinato.patterns.automata.differences import Scale
from ostinato.patterns.automata.from_formula import TIME, PrecedingAbsence, deadline_column
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels import protocol
from ostinato.patterns.plan.check import check_schema
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.equality_partitions import EqualityPartitions
from ostinato.patterns.runtime.last_per_key import LastPerKey
from ostinato.patterns.runtime.recent_events import RecentEvents
from ostinato.patterns.runtime.register_terms import TermEncoder

_CONSUME = {"NONE": protocol.CONSUME_NONE, "PARTITION": protocol.CONSUME_PARTITION, "ANY": protocol.CONSUME_ANY}
_NONE: Int64 = np.zeros(0, np.int64)


class BoundQuery:
    """Checks names and types before any event is read, and encodes rows for the kernels."""

    def __init__(
        self,
        compiled: CompiledPattern,
        schema: pa.Schema,
        binding: StreamColumns,
        minterms: Sequence[int] = (),
        *,
        picked: bool = False,
        numbers: Collection[str] | None = None,
    ) -> None:
        """`picked`: not all events will be given, so a window over events cannot be counted by the kernel."""
        self.compiled, self.schema, self.binding = compiled, schema, binding
        query = compiled.query
        check_schema(query, column_kinds(schema))
        self.clock = Clock.of(schema, binding.time) if binding.time is not None else None
        self.encoder = PredicateEncoder(compiled.conditions, relation=binding.relation, minterms=minterms)
        self._delays = [(deadline_column(each), reach(self._measured(), each)) for each in compiled.delays]
        # The columns that were numbers when the stream began, which decides how runs are looked up.
        self.numbers = frozenset(filter(self._is_number, self._known(schema).names) if numbers is None else numbers)
        self.registers = registers = compiled.registers_over(
            lambda attribute: attribute in self.numbers, self._scale_of
        )
        self.recent = [self._recent_events(absence) for absence in compiled.preceding]
        self.terms = (
            TermEncoder(registers.terms, self._known(schema), registers.compared) if registers is not None else None
        )
        self.keys = KeyTable() if self.key_columns else None
        self.cores = 1  # that encode a batch
        self.ties = EqualityPartitions() if compiled.tied_by is not None else None
        self.last_tick = LastPerKey(protocol.FOREVER)  # along WITHIN … ON
        self.width = self.event_width = 0  # WITHIN n EVENTS, counted by the kernel or (event_width) by places
        self.window = protocol.NO_WINDOW
        self.ruler: Clock | None = None  # what WITHIN measures along
        if query.window is None and compiled.skip is not None:
            self.window = protocol.KEY_WINDOW  # which ends where later matches may begin
        if query.window is not None:
            if query.window.kind == "events" and self.ties is None and (query.partition_by or not picked):
                self.window, self.width = protocol.EVENT_WINDOW, int(query.window.amount)
            elif query.window.kind == "events":
                self.window, self.event_width = protocol.TICK_WINDOW, int(query.window.amount)
            else:
                column = binding.time if query.window.kind == "time" else query.window.attribute
                assert column is not None
                along = query.window.kind == "attribute"
                # Time grows over the whole stream; another attribute may do so only within each partition.
                self.window = protocol.KEY_WINDOW if along and query.partition_by else protocol.TICK_WINDOW
                self.ruler = Clock.of(schema, column, attribute=along)

    def _recent_events(self, absence: PrecedingAbsence) -> RecentEvents:
        assert self.clock is not None
        return RecentEvents(absence, reach(self.clock, absence.lasting), self.schema, self.binding.relation)

    def _measured(self) -> Clock:
        assert self.clock is not None
        return self.clock

    def _known(self, schema: pa.Schema) -> pa.Schema:
        """The columns that tests between events read."""
        names = [TIME, *(name for name, _ in self._delays)] if self._delays else []
        return pa.schema([*schema, *(pa.field(name, pa.int64()) for name in names)])

    def _with_times(self, rows: pa.Table) -> pa.Table:
        """The rows, where a NOT … FOR stands between two parts, with when each came, and when its time has passed."""
        if not self._delays:
            return rows
        times = self.times(rows, None)
        rows = rows.append_column(TIME, pa.array(times))
        for name, length in self._delays:
            rows = rows.append_column(name, pa.array(later(times, length)))
        return rows

    def _is_number(self, attribute: str) -> bool:
        kind = self._known(self.schema).field(attribute).type
        return bool(pa.types.is_integer(kind) or pa.types.is_float32(kind) or pa.types.is_float64(kind))

    def _scale_of(self, attribute: str) -> Scale:
        kind = self._known(self.schema).field(attribute).type
        if pa.types.is_timestamp(kind):
            return "time" if kind.unit != "ns" else None  # whose range is close to that of dates
        if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
            return "whole"
        return "float" if pa.types.is_float32(kind) or pa.types.is_float64(kind) else None

    @cached_property
    def key_columns(self) -> tuple[str, ...]:
        """What splits the stream: the user's partition, or the attribute that ties all events of a match."""
        tied = self.compiled.tied_by
        return self.compiled.query.partition_by if tied is None else (tied,)

    @cached_property
    def _key_places(self) -> list[int]:
        return [self.schema.get_field_index(name) for name in self.key_columns]

    @property
    def _is_float_key(self) -> bool:
        return bool(pa.types.is_floating(self.schema.field(self.key_columns[0]).type))

    @property
    def consume(self) -> int:
        if self.compiled.skip is not None:  # under a window, it is decided later
            return protocol.CONSUME_ASK if self.compiled.query.window is None else protocol.CONSUME_NONE
        consume = _CONSUME[self.compiled.query.consume]
        # Without PARTITION BY the whole stream is one partition, even if equalities split it.
        return protocol.CONSUME_ANY if consume and not self.compiled.query.partition_by else consume

    def with_new_types(self, schema: pa.Schema) -> pa.Schema | None:
        """The stream's schema with types for columns that held only NULL so far; None if there is no new type."""
        new_types = types_of_empty_columns(self.schema, schema)
        return with_types(self.schema, new_types) if new_types else None

    def migrate_schema(self, schema: pa.Schema) -> None:
        check_schema(self.compiled.query, column_kinds(schema))
        self.schema = schema
        if self.keys is not None:
            self.keys.give_types(schema)
        for recent in self.recent:
            recent.migrate_schema(schema)
        if self.terms is not None:
            self.terms = self.terms.over(self._known(schema))

    def align(self, batch: pa.Table) -> pa.Table:
        """A later batch with the columns and types of the first."""
        return align_rows(batch, self.schema)

    def mark(self) -> Callable[[], None]:
        """A way back to before `events` is called, where that fails."""
        recent, last_ticks = [each.kept for each in self.recent], self.last_tick.values

        def go_back() -> None:
            for each, kept in zip(self.recent, recent, strict=True):
                each.kept = kept
            self.last_tick.values = last_ticks

        return go_back

    @property
    def casts(self) -> bool:
        """Whether a condition may fail on an event."""
        return self.encoder.casts or any(recent.encoder.casts for recent in self.recent)

    def check_casts(self, rows: pa.Table, positions: Positions) -> None:
        """Raise DataError where a CAST of a condition fails."""
        for encoder in (self.encoder, *(recent.encoder for recent in self.recent)):
            if encoder.casts:
                encoder.check_casts(rows, self.binding.type, positions)

    def events(self, rows: pa.Table, positions: Positions, order: Int64 | None, places: Int64 | None = None) -> Events:
        """Rows in order of arrival, with their positions (ascending); `order` sorts them into stream order. `places`
        are those in the whole stream, if events were left out."""
        codes, keys = self._encode(self._with_recent(rows, order) if self.recent else rows, positions)
        if order is not None:
            codes, keys = codes[order], keys[order] if len(keys) else keys
        if self.event_width:
            ticks, lows = self._count_places(len(rows), places)
        else:
            ticks, lows = self._window(rows, positions, order, keys)
        in_a_row = isinstance(positions, range) or _are_in_a_row(positions)
        events = Events(
            codes=codes,
            keys=keys,
            key_count=self.keys.size if self.keys is not None else 1,
            positions=_NONE if in_a_row and order is None else _in_order(positions, order),
            first_position=int(positions[0]) if len(positions) else 0,
            ticks=ticks,
            lows=lows,
        )
        if self.terms is not None:
            terms, present = self.terms.encode(self._with_times(rows), order)
            events = replace(events, terms=terms, present=present)
        return events if self.ties is None else self._tie_events(self.ties, events, rows, order)

    def _encode(self, rows: pa.Table, positions: Positions) -> tuple[Int32, Int32]:
        """The code and the key of each row; each core encodes some of the rows, all but the first as if these came
        first."""
        if self.cores == 1:
            return self._encode_with(self.encoder, self.keys, rows, positions)
        ends = cuts(len(rows), self.cores)
        encoders = [self.encoder, *(self.encoder.fresh() for _ in range(self.cores - 1))]
        tables = [self.keys, *(KeyTable() if self.keys is not None else None for _ in range(self.cores - 1))]

        def encode_piece(number: int) -> tuple[Int32, Int32]:
            start, stop = ends[number], ends[number + 1]
            part, own = rows.slice(start, stop - start), positions[start:stop]
            return self._encode_with(encoders[number], tables[number], part, own)

        parts = run_pieces(encode_piece, self.cores)
        own_codes = [self.encoder.numbers_of(encoder.minterms) for encoder in encoders[1:]]
        own_keys = [self._key_numbers(table) for table in tables[1:]]
        codes, keys = np.empty(len(rows), np.int32), np.empty(len(rows) if self.keys is not None else 0, np.int32)

        def renumber_piece(number: int) -> None:
            place = slice(ends[number], ends[number + 1])
            if number == 0:
                codes[place], keys[place] = parts[0]
                return
            look_up(parts[number][0], own_codes[number - 1], codes[place])
            if self.keys is not None:
                look_up(parts[number][1], own_keys[number - 1], keys[place])

        run_pieces(renumber_piece, self.cores)
        return codes, keys

    def _key_numbers(self, table: KeyTable | None) -> Int32:
        """The keys of another table as this stream numbers them."""
        if self.keys is None or table is None:
            return np.empty(0, np.int32)
        values = [pa.chunked_array([array]) for array in table.values(np.arange(table.size))]
        return self.keys.encode(values, self.key_columns)

    def _encode_with(
        self, encoder: PredicateEncoder, keys: KeyTable | None, rows: pa.Table, positions: Positions
    ) -> tuple[Int32, Int32]:
        codes = encoder.encode(rows, self.binding.type, positions)
        if keys is None:
            return codes, np.zeros(0, np.int32)
        return codes, keys.encode([rows.column(place) for place in self._key_places], self.key_columns)

    def _with_recent(self, rows: pa.Table, order: Int64 | None) -> pa.Table:
        """The rows with a column for each NOT at the start."""
        own = np.zeros(len(rows), np.int64)
        if self.keys is not None:
            own = self.keys.encode([rows[name] for name in self.key_columns], self.key_columns).astype(np.int64)
        as_given = order if order is not None else np.arange(len(rows))
        in_order, times = rows if order is None else rows.take(pa.array(order)), self.times(rows, order)
        for recent in self.recent:
            found = np.empty(len(rows), np.bool_)
            found[as_given] = recent.before(in_order, self.binding.type, own[as_given], times)
            rows = rows.append_column(recent.absence.column, pa.array(found))
        return rows

    def _tie_events(self, ties: EqualityPartitions, events: Events, rows: pa.Table, order: Int64 | None) -> Events:
        column, floating = rows.column(self._key_places[0]), self._is_float_key
        comparable = None
        if floating or column.null_count:
            comparable = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), bool)
        if floating:
            comparable &= ~np.asarray(column.is_nan().fill_null(False).to_numpy(zero_copy_only=False), bool)
        if order is not None and comparable is not None:
            comparable = comparable[order]
        return ties.split(events, comparable, self.encoder.code_of_no_condition() if self.compiled.contiguous else None)

    def _count_places(self, count: int, places: Int64 | None) -> tuple[Int64, Int64]:
        if places is None:
            assert self.ties is not None or not count
            places = self.ties.places(count) if self.ties is not None else _NONE
        return places, places - (self.event_width - 1)

    def _window(self, rows: pa.Table, positions: Positions, order: Int64 | None, keys: Int32) -> tuple[Int64, Int64]:
        """Ticks and lower bounds in stream order, as `keys` are; none where the kernel counts by itself."""
        window = self.compiled.query.window
        if self.ruler is None or window is None:
            return _NONE, _NONE
        ticks = self.ruler.ticks(rows[self.ruler.column])
        lows = lower_bounds(self.ruler, ticks, window.amount)
        if order is not None:
            ticks, lows = ticks[order], lows[order]
        if window.kind == "attribute" and len(ticks):
            parts = keys if self.window == protocol.KEY_WINDOW else np.zeros(len(ticks), np.int32)
            before = self.last_tick.before(parts, ticks, 1 + int(parts.max()))
            if (ticks < before).any():
                at = int(np.argmax(ticks < before))
                row = int(positions[order[at] if order is not None else at])
                where = " within its partition" if self.window == protocol.KEY_WINDOW else ""
                raise DataError(
                    f"`{window.attribute}` decreases here{where}, so WITHIN … ON {window.attribute} has no meaning",
                    row=row,
                    fix=Message(
                        "order the events by it (",
                        Option("time"),
                        " or ",
                        Option("order_by"),
                        "), or measure the window in events or time",
                    ),
                )
        return ticks, lows

    def times(self, rows: pa.Table, order: Int64 | None) -> Int64:
        """When each row came, in stream order: pulses of the clock."""
        assert self.clock is not None
        pulses = self.clock.to_pulses(self.clock.ticks(rows[self.clock.column]))
        return pulses if order is None else pulses[order]

    def keep_keys(self, kept: Int64) -> None:
        """Forget all keys but these, and renumber those in this order."""
        assert self.keys is not None
        self.keys = KeyTable.from_table(self.keys.to_table().take(kept))
        if self.ties is not None:
            self.ties.last_seen.keep(kept)
        if self.window == protocol.KEY_WINDOW:
            self.last_tick.keep(kept)
        for recent in self.recent:
            recent.renumber(kept)

    def key_values(self, ids: Int64) -> Sequence[pa.Array]:
        """The partition attributes of some keys."""
        return self.keys.values(ids) if self.keys is not None and self.ties is None else []


def _are_in_a_row(positions: Int64) -> bool:
    return not len(positions) or int(positions[-1]) - int(positions[0]) + 1 == len(positions)


def _in_order(positions: Positions, order: Int64 | None) -> Int64:
    """In the order of the stream."""
    return write_out(positions) if order is None else at_places(positions, order)
