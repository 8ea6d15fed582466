"""The command line: one verb each, errors on one screen, and imports only when a verb needs them."""

from __future__ import annotations

import atexit
import gc
import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from ostinato import __version__
from ostinato.cli.failures import report_errors, watch_signals
from ostinato.cli.hidden_pandas import hide_pandas
from ostinato.cli.options import output_option

# Where each verb is defined, in the order of `ostinato --help`.
_VERBS = {
    "detect": "ostinato.cli.patterns",
    "funnel": "ostinato.cli.funnel",
    "rules": "ostinato.cli.rules",
    "xseq": "ostinato.cli.xseq",
    **dict.fromkeys(("train", "update", "forecast", "evaluate"), "ostinato.cli.forecast"),
    **dict.fromkeys(("check", "explain"), "ostinato.cli.check"),
    "bench": __name__,
    "warm": "ostinato.cli.warm",
    "demo": __name__,
}


def main() -> None:
    # Most objects live to the end. To look through them often, and then once more, takes a fifth of a short run.
    gc.set_threshold(50_000)
    atexit.register(_leave_objects)
    hide_pandas()
    watch_signals()
    make_app(*sys.argv[1:2])()


def _leave_objects() -> None:
    """At the end. DuckDB writes a list of its own objects to stderr where they are left."""
    if "duckdb" not in sys.modules:
        gc.freeze()


def make_app(verb: str | None = None) -> typer.Typer:
    """The whole command line, or as much of it as one verb needs: to load and to describe all takes its time."""
    app = typer.Typer(
        name="ostinato",
        help="Find patterns of events in files and tables, and of elements in documents.",
        epilog="Start with: ostinato demo",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    app.callback()(root)
    for name in (verb,) if verb in _VERBS else _VERBS:
        app.command()(getattr(import_module(_VERBS[name]), name))
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ostinato {__version__}")
        raise typer.Exit


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
    output: Annotated[Path | None, output_option("Where the demo's files go [dim]\\[demo-data][/].", "FOLDER")] = None,
    out: Annotated[Path | None, typer.Option("--out", hidden=True)] = None,
    spark: Annotated[bool, typer.Option("--spark", help="Find the fires on local Spark as well.")] = False,
) -> None:
    """Write a week of sensor readings, find the fires in it, and show when they happened; then forecast card thefts.

    [dim]Example:[/]
    [cyan]ostinato demo --output fires[/]
    """
    from rich.console import Console

    from ostinato.cli.demo.fires import run

    run(output or out or Path("demo-data"), Console(), spark=spark)
