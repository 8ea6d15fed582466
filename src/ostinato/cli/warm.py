"""`ostinato warm`: compile everything now, so that nobody waits for it later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostinato.cli.failures import report_errors
from ostinato.core.options import bad_option

_WIDE = 120  # columns that the bar, its counts and the longest name of a kernel take


@report_errors
def warm(
    into: Annotated[
        str | None,
        typer.Option("--into", metavar="FOLDER", help="Where the kernels go; without it, the user's cache folder."),
    ] = None,
) -> None:
    """Compile all kernels, on all cores, for images and for folders that machines share.

    Processes find them there if OSTINATO_KERNEL_CACHE names the folder.

    [dim]Examples:[/]
    [cyan]ostinato warm[/]
    [cyan]ostinato warm --into /opt/ostinato/kernels[/]
    """
    if into == "":
        raise bad_option("into", into, "a folder")
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ostinato.core.jit.warm import warm as compile_all

    console, folder = Console(stderr=True), None if into is None else Path(into)
    if not console.is_terminal:
        done = compile_all(folder)
    else:
        columns = [TextColumn("compiling kernels"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
        if console.width >= _WIDE:
            columns.append(TextColumn("[dim]{task.description}"))
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("", total=None)
            done = compile_all(
                folder, lambda count, total, name: bar.update(task, completed=count, total=total, description=name)
            )
    typer.echo(
        f"{done.kernels} kernels, {done.bytes / 1e6:.1f} MB, are in {done.folder}; "
        f"{done.compiled} of them were compiled now"
    )
