"""`ostinato warm`: compile everything now, so that nobody waits for it later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostinato.cli.failures import report_errors


@report_errors
def warm(
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FOLDER", help="Where the kernels go; without it, the user's cache folder."),
    ] = None,
) -> None:
    """Compile all kernels, on all cores, for images and for folders that machines share.

    Processes find them there if OSTINATO_KERNEL_CACHE names the folder.

    [dim]Examples:[/]
    [cyan]ostinato warm[/]
    [cyan]ostinato warm --into /opt/ostinato/kernels[/]
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ostinato.core.jit.warm import warm as compile_all

    console = Console(stderr=True)
    if not console.is_terminal:
        done = compile_all(into)
    else:
        columns = (TextColumn("compiling kernels"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, TextColumn("[dim]{task.description}"), console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            done = compile_all(
                into, lambda count, total, name: bar.update(task, completed=count, total=total, description=name)
            )
    typer.echo(
        f"{done.kernels} kernels, {done.bytes / 1e6:.1f} MB, are in {done.folder}; "
        f"{done.compiled} of them were compiled now"
    )
