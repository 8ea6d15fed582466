"""The engine: push batches of events, get the matches they complete. Embedded runs and distributed tasks share it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.deadlines import first_after
from ostinato.core.engine_errors import INCOMPLETE, stream_ended
from ostinato.core.events import time_order, to_arrow
from ostinato.core.reorder import ReleasedRows
from ostinato.core.rows import PlainTables
from ostinato.core.snapshot_format import PATTERN, PATTERNS, Snapshot
from ostinato.core.window_bounds import first_beyond, lower_bounds
from ostinato.errors import DataError, LimitError, Message, Option, OstinatoError
from ostinato.patterns.kernels import protocol
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.grouped import GroupedMatcher
from ostinato.patterns.runtime.matcher import Matcher
from ostinato.patterns.runtime.matcher_factory import build_matcher
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.single_events import SingleEvents
from ostinato.patterns.runtime.small_batches import MOST_ROWS, SmallBatches
from ostinato.patterns.runtime.snapshot import load, save
from ostinato.patterns.runtime.stream_reader import StreamReader
from ostinato.patterns.runtime.tallies import matches_around

_FEW_ROWS = 12  # events as dicts: so many are read one by one
_SMALL = 1 << 20  # bytes: few matches of narrow columns take less
_MANY = 4  # tables of matches, of one batch of events, after which it is worth counting them before going on
_LIVE_ENGINE = "ostinato.patterns.live.engine"  # stands on this module, so it is imported when it is needed
_AHEAD = 1 << 13  # events before and after the one at hand that are counted then
_ENDED = stream_ended("query.engine()")


@dataclass(frozen=True)
class Statistics:
    """events: rows pushed; late: those that came too late; waiting: matches whose window must pass first;
    states: configurations met; live: nodes of partial matches; bytes: memory of the whole state."""

    events: int
    matches: int
    late: int
    waiting: int
    keys: int
    states: int
    live: int
    bytes: int


class Engine(StreamReader):
    """Matches one query over one stream. Build it with `query.engine()`."""

    _single: tuple[pa.Schema, SingleEvents | None] | None = None  # for the columns that the stream has now
    _small: tuple[pa.Schema, SmallBatches | None] | None = None  # for the same
    _tables: PlainTables | None = None  # of the same

    def push(self, batch: Any) -> pa.Table:
        """Read events; returns the matches they complete.

        Parameters
        ----------
        batch
            A table (pyarrow, pandas, polars) or a list of dicts, with the columns of earlier batches; or one event as
            a dict, in which an attribute that is absent is NULL.
        """
        if isinstance(batch, dict):
            batch = [batch if self.bound else dict.fromkeys(required_attributes(self.compiled.query)) | batch]
        if self.bound and not self.stopped:
            few = self._push_rows(batch) if isinstance(batch, list) else self._push_small(batch)
            if few is not None:
                return few
        return self._collect(self.push_each(batch))

    def _push_small(self, batch: Any) -> pa.Table | None:
        """The answer to a small table; None where it has to be read as a larger one."""
        if isinstance(batch, pa.RecordBatch):
            batch = pa.Table.from_batches([batch])
        if not isinstance(batch, pa.Table) or not 0 < batch.num_rows <= MOST_ROWS:
            return None
        schema = self.stream.schema
        if not batch.schema.equals(schema, check_metadata=True):
            return None
        if self._small is None or self._small[0] is not schema:
            self._small = schema, SmallBatches.of(self)
        small = self._small[1]
        matches = small.push(batch) if small is not None else None
        if matches is None:
            return None
        table = self._collect(map(self._answer, matches)) if matches else self._nothing
        self._forget_alike()
        self._close_history()
        return table

    def _push_rows(self, rows: list[Any]) -> pa.Table | None:
        """The answer to a few events as dicts; None where they have to be read as a batch."""
        if len(rows) > _FEW_ROWS or not all(isinstance(row, dict) for row in rows):
            return None
        if self._single is None or self._single[0] is not self.stream.schema:
            self._single = self.stream.schema, SingleEvents.of(self)
        single = self._single[1]
        matches = single.push(rows) if single is not None else None
        if matches is None:
            return None
        return self.answer_single(matches)

    def answer_single(self, matches: Sequence[Matches]) -> pa.Table:
        """The answer to events that were read one by one."""
        if not matches:
            table = self._nothing
        elif len(matches) == 1 and self._is_small(matches[0]):
            table = self._answer(matches[0])
        else:
            table = self._collect(map(self._answer, matches))
        self._forget_alike()
        if self.history.crowded:
            self._close_history()
        return table

    def _forget_alike(self) -> None:
        """Where nothing is hidden, matches look alike only if one event completes them."""
        if self.distinct is not None and not self.compiled.hides_variables:
            self.distinct.forget_all()

    def _is_small(self, matches: Matches) -> bool:
        """Whether matches are within all limits, surely."""
        few, limits = self._few, self.options.limits
        if few is None or not few.narrow or not few.are_few(matches):
            return False
        return len(matches) <= limits.matches and limits.memory >= _SMALL

    def read_released(self, released: ReleasedRows) -> pa.Table:
        """The answer to rows that have been put in order."""
        return self._collect(self._read(released))

    @property
    def answer_schema(self) -> pa.Schema:
        """The columns of answers, once those of the stream are known."""
        schema: pa.Schema = self._nothing.schema
        return schema

    def push_each(self, batch: Any) -> Iterator[pa.Table]:
        """Like `push`, but yields the matches in tables while it reads: any number of matches, in little memory.

        Events are read as the tables are consumed; consume all of them before calling anything else.

        Parameters
        ----------
        batch
            As for `push`.
        """
        self._check_open()
        if self.bound and isinstance(batch, list) and batch and isinstance(batch[0], dict):
            batch = self._table_of(batch)
        if isinstance(batch, pa.RecordBatch):
            batch = pa.Table.from_batches([batch])
        if not self._is_aligned(batch):
            batch = to_arrow(batch)
            if self._stream is None and not batch.num_columns:
                return iter(())  # an empty list of events names no columns
        go_back = self._mark()
        try:
            released = self._take(batch)
        except OstinatoError:
            go_back()
            raise
        return self._read(released, go_back=go_back)

    def _is_aligned(self, batch: Any) -> bool:
        """Whether a batch is a table with the columns of the stream."""
        known = self.bound and isinstance(batch, pa.Table)
        return known and bool(batch.schema.equals(self.stream.schema, check_metadata=True))

    def _take(self, batch: pa.Table) -> ReleasedRows:
        """The rows whose turn has come with a batch."""
        rows = batch if self._is_aligned(batch) else self.conform(batch)
        self._check_rows(rows)
        released, late = self.reorder.push(rows, range(self.events, self.events + len(rows)))
        self.events += len(rows)
        if len(late):
            self.late += len(late)
            if self.options.on_late == "collect":
                self.late_rows.append(late)
        return released

    def _table_of(self, rows: list[Any]) -> Any:
        """Events as a table of what the query reads, or where they are not plain, as a list with all columns."""
        stream = self.stream
        time = stream.binding.time
        if self._tables is None or self._tables.schema is not stream.schema:
            names = {*required_attributes(self.compiled.query), *self.history.schema.names, *stream.binding.order_by}
            more = stream.schema.names if self.options.on_late == "collect" else (time, stream.binding.type)
            self._tables = PlainTables(stream.schema, names.union(name for name in more if name is not None), time)
        table = self._tables.table(rows) if set(map(type, rows)) == {dict} else None
        if table is not None:
            return table
        absent = [name for name in stream.schema.names if name != time]
        return [dict.fromkeys(absent) | rows[0], *rows[1:]]

    def run_batch(self, batch: Any) -> pa.Table:
        """Read a whole stream at once, sorted if need be; nothing is kept for later."""
        return self.finish_batch(self.order_batch(batch))

    def finish_batch(self, released: ReleasedRows) -> pa.Table:
        """The matches of all rows that `order_batch` gave."""
        table = self._collect(self._read(released, more=False))
        return table if self.waiting is None else pa.concat_tables([table, self._remaining()])

    def finish_range(self, released: ReleasedRows, before: int) -> pa.Table:
        """The matches of rows of a stream, but not of the first `before` of them, which count for later ones."""
        return self._collect(self._read_range(released, before))

    def group_keys(self, groups: int) -> None:
        """Let so many cores match what `finish_batch` will read, each the events of some keys."""
        matchers = [build_matcher(self.compiled, self.stream, self.options.limits) for _ in range(groups - 1)]
        self.stream.cores = groups
        local = self.stream.window == protocol.EVENT_WINDOW and self.stream.consume == protocol.CONSUME_NONE
        reach = self.stream.width - 1 if local else None
        self.groups = GroupedMatcher([self.matcher, *matchers], self._look_ahead, reach)

    def order_batch(self, batch: Any) -> ReleasedRows:
        """The rows of a whole stream, their positions and their order. This engine reads no other stream."""
        rows, order = self.order_rows(batch)
        return ReleasedRows(rows, range(len(rows)), order)

    def order_rows(self, batch: Any, *, pieces: int = 1) -> tuple[pa.Table, Int64 | None]:
        """Like `order_batch`, without positions: they count from 0."""
        self._check_open()
        self.stopped = _ENDED
        rows = self.conform(to_arrow(batch))
        self.events = len(rows)
        return rows, time_order(rows, self.stream.binding, pieces=pieces)

    def advance(self, to: Any) -> pa.Table:
        """Say that time has reached `to`: nothing earlier will come. Returns what that completes.

        Parameters
        ----------
        to
            A datetime or a number, as the time column holds; also a numpy, pandas or Arrow scalar.
        """
        self._check_open()
        stream = self.stream
        if stream.clock is None:
            raise DataError(
                "the stream has no time column, so its time cannot advance",
                fix=Message("name it with ", Option("time")),
            )
        tick = stream.clock.tick(to, up=True)
        table = self._collect(self._read(self.reorder.advance(tick)))
        return pa.concat_tables([table, self.pass_time(tick)])

    def pass_time(self, tick: int) -> pa.Table:
        """What is complete once time has reached a tick, after all events before it were read."""
        stream, table = self.stream, self._nothing
        assert stream.clock is not None
        if self.waits_for_time:
            table = self._answer(self._certain(int(stream.clock.to_pulses(np.array([tick]))[0])))
        window = self.compiled.query.window
        if window is not None and window.kind == "time" and stream.ruler is not None:
            self.low = max(self.low, int(lower_bounds(stream.ruler, np.array([tick]), window.amount)[0]))
            if self.newest < self.low and self.history.keeps_rows:
                self._close_history(prune=True)
        return table

    def _certain(self, now: int) -> Matches:
        """The matches that waited and are certain once time has reached a pulse."""
        if self.indexed is not None and self.indexed.active:
            return self.indexed.until(now) or Matches.none()
        assert self._waiting is not None
        return self._waiting.until(now)

    def due(self) -> Any:
        """The next time at which `advance` has something to do; None when nothing waits."""
        stream, tick = self._stream, self.due_tick()
        if stream is None or stream.clock is None or tick is None:
            return None
        return stream.clock.values(np.array([tick]))[0].as_py()

    def due_tick(self) -> int | None:
        """The same as a tick of the stream's clock."""
        stream, window = self._stream, self.compiled.query.window
        if stream is None or stream.clock is None:
            return None
        ticks: list[int] = []
        if (waiting := self.reorder.next_tick()) is not None:
            ticks.append(waiting)
        if (deadline := self.next_deadline()) is not None:
            ticks.append(first_after(stream.clock, deadline))
        forgets = window is not None and window.kind == "time" and self.newest >= self.low
        if forgets and window is not None and stream.ruler is not None and self.history.keeps_rows:
            # What was read so far can be forgotten one window later.
            ticks.append(first_beyond(stream.ruler, self.newest, window.amount))
        return min(ticks, default=None)

    def flush(self) -> pa.Table:
        """End the stream: read the events that still wait, and return the matches that waited for time to pass."""
        self._check_open()
        self.stopped = _ENDED
        if self._stream is None:
            return self._no_events()
        table = self._collect(self._read(self.reorder.flush()))
        return table if self.waiting is None else pa.concat_tables([table, self._remaining()])

    def _remaining(self) -> pa.Table:
        """At the end of the stream nothing more can come."""
        assert self.waiting is not None
        return self._answer(self.waiting.until(None))

    def unseen_types(self) -> list[str]:
        """Event types that the query names but no event has had so far: perhaps misspelt."""
        named = {condition.relation for condition in self.compiled.conditions if condition.relation is not None}
        return sorted(named - (self.stream.encoder.relations_seen if self.bound else set()))

    def stats(self) -> Statistics:
        """Numbers of the stream so far, and of what is kept of it."""
        bound = self.bound
        waiting = len(self.waiting.matches) if bound and self.waiting is not None else 0
        return Statistics(
            events=self.events,
            matches=self.matches,
            late=self.late,
            waiting=waiting,
            keys=(self._stream.keys.size if self._stream.keys is not None else 1) if self._stream is not None else 0,
            states=self.matcher.states if bound else 0,
            live=self.matcher.live if bound else 0,
            bytes=self.matcher.bytes + self.history.kept.nbytes + self.reorder.rows.nbytes if bound else 0,
        )

    def snapshot(self) -> bytes:
        """The whole state, for `Engine.restore`; a versioned, checked format without code."""
        if self.bound and not self.stopped:
            self._close_history(prune=True)
        return save(self)

    @staticmethod
    def restore(data: bytes) -> Any:
        """The engine as it was when the snapshot was taken: this kind, or the LiveEngine of many queries.

        Parameters
        ----------
        data
            What `snapshot` returned, in this process or another.
        """
        snapshot = Snapshot.from_bytes(data)
        snapshot.check_kind(PATTERN, PATTERNS)
        if snapshot.kind == PATTERNS:
            return import_module(_LIVE_ENGINE).LiveEngine.restore(data)
        return load(snapshot, Engine)

    def _collect(self, tables: Iterator[pa.Table]) -> pa.Table:
        """All tables as one; LimitError where it would be too large."""
        found: list[pa.Table] = []
        matches = size = 0
        clock = self.options.limits.clock()
        try:
            for number, table in enumerate(tables, start=1):
                clock.check()
                if self.reading is not None:
                    self._look_ahead(number, self.reading, self.matcher)
                matches, size = matches + len(table), size + table.nbytes
                self.options.limits.check_matches(matches)
                self.options.limits.check_answer(size)
                found.append(table)
        except LimitError:
            self.stopped = INCOMPLETE
            raise
        if not found:
            return self._nothing if self.bound else self._no_events()
        return pa.concat_tables(found) if len(found) > 1 else found[0]

    def matches_around(self) -> float:
        """At least so many matches are in the batch that is being read; 0 where that is not known."""
        return 0 if self.reading is None else self._matches_near(self.reading, self.matcher)

    def _look_ahead(self, number: int, events: Events, matcher: Matcher) -> None:
        """Raise LimitError where the events around the one that a matcher is at have too many matches. That is looked
        up from time to time: `number` is how many tables or chunks of matches there are so far."""
        if number >= _MANY and number & (number - 1) == 0:
            self.options.limits.check_matches(self._matches_near(events, matcher))

    def _matches_near(self, events: Events, matcher: Matcher) -> float:
        at = int(matcher.state.cursor[protocol.AT])
        places = np.arange(max(0, at - _AHEAD), min(at + _AHEAD, len(events.codes)))
        return matches_around(self, events.pick(places))

    def _no_events(self) -> pa.Table:
        """The answer before the columns are known."""
        return Engine(self.compiled, self.options).run_batch([])

    def _check_open(self) -> None:
        if self.stopped:
            raise OstinatoError.parse(self.stopped)
