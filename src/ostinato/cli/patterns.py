"""`ostinato detect`: matches of a query in CEL or SREM, found in files of events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ostinato.cli.failures import report_errors
from ostinato.cli.options import (
    Checkpoint,
    EngineChoice,
    EngineName,
    FormChoice,
    Kinds,
    LanguageChoice,
    Lateness,
    Master,
    MoreInputs,
    Once,
    OnError,
    PositionErrorMode,
    QueryText,
    Stream,
    TimeColumn,
    TypeColumn,
    check_embedded,
    check_output,
    compile_arguments,
    input_option,
    output_option,
    parse_kinds,
    parse_topic,
    print_warnings,
    topic_or_files,
    usage,
)
from ostinato.cli.sql import SqlReading, refuse_options, refuse_spark_options, run_sql, run_sql_on_spark
from ostinato.core.text.counts import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ostinato.patterns.query import PatternQuery
    from ostinato.spark.kafka import Topic


@report_errors
def detect(
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="File with the query, or a folder of queries.", show_default=False),
    ] = None,
    more: MoreInputs = None,
    text: QueryText = None,
    language: LanguageChoice = None,
    inputs: Annotated[
        list[str] | None,
        input_option(
            "Events: .parquet, .csv, .jsonl or .arrow files, folders of them, or - for standard input; for a table of "
            "a query in SQL NAME=FILE; for a stream on Spark also a topic."
        ),
    ] = None,
    output: Annotated[
        Path | None, output_option("Write the matches here; the extension sets the format. - is standard output.")
    ] = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
    kind: Kinds = None,
    order_by: Annotated[
        list[str] | None,
        typer.Option(
            "--order-by",
            metavar="COLUMN",
            help="Order of events with equal times; needs --sort or --count. Repeatable.",
        ),
    ] = None,
    events: Annotated[bool, typer.Option("--events", help="Add the events of each match as a column.")] = False,
    identity: Annotated[
        bool, typer.Option("--identity", help="Add a match_id that is the same in every run, and times.")
    ] = False,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Only matches known after this time; reads everything first."),
    ] = None,
    until: Annotated[
        str | None, typer.Option("--until", metavar="TIME", help="Only matches known up to this time.")
    ] = None,
    count: Annotated[bool, typer.Option("--count", help="Only say how many matches there are.")] = False,
    sort: Annotated[bool, typer.Option("--sort", help="Read everything first and sort it by time.")] = False,
    on_error: PositionErrorMode = OnError.RAISE,
    lateness: Lateness = None,
    limit_matches: Annotated[
        int | None, typer.Option("--limit-matches", metavar="N", min=1, help="Stop with an error after N matches.")
    ] = None,
    limit_seconds: Annotated[
        float | None,
        typer.Option("--limit-seconds", metavar="S", min=0.001, help="Stop with an error after S seconds of work."),
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
    Without --output the first matches are printed; those of standard input at once, as lines of JSON.

    [dim]Examples:[/]
    [cyan]ostinato detect fires.cel --input events.parquet --output matches.parquet[/]
    [cyan]ostinato detect -q "A AS x ; B AS y WITHIN 10 minutes" --input log.csv --time at --type kind[/]
    [cyan]tail -f log.jsonl | ostinato detect fires.cel --input -[/]
    [cyan]ostinato detect v.sql --input ticks=ticks.parquet --input names=names.csv[/]
    [cyan]ostinato detect v.sql --engine spark --input ticks=ticks/ --output matches/[/]
    [cyan]ostinato detect queries/ --input events.parquet --output matches.jsonl[/]
    [cyan]ostinato detect fires.cel --input *.jsonl --lateness "30 seconds" --on-error collect[/]
    [cyan]ostinato detect fires.cel --engine spark --input events/ --output matches/[/]
    [cyan]ostinato detect fires.cel --engine spark --stream --input kafka://HOST:9092/TOPIC --kind value=number[/]
    """
    from ostinato.patterns.query import PatternQuery

    if query is not None and text is None and Path(query).is_dir():
        if engine is EngineName.SPARK or stream or once or checkpoint or master:
            usage("a folder of queries is for files and standard input; on Spark, use ostinato.detect_many")
        if sort or order_by:
            usage("--sort and --order-by are for one query")
        if since is not None or until is not None:
            usage("--since and --until are for one query")
        if count and output is not None:
            usage("--count prints numbers; leave out --output")
        files = topic_or_files([*(inputs or ()), *(more or ())], spark_stream=False)[1]
        check_output(output, files, spark=False)
        check_embedded(files, output, form, spark_only=False)
        from ostinato.cli.jobs.many_patterns import ManyPatternsJob, compile_folder

        ManyPatternsJob(
            queries=compile_folder(Path(query)),
            files=files,
            time=time,
            type=type,
            kinds=parse_kinds(kind),
            events=events,
            identity=identity,
            on_error=on_error.value,
            limit_matches=limit_matches,
            limit_seconds=limit_seconds,
        ).run(output, lateness, form, count=count)
        return
    compiled, inputs = compile_arguments(query, more, text, inputs, language)
    if not isinstance(compiled, PatternQuery):
        from ostinato.rules.program import RuleProgram
        from ostinato.sql.query import SqlQuery

        if isinstance(compiled, SqlQuery):
            from ostinato.sql.limits import SqlLimits

            refuse_options(
                time=time, type=type, order_by=order_by, events=events, identity=identity, since=since,
                until=until, sort=sort, limit_matches=limit_matches,
            )  # fmt: skip
            reading = SqlReading(parse_kinds(kind), on_error.value, SqlLimits(seconds=limit_seconds))
            on_stream = {"lateness": lateness, "once": once, "checkpoint": checkpoint}
            if engine is EngineName.SPARK:
                run_sql_on_spark(
                    compiled, inputs, reading, output, form, master, count=count, stream=stream, on_stream=on_stream
                )
            else:
                refuse_spark_options(master=master, stream=stream, **on_stream)
                run_sql(compiled, inputs, reading, output, form, count=count)
            return

        if isinstance(compiled, RuleProgram):
            usage("detect finds matches of a query; rules are run by: ostinato rules PROGRAM --input FILE")
        usage("detect reads events; documents are queried by: ostinato xseq QUERY --input FILE")
    in_period = since is not None or until is not None
    if in_period and (count or stream):
        usage(f"--since and --until are not for {'--count' if count else '--stream, which goes on by itself'}")
    topic, files = topic_or_files(inputs, spark_stream=engine is EngineName.SPARK and stream)
    check_output(output, files, spark=engine is EngineName.SPARK)
    if count and output is not None:
        usage("--count prints a number; leave out --output")
    from ostinato.files.stdio import STANDARD, spool_standard_input

    if engine is EngineName.SPARK:
        if STANDARD in files:
            usage("standard input is not for --engine spark")
        if sort or on_error is OnError.COLLECT:
            usage(f"{'--sort' if sort else '--on-error collect'} is not for --engine spark")
        if stream and count:
            usage("--count is not for --stream, which has no end")
        if not stream and (once or checkpoint or lateness):
            usage("--once, --checkpoint and --lateness are for --stream; without it, Spark orders all events itself")
        print_warnings(compiled)
        from ostinato.cli.jobs.spark.events import SparkJob
        from ostinato.patterns.limits import Limits

        wanted = {*(compiled.columns() or ()), *(order_by or ())}
        kinds = parse_kinds(kind)
        source: Sequence[Path] | Topic = files
        if topic:
            source, kinds = parse_topic(topic, kinds, wanted, time, type)
        options: dict[str, object] = {"time": time, "type": type, "order_by": tuple(order_by or ()), "events": events}
        options |= {"identity": identity, "since": since, "until": until}
        options |= {"lateness": lateness} if stream else {}
        limits = Limits(seconds=limit_seconds)
        options["limits"] = limits if limit_matches is None else replace(limits, matches=limit_matches)
        spark_job = SparkJob(compiled, source, master, kinds, on_error.value, options)
        if count:
            spark_job.count()
        elif stream:
            spark_job.stream(output, form, checkpoint=checkpoint, once=once)
        else:
            spark_job.batch(output, form)
        return
    check_embedded(files, output, form, spark_only=bool(master or stream or once or checkpoint))
    if order_by and not (sort or count or in_period):
        usage("--order-by needs --sort or --count: only events that are all in memory can be ordered again")
    if lateness and (sort or count or in_period):
        usage("--lateness is for files read piece by piece; --sort and --count order all events themselves")
    print_warnings(compiled)

    from ostinato.cli.jobs.patterns import PatternJob

    job = PatternJob(
        query=compiled,
        files=files,
        time=time,
        type=type,
        kinds=parse_kinds(kind),
        order_by=tuple(order_by or ()),
        events=events,
        identity=identity,
        since=since,
        until=until,
        on_error=on_error.value,
        limit_matches=limit_matches,
        limit_seconds=limit_seconds,
    )
    sort |= in_period
    if STANDARD in files and not count and not sort:
        job.live(output or STANDARD, lateness, form)
        return
    with spool_standard_input(files, form) as read:
        job = replace(job, files=read)
        if count:
            job.count()
        elif sort:
            job.sort(output, form)
        else:
            job.stream(output, lateness, form)


def check_pattern(
    query: PatternQuery, files: Sequence[Path], time: str | None, type: str | None, kinds: Mapping[str, str]
) -> str:
    """What `ostinato check` says of a pattern, once it is known to be right, and to fit the files."""
    against = ""
    if files:
        from ostinato.cli.jobs.patterns import PatternJob

        columns = PatternJob(query=query, files=files, time=time, type=type, kinds=kinds).check_schema()
        against = f", fits the {format_count(len(columns), 'column')} of {', '.join(file.name for file in files)}"
    print_warnings(query)
    return f"ok: {_summary(query)}{against}"


def _summary(query: PatternQuery) -> str:
    columns = query.columns()
    reads = "whole rows" if columns is None else ", ".join(sorted(columns)) or "types only"
    return f"an automaton of {format_count(query.diagram().transducer.states, 'state')}, reads {reads}"
