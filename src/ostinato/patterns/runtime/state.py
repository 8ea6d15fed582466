"""The state of one query over one stream: what is built for its columns, and what is kept of its events."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Self

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.arrow import plain_type
from ostinato.core.columns.keys import KeyTable
from ostinato.core.deadlines import reach
from ostinato.core.events import DEFAULT_TYPE, StreamColumns, with_columns
from ostinato.core.expressions import attributes
from ostinato.core.options import (
    OnLate,
    bad_option,
    check_column_name,
    check_column_names,
    check_flag,
    check_on_late,
    parse_delay,
)
from ostinato.core.reorder import ReorderBuffer
from ostinato.core.stream_schema import align_rows
from ostinato.errors import DataError, Message, Option
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels.match_ends import read_ends
from ostinato.patterns.kernels.skips import take_unskipped
from ostinato.patterns.limits import Limits
from ostinato.patterns.plan.required_columns import required_attributes
from ostinato.patterns.runtime.absence import Wait, WaitingMatches
from ostinato.patterns.runtime.answer import AnswerBuilder, cast_answer
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.bound_query import BoundQuery
from ostinato.patterns.runtime.distinct import Distinct
from ostinato.patterns.runtime.extended import EXTENDED_KERNELS
from ostinato.patterns.runtime.few_matches import FewMatches
from ostinato.patterns.runtime.first_matches import FirstMatches
from ostinato.patterns.runtime.grouped import GroupedMatcher
from ostinato.patterns.runtime.history import PLACE, TIME, History
from ostinato.patterns.runtime.identity import Identity, Ordinals
from ostinato.patterns.runtime.indexed_absence import IndexedAbsence
from ostinato.patterns.runtime.matcher_factory import build_matcher
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.runtime.skips import Skips
from ostinato.patterns.runtime.strategies import STRATEGY_KERNELS
from ostinato.patterns.syntax.nodes import event_types

_MANY_KEYS = 1024  # with fewer keys, looking for dead ones does not pay


@dataclass(frozen=True)
class EngineOptions:
    """The options of a run."""

    binding: dict[str, Any]
    lateness: int | None = 0  # None: events wait for `advance`
    on_late: OnLate = "count"
    events: bool = False
    limits: Limits = field(default_factory=Limits)
    # A column of the first and one of the last event, added to each match: when it began, and when it ended.
    ends: tuple[str, str] | None = None
    picked: bool = False  # not all events of the stream are given, so windows over events count given places
    # Whether matches are told apart (identity.py): the columns that identify events beside those that the query reads.
    identity: tuple[str, ...] | None = None

    @classmethod
    def checked(
        cls,
        *,
        time: str | None,
        type: str | None,
        order_by: Sequence[str],
        lateness: str | float | timedelta,
        on_late: OnLate,
        events: bool,
        identity: bool,
        limits: Limits | None,
    ) -> Self:
        """What a user has given."""
        if limits is not None and not isinstance(limits, Limits):
            raise bad_option("limits", limits, "an ostinato.Limits")
        ordering = check_column_names("order_by", order_by)
        binding = {
            "time": check_column_name("time", time),
            "type": check_column_name("type", type),
            "order_by": ordering,
        }
        settings = (parse_delay(lateness), check_on_late(on_late), events, limits or Limits())
        return cls(binding, *settings, identity=ordering if check_flag("identity", identity) else None)


def late_error(late: int, count: int) -> DataError:
    """For on_late="raise"."""
    return DataError(
        f"{late} of {count} events came later than events that were already read; none was taken",
        fix=Message(
            "sort the data by time, or allow ", Option("lateness"), " (events then wait that long for earlier ones)"
        ),
    )


class EngineState:
    """What an engine knows. Everything that depends on columns is built when the first batch is bound."""

    def __init__(self, compiled: CompiledPattern, options: EngineOptions) -> None:
        self.compiled, self.options = compiled, options
        self.events = self.read = self.matches = self.late = 0  # read: events given to the matcher
        self.late_rows: list[pa.Table] = []
        self.stopped = ""  # why nothing more can be read
        self.low = np.iinfo(np.int64).min  # no further event has a window that reaches back before this tick
        self.newest = np.iinfo(np.int64).min  # the tick of the last event read
        self.reading: Events | None = None
        self.in_place = True  # whether the position of each event is its place in the stream
        self.groups: GroupedMatcher | None = None  # which reads a whole batch on several cores
        self._stream: BoundQuery | None = None

    @property
    def bound(self) -> bool:
        return self._stream is not None

    @property
    def stream(self) -> BoundQuery:
        """The query bound to its columns; known from the first batch on."""
        if self._stream is None:
            raise DataError("no events were pushed yet", fix="push a batch (it may be empty) first")
        return self._stream

    @property
    def is_plain(self) -> bool:
        """Whether what the matcher completes is the answer, with nothing around it."""
        more = (self._waiting, self.first, self.skips, self.distinct)
        return all(part is None for part in more) and not self.compiled.keeps_places

    @property
    def takes_few(self) -> bool:
        """Whether few events at a time may be read by the matcher and nothing else: what it completes is the answer,
        but for matches that look alike and for those that wait in an index."""
        waits = self._waiting is not None
        if self.first is not None or self.skips is not None or (waits and self.indexed is None):
            return False
        return waits or not self.compiled.keeps_places

    @property
    def waiting(self) -> WaitingMatches | None:
        """The matches that wait for an absence, where there is one, as arrays."""
        if self.indexed is not None:
            self.indexed.settle()
        return self._waiting

    @property
    def notes_completed(self) -> bool:
        """Whether the answer tells which event completed a match, though it need not show it."""
        return self.identity is not None and self.compiled.hides_variables and self._waiting is None

    @property
    def waits_for_time(self) -> bool:
        """Whether time decides for some of those."""
        return self._waiting is not None and self._waiting.timed

    def next_deadline(self) -> int | None:
        """The pulse that must pass before some match is certain; None when none waits for time."""
        if not self.waits_for_time:
            return None
        waiting = self.indexed if self.indexed is not None and self.indexed.active else self._waiting
        return waiting.next_deadline() if waiting is not None else None

    def conform(self, rows: pa.Table) -> pa.Table:
        """The rows with the columns and types of the stream; the first batch sets those."""
        if self._stream is None:
            columns = self.options.binding
            names = {columns["type"] or DEFAULT_TYPE, *columns["order_by"], *required_attributes(self.compiled.query)}
            self.bind(with_columns(rows, names, time=columns["time"]))
        elif rows.num_columns and (grown := self._stream.with_new_types(rows.schema)):
            self._check_rows(align_rows(rows, grown), grown=True)
            self.migrate_types(grown)
        return self.stream.align(rows) if rows.num_columns else self.stream.schema.empty_table()

    def _check_rows(self, rows: pa.Table, *, grown: bool = False) -> None:
        """Raise DataError for rows that cannot be taken, as far as that is not noticed before they change anything: if
        they wait, or if the types of columns follow from them."""
        stream, reorder = self.stream, self.reorder
        if self.options.on_late == "raise" and (late := reorder.count_late(rows)):
            raise late_error(late, len(rows))
        if not grown and (self.options.lateness == 0 or not stream.casts):
            return
        positions = np.arange(self.events, self.events + len(rows))
        if stream.clock is not None:
            on_time = stream.clock.ticks(rows[stream.clock.column]) >= reorder.watermark
            if not on_time.all():
                rows, positions = rows.filter(pa.array(on_time)), positions[on_time]
        stream.check_casts(rows, positions)

    def bind(self, rows: pa.Table, *, minterms: Sequence[int] = (), numbers: Collection[str] | None = None) -> None:
        """Bind to the columns of the first batch: check names and types, and build all that depends on them. A snapshot
        also says which `minterms` were numbered, and which columns were `numbers` then."""
        query = self.compiled.query
        binding = StreamColumns.resolve(
            rows.schema,
            **self.options.binding,
            needs_time=self.compiled.needs_time or self.options.lateness != 0,
            relations=[name for name in event_types(query.formula) if name is not None] or query.relations,
        )
        stream = BoundQuery(self.compiled, rows.schema, binding, minterms, numbers=numbers, picked=self.options.picked)
        self.identity: Identity | None = None
        if self.options.identity is not None:
            more = self.options.identity
            self.identity = Identity.of(self.compiled, rows.schema, binding, stream.clock, more)
        self._answers = AnswerBuilder(
            items=query.items,
            labels=self.compiled.labels,
            repeated=query.lists,
            partition_by=query.partition_by,
            time=binding.time,
            columns=tuple(rows.schema.names),
            with_events=self.options.events,
            ends=self.options.ends,
            reached=query.timeout is not None,
            content=None if self.identity is None else self.identity.content,
        )
        self._begin(stream)
        self._nothing = self._no_matches(rows.schema)
        self._few = FewMatches.of(self._answers, rows.schema, self._nothing.schema)
        self._stream = stream

    def twin(self, minterms: Sequence[int] = (), numbers: Collection[str] | None = None) -> Self:
        """An engine bound to the same columns, which has read nothing; `minterms` and `numbers` are as for `bind`."""
        other, stream = type(self)(self.compiled, self.options), self.stream
        other._answers, other._nothing, other._few = self._answers, self._nothing, self._few
        other.identity = self.identity
        other._stream = BoundQuery(
            self.compiled,
            stream.schema,
            stream.binding,
            minterms,
            numbers=stream.numbers if numbers is None else numbers,
            picked=self.options.picked,
        )
        other._begin(other._stream)
        return other

    def _begin(self, stream: BoundQuery) -> None:
        """Build what events change."""
        query = self.compiled.query
        self.ordinals = Ordinals()
        self.matcher = build_matcher(self.compiled, stream, self.options.limits)
        self._waiting = self._build_waiting(stream) if self.compiled.trailing else None
        self.distinct = Distinct() if self.compiled.repeats else None
        self.first: FirstMatches | None = None
        if query.limit is not None:
            keyed = bool(query.partition_by)
            self.first = FirstMatches(query.limit, keyed=keyed, skips=query.consume != "ANY")
        self.skips: Skips | None = None
        if (skip := self.compiled.skip) is not None:
            symbols = frozenset(self.compiled.watched_symbols().values())
            scope = {"keyed": bool(query.partition_by), "narrows": query.window is None}
            self.skips = Skips(skip, self.compiled.strategy, symbols, **scope)
        self.history = History(self._kept_columns(stream.schema))
        self.indexed = IndexedAbsence.of(self.compiled, self._waiting, stream, self.history)
        self.reorder = ReorderBuffer(stream.clock, stream.binding, stream.schema, self.options.lateness)

    def _build_waiting(self, stream: BoundQuery) -> WaitingMatches:
        """For the NOTs at the end: each lasts from the last event on (FOR), or from the first one (WITHIN)."""
        query, waits = self.compiled.query, list[Wait]()
        for absence in self.compiled.trailing:
            if absence.at_once:
                waits.append(Wait(0, from_last=True, at_once=True, branch=absence.branch))
                continue
            from_last = absence.lasting is not None
            length = absence.lasting if absence.lasting is not None else query.window.amount if query.window else 0
            assert stream.clock is not None
            waits.append(Wait(reach(stream.clock, length), from_last, branch=absence.branch))
        return WaitingMatches(query.strategy, waits, self.compiled.stops)

    def migrate_types(self, schema: pa.Schema, *, rows: bool = True) -> None:
        """Continue with types for columns that held only NULL so far; without `rows`, another keeps them."""
        self.stream.migrate_schema(schema)
        self.matcher.migrate_terms(self.stream.terms)
        if rows:
            self.history.migrate_schema(self._kept_columns(schema))
        self.indexed = IndexedAbsence.of(self.compiled, self.waiting, self.stream, self.history)
        self.reorder.load(self.reorder.rows.cast(schema), self.reorder.positions)
        self._nothing = self._no_matches(schema)
        self._few = FewMatches.of(self._answers, schema, self._nothing.schema)

    def _kept_columns(self, schema: pa.Schema) -> pa.Schema:
        tests = [absence.test for absence in self.compiled.trailing if absence.test is not None]
        watched = {node.name for test in tests for node in attributes(test)}
        needed = [name for name in schema.names if name in watched or name in self._answers.needs]
        kept = pa.schema([schema.field(name) for name in needed])
        if self._waiting is not None:
            kept = kept.append(pa.field(TIME, pa.int64()))
        return kept.append(pa.field(PLACE, pa.int64())) if self.compiled.keeps_places else kept

    def _no_matches(self, schema: pa.Schema) -> pa.Table:
        """An empty answer; its schema is that of every answer."""
        names = self.compiled.query.partition_by
        keys = [pa.array([], plain_type(schema.field(name).type)) for name in names]
        history = History(self._kept_columns(schema))
        table = self._answers.table(Matches.none(), history, keys)
        if self.identity is None:
            return table
        self.identity.check_names(table.column_names)
        return self.identity.add_to(table, Matches.none(), history, self.ordinals)

    def with_places(self, rows: pa.Table, order: Int64 | None, times: Int64, places: Int64) -> pa.Table:
        """The rows with when they came, in stream order, and with their places there."""
        as_given = order if order is not None else slice(None)
        added = {PLACE: places}
        if self._waiting is not None:
            added = {TIME: times} | added
        for name, in_order in added.items():
            values = np.empty(len(rows), np.int64)
            values[as_given] = in_order
            rows = rows.append_column(name, pa.array(values))
        return rows

    def _table(self, matches: Matches) -> pa.Table:
        return self.table_of(matches, self.history, self.stream.keys)

    def table_of(self, matches: Matches, history: History, keys: KeyTable | None) -> pa.Table:
        """Matches as the answer shows them, whose rows and keys are there."""
        if not len(matches):
            return self._nothing
        if self._few is not None and self._few.are_few(matches):
            return self._few.table(matches, history)
        by = keys.values(matches.keys) if keys is not None and self.compiled.tied_by is None else []
        table = self._answers.table(matches, history, list(by))
        if self.identity is not None:
            table = self.identity.add_to(table, matches, history, self.ordinals)
        return table if table.schema.equals(self._nothing.schema) else cast_answer(table, self._nothing.schema)

    def rows_of(self, matches: Matches, history: History, keys: KeyTable | None) -> list[dict[str, Any]]:
        """The same as Python values."""
        if self._few is not None and self._few.are_few(matches):
            return self._few.rows(matches, history)
        rows: list[dict[str, Any]] = self.table_of(matches, history, keys).to_pylist()
        return rows

    def _close_history(self, *, prune: bool = False) -> None:
        """Keep the rows just read; from time to time, or with `prune`, forget all that can no longer matter."""
        self.history.close()
        if not prune and not self.history.crowded:
            return
        self.matcher.compact(self.low)
        waiting = self.waiting.matches.positions if self.waiting is not None else np.zeros(0, np.int64)
        live = np.concatenate([self.matcher.live_positions(), waiting])
        self.history.keep(live)
        if self.distinct is not None and self.compiled.query.window is not None:
            first_waiting = self.reorder.positions.min(initial=self.events)
            self.distinct.forget_before(live.min(initial=first_waiting))
        if self.stream.keys is not None:
            self._forget_keys(self.stream.keys.size, prune=prune)

    def _forget_keys(self, known: int, *, prune: bool) -> None:
        """Forget keys without partial matches, once there are many keys and most of them have none."""
        if not known or (known < _MANY_KEYS and not prune):
            return
        live = self.matcher.live_keys()[:known]
        if self.waiting is not None:
            live[self.waiting.matches.keys] = True
        for recent in self.stream.recent:
            live[recent.keys] = True
        if self.first is not None and self.first.keyed:
            live[np.flatnonzero(self.first.given[:known])] = True
        kept = np.flatnonzero(live)
        if 2 * len(kept) > known:
            return
        self.stream.keep_keys(kept)
        self.matcher.keep_keys(kept)
        if self.waiting is not None:
            self.waiting.renumber(kept)
        if self.first is not None:
            self.first.keep_keys(kept)
        if self.skips is not None:
            self.skips.keep_keys(kept)

    @property
    def kernels(self) -> tuple[Any, ...]:
        """All that may run, once it is bound."""
        chosen: tuple[Any, ...] = STRATEGY_KERNELS if self.compiled.keeps_matches else ()
        chosen += EXTENDED_KERNELS if self.compiled.stops else ()
        chosen += (take_unskipped,) if self.skips is not None else ()
        chosen += (read_ends,) if self._answers.items is None else ()
        return self.matcher.kernels + chosen + (self.distinct.KERNELS if self.distinct is not None else ())

    def late_events(self) -> pa.Table:
        """The rows that came too late, under on_late="collect"."""
        return pa.concat_tables(self.late_rows) if self.late_rows else self.stream.schema.empty_table()
