"""One run on Spark for the command line: files or a topic in, matches out, and errors in our words."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rich.console import Console

from ostinato.core.events import DEFAULT_TIME
from ostinato.errors import DataError, OstinatoError, did_you_mean
from ostinato.patterns.query import PatternQuery
from ostinato.spark.failures import describe_failure
from ostinato.spark.kafka import SKIPPED, TYPES, Topic
from ostinato.spark.session import session
from ostinato.viz.table import SHOWN, format_count, terminal_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.types import StructType


FORMATS = {"parquet": "parquet", "csv": "csv", "jsonl": "json", "ndjson": "json", "json": "json"}
_TEXT = {"header": "true", "escape": '"'}  # CSV as everyone else writes it
_MODES = {"raise": "FAILFAST", "skip": "DROPMALFORMED"}
_HIDE = "spark.sql.execution.pyspark.udf.hideTraceback.enabled"


class Detects(Protocol):
    """A query, a program of rules, or a model that stands in for one."""

    @property
    def detect(self) -> Callable[..., Any]: ...


@dataclass(frozen=True)
class SparkJob:
    """A query, a program of rules or a model, the files or the topic it runs over and how to read them.

    `kinds` says what columns of text files hold where their values do not tell, and all columns of a topic. `options`
    are those of its `detect`. `told` puts a number of results in words.
    """

    query: Detects
    source: Sequence[Path] | Topic
    master: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: str = "raise"
    options: Mapping[str, Any] = field(default_factory=dict)
    told: Callable[[int], str] = format_count
    shown: Callable[[pa.Table], pa.Table] = lambda rows: rows  # makes rows fit for a terminal

    def batch(self, output: Path | None, form: str | None) -> None:
        """Write the matches into a folder, in a form of FORMATS (None: what its name says), or print the first."""
        deliver(self.matches, self.master, output, form, self.told, self.shown)

    def matches(self, spark: SparkSession) -> DataFrame:
        return self._matches(self.frame(spark))

    def count(self) -> None:
        with running(self.master) as spark:
            print(self.matches(spark).count())

    def explain(self) -> str:
        with running(self.master) as spark:
            assert isinstance(self.query, PatternQuery), "the plan of rules does not depend on columns"
            return self.query.explain(self.frame(spark), **self.options)

    def stream(self, output: Path | None, form: str | None, *, checkpoint: Path | None, once: bool) -> None:
        """Watch a folder for new files, or a topic for messages. Matches are added to the output, or printed as JSON
        lines.
        """
        if isinstance(self.source, Topic):
            self.source.reach()
        elif len(self.source) != 1 or not self.source[0].is_dir():
            raise DataError("a stream is a folder that is watched for files", fix="give one folder: --input events/")
        if checkpoint is None and output is not None:
            checkpoint = output / "_checkpoint"
        with running(self.master, checkpoint=checkpoint, output=output) as spark:
            matches = self._matches(self._streaming(spark))
            shown = matches if output is None else _flat(matches, _written(output, form))
            writing = shown.writeStream.outputMode("append")
            writing = writing.trigger(availableNow=True) if once else writing.trigger(processingTime="1 second")
            if checkpoint is not None:
                writing = writing.option("checkpointLocation", str(checkpoint.absolute()))
            if output is None:
                query = writing.foreachBatch(_print_lines).start()
            else:
                query = writing.format(_written(output, form)).options(**_TEXT).start(str(output.absolute()))
            waiting = _follow(query, self.told)
            if once and waiting:
                say(f"{waiting:,} of the events wait until the watermark has passed them: they come with later ones")

    def _matches(self, frame: DataFrame) -> DataFrame:
        found: DataFrame = self.query.detect(frame, **self.options)
        return found

    def frame(self, spark: SparkSession) -> DataFrame:
        """The files, all together."""
        assert not isinstance(self.source, Topic), "a topic has no end"
        form = _form_of(self.source)
        reader = spark.read.format(form).options(**self._reading(form))
        paths = [str(file.absolute()) for file in self.source]
        return reader.schema(self._typed(reader.load(paths).schema)).load(paths) if self.kinds else reader.load(paths)

    def _streaming(self, spark: SparkSession) -> DataFrame:
        """A stream must know its columns before its rows: those of the files that are there."""
        if isinstance(self.source, Topic):
            time = self.options.get("end") or self.options.get("time") or DEFAULT_TIME
            return self.source.read(spark, self.kinds, time, skip=self.on_error == "skip")
        form, folder = _form_of(self.source), str(self.source[0].absolute())
        schema = spark.read.format(form).options(**self._reading(form)).load(folder).schema
        return spark.readStream.format(form).options(**self._reading(form)).schema(self._typed(schema)).load(folder)

    def _reading(self, form: str) -> dict[str, str]:
        if form == "parquet":
            return {}
        found = {"inferSchema": "true", "inferTimestamp": "true", "enforceSchema": "false", "columnPruning": "false"}
        return _TEXT | found | {"mode": _MODES[self.on_error]}

    def _typed(self, schema: StructType) -> StructType:
        from pyspark.sql.types import StructType

        for name in self.kinds:
            if name not in schema.names:
                raise DataError(
                    f"--kind names `{name}`, but there is no such column", fix=did_you_mean(name, schema.names)
                )
        typed = StructType()
        for each in schema.fields:
            typed.add(each.name, TYPES[self.kinds[each.name]] if each.name in self.kinds else each.dataType)
        return typed


def deliver(
    found: Callable[[SparkSession], DataFrame],
    master: str | None,
    output: Path | None,
    form: str | None,
    told: Callable[[int], str],
    shown: Callable[[pa.Table], pa.Table] = lambda rows: rows,
) -> None:
    """Write what is found into a folder, in a form of FORMATS (None: what its name says), or print the first of it."""
    began = time.perf_counter()
    if output is not None:
        _check_output(output)
    with running(master, output=output) as spark:
        total = (
            _print_first(found(spark), told, shown)
            if output is None
            else write(found(spark), output, _written(output, form))
        )
    say(f"{told(total)}, {time.perf_counter() - began:.1f} s")


def _form_of(files: Sequence[Path]) -> str:
    """The format that the names of all files tell; of a folder, those of the files in it."""
    found: dict[str, Path] = {}
    for file in files:
        if not file.exists():
            raise DataError("there is no such file or folder", source=str(file))
        inside = [path for path in sorted(file.rglob("*")) if path.is_file()] if file.is_dir() else [file]
        for path in inside:
            if path.name[0] not in "._":
                found.setdefault(form_of(path) or "", path)
    if not found:
        raise DataError(
            "there are no files, which would tell the columns",
            source=str(files[0]),
            fix="put a first file of events there",
        )
    if "" in found:
        raise DataError("the extension tells no format", source=str(found[""]), fix=f"use .{', .'.join(FORMATS)}")
    forms = {FORMATS[form] for form in found}
    if len(forms) > 1:
        raise DataError(f"the files are of several formats: {', '.join(sorted(found))}", fix="read them one by one")
    return forms.pop()


def _written(output: Path, form: str | None) -> str:
    return FORMATS[form or form_of(output) or "parquet"]


def form_of(path: Path) -> str | None:
    """The name of a format by a file's extension, where Spark reads and writes it."""
    ending = path.name.removesuffix(".gz").rpartition(".")[2].lower()
    return ending if ending in FORMATS else None


