"""`ostinato funnel`: how far each key gets along some steps, in files of events."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostinato.cli.failures import report_errors
from ostinato.cli.options import (
    ErrorMode,
    Inputs,
    Kinds,
    OnError,
    TimeColumn,
    TypeColumn,
    check_output,
    output_option,
    parse_kinds,
    topic_or_files,
)


@report_errors
def funnel(
    steps: Annotated[
        list[str], typer.Argument(metavar="STEP...", help="Types of events in order, or events with conditions.")
    ],
    inputs: Inputs = None,
    within: Annotated[
        str | None,
        typer.Option("--within", metavar="DURATION", help="From the first step to the last at most this long."),
    ] = None,
    by: Annotated[
        list[str] | None, typer.Option("--by", metavar="COLUMN", help="The key, such as the user. Repeatable.")
    ] = None,
    output: Annotated[Path | None, output_option("Write how far each key got; the extension sets the format.")] = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
    kind: Kinds = None,
    on_error: ErrorMode = OnError.RAISE,
) -> None:
    """Count how many keys take each of some steps, one after the other.

    [dim]Examples:[/]
    [cyan]ostinato funnel view cart pay --within "1 hour" --by user --input events.parquet[/]
    [cyan]ostinato funnel view "pay AS p FILTER p.amount > 10" --by user --input log.csv --output keys.csv[/]
    """
    import ostinato as ost
    from ostinato.cli.jobs.funnel import FunnelJob

    _, files = topic_or_files(inputs or [], spark_stream=False)
    check_output(output, files, spark=False, standard=False)
    compiled = ost.funnel(steps, within=within, by=tuple(by or ()))
    FunnelJob(compiled, files, time, type, parse_kinds(kind), on_error.value).run(output)
