"""One run of an XSeq query on Spark for the command line: documents in files, or in a column of tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.errors import DataError
from ostinato.spark.job import SparkJob, deliver
from ostinato.spark.xseq.detect import run_folder
from ostinato.viz.table import format_count
from ostinato.xseq.query import XSeqQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class XSeqSparkJob:
    """A query, the files, folders or tables with documents (`column`), and the options of its `detect` on Spark.

    `told` puts a number of rows in words.
    """

    query: XSeqQuery
    inputs: Sequence[str]
    column: str | None
    options: Mapping[str, Any]
    master: str | None = None
    limit: int | None = None
    told: Callable[[int], str] = format_count

    def run(self, output: Path | None) -> None:
        for each in self.inputs:
            if not Path(each).exists() and "://" not in each:
                raise DataError("there is no such file or folder", source=each)
        deliver(self._found, self.master, output, None, self.told)

    def _found(self, spark: SparkSession) -> DataFrame:
        rows = self._of_files(spark) if self.column is None else self._of_tables(spark)
        return rows if self.limit is None else rows.limit(self.limit)

    def _of_files(self, spark: SparkSession) -> DataFrame:
        """With the file of each row, unless there is but one."""
        single = len(self.inputs) == 1 and Path(self.inputs[0]).is_file()
        answers = [run_folder(self.query, spark, each, **self.options) for each in self.inputs]
        rows = reduce(lambda one, other: one.union(other), answers)
        return rows.drop("path") if single else rows.withColumnRenamed("path", "document")

    def _of_tables(self, spark: SparkSession) -> DataFrame:
        files = [Path(each) for each in self.inputs]
        return SparkJob(self.query, files, options={**self.options, "column": self.column}).matches(spark)