@contextmanager
def running(
    master: str | None, *, checkpoint: Path | None = None, output: Path | None = None
) -> Iterator[SparkSession]:
    """A session that only says what we say: its errors become ours, and what its workers print is left out.

    The folders of the job are named where they are what is wrong.
    """
    with Console(stderr=True).status("Spark starts"):
        try:
            spark = session(master)
        except OstinatoError:
            raise
        except Exception as error:
            found = describe_failure(error)
            raise found.replace(reason=f"Spark does not start: {found.reason}") from error
    logging.getLogger().addHandler(logging.NullHandler())  # py4j logs what it raises as well
    java = getattr(spark, "_jvm", None)  # none behind Spark Connect
    if java is not None:
        # The worker that sets a stream up tells each of its steps; whatever fails is raised.
        java.java.lang.System.setErr(java.java.io.PrintStream(java.java.io.OutputStream.nullOutputStream()))
    before = spark.conf.get(_HIDE) or "false"
    spark.conf.set(_HIDE, "true")
    try:
        yield spark
    except Exception as error:
        if os.environ.get("OSTINATO_DEBUG") or type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise describe_failure(error, checkpoint=checkpoint, output=output) from None
    finally:
        spark.conf.set(_HIDE, before)


def _print_first(matches: DataFrame, told: Callable[[int], str], shown: Callable[[pa.Table], pa.Table]) -> int:
    """Matches go by way of a file: finding them twice, once to count and once to show, would take twice as long."""
    spark = matches.sparkSession
    with tempfile.TemporaryDirectory(prefix="ostinato-matches-") as folder:
        total = write(matches, Path(folder) / "matches", "parquet")
        found = spark.read.parquet(str(Path(folder) / "matches"))
        order = [name for name in ("end", "start", "begin") if name in found.columns] or _plain(found)
        first = found.orderBy(*(f"`{name}`" for name in order)).limit(SHOWN).toArrow()
    console = Console()
    if total:
        console.print(terminal_table(shown(first)))
    rest = f", the first {SHOWN} shown; --output FOLDER keeps all" if total > SHOWN else ""
    console.print(f"[bold]{told(total)}[/]{rest}", highlight=False)
    return total


