"""One run over files for the command line: read, detect, write or print, and say how it went."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa

from ostinato.cli.jobs.events import (
    LATENESS,
    check_kinds,
    check_order,
    columns_to_read,
    load,
    name_files,
    open_live,
    open_typed,
)
from ostinato.cli.report import Results, note, print_summary, read_with_progress
from ostinato.core.clock import Clock
from ostinato.core.events import DEFAULT_TIME, DEFAULT_TYPE
from ostinato.core.reorder import ReorderBuffer
from ostinato.core.text.counts import format_count
from ostinato.errors import LimitError
from ostinato.files import EventReader, open_events
from ostinato.files.live import LiveEvents
from ostinato.files.reader import OnError
from ostinato.patterns.limits import Limits
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.runtime.count import OutOfOrder, count_batches
from ostinato.patterns.runtime.engine import Engine

_MANY = 3  # tables of matches, of one batch of events, after which it is worth counting them before going on


@dataclass(frozen=True, kw_only=True)
class EventJob(ABC):
    """The files that queries run over, and how to read them.

    `time` and `type` name columns where they are not the usual ones; `kinds` says what columns of text files hold
    where their values do not tell.
    """

    files: Sequence[Path]
    time: str | None = None
    type: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    order_by: tuple[str, ...] = ()
    events: bool = False
    identity: bool = False
    on_error: OnError = "raise"
    limit_matches: int | None = None
    limit_seconds: float | None = None

    @abstractmethod
    def required_columns(self) -> set[str] | None:
        """The columns that queries read besides time and type; None for whole rows."""

    @abstractmethod
    def check(self, schema: pa.Schema) -> None:
        """Raise an error where queries do not fit the columns. No event is processed."""

    def check_order(self, clock: Clock | None, rows: pa.Table, reorder: ReorderBuffer, first_row: int) -> None:
        """Raise an error where rows go back in time, which nobody allowed for."""
        if clock is not None:
            ticks = clock.ticks(rows[clock.column], first_row=first_row)
            with name_files(self.files):
                fix = f"{LATENESS}, or --sort to sort all in memory"
                check_order(ticks, reorder.watermark, first_row, fix=fix)

    def open_reader(self, *, whole_rows: bool) -> tuple[EventReader, float]:
        """The files, with no more columns than needed, once queries are known to fit them; and when that began.

        To find the types of text files is part of the work. To load the kernels, which checking does first, is not.
        """
        began = time.perf_counter()
        schema = open_typed(self.files, self.kinds).schema
        opened = time.perf_counter()
        check_kinds(self.kinds, schema.names)
        self.check(schema)
        wanted = None
        if not whole_rows and (read := self.required_columns()) is not None:
            columns = (self.time or DEFAULT_TIME, self.type or DEFAULT_TYPE, *self.order_by, *read)
            wanted = columns_to_read(schema, columns)
        reader = open_events(self.files, columns=wanted, on_error=self.on_error, kinds=self.kinds)
        return reader, time.perf_counter() - (opened - began)

    def report(
        self, reader: EventReader | LiveEvents, began: float, *, events: int, matches: int, late: int = 0
    ) -> None:
        print_summary(
            reader,
            time.perf_counter() - began,
            events=events,
            found=[format_count(matches)],
            late=late,
            list_bad=self.on_error == "collect",
        )

    @property
    def limits(self) -> Limits:
        limits = Limits(seconds=self.limit_seconds)
        return limits if self.limit_matches is None else replace(limits, matches=self.limit_matches)


@dataclass(frozen=True, kw_only=True)
class PatternJob(EventJob):
    """One query over files."""

    query: PatternQuery
    since: str | None = None
    until: str | None = None

    def required_columns(self) -> set[str] | None:
        return self.query.columns()

    def check(self, schema: pa.Schema) -> None:
        self.query.detect(
            schema.empty_table(), time=self.time, type=self.type, order_by=self.order_by, identity=self.identity
        )

    def check_schema(self) -> pa.Schema:
        """The columns of the files, once the query is known to fit them. No event is processed."""
        schema = open_typed(self.files, self.kinds).schema
        check_kinds(self.kinds, schema.names)
        self.check(schema)
        return schema

    def _open(self, lateness: str | None) -> Engine:
        return self.query.engine(
            time=self.time,
            type=self.type,
            lateness=lateness or 0,
            events=self.events,
            identity=self.identity,
            limits=self.limits,
        )

    def stream(self, output: Path | None, lateness: str | None, form: str | None = None) -> None:
        """Push the files through an engine piece by piece; memory is bounded by the query's window."""
        reader, began = self.open_reader(whole_rows=self.events)
        engine = self._open(lateness)
        clock = self.limits.clock()  # of the whole run
        with Matches(output, self.limits.matches, form) as results:
            results.add(engine.push(reader.schema.empty_table()))
            for rows in read_with_progress(reader):
                before = results.total
                if lateness is None:
                    self.check_order(engine.stream.clock, rows, engine.reorder, reader.rows_read - len(rows))
                for number, matches in enumerate(engine.push_each(rows), start=1):
                    results.add(matches)
                    clock.check()
                    if number == _MANY:
                        results.expect(before + engine.matches_around())
            results.add(engine.flush())
        stats = engine.stats()
        self.report(reader, began, events=stats.events, matches=results.total, late=stats.late)
        if stats.events and (unseen := engine.unseen_types()):
            note(f"no event has the type {', '.join(f'`{name}`' for name in unseen)}")
        results.show()

    def live(self, output: Path, lateness: str | None, form: str | None) -> None:
        """Read standard input as it comes, and write matches at once."""
        began, reader = time.perf_counter(), open_live(self.kinds, self.on_error, form)
        engine = self._open(lateness)
        clock = self.limits.clock()
        with Matches(output, self.limits.matches, form) as results:
            for rows in reader:
                if not engine.bound:
                    engine.push(rows.slice(0, 0))
                if lateness is None:
                    self.check_order(engine.stream.clock, rows, engine.reorder, reader.rows_read - len(rows))
                for matches in engine.push_each(rows):
                    results.add(matches)
                    clock.check()
            results.add(engine.flush())
        stats = engine.stats()
        self.report(reader, began, events=stats.events, matches=results.total, late=stats.late)

    def sort(self, output: Path | None, form: str | None = None) -> None:
        """Load what the query needs, sort it by time and detect at once."""
        reader, began = self.open_reader(whole_rows=self.events)
        table = load(reader)
        with Matches(output, self.limits.matches, form) as results:
            found = self.query.detect(
                table,
                time=self.time,
                type=self.type,
                order_by=self.order_by,
                events=self.events,
                identity=self.identity,
                since=self.since,
                until=self.until,
                limits=self.limits,
            )
            results.add(found)
        self.report(reader, began, events=len(table), matches=results.total)
        results.show()

    def count(self) -> None:
        """Print the number of matches; they are never listed, so there may be any number of them.

        Files are read piece by piece; only events that go back in time must all be in memory, to be sorted.
        """
        reader, began = self.open_reader(whole_rows=False)
        options: dict[str, Any] = {"time": self.time, "type": self.type, "order_by": self.order_by}
        options["limits"] = self.limits
        engine = self.query.engine(**options)
        try:
            total = count_batches(engine, self._batches(reader))
        except OutOfOrder:
            table = load(reader)
            total = self.query.count(table, **options)
        self.report(reader, began, events=reader.rows_read, matches=total)
        print(total)

    def _batches(self, reader: EventReader) -> Iterator[pa.Table]:
        """All that is read, and before it a table without rows that tells the columns."""
        yield reader.schema.empty_table()
        yield from read_with_progress(reader)


class Matches(Results):
    """Results that may not be more than a limit."""

    def __init__(self, output: Path | None, limit: int, form: str | None) -> None:
        super().__init__(output, form=form)
        self.limit = limit

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        if isinstance(error, LimitError) and error.limit == "matches":
            raise _too_many(error.bound) from None

    def __enter__(self) -> Matches:
        return self

    def add(self, rows: pa.Table) -> None:
        self.expect(self.total + len(rows))
        super().add(rows)

    def expect(self, total: float) -> None:
        """Stop early if there will be at least `total` matches, and those are too many."""
        if total > self.limit:
            raise _too_many(self.limit)


def _too_many(bound: float) -> LimitError:
    fix = (
        "--count to only count them, SELECT MAX, LAST or NXT to choose among them, a narrower WITHIN, or a higher limit"
    )
    return LimitError("matches", bound, reason="there are more matches than allowed", fix=f"{fix} with --limit-matches")
