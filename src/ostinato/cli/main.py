"""The command line: one verb each, errors on one screen, and imports only when a verb needs them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostinato import __version__
from ostinato.cli.check import check, explain
from ostinato.cli.failures import report_errors, watch_signals
from ostinato.cli.forecast import evaluate, forecast, train, update
from ostinato.cli.patterns import detect
from ostinato.cli.rules import rules
from ostinato.cli.xseq import xseq

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


@report_errors
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


@report_errors
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


for verb in (detect, rules, xseq, train, update, forecast, evaluate, check, explain, bench, demo):
    app.command()(verb)