def _check_output(output: Path) -> None:
    """Only what a run like this has written may be written over."""
    if output.exists() and not (output / "_SUCCESS").exists():
        raise OstinatoError(
            f"{output} is there already, and holds no matches of an earlier run", fix="name another folder"
        )


def write(matches: DataFrame, output: Path, form: str) -> int:
    """Into a folder beside the one named, which takes its place when all is written."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    seen = Observation()
    beside, before = (output.with_name(f".{output.name}.{part}{os.getpid()}") for part in ("new", "old"))
    try:
        with Console(stderr=True).status("Spark detects"):
            found = _flat(matches.observe(seen, f.count(f.lit(1)).alias("matches")), form)
            found.write.format(form).options(**_TEXT).save(str(beside.absolute()))
        if output.exists():
            output.rename(before)
        beside.rename(output)
    finally:
        for folder in (beside, before):
            shutil.rmtree(folder, ignore_errors=True)
    return int(seen.get["matches"])


def _flat(matches: DataFrame, form: str) -> DataFrame:
    """CSV holds lists and structs as JSON."""
    from pyspark.sql import functions as f

    if form != "csv":
        return matches
    nested = [name for name in matches.columns if name not in _plain(matches)]
    return matches.withColumns({name: f.to_json(f.col(f"`{name}`")) for name in nested})


def _plain(matches: DataFrame) -> list[str]:
    from pyspark.sql.types import ArrayType, MapType, StructType

    return [
        each.name for each in matches.schema.fields if not isinstance(each.dataType, ArrayType | MapType | StructType)
    ]


def _print_lines(matches: DataFrame, _: int) -> None:
    from pyspark.sql import functions as f

    for (line,) in matches.select(f.to_json(f.struct("*"))).collect():
        print(line, flush=True)


def _follow(query: StreamingQuery, told: Callable[[int], str]) -> int:
    """Tell of each step until the stream ends, or a signal ends it; how many events, each of which gives a row, still
    wait for theirs."""
    last, asked, waiting = -1, threading.Event(), 0
    # A signal must not cut off a call to Java, so it only asks.
    before = {number: signal.signal(number, lambda *_: asked.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        while query.isActive and not asked.is_set():
            last, more = _tell(query, last, told)
            waiting += more
            asked.wait(0.5)
        query.stop()
        waiting += _tell(query, last, told)[1]
        query.awaitTermination()  # raises what the stream failed with
        if asked.is_set():
            say("stopped; the same command goes on from here")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return waiting


def _tell(query: StreamingQuery, last: int, told: Callable[[int], str]) -> tuple[int, int]:
    waiting = 0
    for step in query.recentProgress:
        if step.batchId > last:
            observed = step.observedMetrics.get("ostinato")
            counts = observed.asDict() if observed is not None else {}
            matches, late = (
                sum(value or 0 for name, value in counts.items() if name.rpartition(".")[2] in kinds)
                for kinds in (("matches", "derived"), ("late",))
            )
            skipped = step.observedMetrics.get(SKIPPED)
            left_out = f", {skipped['skipped']:,} skipped" if skipped is not None else ""
            if step.numInputRows or matches:
                say(f"step {step.batchId}: {step.numInputRows:,} events, {told(matches)}, {late:,} late{left_out}")
            if "rows" in counts:
                waiting += step.numInputRows - counts["rows"]
        last = max(last, step.batchId)
    return last, waiting


def say(text: str) -> None:
    Console(stderr=True, highlight=False, markup=False, soft_wrap=True).print(text, style="bright_black")
