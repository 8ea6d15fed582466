"""One engine for many queries: events are read once, and go to the queries that they can change."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from threading import RLock
from typing import Any, TypeVar, cast

import numpy as np
import pyarrow as pa

from ostinato.core.engine_errors import stream_ended
from ostinato.core.events import DEFAULT_TYPE, TABLES, to_arrow, with_columns
from ostinato.core.options import bad_option
from ostinato.core.reorder import ReleasedRows, SingleRow
from ostinato.core.stream_schema import align_rows
from ostinato.errors import DataError, Message, Option, OstinatoError
from ostinato.patterns.limits import Limits
from ostinato.patterns.live.front import Front, PlainRows
from ostinato.patterns.live.matches import Answers, LiveMatches, QueryMatches
from ostinato.patterns.live.past import place_past
from ostinato.patterns.live.snapshot import load_live, resume_live, save_live
from ostinato.patterns.live.state import LiveState
from ostinato.patterns.live.statistics import LiveStatistics
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.runtime.state import EngineOptions, late_error

_EVENTS = f"an event as a dict or a tuple, a list of those, or {TABLES}"
_FEW_ROWS = 64  # events as dicts: so many are read one by one
_ENDED = stream_ended("ostinato.engine(…)")
Row = Mapping[str, Any]


Method = TypeVar("Method", bound=Callable[..., Any])


def _locked(method: Method) -> Method:
    """One thread at a time; others wait."""

    @wraps(method)
    def call(self: LiveEngine, *arguments: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *arguments, **options)

    return cast(Method, call)


class LiveEngine(LiveState):
    """Matches many queries over one stream. Build it with `ostinato.engine({name: query, …})`.

    Any thread may call any method: calls wait for each other.
    """

    def __init__(self, options: EngineOptions) -> None:
        super().__init__(options)
        self._lock = RLock()  # one thread at a time reads or changes the state

    # -- queries

    @property
    def queries(self) -> list[str]:
        """The names of the queries that run."""
        return list(self.engines)

    @_locked
    def add(self, name: str, query: PatternQuery, *, limits: Limits | None = None, since: Any = None) -> None:
        """Begin to run a query, from the next event that is read on, as if the stream began there; or with the past in
        `since`.

        Parameters
        ----------
        name
            What its matches are to be called by.
        query
            What `ostinato.cel` or `ostinato.srem` returned.
        limits
            Of this query alone; those of the engine if left out.
        since
            The last events that came, in the order they came, as a table or a list of dicts: the query goes on as if
            it had been there for them. The matches that they complete are not given. Events that still wait for
            earlier ones, as `lateness` has it, are not among them: it reads those with the others.
        """
        self._check_open()
        given: Any = (name, query)
        if callable(getattr(query, "engine", None)) and not isinstance(given[1], PatternQuery):
            reason = f"{name!r} is a {type(query).__name__}, which has an engine of its own"
            raise OstinatoError(reason, fix="open one by its method `engine()`; here queries are in CEL and SREM")
        if not isinstance(given[0], str) or not isinstance(given[1], PatternQuery):
            raise bad_option("queries", {name: query}, "names and what ostinato.cel(…) or ostinato.srem(…) returns")
        if limits is not None and not isinstance(limits, Limits):
            raise bad_option("limits", limits, "an ostinato.Limits")
        if not name:
            raise bad_option("name", name, "a text that matches can be told by")
        if name in self.engines:
            raise OstinatoError(f"there is a query {name!r} already", fix="remove it first, or choose another name")
        past = self._past(since) if since is not None else None
        self.add_compiled(name, query._compiled, limits or self.options.limits, past)

    def _past(self, since: Any) -> ReleasedRows | None:
        events = self._as_rows(since)
        rows = self._conform(
            to_arrow(since, accepted=_EVENTS) if events is None else self._to_table(events), events or ()
        )
        if not len(rows):
            return None
        assert self.front is not None
        count = self.events or len(rows)
        past = place_past(self.front, self.shared.history, rows, count)
        self.events = count
        return past

    @_locked
    def remove(self, name: str) -> None:
        """Stop a query and forget it; the others keep their state.

        Parameters
        ----------
        name
            Of a query that was added, also of one that was stopped.
        """
        if self.stopped.pop(name, None) is not None:
            return
        if name not in self.engines:
            known = ", ".join(map(repr, list(self.engines)[:5]))
            raise OstinatoError(f"there is no query {name!r}", fix=f"name one of {known}" if known else "add it first")
        self._forget(name)

    # -- columns

    def _bind(self, rows: pa.Table, events: Sequence[Row]) -> Front:
        """The first events set the columns; dicts also their order in tuples."""
        binding = self.options.binding
        names = {binding["type"] or DEFAULT_TYPE, *binding["order_by"], *self._attributes()}
        rows = with_columns(rows, names, time=binding["time"])
        front = self.new_front(rows.schema)
        front.check_times(rows)
        front = self.bind_to(rows, {}, {})
        front.names = _names(events) or front.names
        return front

    def _attributes(self) -> set[str]:
        """What the queries read of events."""
        return set().union(*(required_attributes(engine.compiled.query) for engine in self.engines.values()))

    def _conform(self, rows: pa.Table, events: Sequence[Row]) -> pa.Table:
        """The rows with the columns of the stream; `events` are the same, if they came as dicts."""
        front = self.front or self._bind(rows, events)
        if rows.num_columns and (schema := front.new_schema(rows.schema)) is not None:
            aligned = align_rows(rows, schema)
            front.check_times(aligned)
            self._check_late(front, aligned)
            self.check_schema(schema)
            front.migrate_schema(schema)
            self.shared.migrate_schema(schema)
            self.separate.migrate_schema(schema)
            self._plain = None
        return front.align(rows)

    def _check_late(self, front: Front, rows: pa.Table) -> None:
        if self.options.on_late == "raise" and (late := front.reorder.count_late(rows)):
            raise late_error(late, len(rows))

    # -- events

    @_locked
    def push(self, batch: Any) -> LiveMatches:
        """Read events; returns the matches they complete.

        Parameters
        ----------
        batch
            One event as a dict, in which an attribute that is absent is NULL, or as a tuple in the order of the
            first dict, or of the columns of the first table; a list of those; or a table (pyarrow, pandas, polars) with
            the columns of earlier ones.
        """
        self._check_open()
        rows = self._as_rows(batch)
        if rows is None:
            return self._answer(self._push_table(to_arrow(batch, accepted=_EVENTS)))
        front = self.front
        if front is not None and len(rows) <= _FEW_ROWS and (found := self._push_rows(front, rows)) is not None:
            return self._answer(found)
        return self._answer(self._push_table(self._to_table(rows), rows))

    def _to_table(self, rows: list[Row]) -> pa.Table:
        """Events by name; attributes that are absent are NULL, but the time is not."""
        front = self.front
        if rows:
            absent = self._attributes() if front is None else {*front.schema.names} - {front.columns.time}
            names = _names(rows if front is None else rows[:1])
            rows = [dict.fromkeys([*names, *sorted(absent - {*names})]) | dict(rows[0]), *rows[1:]]
        return to_arrow(list(map(dict, rows)))

    async def stream(
        self,
        source: AsyncIterable[Any] | Iterable[Any],
        *,
        flush: bool = True,
        on_stopped: Callable[[str, str], None] | None = None,
    ) -> AsyncIterator[dict[str, Any]]:
        """The matches of a source of events, as they complete: `async for match in live.stream(source)`.

        The source is asked for more only when its matches have been taken, so that a slow reader slows it down. Other
        tasks may go on between two batches.

        Parameters
        ----------
        source
            Gives whatever `push` takes, asynchronously or not.
        flush
            Whether the stream has ended when the source has; if not, the engine can be given more.
        on_stopped
            Called with the name of each query that is stopped, and why, before the matches of that batch are given;
            a warning if left out.
        """
        report = on_stopped or _warn
        async for batch in _as_async(source):
            for match in _report(self.push(batch), report):
                yield match
            await asyncio.sleep(0)
        for match in _report(self.flush(), report) if flush else ():
            yield match

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
        shared, place = self.shared, self.shared.frames.read
        found = shared.read_one(row.values, row.event, row.tick, row.position)
        if self.separate.engines:
            found += self.separate.read_one(
                row.values, row.position, front.schema, woken=shared.runs.woken, place=place, tick=row.tick
            )
        return found

    def _push_table(self, batch: pa.Table, events: Sequence[Row] = ()) -> list[Answers]:
        if self.front is None and not batch.num_columns:
            return []
        rows = self._conform(batch, events)
        assert self.front is not None
        reorder = self.front.reorder
        self._check_late(self.front, rows)
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
        shared, place = self.shared, self.shared.frames.read
        return shared.read(released) + self.separate.read(released, shared.runs.woken, place)

    def _answer(self, answers: list[Answers]) -> LiveMatches:
        stopped, self._stopped_now = self._stopped_now, {}
        if stopped:
            answers = self._without(stopped, answers)
        return LiveMatches(answers, self.schemas, stopped)

    def _without(self, stopped: Mapping[str, str], answers: list[Answers]) -> list[Answers]:
        """Drop what queries completed before they were stopped: how much that is depends on how events are read."""
        kept: list[QueryMatches] = []
        for part in (part for answer in answers for part in answer.expand()):
            if part.query not in stopped:
                kept.append(part)
            elif (stats := self.stopped.get(part.query)) is not None:
                self.stopped[part.query] = replace(stats, matches=stats.matches - part.count)
        return [Answers(sum(part.count for part in kept), lambda: kept)] if kept else []

    # -- time

    @_locked
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
        found = self._read(self.front.reorder.advance(tick)) + self.separate.advance(tick)
        self.shared.advance(tick)
        return self._answer(found)

    @_locked
    def due(self) -> Any:
        """The next time at which `advance` has something to do; None when nothing waits."""
        if self.front is None or self.front.clock is None:
            return None
        ticks = [tick for tick in (self.separate.due(), self.front.reorder.next_tick()) if tick is not None]
        return self.front.clock.values(np.array([min(ticks)]))[0].as_py() if ticks else None

    @_locked
    def expires(self) -> Any:
        """The time at which `advance` can forget all partial matches that a window of time bounds; None: there are
        none."""
        if self.front is None or self.front.clock is None or (tick := self.shared.expiry()) is None:
            return None
        return self.front.clock.values(np.array([tick]))[0].as_py()

    @_locked
    def flush(self) -> LiveMatches:
        """End the stream: read the events that still wait, and return the matches that waited for time to pass."""
        self._check_open()
        self.ended = True
        if self.front is None:
            return self._answer([])
        return self._answer(self._read(self.front.reorder.flush()) + self.separate.flush())

    def _check_open(self) -> None:
        if self.ended:
            raise OstinatoError.parse(_ENDED)

    @_locked
    def snapshot(self) -> bytes:
        """The whole state, for `Engine.restore`; a versioned, checked format without code."""
        return save_live(self)

    @_locked
    def resume(self, data: bytes | None) -> None:
        """Go on from a snapshot, with the queries, columns and options that this engine has, and what it has looked up.

        Queries that the snapshot does not have begin here; those that only it has are forgotten.

        Parameters
        ----------
        data
            What `snapshot` returned, of an engine for the same stream; None: begin anew.
        """
        if self.front is None:
            fix = Message("name them with ", Option("schema"), ", or push a table (it may be empty) first")
            raise DataError("the columns of the stream are not known yet", fix=fix)
        resume_live(self, data)

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

    @_locked
    def stats(self) -> LiveStatistics:
        """Numbers of the stream and of each query, also of those that were stopped."""
        queries = {name: self._statistics(name) for name in self.engines} | self.stopped
        size = 0
        if self.front is not None:
            size = self.shared.history.kept.nbytes + self.front.reorder.rows.nbytes
        return LiveStatistics(self.events, self.late, size, queries)


def _names(events: Sequence[Row]) -> list[str]:
    """The attributes of events, as they come."""
    return list(dict.fromkeys(name for event in events for name in event))


async def _as_async(source: AsyncIterable[Any] | Iterable[Any]) -> AsyncIterator[Any]:
    if isinstance(source, AsyncIterable):
        async for batch in source:
            yield batch
        return
    if not isinstance(source, Iterable):
        raise DataError(
            f"the source is a {type(source).__name__}", fix="give something to go through with `for` or `async for`"
        )
    for batch in source:
        yield batch


def _report(matches: LiveMatches, report: Callable[[str, str], None]) -> LiveMatches:
    """The matches, once it is reported which queries were stopped."""
    for name, reason in matches.stopped.items():
        report(name, reason)
    return matches


def _warn(name: str, reason: str) -> None:
    warnings.warn(f"query {name} was stopped: {reason}", stacklevel=4)
