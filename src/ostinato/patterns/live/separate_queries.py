"""Queries that cannot run together: each has an engine of its own, behind what all share.

Most of them read only the events that can change them, which shared_queries.py finds for all queries at once, and are
asked when a deadline of theirs has passed. The others read every event.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.clock import Clock
from ostinato.core.reorder import ReleasedRows, SingleRow
from ostinato.errors import DataError, LimitError
from ostinato.patterns.live.deadlines import Deadlines
from ostinato.patterns.live.matches import Answers, QueryMatches
from ostinato.patterns.live.statistics import QueryStatistics
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.single_events import SingleEvents

Stop = Callable[[str, LimitError | DataError], None]
MOST_NUMBERS = 1 << 12  # of a query, for which the wake index has codes
_FEW_WOKEN, _SMALL_BATCH = 16, 1 << 12  # rows that are read one by one, of a batch of so many
_MOST_PRECEDING = 4  # NOTs at the start, each of which doubles what an event may be


def may_sleep(engine: Engine) -> bool:
    """Whether a query that is bound need not see the events that cannot change it."""
    compiled, stream = engine.compiled, engine.stream
    window = compiled.query.window
    if len(compiled.preceding) > _MOST_PRECEDING:
        return False
    if compiled.contiguous or stream.encoder.casts or not 0 < stream.encoder.numbers <= MOST_NUMBERS:
        return False
    if window is None or window.kind == "time":
        return True
    return window.kind == "events" and not compiled.query.partition_by  # the places of a partition count its events


class SeparateQueries:
    """Engines by name. One that reaches a limit, or that an event does not fit, is given to `stop`, and the
    others go on."""

    def __init__(self, clock: Clock | None, stop: Stop) -> None:
        self.engines: dict[str, Engine] = {}
        self.numbers: dict[str, int] = {}  # of those that sleep, among the watched ones
        self._restless: dict[str, Engine] = {}  # the others
        self._single: dict[str, SingleEvents | None] = {}
        self._seconds: dict[str, float] = {}
        self._clock, self._stop = clock, stop
        self._waiting = Deadlines()  # in pulses: when matches are certain
        self._due = Deadlines()  # in ticks: when time alone has something to do
        self._changed: set[str] = set()  # of whom that is not known

    def add(self, name: str, engine: Engine, number: int | None) -> None:
        """`number` is that of a query that is watched."""
        self.engines[name], self._seconds[name] = engine, 0.0
        if number is None:
            self._restless[name] = engine
        else:
            self.numbers[name] = number
        self._note(name)

    def replace(self, name: str, engine: Engine) -> None:
        """Go on with another engine."""
        self.engines[name] = engine
        if name in self._restless:
            self._restless[name] = engine
        self._single.pop(name, None)  # it is made when it is needed
        self._waiting.set(name, None)
        self._note(name)

    def remove(self, name: str) -> int | None:
        """Returns the number of a query that was watched."""
        del self.engines[name], self._seconds[name]
        self._single.pop(name, None)
        self._restless.pop(name, None)
        self._changed.discard(name)
        self._waiting.set(name, None)
        self._due.set(name, None)
        return self.numbers.pop(name, None)

    def migrate_schema(self, schema: pa.Schema) -> None:
        """Go on with types for columns that held only NULL so far."""
        for name, engine in self.engines.items():
            engine.migrate_types(schema)
            self._single.pop(name, None)

    def read(self, released: ReleasedRows, woken: Mapping[str, Sequence[Int64]], first_place: int) -> list[Answers]:
        """Read rows whose turn has come: all of them, or those that wake a query. The first of them in time is at a
        place in the stream."""
        found = self._each(self._restless, lambda _, engine: engine.read_released(released))

        columns: dict[str, list[Any]] = {}

        def read(name: str, engine: Engine) -> pa.Table:
            chosen = np.concatenate(woken[name])
            if len(chosen) <= _FEW_WOKEN and len(released.rows) <= _SMALL_BATCH:
                table = self._read_few(name, engine, released, chosen, first_place, columns)
                if table is not None:
                    return table
            return engine.read_released(released.pick(chosen, first_place))

        found += self._each(woken, read)
        if self._clock is not None and self._waiting.first is not None:
            ticks = self._clock.ticks(released.rows[self._clock.column])
            found += self._pass_time(int(ticks.max()))
        return found

    def _read_few(
        self,
        name: str,
        engine: Engine,
        released: ReleasedRows,
        chosen: Int64,
        first_place: int,
        columns: dict[str, list[Any]],
    ) -> pa.Table | None:
        """The answer to rows that are read one by one; None where a row has to be read in Arrow. `columns` are those of
        the rows, as far as they were needed."""
        single = self._single_of(name, engine)
        if single is None:
            return None
        for column in single.names:
            if column not in columns:
                columns[column] = released.rows[column].to_pylist()
        seen: list[SingleRow] = []
        for row in (chosen if released.order is None else released.order[chosen]).tolist():
            values = {column: columns[column][row] for column in single.names}
            event = single.see(values, int(released.positions[row]))
            if event is None:
                return None
            seen.append(event)
        found: list[Matches] = []
        for event, place in zip(seen, chosen.tolist(), strict=True):
            engine.read = first_place + place
            found += single.read(event)
        return engine.answer_single(found)

    def _single_of(self, name: str, engine: Engine) -> SingleEvents | None:
        if name not in self._single:
            self._single[name] = SingleEvents.of(engine)
        return self._single[name]

    def read_one(
        self,
        values: Mapping[str, Any],
        position: int,
        schema: pa.Schema,
        *,
        woken: Iterable[str],
        place: int,
        tick: int,
    ) -> list[Answers]:
        """Read one event, by the values of all columns."""
        rows: list[pa.Table] = []

        def read(name: str, engine: Engine) -> pa.Table:
            single = self._single_of(name, engine)
            event = single.see(values, position) if single is not None else None
            if single is not None and event is not None:
                if name in self.numbers:
                    engine.read = place
                return engine.answer_single(single.read(event))
            if not rows:
                columns = {field.name: pa.array([values.get(field.name)], field.type) for field in schema}
                rows.append(pa.table(columns, schema=schema))
            places = np.array([place]) if name in self.numbers else None
            return engine.read_released(ReleasedRows(rows[0], np.array([position]), None, places))

        return self._each(self._restless, read) + self._each(woken, read) + self._pass_time(tick)

    def _pass_time(self, tick: int) -> list[Answers]:
        """What is certain once the stream has reached a tick."""
        if self._clock is None or self._waiting.first is None:
            return []
        names = self._waiting.take_before(int(self._clock.to_pulses(np.array([tick]))[0]))
        return self._each(names, lambda _, engine: engine.pass_time(tick))

    def advance(self, tick: int) -> list[Answers]:
        """Time has reached a tick."""
        self._settle()
        return self._each(self._due.take_before(tick + 1), lambda _, engine: engine.pass_time(tick))

    def flush(self) -> list[Answers]:
        """The stream has ended."""
        return self._each(self.engines, lambda _, engine: engine.flush())

    def due(self) -> int | None:
        """The tick at which `advance` has something to do for some query."""
        self._settle()
        return self._due.first

    def _settle(self) -> None:
        for name in self._changed:
            self._due.set(name, self.engines[name].due_tick())
        self._changed.clear()

    def statistics(self, name: str, reads: int | None) -> QueryStatistics:
        """`reads` is how many events woke a query, if that is known."""
        engine = self.engines[name]
        events = engine.read if reads is None else reads
        return QueryStatistics(events, engine.matches, engine.stats().bytes, self._seconds[name])

    def _each(self, names: Iterable[str], call: Callable[[str, Engine], pa.Table]) -> list[Answers]:
        return [part for name in list(names) if name in self.engines for part in self._one(name, call)]

    def _one(self, name: str, call: Callable[[str, Engine], pa.Table]) -> Sequence[Answers]:
        begun = time.perf_counter()
        try:
            table = call(name, self.engines[name])
        except (LimitError, DataError) as error:
            self._stop(name, error)
            return ()
        self._note(name)
        self._seconds[name] += time.perf_counter() - begun
        if not len(table):
            return ()
        return (Answers(len(table), lambda: [QueryMatches(name, len(table), lambda: table, table.to_pylist)]),)

    def _note(self, name: str) -> None:
        """An engine may wait for other times now."""
        engine = self.engines[name]
        self._changed.add(name)
        if name in self.numbers and engine.compiled.trailing:
            self._waiting.set(name, engine.next_deadline())
