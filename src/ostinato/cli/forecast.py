"""`ostinato train`, `update`, `forecast` and `evaluate`: when patterns will complete, learned from files of events."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from ostinato.cli.failures import report_errors
from ostinato.cli.options import (
    Checkpoint,
    EngineChoice,
    EngineName,
    ErrorMode,
    FormChoice,
    Inputs,
    Kinds,
    Language,
    Master,
    MoreInputs,
    Once,
    OnError,
    PatternLanguage,
    PositionErrorMode,
    QueryFile,
    QueryText,
    Stream,
    TimeColumn,
    TypeColumn,
    check_embedded,
    check_output,
    compile_arguments,
    output_option,
    parse_files,
    parse_kinds,
    print_warnings,
    usage,
)

ModelFolder = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Folder that ostinato train wrote.", show_default=False)
]


@report_errors
def train(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    language: Annotated[
        PatternLanguage | None,
        typer.Option("--language", help="What the query is written in [dim]\\[by its file: *.srem, else cel][/]."),
    ] = None,
    inputs: Inputs = None,
    output: Annotated[Path | None, output_option("Where the model goes.", "FOLDER")] = None,
    order: Annotated[
        str, typer.Option("--order", metavar="N", help="Longest context, in events; auto: what predicts best.")
    ] = "auto",
    horizon: Annotated[int, typer.Option("--horizon", metavar="N", help="How many events ahead to look.")] = 200,
    threshold: Annotated[
        float, typer.Option("--threshold", metavar="P", help="The probability that intervals promise.")
    ] = 0.5,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            "--feature",
            metavar="CONDITION",
            help="A condition on one event that tells events apart, such as 'speed > 3'. Repeatable.",
            show_default=False,
        ),
    ] = None,
    holdout: Annotated[
        float,
        typer.Option("--holdout", metavar="P", help="Share of the events, the last ones, that choices are tested on."),
    ] = 0.2,
    no_calibrate: Annotated[bool, typer.Option("--no-calibrate", help="Do not calibrate intervals.")] = False,
    learning: Annotated[
        list[str] | None,
        typer.Option(
            "--learning",
            metavar="NAME=NUMBER",
            help="When a context is worth keeping, such as min_count=100. Repeatable.",
            show_default=False,
        ),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="LIMIT=N", help="Allow more than usual, such as states=5000000. Repeatable."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is there.")] = False,
    time: TimeColumn = None,
    type: TypeColumn = None,
    kind: Kinds = None,
    order_by: Annotated[
        list[str] | None,
        typer.Option("--order-by", metavar="COLUMN", help="Order of events with equal times. Repeatable."),
    ] = None,
    on_error: ErrorMode = OnError.RAISE,
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
) -> None:
    """Learn from a history of events when a query completes, and keep what was learned in a folder.

    Events may come in any order. All are read before learning starts; only the conditions that hold for each are kept.

    [dim]Examples:[/]
    [cyan]ostinato train ladder.cel --input history.parquet --output model/[/]
    [cyan]ostinato train ladder.cel --input history.parquet --output model/ --horizon 30 --feature "amount < 5"[/]
    [cyan]ostinato train ladder.cel --engine spark --input history/ --output model/ --threshold 0.9[/]
    """
    from ostinato.patterns.query import PatternQuery

    written = None if language is None else Language(language.value)
    compiled, inputs = compile_arguments(query, more, text, inputs, written)
    if not isinstance(compiled, PatternQuery):
        usage("a forecast is of a query in CEL or SREM, over events")
    if output is None:
        usage("where does the model go? --output FOLDER")
    files = _files(inputs)
    print_warnings(compiled)
    from ostinato.cli.jobs.forecast import EventInput
    from ostinato.cli.jobs.forecast import train as learn
    from ostinato.files.stdio import spool_standard_input
    from ostinato.forecast.forecaster import Forecaster
    from ostinato.forecast.learn.suffix_tree import Learning
    from ostinato.forecast.settings import ForecastLimits

    forecaster = Forecaster(
        compiled,
        order=_order(order),
        horizon=horizon,
        threshold=threshold,
        features=feature or (),
        holdout=holdout,
        calibrate=not no_calibrate,
        time=time,
        type=type,
        order_by=tuple(order_by or ()),
        limits=ForecastLimits(**_numbers("--max", most, ForecastLimits, int)),
        **_numbers("--learning", learning, Learning, float),
    )
    if engine is EngineName.SPARK:
        _check_spark(on_error)
        from ostinato.cli.jobs.spark.events import SparkJob
        from ostinato.cli.jobs.spark.forecast import train as learn_on_spark

        job = SparkJob(compiled, files, master, parse_kinds(kind), on_error.value)
        learn_on_spark(forecaster, job, output, overwrite=overwrite)
        return
    if master:
        usage("--master is for --engine spark")
    with spool_standard_input(files) as read:
        events = EventInput(read, parse_kinds(kind), on_error.value)
        learn(forecaster, events, output, overwrite=overwrite)


@report_errors
def update(
    model: ModelFolder,
    more: MoreInputs = None,
    inputs: Inputs = None,
    output: Annotated[Path | None, output_option("Where the model goes [dim]\\[where it is][/].", "FOLDER")] = None,
    decay: Annotated[
        float,
        typer.Option("--decay", metavar="P", min=0, max=1, help="How much all that was learned before still weighs."),
    ] = 1.0,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the model that is at --output.")] = False,
    kind: Kinds = None,
    on_error: ErrorMode = OnError.RAISE,
) -> None:
    """Learn from further events, calibrate intervals by them, and say whether the stream has changed.

    [dim]Examples:[/]
    [cyan]ostinato update model/ --input today.parquet[/]
    [cyan]ostinato update model/ --input today.parquet --decay 0.9 --output newer/[/]
    """
    files = _files([*(inputs or ()), *(more or ())])
    from ostinato.cli.jobs.forecast import EventInput
    from ostinato.cli.jobs.forecast import update as learn
    from ostinato.files.stdio import spool_standard_input
    from ostinato.forecast.model import ForecastModel
    from ostinato.forecast.storage import check_model_folder

    found = ForecastModel.load(model)
    if output is not None and output.absolute() != model.absolute():
        check_model_folder(output, overwrite=overwrite)
    with spool_standard_input(files) as read:
        learn(found, EventInput(read, parse_kinds(kind), on_error.value), output or model, decay=decay)


@report_errors
def forecast(
    model: ModelFolder,
    more: MoreInputs = None,
    inputs: Inputs = None,
    output: Annotated[
        Path | None, output_option("Write the forecasts here; the extension sets the format. - is standard output.")
    ] = None,
    alert: Annotated[
        float | None,
        typer.Option("--alert", metavar="P", min=0, max=1, help="Only forecasts with at least this probability."),
    ] = None,
    within: Annotated[
        str | None,
        typer.Option(
            "--within",
            metavar="N,N,…",
            help="Add the probability of a match within N events, for each N: 5,20.",
            show_default=False,
        ),
    ] = None,
    all_columns: Annotated[bool, typer.Option("--events", help="Add all columns of the events.")] = False,
    sort: Annotated[bool, typer.Option("--sort", help="Read everything first and sort it by time.")] = False,
    kind: Kinds = None,
    on_error: PositionErrorMode = OnError.RAISE,
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
    form: FormChoice = None,
    stream: Stream = False,
    once: Once = False,
    checkpoint: Checkpoint = None,
) -> None:
    """Forecast the next match after each event: a row for each, or with --alert for the likely ones.

    Files are read piece by piece, in time order, so they may be larger than memory.
    Without --output the first forecasts are printed; those of standard input at once, as lines of JSON.

    [dim]Examples:[/]
    [cyan]ostinato forecast model/ --input events.parquet --alert 0.8[/]
    [cyan]ostinato forecast model/ --input events.parquet --output forecasts.parquet[/]
    [cyan]ostinato forecast model/ --engine spark --stream --input events/ --output forecasts/[/]
    """
    files = _files([*(inputs or ()), *(more or ())])
    check_output(output, files, spark=engine is EngineName.SPARK)
    from ostinato.cli.jobs.forecast import NOUN, EventInput, ForecastJob
    from ostinato.files.stdio import STANDARD, spool_standard_input
    from ostinato.forecast.model import ForecastModel

    found, kinds, ahead = ForecastModel.load(model), parse_kinds(kind), _whole_numbers("--within", within)
    if engine is EngineName.SPARK:
        _check_spark(on_error)
        if STANDARD in files:
            usage("standard input is not for --engine spark")
        if sort:
            usage("--sort is not for --engine spark, which orders all events itself")
        if not stream and (once or checkpoint):
            usage("--once and --checkpoint are for --stream")
        from ostinato.cli.jobs.spark.events import SparkJob
        from ostinato.forecast.viz.table import narrow_forecasts
        from ostinato.spark.forecast.query import ForecastQuery

        query = ForecastQuery(found, alert, all_columns, ahead)
        spark_job = SparkJob(query, files, master, kinds, on_error.value, noun=NOUN, shorten=narrow_forecasts)
        if stream:
            spark_job.stream(output, form, checkpoint=checkpoint, once=once)
        else:
            spark_job.batch(output, form)
        return
    check_embedded(files, output, form, spark_only=bool(master or stream or once or checkpoint))
    if found.settings.order_by and not sort:
        usage(f"the model orders events of equal time by {', '.join(found.settings.order_by)}, which needs --sort")
    job = ForecastJob(found, EventInput(files, kinds, on_error.value), alert, all_columns, ahead)
    if STANDARD in files and not sort:
        job.live(output or STANDARD, form)
        return
    with spool_standard_input(files, form) as read:
        replace(job, events=replace(job.events, files=read)).run(output, form, sort=sort)


@report_errors
def evaluate(
    model: ModelFolder,
    more: MoreInputs = None,
    inputs: Inputs = None,
    within: Annotated[
        int | None,
        typer.Option(
            "--within", metavar="N", min=1, help="Score the probability within N events [dim]\\[the horizon][/]."
        ),
    ] = None,
    decision: Annotated[
        float,
        typer.Option(
            "--decision", metavar="P", min=0, max=1, help="Probability from which a match counts as predicted."
        ),
    ] = 0.5,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the reliability diagram (.svg).")
    ] = None,
    kind: Kinds = None,
    on_error: ErrorMode = OnError.RAISE,
) -> None:
    """Score a model on events that it has not learned from, beside simpler models.

    [dim]Examples:[/]
    [cyan]ostinato evaluate model/ --input holdout.parquet[/]
    [cyan]ostinato evaluate model/ --input holdout.parquet --within 10 --picture reliability.svg[/]
    """
    files = _files([*(inputs or ()), *(more or ())])
    if picture is not None and picture.suffix.lower() != ".svg":
        usage(f"--picture {picture} must end in .svg")
    from ostinato.cli.jobs.forecast import EventInput
    from ostinato.cli.jobs.forecast import evaluate as score
    from ostinato.files.stdio import spool_standard_input
    from ostinato.forecast.model import ForecastModel

    with spool_standard_input(files) as read:
        events = EventInput(read, parse_kinds(kind), on_error.value)
        score(ForecastModel.load(model), events, within=within, decision=decision, picture=picture)


def explain_model_folder(folder: str) -> str | None:
    """What `ostinato explain` says of a folder that holds a model; None if it holds none."""
    if not (Path(folder) / "model.json").is_file():
        return None
    from ostinato.forecast.model import ForecastModel

    return ForecastModel.load(Path(folder)).explain()


def _files(inputs: list[str]) -> list[Path]:
    if not inputs:
        usage("events are missing: --input FILE")
    return parse_files(inputs)


def _check_spark(on_error: OnError) -> None:
    if on_error is OnError.COLLECT:
        usage("--on-error collect is not for --engine spark")


def _order(given: str) -> int | str:
    if given != "auto" and not given.isdecimal():
        usage("--order is a number of events, or auto")
    return given if given == "auto" else int(given)


def _whole_numbers(option: str, given: str | None) -> tuple[int, ...]:
    parts = [part.strip() for part in given.split(",")] if given is not None else []
    if not all(part.isdecimal() for part in parts):
        usage(f"{option} is a list of numbers of events, such as 5,20")
    return tuple(map(int, parts))


def _numbers(option: str, given: list[str] | None, owner: Any, kind: type[int] | type[float]) -> dict[str, Any]:
    """NAME=NUMBER as arguments of a class of settings."""
    names = [each.name for each in fields(owner)]
    found: dict[str, Any] = {}
    for text in given or ():
        name, _, number = text.partition("=")
        try:
            found[name] = int(number) if name == "max_nodes" else kind(number)
        except ValueError:
            name = ""
        if name not in names:
            usage(f"{option} is NAME=NUMBER with a name among {', '.join(names)}")
    return found
