"""The state of an engine for many queries: which run, together or each for itself, over which columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from ostinato.core.clock import MAX_TICK
from ostinato.core.events import StreamColumns, column_kinds
from ostinato.core.reorder import ReleasedRows
from ostinato.errors import DataError, LimitError, Message, Option, OstinatoError
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels import protocol
from ostinato.patterns.limits import Limits, within_many
from ostinato.patterns.live.front import Front, PlainRows
from ostinato.patterns.live.separate_queries import SeparateQueries, may_sleep
from ostinato.patterns.live.shared_queries import SharedQueries, is_shareable
from ostinato.patterns.live.statistics import QueryStatistics
from ostinato.patterns.plan.check import check_schema
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions


class LiveState:
    """Queries that the plain kernel can run are run together (shared_queries.py), the others each for itself."""

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
        self.errors: dict[str, LimitError | DataError] = {}  # that stopped queries in this process
        self._stopped_now: dict[str, str] = {}  # by the push at hand
        self.front: Front | None = None
        self._plain: PlainRows | None = None

    def add_compiled(
        self, name: str, compiled: CompiledPattern, limits: Limits, past: ReleasedRows | None = None
    ) -> None:
        """Begin to run what a query was compiled to, as if it had read the `past` before."""
        engine = Engine(compiled, replace(self.options, lateness=0, on_late="count", limits=limits))
        if self.front is not None:
            engine = self._start(name, engine, self.front, past=past)
        self.stopped.pop(name, None)
        self.engines[name] = engine

    def _forget(self, name: str) -> None:
        del self.engines[name]
        self._plain = None
        if self.front is None:
            return
        if name in self.numbers:
            self.shared.remove(self.numbers.pop(name))
        elif (number := self.separate.remove(name)) is not None:
            self.shared.remove(number)

    def _stop(self, name: str, error: LimitError | DataError) -> None:
        """A query has reached a limit of its own, or an event does not fit it."""
        named = f"{name}: {error.reason}"
        error = within_many(error) if isinstance(error, LimitError) else error.replace(reason=named)
        self.errors[name] = error
        self.stopped[name] = replace(self._statistics(name), bytes=0, stopped=str(error))
        self._stopped_now[name] = str(error)
        self._forget(name)

    def _start(
        self,
        name: str,
        engine: Engine,
        front: Front,
        *,
        minterms: Sequence[int] = (),
        past: ReleasedRows | None = None,
    ) -> Engine:
        """Bind a query to the columns of the stream, and let it run, in an engine that may be another one."""
        try:
            engine.bind(front.schema.empty_table(), minterms=minterms)
        except OstinatoError as error:
            fix = error.fix
            if self.front is not None and required_attributes(engine.compiled.query) - {*front.schema.names}:
                known = f"{fix}. " if fix else ""
                fix = Message(
                    known, "The first events set the columns: name those that only later events have ahead, with ",
                    Option("schema"), " when the engine is opened",
                )  # fmt: skip
            raise error.replace(reason=f"{name}: {error.reason}", fix=fix) from None
        if is_shareable(engine):
            self.numbers[name] = self.shared.add(name, engine, past)
        else:
            engine = self._start_separate(name, engine, front, past)
        self._plain = None
        return engine

    def _start_separate(self, name: str, engine: Engine, front: Front, past: ReleasedRows | None) -> Engine:
        sleeps, window = may_sleep(engine), engine.compiled.query.window
        if sleeps and window is not None and window.kind == "events":
            engine = Engine(engine.compiled, replace(engine.options, picked=True))
            engine.bind(front.schema.empty_table())
        newest = protocol.FOREVER
        if past is not None:
            if sleeps:
                count = len(past.rows)
                past, newest = past.pick(np.arange(count), self.shared.frames.read - count), MAX_TICK
            engine.read_released(past)
            engine.matches = 0
        self.separate.add(name, engine, self.shared.watch(name, engine, newest=newest) if sleeps else None)
        return engine

    def bind_to(self, rows: pa.Table, minterms: Mapping[str, Sequence[int]], separate: Mapping[str, Engine]) -> Front:
        """Bind to the columns of some rows. What was restored numbers its codes by `minterms`, or is bound already."""
        front = self.new_front(rows.schema)
        schema, columns = front.schema, front.columns
        self.separate = SeparateQueries(front.clock, self._stop)
        self.shared = SharedQueries(schema, columns, front.clock, self._stop)
        self.numbers = {}
        for name, engine in list(self.engines.items()):
            if (restored := separate.get(name)) is None:
                self.engines[name] = self._start(name, engine, front, minterms=minterms.get(name, ()))
                continue
            sleeps = may_sleep(restored) and restored.stream.window != protocol.EVENT_WINDOW  # as of older snapshots
            number = self.shared.watch(name, restored, newest=MAX_TICK) if sleeps else None
            self.separate.add(name, restored, number)
            self.engines[name] = restored
        self.front = front
        return front

    def new_front(self, schema: pa.Schema) -> Front:
        columns = StreamColumns.resolve(schema, **self.options.binding, needs_time=self.options.lateness != 0)
        return Front(schema, columns, self.options.lateness)

    def check_schema(self, schema: pa.Schema) -> None:
        """Raise QueryError where a query does not fit the types of columns."""
        kinds = column_kinds(schema)
        for name, engine in self.engines.items():
            try:
                check_schema(engine.compiled.query, kinds)
            except OstinatoError as error:
                raise error.replace(reason=f"{name}: {error.reason}") from None

    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of each query's answer; known once the stream's columns are."""
        return {name: engine.answer_schema for name, engine in self.engines.items() if engine.bound}

    def late_events(self) -> pa.Table:
        """The rows that came too late, under on_late="collect"."""
        if self.late_rows:
            return pa.concat_tables(self.late_rows)
        return self.front.schema.empty_table() if self.front is not None else pa.table({})

    def _statistics(self, name: str) -> QueryStatistics:
        if self.front is None:
            return QueryStatistics(0, 0, 0, 0.0)
        if (number := self.numbers.get(name)) is not None:
            return self.shared.statistics(number)
        watched = self.separate.numbers.get(name)
        return self.separate.statistics(name, None if watched is None else self.shared.counters(watched)["reads"])
