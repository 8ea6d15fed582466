"""One run on Spark over events: files or a topic in, results into a folder or onto the terminal."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console

from ostinato.cli.jobs.events import check_kinds
from ostinato.cli.report import print_progress
from ostinato.core.events import DEFAULT_TIME
from ostinato.core.text.counts import format_count
from ostinato.patterns.query import PatternQuery
from ostinato.spark.jobs.progress import MicroBatch, follow
from ostinato.spark.jobs.read import CSV, EventFiles
from ostinato.spark.jobs.session import job_session
from ostinato.spark.jobs.write import (
    check_output,
    flatten_for,
    output_format,
    plain_columns,
    to_json_lines,
    write_folder,
)
from ostinato.spark.kafka import Topic
from ostinato.viz.table import SHOWN, terminal_table

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.spark.jobs.session import DataFrame, SparkSession


class SupportsDetect(Protocol):
    """A query, a program of rules, or a model in the place of one."""

    @property
    def detect(self) -> Callable[..., Any]: ...


@dataclass(frozen=True)
class SparkJob:
    """A query, a program of rules or a model, the files or the topic it runs over and how to read them.

    `kinds` says what columns of text files hold where their values do not tell, and all columns of a topic. `options`
    are those of its `detect`. `noun` is what one result is called; `shorten` makes rows fit for a terminal.
    """

    query: SupportsDetect
    input: Sequence[Path] | Topic
    master: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: str = "raise"
    options: Mapping[str, Any] = field(default_factory=dict)
    noun: str = "match"
    shorten: Callable[[pa.Table], pa.Table] = lambda rows: rows

    def batch(self, output: Path | None, format: str | None) -> None:
        """Write the results into a folder, in a format of FORMATS (None: what its name says), or print the first."""
        deliver(self.detect, self.master, output, format, self.noun, self.shorten)

    def detect(self, spark: SparkSession) -> DataFrame:
        return self._detect(self.read(spark))

    def read(self, spark: SparkSession) -> DataFrame:
        return self._files.read(spark)

    def count(self) -> None:
        with job_session(self.master) as spark:
            print(self.detect(spark).count())

    def explain(self) -> str:
        with job_session(self.master) as spark:
            assert isinstance(self.query, PatternQuery), "the plan of rules does not depend on columns"
            return self.query.explain(self.read(spark), **self.options)

    def stream(self, output: Path | None, format: str | None, *, checkpoint: Path | None, once: bool) -> None:
        """Watch a folder for new files, or a topic for messages. Results are added to the output, or printed as JSON
        lines.
        """
        if isinstance(self.input, Topic):
            self.input.check_reachable()
        else:
            self._files.check_watchable()
        if checkpoint is None and output is not None:
            checkpoint = output / "_checkpoint"
        with job_session(self.master, checkpoint=checkpoint, output=output) as spark:
            found = self._detect(self._stream(spark))
            found = found if output is None else flatten_for(output_format(output, format), found)
            writer = found.writeStream.outputMode("append")
            writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="1 second")
            if checkpoint is not None:
                writer = writer.option("checkpointLocation", str(checkpoint.absolute()))
            if output is None:
                query = writer.foreachBatch(_print_lines).start()
            else:
                query = writer.format(output_format(output, format)).options(**CSV).start(str(output.absolute()))
            waiting = 0

            def report(step: MicroBatch) -> None:
                nonlocal waiting
                waiting += step.waiting
                if step.events or step.matches:
                    self._print_step(step)

            if follow(query, report):
                print_progress("stopped; the same command goes on from here")
            if once and waiting:
                print_progress(
                    f"{waiting:,} of the events wait until the watermark has passed them: they come with later ones"
                )

    def _print_step(self, step: MicroBatch) -> None:
        skipped = f", {step.skipped:,} skipped" if step.skipped is not None else ""
        found = format_count(step.matches, self.noun)
        print_progress(
            f"step {step.number}: {format_count(step.events, 'event')}, {found}, {step.late:,} late{skipped}"
        )

    @property
    def _files(self) -> EventFiles:
        assert not isinstance(self.input, Topic), "a topic has no end"
        return EventFiles(self.input, self.kinds, self.on_error, check_kinds)

    def _stream(self, spark: SparkSession) -> DataFrame:
        if not isinstance(self.input, Topic):
            return self._files.stream(spark)
        time = self.options.get("end") or self.options.get("time") or DEFAULT_TIME
        return self.input.read(spark, self.kinds, time, skip=self.on_error == "skip")

    def _detect(self, frame: DataFrame) -> DataFrame:
        found: DataFrame = self.query.detect(frame, **self.options)
        return found


def deliver(
    find: Callable[[SparkSession], DataFrame],
    master: str | None,
    output: Path | None,
    format: str | None,
    noun: str,
    shorten: Callable[[pa.Table], pa.Table] = lambda rows: rows,
) -> None:
    """Write what is found into a folder, in a format of FORMATS (None: what its name says), or print the first rows."""
    began = time.perf_counter()
    if output is not None:
        check_output(output)
    with job_session(master, output=output) as spark:
        found = find(spark)
        if output is None:
            total = _print_first(found, noun, shorten)
        else:
            total = write_folder(found, output, output_format(output, format))
    print_progress(f"{format_count(total, noun)}, {time.perf_counter() - began:.1f} s")


def _print_first(rows: DataFrame, noun: str, shorten: Callable[[pa.Table], pa.Table]) -> int:
    """Rows go by way of a file: finding them twice, once to count and once to show, would take twice as long."""
    with tempfile.TemporaryDirectory(prefix="ostinato-matches-") as folder:
        total = write_folder(rows, Path(folder) / "matches", "parquet")
        found = rows.sparkSession.read.parquet(str(Path(folder) / "matches"))
        order = [name for name in ("end", "start", "begin") if name in found.columns] or plain_columns(found)
        first = found.orderBy(*(f"`{name}`" for name in order)).limit(SHOWN).toArrow()
    console = Console()
    if total:
        console.print(terminal_table(shorten(first)))
    rest = f", the first {SHOWN} shown; --output FOLDER keeps all" if total > SHOWN else ""
    console.print(f"[bold]{format_count(total, noun)}[/]{rest}", highlight=False)
    return total


def _print_lines(rows: DataFrame, _: int) -> None:
    for line in to_json_lines(rows):
        print(line, flush=True)
