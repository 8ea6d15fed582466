"""`ostinato warm`: compile everything now, so that nobody waits for it later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostinato.cli.failures import report_errors
from ostinato.cli.options import output_option
from ostinato.core.options import bad_option

_WIDE = 120  # columns that the bar, its counts and the longest name of a kernel take


@report_errors
def warm(
    output: Annotated[
        str | None, output_option("Where the kernels go; without it, the user's cache folder.", "FOLDER")
    ] = None,
    into: Annotated[str | None, typer.Option("--into", hidden=True)] = None,
) -> None:
    """Compile all kernels ahead of time, for container images or shared folders.

    Processes find them there if OSTINATO_KERNEL_CACHE names the folder.

    [dim]Examples:[/]
    [cyan]ostinato warm[/]
    [cyan]ostinato warm --output /opt/ostinato/kernels[/]
    """
    output = into if output is None else output
    if output == "":
        raise bad_option("output", output, "a folder")
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from ostinato.core.jit.warm import warm as compile_all

    console, folder = Console(stderr=True), None if output is None else Path(output)
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
