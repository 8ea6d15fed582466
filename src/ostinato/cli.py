"""The command line: one verb each, errors on one screen, and imports only when a verb needs them."""

from __future__ import annotations

import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ostinato import __version__
from ostinato.errors import QueryError
from ostinato.guard import guarded, watch_signals

if TYPE_CHECKING:
    from ostinato.query import PatternQuery
    from ostinato.spark.topic import Topic

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
TOPIC = "kafka://"  # what an input begins with that is a topic


class OnError(StrEnum):
    RAISE = "raise"
    SKIP = "skip"
    COLLECT = "collect"


class EngineName(StrEnum):
    EMBEDDED = "embedded"
    SPARK = "spark"


class Language(StrEnum):
    CEL = "cel"
    SREM = "srem"


class Form(StrEnum):
    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"


def main() -> None:
    watch_signals()
    app()


QueryFile = Annotated[str | None, typer.Argument(metavar="QUERY", help="File with the query.", show_default=False)]
QueryText = Annotated[
    str | None, typer.Option("--query", "-q", metavar="TEXT", help="The query itself, instead of a file.")
]
LanguageChoice = Annotated[
    Language | None,
    typer.Option("--language", help="What the query is written in [dim]\\[srem for a file *.srem, else cel][/]."),
]
Inputs = Annotated[
    list[str] | None,
    typer.Option(
        "--input",
        "-i",
        metavar="FILE",
        help="Events: .parquet, .csv, .jsonl or .arrow files, or folders of them; for a stream on Spark also a topic.",
        show_default=False,
    ),
]
MoreInputs = Annotated[list[str] | None, typer.Argument(metavar="FILE", hidden=True)]
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
        help=f"What a column of text or a topic holds ({', '.join(KINDS)}); other values make bad rows. Repeatable.",
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
EngineChoice = Annotated[EngineName, typer.Option("--engine", help="What runs the query: this process, or Spark.")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="With Spark: where it runs, such as 'local[4]' [dim]\\[local[*]][/]."),
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
@guarded
def detect(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    language: LanguageChoice = None,
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
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
    form: Annotated[
        Form | None,
        typer.Option("--format", help="With Spark: how matches are written [dim]\\[by the extension, or parquet][/]."),
    ] = None,
    stream: Annotated[
        bool, typer.Option("--stream", help="With Spark: watch the folder for new files, or the topic for messages.")
    ] = False,
    once: Annotated[bool, typer.Option("--once", help="With --stream: end when all that is there is read.")] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option("--checkpoint", metavar="FOLDER", help="With --stream: its state [dim]\\[OUTPUT/_checkpoint][/]."),
    ] = None,
) -> None:
    """Find every match of a query in files of events.

    Files are read piece by piece, in time order, so they may be larger than memory.
    Without --output the first matches are printed.

    [dim]Examples:[/]
    [cyan]ostinato detect fires.cel --input events.parquet --output matches.parquet[/]
    [cyan]ostinato detect -q "A AS x ; B AS y WITHIN 10 minutes" --input log.csv --time at --type kind[/]
    [cyan]ostinato detect fires.cel --input *.jsonl --lateness "30 seconds" --on-error collect[/]
    [cyan]ostinato detect fires.cel --engine spark --input events/ --output matches/[/]
    [cyan]ostinato detect fires.cel --engine spark --stream --input kafka://HOST:9092/TOPIC --kind value=number[/]
    """
    compiled, inputs = _arguments(query, more, text, inputs, language)
    if not inputs:
        _usage("detect needs events: --input FILE")
    topic = inputs[0] if engine is EngineName.SPARK and stream and inputs[0].startswith(TOPIC) else None
    files = _files(inputs[1:] if topic else inputs)
    if topic and files:
        _usage("a topic is read alone: leave out the files")
    if output is not None and any(_same(output, file) for file in files):
        _usage(f"--output {output} is one of the input files")
    if count and output is not None:
        _usage("--count prints a number; leave out --output")
    if engine is EngineName.SPARK:
        if sort or on_error is OnError.COLLECT:
            _usage(f"{'--sort' if sort else '--on-error collect'} is not for --engine spark")
        if stream and count:
            _usage("--count is not for --stream, which has no end")
        if not stream and (once or checkpoint or lateness):
            _usage("--once, --checkpoint and --lateness are for --stream; without it, Spark orders all events itself")
        _warn(compiled)
        from ostinato.runtime.limits import Limits
        from ostinato.spark.job import SparkJob, form_of

        wanted = {*(compiled.columns() or ()), *(order_by or ())}
        source, kinds = _topic(topic, _kinds(kind), wanted, time, type) if topic else (files, _kinds(kind))
        options: dict[str, object] = {"time": time, "type": type, "order_by": tuple(order_by or ()), "events": events}
        options |= {"lateness": lateness} if stream else {}
        options |= {"limits": Limits(matches=limit_matches)} if limit_matches is not None else {}
        spark_job = SparkJob(compiled, source, master, kinds, on_error.value, options)
        written = form or (form_of(output) if output is not None else None) or "parquet"
        if count:
            spark_job.count()
        elif stream:
            spark_job.stream(output, written, checkpoint=checkpoint, once=once)
        else:
            spark_job.batch(output, written)
        return
    if master or form or stream or once or checkpoint:
        _usage("--master, --format, --stream, --once and --checkpoint are for --engine spark")
    if order_by and not (sort or count):
        _usage("--order-by needs --sort: only events that are all in memory can be ordered again")
    if lateness and (sort or count):
        _usage("--lateness is for files read piece by piece; --sort and --count order all events themselves")
    from ostinato.files.writer import EXTENSIONS

    if output is not None and output.suffix.lower() not in EXTENSIONS:
        _usage(f"--output {output} must end in one of {', '.join(EXTENSIONS)}")
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
@guarded
def check(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    language: LanguageChoice = None,
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
    compiled, inputs = _arguments(query, more, text, inputs, language)
    files = _files(inputs)
    against = ""
    if files:
        from ostinato.job import Job

        job = Job(query=compiled, files=files, time=time, type=type, kinds=_kinds(kind))
        schema = job.checked_schema()
        against = f", fits the {len(schema)} columns of {', '.join(file.name for file in files)}"
    _warn(compiled)
    typer.echo(f"ok: {_summary(compiled)}{against}")


@app.command()
@guarded
def explain(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    language: LanguageChoice = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the automaton into this file (.svg or .dot).")
    ] = None,
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
    inputs: Inputs = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
) -> None:
    """Show how a query is understood and compiled, stage by stage, and what Spark would do around it.

    [dim]Examples:[/]
    [cyan]ostinato explain fires.cel[/]
    [cyan]ostinato explain -q "A AS x ; B AS y" --svg automaton.svg[/]
    [cyan]ostinato explain fires.cel --engine spark --input events/[/]
    """
    compiled, inputs = _arguments(query, more, text, inputs, language)
    files = _files(inputs)
    if (engine is EngineName.SPARK) != bool(files):
        _usage("--engine spark and --input go together: what Spark does depends on the columns")
    if svg is not None and svg.suffix.lower() not in (".svg", ".dot", ".gv"):
        _usage(f"--svg {svg} must end in .svg, .dot or .gv")
    if svg is not None:
        compiled.diagram().save(svg)
    if not files:
        typer.echo(compiled.explain())
        return
    from ostinato.spark.job import SparkJob

    typer.echo(SparkJob(compiled, files, master, options={"time": time, "type": type}).explain())


