"""The command line: one verb each, errors on one screen, and imports only when a verb needs them."""

from __future__ import annotations

import functools
import os
import shlex
import signal
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ostinato import __version__
from ostinato.errors import DataError, LimitError, OstinatoError, QueryError

if TYPE_CHECKING:
    from ostinato.query import CelQuery

app = typer.Typer(
    name="ostinato",
    help="Find patterns of events in files and tables.",
    epilog="Start with: ostinato demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


KINDS = ("number", "string", "boolean", "timestamp")


class OnError(StrEnum):
    RAISE = "raise"
    SKIP = "skip"
    COLLECT = "collect"


class _Stopped(BaseException):
    """A signal asks to end: everything is to be left as it was."""

    def __init__(self, number: int) -> None:
        self.number = number


def main() -> None:
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # under nohup, SIGHUP is to be ignored
            signal.signal(number, _stop)
    app()


def _stop(number: int, frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # not again while what was begun is removed
    raise _Stopped(number)


def _guarded(verb: Callable[..., None]) -> Callable[..., None]:
    """Turn every expected failure into a message and an exit code: 2 for the query or usage, 1 for data and files."""

    @functools.wraps(verb)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            verb(*args, **kwargs)
        except (typer.Exit, typer.BadParameter):
            raise
        except QueryError as error:
            _fail(2, "query error", str(error))
        except DataError as error:
            _fail(1, "data error", str(error))
        except LimitError as error:
            _fail(1, "limit reached", str(error))
        except OstinatoError as error:
            _fail(1, "error", str(error))
        except BrokenPipeError:
            raise  # whoever read our output has gone; typer ends quietly
        except OSError as error:
            _fail(1, "error", f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except MemoryError:
            _fail(1, "out of memory", "fix: narrow WITHIN, or bound the matches with --limit-matches")
        except KeyboardInterrupt:
            _fail(130, "stopped", "nothing was written")
        except _Stopped as error:
            _fail(128 + error.number, "stopped", "nothing was written")
        except Exception as error:
            if os.environ.get("OSTINATO_DEBUG"):
                raise
            _fail(
                1,
                "internal error",
                f"{type(error).__name__}: {error}\nfix: report it, with what OSTINATO_DEBUG=1 shows",
            )

    return run


def _fail(code: int, what: str, message: str) -> NoReturn:
    typer.echo(f"{typer.style(what, fg='red', bold=True)}: {message}", err=True)
    raise typer.Exit(code)


QueryFile = Annotated[str | None, typer.Argument(metavar="QUERY", help="File with the query.", show_default=False)]
QueryText = Annotated[
    str | None, typer.Option("--query", "-q", metavar="TEXT", help="The query itself, instead of a file.")
]
Inputs = Annotated[
    list[Path] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="FILE",
        help="Events: .parquet, .csv, .jsonl or .arrow files, or folders of them.",
        show_default=False,
    ),
]
MoreInputs = Annotated[list[Path] | None, typer.Argument(metavar="FILE", hidden=True)]
TimeColumn = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="Column of event times [dim]\\[ts][/].")
]
TypeColumn = Annotated[
    str | None, typer.Option("--type", metavar="COLUMN", help="Column of event types [dim]\\[type][/].")
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help=f"What a column of a text file holds ({', '.join(KINDS)}); other values make bad rows. Repeatable.",
        show_default=False,
    ),
]
ErrorMode = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="At rows that cannot be read: stop, skip them, or skip and list them. Positions do not count them.",
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ostinato {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command()
@_guarded
def detect(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    inputs: Inputs = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write the matches here; the format by its extension."),
    ] = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
    kind: Kinds = None,
    order_by: Annotated[
        list[str] | None,
        typer.Option(
            "--order-by", metavar="COLUMN", help="Order of events with equal times; needs --sort. Repeatable."
        ),
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Add the events of each match as a column.")] = False,
    count: Annotated[bool, typer.Option("--count", help="Only say how many matches there are.")] = False,
    sort: Annotated[bool, typer.Option("--sort", help="Read everything first and sort it by time.")] = False,
    on_error: ErrorMode = OnError.RAISE,
    lateness: Annotated[
        str | None,
        typer.Option("--lateness", metavar="DURATION", help="How late events may come, such as '30 seconds'."),
    ] = None,
    limit_matches: Annotated[
        int | None, typer.Option("--limit-matches", metavar="N", min=1, help="Stop with an error after N matches.")
    ] = None,
) -> None:
    """Find every match of a query in files of events.

    Files are read piece by piece, in time order, so they may be larger than memory.
    Without --output the first matches are printed.

    [dim]Examples:[/]
    [cyan]ostinato detect fires.cel --input events.parquet --output matches.parquet[/]
    [cyan]ostinato detect -q "A AS x ; B AS y WITHIN 10 minutes" --input log.csv --time at --type kind[/]
    [cyan]ostinato detect fires.cel --input *.jsonl --lateness "30 seconds" --on-error collect[/]
    """
    compiled, files = _arguments(query, more, text, inputs)
    if not files:
        _usage("detect needs events: --input FILE")
    if output is not None and any(_same(output, file) for file in files):
        _usage(f"--output {output} is one of the input files")
    if order_by and not (sort or count):
        _usage("--order-by needs --sort: only events that are all in memory can be ordered again")
    if lateness and (sort or count):
        _usage("--lateness is for files read piece by piece; --sort and --count order all events themselves")
    if count and output is not None:
        _usage("--count prints a number; leave out --output")

    _warn(compiled)

    from ostinato.job import Job

    job = Job(
        query=compiled,
        files=files,
        time=time,
        type=type,
        kinds=_kinds(kind),
        order_by=tuple(order_by or ()),
        events=events,
        on_error=on_error.value,
        limit_matches=limit_matches,
    )
    if count:
        job.count()
    elif sort:
        job.sorted(output)
    else:
        job.streamed(output, lateness)


@app.command()
@_guarded
def check(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    inputs: Inputs = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
    kind: Kinds = None,
) -> None:
    """Say whether a query is right, before any event is read.

    With --input, names and types are checked against the columns of the files as well.

    [dim]Examples:[/]
    [cyan]ostinato check fires.cel[/]
    [cyan]ostinato check fires.cel --input events.parquet[/]
    """
    compiled, files = _arguments(query, more, text, inputs)
    against = ""
    if files:
        from ostinato.job import Job

        job = Job(query=compiled, files=files, time=time, type=type, kinds=_kinds(kind))
        schema = job.checked_schema()
        against = f", fits the {len(schema)} columns of {', '.join(file.name for file in files)}"
    _warn(compiled)
    typer.echo(f"ok: {_summary(compiled)}{against}")


@app.command()
@_guarded
def explain(
    query: QueryFile = None,
    text: QueryText = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the automaton into this file (.svg or .dot).")
    ] = None,
) -> None:
    """Show how a query is understood and compiled, stage by stage.

    [dim]Examples:[/]
    [cyan]ostinato explain fires.cel[/]
    [cyan]ostinato explain -q "A AS x ; B AS y" --svg automaton.svg[/]
    """
    compiled, _ = _arguments(query, None, text, None)
    if svg is not None:
        compiled.diagram().save(svg)
    typer.echo(compiled.explain())


