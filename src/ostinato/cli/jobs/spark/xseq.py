"""One run of an XSeq query on Spark for the command line: documents in files, or in a column of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.cli.jobs.spark.events import SparkJob, deliver
from ostinato.cli.jobs.xseq import NOUN
from ostinato.errors import DataError
from ostinato.spark.xseq.detect import run_folder
from ostinato.xseq.query import XSeqQuery

if TYPE_CHECKING:
    from ostinato.spark.jobs.session import DataFrame, SparkSession


@dataclass(frozen=True)
class XSeqSparkJob:
    """A query, the files, folders or tables with documents (`column`), and the options of its `detect` on Spark."""

    query: XSeqQuery
    inputs: Sequence[str]
    column: str | None
    options: Mapping[str, Any]
    master: str | None = None
    limit: int | None = None

    def run(self, output: Path | None) -> None:
        for each in self.inputs:
            if not Path(each).exists() and "://" not in each:
                raise DataError("there is no such file or folder", source=each)
        deliver(self._find, self.master, output, None, NOUN)

    def _find(self, spark: SparkSession) -> DataFrame:
        rows = self._find_in_files(spark) if self.column is None else self._find_in_tables(spark)
        return rows if self.limit is None else rows.limit(self.limit)

    def _find_in_files(self, spark: SparkSession) -> DataFrame:
        """With the file of each row, unless there is only one."""
        single = len(self.inputs) == 1 and Path(self.inputs[0]).is_file()
        answers = [run_folder(self.query, spark, each, **self.options) for each in self.inputs]
        rows = reduce(lambda one, other: one.union(other), answers)
        return rows.drop("path") if single else rows.withColumnRenamed("path", "document")

    def _find_in_tables(self, spark: SparkSession) -> DataFrame:
        files = [Path(each) for each in self.inputs]
        return SparkJob(self.query, files, options={**self.options, "column": self.column}).detect(spark)
