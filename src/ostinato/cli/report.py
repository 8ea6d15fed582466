"""How a run of the command line shows itself: results in a file or on the terminal, and progress while it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

import pyarrow as pa
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ostinato.core.text.counts import format_count
from ostinato.files import EventReader
from ostinato.files.live import LiveEvents
from ostinato.files.stdio import open_output
from ostinato.viz.table import SHOWN, escape_control, terminal_table


class Results:
    """Where results go: all of them into a file or to standard output, or the first few onto the terminal.

    `noun` is what one is called; `form` is the format of standard output.
    """

    def __init__(self, output: Path | None, *, noun: str = "match", form: str | None = None) -> None:
        self.writer = None if output is None else open_output(output, form)
        self.total, self.noun = 0, noun
        self.first: list[pa.Table] = []

    def __enter__(self) -> Results:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.writer is not None:
            self.writer.__exit__(kind, error, trace)

    def add(self, rows: pa.Table) -> None:
        shown, self.total = self.total, self.total + len(rows)
        if self.writer is not None:
            self.writer.write(rows)
        elif shown < SHOWN or not self.first:
            self.first.append(rows.slice(0, SHOWN - shown))

    def show(self) -> None:
        """Print the first of them, unless all went elsewhere."""
        console = Console()
        if self.writer is not None:
            return
        if self.total:
            console.print(terminal_table(pa.concat_tables(self.first)))
        rest = f", the first {SHOWN} shown; --output FILE keeps all" if self.total > SHOWN else ""
        console.print(f"[bold]{format_count(self.total, self.noun)}[/]{rest}", highlight=False)


def print_summary(
    reader: EventReader | LiveEvents,
    seconds: float,
    *,
    events: int,
    found: Sequence[str],
    late: int | None,
    list_bad: bool,
) -> None:
    """On stderr, so that it never mixes with results. `late` is None where no event can be late."""
    behind = () if late is None else (f"{late:,} late",)
    parts = [format_count(events, "event"), *found, *behind, f"{seconds:.2f} s"]
    print_progress(", ".join([*parts, f"{events / max(seconds, 1e-9):,.0f} events/s"]))
    print_bad_rows(reader, list_bad=list_bad)


def print_bad_rows(reader: EventReader | LiveEvents, *, list_bad: bool) -> None:
    """How many rows were left out, and which."""
    console = _stderr()
    if reader.bad_count:
        was = "was" if reader.bad_count == 1 else "were"
        console.print(f"{format_count(reader.bad_count, 'row')} could not be read and {was} left out", style="yellow")
    for bad in reader.bad_rows if list_bad else ():
        console.print(f"  {escape_control(bad.file)}, line {bad.line}: {escape_control(bad.reason)}")


def note(text: str) -> None:
    _stderr().print(f"note: {text}")


def print_progress(text: str) -> None:
    _stderr().print(text, style="bright_black")


def _stderr() -> Console:
    return Console(stderr=True, highlight=False, markup=False, soft_wrap=True)


def read_with_progress(reader: EventReader) -> Iterator[pa.Table]:
    """The reader's batches, with a progress bar."""
    with progress("reading", reader.bytes_total) as advance:
        done = 0
        for batch in reader:
            yield batch
            advance(reader.bytes_read - done)
            done = reader.bytes_read


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """A progress bar over bytes, on stderr, when someone is watching; gives what moves it on."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda size: None
        return
    columns = (TextColumn(what), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda size: bar.advance(task, size)