@app.command()
@_guarded
def bench(
    case: Annotated[str, typer.Argument(metavar="[CASE]", help="Only cases whose name contains this.")] = "",
    events: Annotated[int, typer.Option("--events", min=1000, help="Length of the stream.")] = 10_000_000,
    repeats: Annotated[int, typer.Option("--repeats", min=1, help="Runs of each case; the fastest counts.")] = 3,
) -> None:
    """Measure this machine: events and matches per second, next to the bare step of an automaton.

    [dim]Examples:[/]
    [cyan]ostinato bench[/]
    [cyan]ostinato bench Q1 --events 1000000 --repeats 5[/]
    """
    from rich.console import Console

    from ostinato import bench as benchmarks

    benchmarks.run(only=case, events=events, repeats=repeats, console=Console())


@app.command()
@_guarded
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the demo's files go.")] = Path(
        "demo-data"
    ),
) -> None:
    """Write a week of sensor readings, find the fires in it, and show when they happened.

    [dim]Example:[/]
    [cyan]ostinato demo --out fires[/]
    """
    from rich.console import Console

    from ostinato.demo import run

    run(out, Console())


def _warn(query: CelQuery) -> None:
    for warning in query.warnings:
        typer.echo(f"{typer.style('warning', fg='yellow', bold=True)}: {warning}", err=True)


def _usage(message: str) -> NoReturn:
    raise typer.BadParameter(message)


def _arguments(
    query: str | None, more: list[Path] | None, text: str | None, inputs: list[Path] | None
) -> tuple[CelQuery, list[Path]]:
    """The compiled query and the input files.

    A shell expands `--input *.csv` to `--input a.csv b.csv`; the files after the first arrive as plain arguments,
    and with -q so does what looks like the name of a query file.
    """
    import ostinato

    files = list(inputs or []) + list(more or [])
    if text is not None:
        return ostinato.cel(text), files + ([Path(query)] if query is not None else [])
    if query is None:
        _usage("give a query: the name of a file, or the text after -q")
    try:
        content = Path(query).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        looks_like_text = any(char.isspace() for char in query)
        fix = f"to give the text itself: -q {shlex.quote(query)}" if looks_like_text else "check the name of the file"
        raise QueryError(f"there is no query file `{query}`", fix=fix) from None
    except UnicodeDecodeError:
        raise QueryError(f"`{query}` is not a text file", fix="the query comes first, then --input FILE") from None
    return ostinato.cel(content), files


def _kinds(given: list[str] | None) -> dict[str, str]:
    pairs = [text.rpartition("=") for text in given or ()]
    for column, _, kind in pairs:
        if not column or kind not in KINDS:
            _usage(f"--kind is COLUMN=KIND with a kind among {', '.join(KINDS)}")
    return {column: kind for column, _, kind in pairs}


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _summary(query: CelQuery) -> str:
    columns = query.columns()
    reads = "whole rows" if columns is None else ", ".join(sorted(columns)) or "types only"
    return f"an automaton of {query.diagram().transducer.states} states, reads {reads}"
