"""One run over files for the command line: read, detect, write or print, and say how it went."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ostinato.errors import DataError, LimitError, did_you_mean
from ostinato.events import DEFAULT_TIME, DEFAULT_TYPE
from ostinato.files import Reader, Writer, open_events
from ostinato.files.reader import OnError
from ostinato.query import PatternQuery
from ostinato.runtime.count import OutOfOrder, cells_of, count_batches
from ostinato.runtime.engine import Engine
from ostinato.runtime.limits import Limits
from ostinato.viz.table import SHOWN, printable, terminal_table, told

_MAX_CELLS = 16  # of the machine, so that counting takes little next to listing
_MANY = 3  # tables of matches, of one batch of events, after which it is worth counting them before going on


@dataclass(frozen=True)
class Job:
    """A query, the files it runs over and how to read them.

    `time` and `type` name columns where they are not the usual ones; `kinds` says what columns of text files hold
    where their values do not tell.
    """

    query: PatternQuery
    files: Sequence[Path]
    time: str | None = None
    type: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    order_by: tuple[str, ...] = ()
    events: bool = False
    on_error: OnError = "raise"
    limit_matches: int | None = None

    def checked_schema(self) -> pa.Schema:
        """The columns of the files, once the query is known to fit them. No event is processed."""
        schema = self._schema()
        self._check(schema)
        return schema

    def _schema(self) -> pa.Schema:
        with _progress("finding types") as advance:
            return open_events(self.files, kinds=self.kinds, scanned=advance).schema

    def _check(self, schema: pa.Schema) -> None:
        for name in self.kinds if schema.names else ():
            if name not in schema.names:
                raise typer.BadParameter(
                    f"--kind names `{name}`, but there is no such column; {did_you_mean(name, schema.names)}"
                )
        nothing = schema.empty_table()
        self.query.detect(nothing, time=self.time, type=self.type, order_by=self.order_by)

    def streamed(self, output: Path | None, lateness: str | None) -> None:
        """Push the files through an engine piece by piece; memory is bounded by the query's window."""
        reader, began = self._reader(whole_rows=self.events)
        engine = self.query.engine(
            time=self.time, type=self.type, lateness=lateness or 0, events=self.events, limits=self._limits()
        )
        with _Results(output, self._limits().matches) as results:
            results.add(engine.push(reader.schema.empty_table()))
            for rows in _watched(reader):
                before = results.total
                if lateness is None:
                    self._check_order(engine, rows, reader.rows_read - len(rows))
                for number, matches in enumerate(engine.push_each(rows), start=1):
                    results.add(matches)
                    if number == _MANY and lateness is None and cells_of(engine, _MAX_CELLS) is not None:
                        results.expect(before + self._number(rows))
            results.add(engine.flush())
        stats = engine.stats()
        self._report(reader, began, events=stats.events, matches=results.total, late=stats.late)
        if stats.events and (unseen := engine.unseen_types()):
            names = ", ".join(f"`{name}`" for name in unseen)
            Console(stderr=True, highlight=False, markup=False).print(f"note: no event has the type {names}")
        results.show()

    def _check_order(self, engine: Engine, rows: pa.Table, first_row: int) -> None:
        """Files are read in pieces of any size, so what may be out of order must not depend on it: nothing may."""
        clock = engine.stream.clock
        if clock is None or not len(rows):
            return
        ticks = np.concatenate([[engine.reorder.watermark], clock.ticks(rows[clock.column], first_row=first_row)])
        if (ticks[1:] < ticks[:-1]).any():
            raise DataError(
                f"the events go back in time, at row {first_row + int(np.argmax(ticks[1:] < ticks[:-1])):,}",
                source=", ".join(map(str, self.files)),
                fix="--lateness '5 minutes' if none comes later than that, or --sort to sort all in memory",
            )

    def _number(self, rows: pa.Table) -> float:
        """How many matches these rows have among themselves; so many at least there are in the whole stream."""
        try:
            return count_batches(self.query.engine(time=self.time, type=self.type), [rows])
        except LimitError as error:
            return math.inf if error.limit == "count" else 0

    def sorted(self, output: Path | None) -> None:
        """Load what the query needs, sort it by time and detect at once."""
        reader, began = self._reader(whole_rows=self.events)
        table = self._loaded(reader)
        with _Results(output, self._limits().matches) as results:
            found = self.query.detect(
                table, time=self.time, type=self.type, order_by=self.order_by, events=self.events, limits=self._limits()
            )
            results.add(found)
        self._report(reader, began, events=len(table), matches=results.total)
        results.show()

    def count(self) -> None:
        """Print the number of matches; they are never listed, so there may be any number of them.

        Files are read piece by piece; only events that go back in time must all be in memory, to be sorted.
        """
        reader, began = self._reader(whole_rows=False)
        engine = self.query.engine(time=self.time, type=self.type, order_by=self.order_by)
        try:
            total = count_batches(engine, self._batches(reader))
        except OutOfOrder:
            table = self._loaded(reader)
            total = self.query.count(table, time=self.time, type=self.type, order_by=self.order_by)
        self._report(reader, began, events=reader.rows_read, matches=total)
        print(total)

    def _batches(self, reader: Reader) -> Iterator[pa.Table]:
        """All that is read, and before it a table without rows that tells the columns."""
        yield reader.schema.empty_table()
        yield from _watched(reader)

    def _loaded(self, reader: Reader) -> pa.Table:
        return pa.concat_tables(self._batches(reader))

    def _reader(self, *, whole_rows: bool) -> tuple[Reader, float]:
        """The files, with no more columns than the query needs, once it is known to fit them; and when that began.

        To find the types of text files is part of the work. To load the kernels, which checking does first, is not.
        """
        began = time.perf_counter()
        schema = self._schema()
        opened = time.perf_counter()
        self._check(schema)
        wanted = None
        if not whole_rows and (read := self.query.columns()) is not None:
            columns = {self.time or DEFAULT_TIME, self.type or DEFAULT_TYPE, *self.order_by, *read}
            # A stream without time, type or attributes is still so many events: then any columns will do.
            wanted = [name for name in schema.names if name in columns] or None
        reader = open_events(self.files, columns=wanted, on_error=self.on_error, kinds=self.kinds)
        return reader, time.perf_counter() - (opened - began)

    def _report(self, reader: Reader, began: float, *, events: int, matches: int, late: int = 0) -> None:
        """How it went, on stderr, so that it never mixes with results."""
        seconds = time.perf_counter() - began
        console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        parts = [f"{events:,} events", told(matches), f"{late:,} late", f"{seconds:.2f} s"]
        console.print(", ".join([*parts, f"{events / max(seconds, 1e-9):,.0f} events/s"]), style="bright_black")
        if reader.bad_count:
            console.print(f"{reader.bad_count:,} rows could not be read and were left out", style="yellow")
        for bad in reader.bad_rows if self.on_error == "collect" else ():
            console.print(f"  {printable(bad.file)}, line {bad.line}: {printable(bad.reason)}")

    def _limits(self) -> Limits:
        return Limits() if self.limit_matches is None else Limits(matches=self.limit_matches)


