"""One run over files for the command line: read, detect, write or print, and say how it went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ostinato.errors import DataError, LimitError
from ostinato.events import DEFAULT_TIME, DEFAULT_TYPE
from ostinato.files import Reader, Writer, open_events
from ostinato.files.reader import OnError
from ostinato.query import CelQuery
from ostinato.runtime.limits import Limits
from ostinato.viz.table import printable, terminal_table

SHOWN = 20  # matches printed when they are not written to a file


@dataclass(frozen=True)
class Job:
    """A query, the files it runs over and how to read them.

    `time` and `type` name columns where they are not the usual ones; `kinds` says what columns of text files hold
    where their values do not tell.
    """

    query: CelQuery
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
        schema = open_events(self.files, kinds=self.kinds).schema
        self.query.detect(schema.empty_table(), time=self.time, type=self.type, order_by=self.order_by)
        return schema

    def streamed(self, output: Path | None, lateness: str | None) -> None:
        """Push the files through an engine piece by piece; memory is bounded by the query's window."""
        reader = self._reader()
        began = time.perf_counter()
        engine = self.query.engine(
            time=self.time, type=self.type, lateness=lateness or 0, events=self.events, limits=self._limits()
        )
        with _Results(output, self._limits().matches) as results:
            results.add(engine.push(reader.schema.empty_table()))
            for batch in _watched(reader):
                for matches in engine.push_each(batch):
                    results.add(matches)
                if lateness is None and engine.stats().late:
                    raise DataError(
                        f"the events go back in time, somewhere before row {reader.rows_read:,}",
                        source=", ".join(map(str, self.files)),
                        fix="--lateness '5 minutes' if none comes later than that, or --sort to sort all in memory",
                    )
            results.add(engine.flush())
        stats = engine.stats()
        self._report(reader, began, events=stats.events, matches=results.total, late=stats.late)
        if stats.events and (unseen := engine.unseen_types()):
            names = ", ".join(f"`{name}`" for name in unseen)
            Console(stderr=True, highlight=False, markup=False).print(f"note: no event has the type {names}")
        results.show()

    def sorted(self, output: Path | None) -> None:
        """Load what the query needs, sort it by time and detect at once."""
        reader = self._reader()
        began = time.perf_counter()
        table = _loaded(reader)
        with _Results(output, self._limits().matches) as results:
            found = self.query.detect(
                table, time=self.time, type=self.type, order_by=self.order_by, events=self.events, limits=self._limits()
            )
            results.add(found)
        self._report(reader, began, events=len(table), matches=results.total)
        results.show()

    def count(self) -> None:
        """Print the number of matches; they are never listed, so there may be any number of them."""
        reader = self._reader()
        began = time.perf_counter()
        table = _loaded(reader)
        total = self.query.count(table, time=self.time, type=self.type, order_by=self.order_by)
        self._report(reader, began, events=len(table), matches=total)
        print(total)

    def _reader(self) -> Reader:
        """The files, with no more columns than the query needs, once it is known to fit them."""
        schema = self.checked_schema()
        columns = None if self.events else self.query.columns()
        if columns is not None:
            columns |= {self.time or DEFAULT_TIME, self.type or DEFAULT_TYPE, *self.order_by}
            # A stream without time, type or attributes is still so many events: then any columns will do.
            columns = columns.intersection(schema.names) or None
        wanted = None if columns is None else [name for name in schema.names if name in columns]
        return open_events(self.files, columns=wanted, on_error=self.on_error, kinds=self.kinds)

    def _report(self, reader: Reader, began: float, *, events: int, matches: int, late: int = 0) -> None:
        """How it went, on stderr, so that it never mixes with results."""
        seconds = time.perf_counter() - began
        console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        parts = [f"{events:,} events", _matches(matches), f"{late:,} late", f"{seconds:.2f} s"]
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
        if self.total > self.limit:
            raise _too_many(self.limit)
        if self.writer is not None:
            self.writer.write(matches)
        elif shown < SHOWN or not self.first:
            self.first.append(matches.slice(0, SHOWN - shown))

    def show(self) -> None:
        """Print the first matches, unless all went into a file."""
        console = Console()
        if self.writer is not None:
            return
        if self.total:
            console.print(terminal_table(pa.concat_tables(self.first)))
        rest = f", the first {SHOWN} shown; --output FILE keeps all" if self.total > SHOWN else ""
        console.print(f"[bold]{_matches(self.total)}[/]{rest}", highlight=False)


def _matches(number: int) -> str:
    return f"{number:,} match" if number == 1 else f"{number:,} matches"


def _too_many(bound: int) -> LimitError:
    fix = (
        "--count to only count them, SELECT MAX, LAST or NXT to choose among them, a narrower WITHIN, or a higher limit"
    )
    return LimitError("matches", bound, reason="there are more matches than allowed", fix=f"{fix} with --limit-matches")


def _watched(reader: Reader) -> Iterator[pa.Table]:
    """The reader's batches, with a progress bar on stderr when someone is watching."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield from reader
        return
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=reader.bytes_total)
        for batch in reader:
            yield batch
            progress.update(task, completed=reader.bytes_read)


def _loaded(reader: Reader) -> pa.Table:
    return pa.concat_tables([reader.schema.empty_table(), *_watched(reader)])
