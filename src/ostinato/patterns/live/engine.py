"""One engine for many queries: events are read once, and go to the queries that they can change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.events import DEFAULT_TYPE, StreamColumns, to_arrow, with_columns
from ostinato.core.options import bad_option
from ostinato.core.reorder import ReleasedRows, SingleRow
from ostinato.errors import DataError, LimitError, Message, Option, OstinatoError
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.limits import Limits
from ostinato.patterns.live.front import Front, PlainRows
from ostinato.patterns.live.matches import Answers, LiveMatches
from ostinato.patterns.live.separate_queries import SeparateQueries
from ostinato.patterns.live.shared_queries import SharedQueries, is_shareable
from ostinato.patterns.live.snapshot import load_live, save_live
from ostinato.patterns.live.statistics import LiveStatistics, QueryStatistics
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.runtime.engine import Engine, late_error
from ostinato.patterns.runtime.state import EngineOptions

_FEW_ROWS = 64  # events as dicts: so many are read one by one
_ENDED = "this engine was flushed: its stream has ended"
Row = Mapping[str, Any]


class LiveEngine:
    """Matches many queries over one stream. Build it with `ostinato.engine({name: query, …})`.

    Queries that the plain kernel can run are run together (shared_queries.py), the others each for itself.
    """

    # Known once the stream's columns are, as `front` is.
    shared: SharedQueries
    separate: SeparateQueries

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.events = self.late = 0
        self.late_rows: list[pa.Table] = []
        self.ended = False
        self.engines: dict[str, Engine] = {}
        self.numbers: dict[str, int] = {}  # of those that run together
        self.stopped: dict[str, QueryStatistics] = {}
        self.front: Front | None = None
        self._plain: PlainRows | None = None

    # -- queries

    @property
    def queries(self) -> list[str]:
        """The names of the queries that run."""
        return list(self.engines)

    def add(self, name: str, query: PatternQuery, *, limits: Limits | None = None) -> None:
        """Begin to run a query, from the next event on, as if the stream began there.

        Parameters
        ----------
        name
            What its matches are to be called by.
        query
            What `ostinato.cel` or `ostinato.srem` returned.
        limits
            Of this query alone; those of the engine if left out.
        """
        self._check_open()
        given: Any = (name, query)
        if not isinstance(given[0], str) or not isinstance(given[1], PatternQuery):
            raise bad_option("queries", {name: query}, "names and what ostinato.cel(…) or ostinato.srem(…) returns")
        if name in self.engines:
            raise OstinatoError(f"there is a query {name!r} already", fix="remove it first, or choose another name")
        self.add_compiled(name, query._compiled, limits or self.options.limits)

    def add_compiled(self, name: str, compiled: CompiledPattern, limits: Limits) -> None:
        """Like `add`, for what a query was compiled to."""
        engine = Engine(compiled, replace(self.options, lateness=0, on_late="count", limits=limits))
        if self.front is not None:
            self._start(name, engine, self.front)
        self.stopped.pop(name, None)
        self.engines[name] = engine

    def remove(self, name: str) -> None:
        """Stop a query and forget it; the others keep their state.

        Parameters
        ----------
        name
            Of a query that was added, also of one that reached a limit.
        """
        if self.stopped.pop(name, None) is not None:
            return
        if name not in self.engines:
            known = ", ".join(map(repr, list(self.engines)[:5]))
            raise OstinatoError(f"there is no query {name!r}", fix=f"name one of {known}" if known else "add it first")
        self._forget(name)

    def _forget(self, name: str) -> None:
        del self.engines[name]
        self._plain = None
        if self.front is None:
            return
        if name in self.numbers:
            self.shared.remove(self.numbers.pop(name))
        else:
            self.separate.remove(name)

    def _stop(self, name: str, error: LimitError) -> None:
        """A query has reached a limit of its own."""
        self.stopped[name] = replace(self._statistics(name), bytes=0, stopped=str(error))
        self._forget(name)

    def _start(self, name: str, engine: Engine, front: Front, minterms: Sequence[int] = ()) -> None:
        """Bind a query to the columns of the stream, and let it run."""
        try:
            engine.bind(front.schema.empty_table(), minterms=minterms)
        except OstinatoError as error:
            raise error.replace(reason=f"{name}: {error.reason}") from None
        if is_shareable(engine):
            self.numbers[name] = self.shared.add(name, engine)
        else:
            self.separate.add(name, engine)
        self._plain = None

    # -- columns

    def _bind(self, rows: pa.Table) -> Front:
        """The first events set the columns."""
        binding = self.options.binding
        names = {binding["type"] or DEFAULT_TYPE, *binding["order_by"], *self._attributes()}
        return self.bind_to(with_columns(rows, names, time=binding["time"]), {}, {})

    def bind_to(self, rows: pa.Table, minterms: Mapping[str, Sequence[int]], separate: Mapping[str, Engine]) -> Front:
        """Bind to the columns of some rows. What was restored numbers its codes by `minterms`, or is bound already."""
        schema = rows.schema
        columns = StreamColumns.resolve(schema, **self.options.binding, needs_time=self.options.lateness != 0)
        front = Front(schema, columns, self.options.lateness)
        self.separate = SeparateQueries(self._stop)
        self.shared = SharedQueries(schema, columns, front.clock, self._stop)
        self.numbers = {}
        for name, engine in self.engines.items():
            if name in separate:
                self.separate.add(name, separate[name])
            else:
                self._start(name, engine, front, minterms.get(name, ()))
        self.engines |= separate
        self.front = front
        return front

    def _attributes(self) -> set[str]:
        """What the queries read of events."""
        return set().union(*(required_attributes(engine.compiled.query) for engine in self.engines.values()))

    def _conform(self, rows: pa.Table) -> pa.Table:
        front = self.front or self._bind(rows)
        if rows.num_columns and (schema := front.new_schema(rows.schema)) is not None:
            for engine in self.engines.values():
                engine.stream.with_new_types(rows.schema)  # raises where that cannot be
            front.migrate_schema(schema)
            self.shared.migrate_schema(schema)
            self.separate.migrate_schema(schema)
            self._plain = None
        return front.align(rows)

    # -- events

    def push(self, batch: Any) -> LiveMatches:
        """Read events; returns the matches they complete.

        Parameters
        ----------
        batch
            One event as a dict, in which an attribute that is absent is NULL, or as a tuple in the order of the
            stream's columns; a list of those; or a table (pyarrow, pandas, polars) with the columns of earlier ones.
        """
        self._check_open()
        rows = self._as_rows(batch)
        if rows is None:
            return self._answer(self._push_table(to_arrow(batch)))
        front = self.front
        if front is not None and len(rows) <= _FEW_ROWS and (found := self._push_rows(front, rows)) is not None:
            return self._answer(found)
        if rows:
            absent = self._attributes() if front is None else [n for n in front.schema.names if n != front.columns.time]
            rows = [dict.fromkeys(absent) | dict(rows[0]), *rows[1:]]
        return self._answer(self._push_table(to_arrow(list(map(dict, rows)))))

    def _as_rows(self, batch: Any) -> list[Row] | None:
        """The events of a batch that is made of dicts and tuples."""
        events: list[Any] | None = batch if isinstance(batch, list) else None
        if isinstance(batch, dict | tuple):
            events = [batch]
        if events is None or not all(isinstance(event, dict | tuple) for event in events):
            return None
        if all(isinstance(event, dict) for event in events):
            return events
        if self.front is None:
            raise DataError(
                "an event is a tuple, but the columns are not known yet",
                fix=Message("name them with ", Option("schema"), ", or push a dict first"),
            )
        return list(map(self.front.name_values, events))

    def _push_rows(self, front: Front, rows: list[Row]) -> list[Answers] | None:
        """What a few events complete; None, and nothing is changed, where they have to be read as a batch."""
        if self._plain is None:
            self._plain = PlainRows(front, self.shared.names(), whole=bool(self.separate.engines))
        seen = self._plain.see_all(rows, self.events)
        if seen is None:
            return None
        found: list[Answers] = []
        for event in seen:
            self.events += 1
            for released in front.reorder.push_one(event):
                found += self._read_one(front, released)
        return found

    def _read_one(self, front: Front, row: SingleRow) -> list[Answers]:
        found = self.shared.read_one(row.values, row.event, row.tick, row.position)
        if self.separate.engines:
            found += self.separate.read_one(row.values, row.position, front.schema)
        return found

    def _push_table(self, batch: pa.Table) -> list[Answers]:
        if self.front is None and not batch.num_columns:
            return []
        rows = self._conform(batch)
        assert self.front is not None
        reorder = self.front.reorder
        if self.options.on_late == "raise" and (late_rows := reorder.count_late(rows)):
            raise late_error(late_rows, len(rows))
        released, late = reorder.push(rows, np.arange(self.events, self.events + len(rows)))
        self.events += len(rows)
        if len(late):
            self.late += len(late)
            if self.options.on_late == "collect":
                self.late_rows.append(late)
        return self._read(released)

    def _read(self, released: ReleasedRows) -> list[Answers]:
        """Read rows whose turn has come."""
        if not len(released.rows):
            return []
        return self.shared.read(released) + self.separate.read(released)

    def _answer(self, answers: list[Answers]) -> LiveMatches:
        return LiveMatches(answers, self.schemas)

    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each query's answer; known once the stream's columns are."""
        return {name: engine.answer_schema for name, engine in self.engines.items() if engine.bound}

    # -- time

    def advance(self, to: Any) -> LiveMatches:
        """Say that time has reached `to`: nothing earlier will come. Returns what that completes.

        Parameters
        ----------
        to
            A datetime or a number, as the time column holds; also a numpy, pandas or Arrow scalar.
        """
        self._check_open()
        if self.front is None or self.front.clock is None:
            raise DataError(
                "the stream has no time column, so its time cannot advance",
                fix=Message("name it with ", Option("time")),
            )
        tick = self.front.clock.tick(to, up=True)
        found = self._read(self.front.reorder.advance(tick)) + self.separate.advance(to)
        self.shared.advance(tick)
        return self._answer(found)

    def due(self) -> Any:
        """The next time at which `advance` has something to do; None when nothing waits."""
        if self.front is None or self.front.clock is None:
            return None
        times = self.separate.due()
        clock, reorder = self.front.clock, self.front.reorder
        if len(reorder.positions):
            first = int(clock.ticks(reorder.rows[clock.column]).min())
            times.append(clock.values(np.array([first + bool(reorder.binding.order_by)]))[0].as_py())
        return min(times, default=None)

    def flush(self) -> LiveMatches:
        """End the stream: read the events that still wait, and return the matches that waited for time to pass."""
        self._check_open()
        self.ended = True
        if self.front is None:
            return self._answer([])
        return self._answer(self._read(self.front.reorder.flush()) + self.separate.flush())

    def late_events(self) -> pa.Table:
        """The rows that came too late, under on_late="collect"."""
        if self.late_rows:
            return pa.concat_tables(self.late_rows)
        return self.front.schema.empty_table() if self.front is not None else pa.table({})

    def _check_open(self) -> None:
        if self.ended:
            raise OstinatoError(_ENDED, fix="build a new one with ostinato.engine(…)")

    def snapshot(self) -> bytes:
        """The whole state, for `LiveEngine.restore`; a versioned, checked format without code."""
        return save_live(self)

    @staticmethod
    def restore(data: bytes) -> LiveEngine:
        """The engine as it was when the snapshot was taken.

        Parameters
        ----------
        data
            What `snapshot` returned, in this process or another.
        """
        return load_live(data, LiveEngine)

    # -- numbers

    def stats(self) -> LiveStatistics:
        """Numbers of the stream and of each query, also of those that were stopped."""
        queries = {name: self._statistics(name) for name in self.engines} | self.stopped
        size = 0
        if self.front is not None:
            size = self.shared.history.kept.nbytes + self.front.reorder.rows.nbytes
        return LiveStatistics(self.events, self.late, size, queries)

    def _statistics(self, name: str) -> QueryStatistics:
        if self.front is None:
            return QueryStatistics(0, 0, 0, 0.0)
        if (number := self.numbers.get(name)) is not None:
            return self.shared.statistics(number)
        return self.separate.statistics(name)
