"""Reads events one at a time, as Python values: a look-up per attribute, and one kernel call per event.

Events change the same state as batches do (state.py), so that any mix of both gives the same matches. What is not plain
here (a value that a column does not take as it is, an event that comes late, a query with more than a kernel to it) is
read as a batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.core.columns.row_codes import RowCodes, coded_columns
from ostinato.core.reorder import SingleRow
from ostinato.core.rows import Check, float_bits, plain_check, plain_ticks
from ostinato.core.window_bounds import lower_bound_function
from ostinato.patterns.runtime.indexed_absence import IndexedAbsence
from ostinato.patterns.runtime.indexed_recent import IndexedRecent
from ostinato.patterns.runtime.matches import Matches

if TYPE_CHECKING:
    from ostinato.patterns.runtime.state import EngineState

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Event:
    """What a query sees of an event."""

    code: int | None  # None: it depends on the events before
    key: tuple[Any, ...] | None  # the values that partition the stream; None: there are none, or they equal nothing
    kept: tuple[Any, ...]
    terms: tuple[int | None, ...]  # floats as their bits


class SingleEvents:
    """Reads events for one engine that is bound to its columns."""

    def __init__(self, engine: EngineState) -> None:
        self.engine = engine
        stream = engine.stream
        schema = stream.schema
        self.kept_names = [name for name in engine.history.schema.names if name in schema.names]
        coded = [name for name in coded_columns(stream.encoder, stream.binding.type) if name in schema.names]
        found = [IndexedRecent.of(recent, schema, stream.binding.type) for recent in stream.recent]
        self.recent = [index for index in found if index is not None]
        coded += [name for index in self.recent for name in index.names]
        clocks = [stream.clock.column] if stream.clock is not None else []
        terms = stream.terms.plain_attributes(schema) if stream.terms is not None else []
        compared = [name for name, _ in terms or ()]
        self.names = list(dict.fromkeys([*clocks, *coded, *stream.key_columns, *compared, *self.kept_names]))
        self.schema = pa.schema([schema.field(name) for name in self.names])
        at = {name: place for place, name in enumerate(self.names)}
        checks = [plain_check(field.type) for field in self.schema]
        self.checks: list[Check] = [check for check in checks if check is not None]
        self.plain = terms is not None and len(self.checks) == len(self.names) and len(self.recent) == len(found)
        flags = [pa.field(recent.absence.column, pa.bool_()) for recent in stream.recent]
        self.codes = RowCodes(stream.encoder, pa.schema([*self.schema, *flags]), stream.binding.type)
        if self.plain:
            for index in self.recent:
                index.recent.look_up_in(index)
        self.keyed = [at[name] for name in stream.key_columns]
        self.kept = [at[name] for name in self.kept_names]
        self.key_fields = [schema.field(name) for name in stream.key_columns]
        self.terms = [(at[name], floating) for name, floating in terms or ()]
        self.tied = stream.ties is not None
        self.tick_of = plain_ticks(stream.clock) if stream.clock is not None else None
        window = engine.compiled.query.window
        self.indexed = engine.indexed
        self.clock = stream.clock
        self.low_of = lower_bound_function(stream.ruler, window.amount) if stream.ruler and window else None
        self.waits = stream.clock is not None and engine.options.lateness != 0

    @staticmethod
    def of(engine: EngineState) -> SingleEvents | None:
        """For an engine whose events can be read so."""
        compiled, stream = engine.compiled, engine.stream
        window = compiled.query.window
        if not engine.takes_few or any(recent.encoder.casts for recent in stream.recent):
            return None
        if stream.recent and stream.encoder.casts:
            return None  # codes are known only when an event has its turn, which is too late to refuse it
        if (stream.ties is not None and (compiled.contiguous or stream.recent)) or (
            window is not None and window.kind == "attribute"
        ):
            return None
        if stream.clock is not None and plain_ticks(stream.clock) is None:
            return None
        if stream.binding.order_by and engine.options.lateness != 0:
            return None  # events of one time are put in order
        found = SingleEvents(engine)
        return found if found.plain else None

    def push(self, rows: Sequence[Row]) -> list[Matches] | None:
        """The matches that some events complete; None, and nothing is changed, where they must be read as a batch."""
        reorder, position = self.engine.reorder, self.engine.events
        if not reorder.take_over(self.see):
            return None
        seen: list[SingleRow] = []
        for place, row in enumerate(rows, position):
            event = self.see(row, place)
            if event is None:
                return None
            seen.append(event)
        if self.tick_of is not None and any(after.tick < before.tick for before, after in pairwise(seen)):
            return None  # events of one batch are put in order
        found: list[Matches] = []
        for event in seen:
            self.engine.events += 1
            for released in reorder.push_one(event):
                found += self.read(released)
        return found

    def see(self, row: Row, position: int) -> SingleRow | None:
        """What the query sees of an event, if all of that is plain."""
        get = row.get
        values = [get(name) for name in self.names]
        for check, value in zip(self.checks, values, strict=True):
            if not check(value):
                return None
        tick = 0
        if self.tick_of is not None:
            if values[0] is None or values[0] != values[0]:
                return None
            tick = self.tick_of(values[0])
            if tick < self.engine.reorder.watermark:
                return None
        code = self.codes.code(values, position) if not self.recent else None
        key = None
        if self.keyed:
            key = tuple([values[place] for place in self.keyed])
            if self.tied and (key[0] is None or key[0] != key[0]):
                key = None
        kept = tuple([values[place] for place in self.kept])
        event = _Event(code, key, kept, self._encode_terms(values) if self.terms else ())
        named = dict(zip(self.names, values, strict=True)) if self.waits or self.recent else {}
        return SingleRow(tick, position, named, event)

    def _encode_terms(self, values: list[Any]) -> tuple[int | None, ...]:
        return tuple(
            [
                float_bits(value) if floating and value is not None else value
                for value, floating in [(values[place], floating) for place, floating in self.terms]
            ]
        )

    def read(self, row: SingleRow) -> Sequence[Matches]:
        """Let the kernel read an event."""
        engine, event, position = self.engine, row.event, row.position
        stream, matcher, place = engine.stream, engine.matcher, engine.read
        engine.read = place + 1
        tick = low = row.tick
        now = self._pulse(tick) if self.indexed is not None or self.recent else 0
        if self.low_of is not None:
            low = self.low_of(tick)
            engine.low, engine.newest = low, tick
        if stream.ties is not None:
            stream.ties.read = place + 1
            if event.key is None:
                return ()
        if stream.event_width:
            tick, low = place, place - stream.event_width + 1
            engine.low, engine.newest = low, tick
        key = 0 if stream.keys is None else stream.keys.id_of(event.key, self.key_fields)
        for term, value in enumerate(event.terms):
            matcher.one.terms[term, 0], matcher.one.present[term, 0] = value or 0, value is not None
        code = event.code if event.code is not None else self._code(row, key, now)
        used = matcher.live
        chunks = matcher.run_one(code, key, position, tick, low)
        if chunks or matcher.may_hold_last(used):
            engine.history.add(position, event.kept if self.indexed is None else (*event.kept, now, place))
        found = [Matches.unpack(chunk, matcher.one, completed=engine.notes_completed) for chunk in chunks]
        return found if self.indexed is None else self._show(self.indexed, event, code, key, now, found)

    def _code(self, row: SingleRow, key: int, now: int) -> int:
        """The code of an event which a NOT at the start concerns, perhaps."""
        values = row.values
        flags = [index.see(values, key, now, row.position) for index in self.recent]
        return self.codes.code([*[values[name] for name in self.names], *flags], row.position)

    def _pulse(self, tick: int) -> int:
        clock = self.clock
        assert clock is not None
        return tick if clock.kind != "float" else int(clock.to_pulses(np.array([tick]))[0])

    def _show(
        self, indexed: IndexedAbsence, event: _Event, code: int, key: int, now: int, found: Sequence[Matches]
    ) -> Sequence[Matches]:
        """Show an event, and the matches that it completes, to those that wait; returns the ones now certain."""
        indexed.take_over()
        indexed.cancel(code, key, now, lambda name: event.kept[self.kept_names.index(name)])
        for matches in found:
            indexed.add(matches, now)
        certain = indexed.until(now)
        return () if certain is None else (certain,)
