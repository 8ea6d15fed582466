"""One run of a query in SQL on Spark for the command line: files of each table in, rows into a folder or onto the
terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.cli.jobs.events import check_kinds
from ostinato.cli.jobs.spark.events import SparkJob, deliver
from ostinato.errors import DataError
from ostinato.spark.jobs.read import EventFiles
from ostinato.spark.jobs.session import job_session
from ostinato.sql.limits import SqlLimits
from ostinato.sql.query import SqlQuery

if TYPE_CHECKING:
    from ostinato.spark.jobs.session import DataFrame, SparkSession


@dataclass(frozen=True)
class SparkSqlJob:
    """A query and the files of each table that it reads; `kinds` and `on_error` are for all of them."""

    query: SqlQuery
    files: Mapping[str, Sequence[Path]]
    master: str | None = None
    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: str = "raise"
    limits: SqlLimits | None = None

    def batch(self, output: Path | None, format: str | None) -> None:
        deliver(self.detect, self.master, output, format, "row")

    def count(self) -> None:
        with job_session(self.master) as spark:
            print(self.detect(spark).count())

    def detect(self, spark: SparkSession) -> DataFrame:
        tables: dict[str, Any] = {
            name: EventFiles(files, self.kinds, self.on_error).read(spark) for name, files in self.files.items()
        }
        check_kinds(self.kinds, [name for table in tables.values() for name in table.columns])
        found: DataFrame = self.query.detect(tables, limits=self.limits)
        return found

    def stream(
        self, output: Path | None, format: str | None, *, lateness: str | None, once: bool, checkpoint: Path | None
    ) -> None:
        """Watch the folder of its one table for new files."""
        if len(self.files) != 1:
            raise DataError("a stream is one table", fix="give one --input FOLDER")
        (files,) = self.files.values()
        options = {"lateness": lateness, "limits": self.limits}
        job = SparkJob(self.query, files, self.master, self.kinds, self.on_error, options, noun="row")
        job.stream(output, format, checkpoint=checkpoint, once=once)