@app.command()
@guarded
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
@guarded
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the demo's files go.")] = Path(
        "demo-data"
    ),
    spark: Annotated[bool, typer.Option("--spark", help="Find the fires on local Spark as well.")] = False,
) -> None:
    """Write a week of sensor readings, find the fires in it, and show when they happened.

    [dim]Example:[/]
    [cyan]ostinato demo --out fires[/]
    """
    from rich.console import Console

    from ostinato.demo import run

    run(out, Console(), spark=spark)


def _warn(query: PatternQuery) -> None:
    for warning in query.warnings:
        typer.echo(f"{typer.style('warning', fg='yellow', bold=True)}: {warning}", err=True)


def _usage(message: str) -> NoReturn:
    raise typer.BadParameter(message)


def _arguments(
    query: str | None,
    more: list[str] | None,
    text: str | None,
    inputs: list[str] | None,
    language: Language | None,
) -> tuple[PatternQuery, list[str]]:
    """The compiled query and what it is to read.

    A shell expands `--input *.csv` to `--input a.csv b.csv`; the files after the first arrive as plain arguments,
    and with -q so does what looks like the name of a query file.
    """
    import ostinato

    files = [*(inputs or ()), *(more or ())]
    compiled = {Language.CEL: ostinato.cel, Language.SREM: ostinato.srem}
    if text is not None:
        return compiled[language or Language.CEL](text), files + ([query] if query is not None else [])
    if query is None:
        _usage("give a query: the name of a file, or the text after -q")
    try:
        content = Path(query).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        looks_like_text = any(char.isspace() for char in query)
        fix = f"to give the text itself: -q {shlex.quote(query)}" if looks_like_text else "check the name of the file"
        raise QueryError(f"there is no query file `{query}`", fix=fix) from None
    except IsADirectoryError:
        raise QueryError(f"`{query}` is a folder", fix="the query comes first, then --input FOLDER") from None
    except UnicodeDecodeError:
        raise QueryError(f"`{query}` is not a text file", fix="the query comes first, then --input FILE") from None
    by_name = Language.SREM if Path(query).suffix.lower() == ".srem" else Language.CEL
    return compiled[language or by_name](content), files


def _files(inputs: list[str]) -> list[Path]:
    for each in inputs:
        if each.startswith(TOPIC):
            _usage(f"{each} is a stream, and one by itself: ostinato detect --engine spark --stream --input {TOPIC}…")
    return [Path(each) for each in inputs]


def _topic(
    url: str, kinds: dict[str, str], wanted: set[str], time: str | None, type: str | None
) -> tuple[Topic, dict[str, str]]:
    """A topic and the kinds of all its columns."""
    from ostinato.spark.topic import Topic, event_columns

    try:
        return Topic.parse(url), event_columns(kinds, wanted, time, type)
    except ValueError as error:
        _usage(str(error))


def _kinds(given: list[str] | None) -> dict[str, str]:
    pairs = [text.rpartition("=") for text in given or ()]
    for column, _, kind in pairs:
        if not column or kind not in KINDS:
            _usage(f"--kind is COLUMN=KIND with a kind among {', '.join(KINDS)}")
    return {column: kind for column, _, kind in pairs}


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _summary(query: PatternQuery) -> str:
    columns = query.columns()
    reads = "whole rows" if columns is None else ", ".join(sorted(columns)) or "types only"
    return f"an automaton of {query.diagram().transducer.states} states, reads {reads}"