class _Results:
    """Where matches go: all of them into a file, or the first few onto the terminal."""

    def __init__(self, output: Path | None, limit: int) -> None:
        self.writer = None if output is None else Writer(output)
        self.limit, self.total = limit, 0
        self.first: list[pa.Table] = []

    def __enter__(self) -> _Results:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writer is not None:
            self.writer.__exit__(kind, error, trace)
        if isinstance(error, LimitError) and error.limit == "matches":
            raise _too_many(error.bound) from None

    def add(self, matches: pa.Table) -> None:
        shown, self.total = self.total, self.total + len(matches)
        self.expect(self.total)
        if self.writer is not None:
            self.writer.write(matches)
        elif shown < SHOWN or not self.first:
            self.first.append(matches.slice(0, SHOWN - shown))

    def expect(self, total: float) -> None:
        """There will be so many matches at least; if those are too many, there is no point in going on."""
        if total > self.limit:
            raise _too_many(self.limit)

    def show(self) -> None:
        """Print the first matches, unless all went into a file."""
        console = Console()
        if self.writer is not None:
            return
        if self.total:
            console.print(terminal_table(pa.concat_tables(self.first)))
        rest = f", the first {SHOWN} shown; --output FILE keeps all" if self.total > SHOWN else ""
        console.print(f"[bold]{told(self.total)}[/]{rest}", highlight=False)


def _too_many(bound: int) -> LimitError:
    fix = (
        "--count to only count them, SELECT MAX, LAST or NXT to choose among them, a narrower WITHIN, or a higher limit"
    )
    return LimitError("matches", bound, reason="there are more matches than allowed", fix=f"{fix} with --limit-matches")


def _watched(reader: Reader) -> Iterator[pa.Table]:
    """The reader's batches, with a progress bar."""
    with _progress("reading", reader.bytes_total) as advance:
        done = 0
        for batch in reader:
            yield batch
            advance(reader.bytes_read - done)
            done = reader.bytes_read


@contextmanager
def _progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress bar over bytes, on stderr, when someone is watching; gives what moves it on."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda size: None
        return
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda size: progress.advance(task, size)
