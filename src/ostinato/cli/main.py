"""The command line: one verb each, errors on one screen, and imports only when a verb needs them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostinato import __version__
from ostinato.cli.failures import guarded, watch_signals
from ostinato.cli.forecast import evaluate, explained, forecast, train, update
from ostinato.cli.options import (
    BeginColumn,
    Checkpoint,
    DocumentColumn,
    EndColumn,
    EngineChoice,
    EngineName,
    ErrorMode,
    FormChoice,
    Inputs,
    Kinds,
    LanguageChoice,
    Lateness,
    Longest,
    Master,
    Matches,
    MoreInputs,
    Once,
    OnError,
    QueryFile,
    QueryText,
    SchemaFile,
    Stream,
    TimeColumn,
    TypeColumn,
    arguments,
    check_output,
    given_files,
    given_kinds,
    given_topic,
    sources,
    usage,
    warn,
)
from ostinato.cli.rules import checked_rules, rules
from ostinato.cli.xseq import checked_xseq, xseq

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ostinato.patterns.query import PatternQuery
    from ostinato.spark.kafka import Topic

app = typer.Typer(
    name="ostinato",
    help="Find patterns of events in files and tables, and of elements in documents.",
    epilog="Start with: ostinato demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def main() -> None:
    watch_signals()
    app()


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
    lateness: Lateness = None,
    limit_matches: Annotated[
        int | None, typer.Option("--limit-matches", metavar="N", min=1, help="Stop with an error after N matches.")
    ] = None,
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
    form: FormChoice = None,
    stream: Stream = False,
    once: Once = False,
    checkpoint: Checkpoint = None,
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
    from ostinato.patterns.query import PatternQuery
    from ostinato.xseq.query import XSeqQuery

    compiled, inputs = arguments(query, more, text, inputs, language)
    if isinstance(compiled, XSeqQuery):
        usage("detect reads events; documents are queried by: ostinato xseq QUERY --input FILE")
    if not isinstance(compiled, PatternQuery):
        usage("detect finds matches of a query; rules are run by: ostinato rules PROGRAM --input FILE")
    topic, files = sources(inputs, spark_stream=engine is EngineName.SPARK and stream)
    check_output(output, files, spark=engine is EngineName.SPARK)
    if count and output is not None:
        usage("--count prints a number; leave out --output")
    if engine is EngineName.SPARK:
        if sort or on_error is OnError.COLLECT:
            usage(f"{'--sort' if sort else '--on-error collect'} is not for --engine spark")
        if stream and count:
            usage("--count is not for --stream, which has no end")
        if not stream and (once or checkpoint or lateness):
            usage("--once, --checkpoint and --lateness are for --stream; without it, Spark orders all events itself")
        warn(compiled)
        from ostinato.patterns.limits import Limits
        from ostinato.spark.job import SparkJob

        wanted = {*(compiled.columns() or ()), *(order_by or ())}
        kinds = given_kinds(kind)
        source: Sequence[Path] | Topic = files
        if topic:
            source, kinds = given_topic(topic, kinds, wanted, time, type)
        options: dict[str, object] = {"time": time, "type": type, "order_by": tuple(order_by or ()), "events": events}
        options |= {"lateness": lateness} if stream else {}
        options |= {"limits": Limits(matches=limit_matches)} if limit_matches is not None else {}
        spark_job = SparkJob(compiled, source, master, kinds, on_error.value, options)
        if count:
            spark_job.count()
        elif stream:
            spark_job.stream(output, form, checkpoint=checkpoint, once=once)
        else:
            spark_job.batch(output, form)
        return
    if master or form or stream or once or checkpoint:
        usage("--master, --format, --stream, --once and --checkpoint are for --engine spark")
    if order_by and not (sort or count):
        usage("--order-by needs --sort: only events that are all in memory can be ordered again")
    if lateness and (sort or count):
        usage("--lateness is for files read piece by piece; --sort and --count order all events themselves")
    warn(compiled)

    from ostinato.cli.jobs.patterns import Job

    job = Job(
        query=compiled,
        files=files,
        time=time,
        type=type,
        kinds=given_kinds(kind),
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


app.command()(rules)
app.command()(xseq)
app.command()(train)
app.command()(update)
app.command()(forecast)
app.command()(evaluate)


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
    begin: BeginColumn = None,
    end: EndColumn = None,
    document: DocumentColumn = None,
    kind: Kinds = None,
    matches: Matches = None,
    schema: SchemaFile = None,
) -> None:
    """Say whether a query is right, before any event is read.

    With --input, names and types are checked against the columns of the files as well.

    [dim]Examples:[/]
    [cyan]ostinato check fires.cel[/]
    [cyan]ostinato check fires.cel --input events.parquet[/]
    [cyan]ostinato check falling.xseq --schema stocks.dtd[/]
    """
    from ostinato.patterns.query import PatternQuery
    from ostinato.xseq.query import XSeqQuery

    compiled, inputs = arguments(query, more, text, inputs, language, matches, schema)
    files = given_files(inputs)
    if isinstance(compiled, XSeqQuery):
        if files or time or type or begin or end or document or kind:
            usage("an XSeq query has no columns to check; --schema FILE says what its documents hold")
        typer.echo(checked_xseq(compiled))
        return
    if not isinstance(compiled, PatternQuery):
        named = {"begin": begin, "end": end, "time": time, "type": type, "document": document}
        typer.echo(checked_rules(compiled, files, named, given_kinds(kind)))
        return
    if begin or end or document:
        usage("--begin, --end and --document are for rules")
    against = ""
    if files:
        from ostinato.cli.jobs.patterns import Job

        job = Job(query=compiled, files=files, time=time, type=type, kinds=given_kinds(kind))
        columns = job.checked_schema()
        against = f", fits the {len(columns)} columns of {', '.join(file.name for file in files)}"
    warn(compiled)
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
    longest: Longest = None,
    matches: Matches = None,
    schema: SchemaFile = None,
) -> None:
    """Show how a query is understood and compiled, stage by stage, and what Spark would do around it.

    Of the folder of a model it tells what was learned.

    [dim]Examples:[/]
    [cyan]ostinato explain fires.cel[/]
    [cyan]ostinato explain -q "A AS x ; B AS y" --svg automaton.svg[/]
    [cyan]ostinato explain fires.cel --engine spark --input events/[/]
    [cyan]ostinato explain model/[/]
    """
    from ostinato.rules.program import RuleProgram
    from ostinato.xseq.query import XSeqQuery

    if query is not None and text is None and (told := explained(query)) is not None:
        typer.echo(told)
        return

    compiled, inputs = arguments(query, more, text, inputs, language, matches, schema)
    if isinstance(compiled, RuleProgram):
        if svg is not None or inputs or engine is EngineName.SPARK:
            usage("--svg, --engine and --input are for queries; the plan of rules is the same for every engine")
        typer.echo(compiled.explain(longest=longest))
        return
    if longest is not None:
        usage("--longest is for rules")
    files = given_files(inputs)
    if (engine is EngineName.SPARK) != bool(files):
        usage("--engine spark and --input go together: what Spark does depends on the columns")
    if svg is not None and svg.suffix.lower() not in (".svg", ".dot", ".gv"):
        usage(f"--svg {svg} must end in .svg, .dot or .gv")
    if isinstance(compiled, XSeqQuery) and files:
        usage("--engine and --input are for queries of events; a document is read the same way wherever it is")
    if svg is not None:
        compiled.diagram().save(svg)
    if isinstance(compiled, XSeqQuery) or not files:
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

    from ostinato.cli import bench as benchmarks

    benchmarks.run(only=case, events=events, repeats=repeats, console=Console())


@app.command()
@guarded
def demo(
    out: Annotated[Path, typer.Option("--out", metavar="FOLDER", help="Where the demo's files go.")] = Path(
        "demo-data"
    ),
    spark: Annotated[bool, typer.Option("--spark", help="Find the fires on local Spark as well.")] = False,
) -> None:
    """Write a week of sensor readings, find the fires in it, and show when they happened; then foresee thefts on cards.

    [dim]Example:[/]
    [cyan]ostinato demo --out fires[/]
    """
    from rich.console import Console

    from ostinato.cli.demo.fires import run

    run(out, Console(), spark=spark)


def _summary(query: PatternQuery) -> str:
    columns = query.columns()
    reads = "whole rows" if columns is None else ", ".join(sorted(columns)) or "types only"
    return f"an automaton of {query.diagram().transducer.states} states, reads {reads}"
