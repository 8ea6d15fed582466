"""The SQL table function `ostinato_detect`: queries over tables, from Spark SQL."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.functions import udtf
from pyspark.sql.types import StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn
from pyspark.util import PythonEvalType

from ostinato.core.events import StreamColumns
from ostinato.core.options import bad_option, check_column_name, check_column_names
from ostinato.errors import DataError, OstinatoError
from ostinato.patterns.query import CelQuery, PatternQuery, SremQuery
from ostinato.spark.columns import quote_name, spark_type
from ostinato.spark.patterns.columns import check_query
from ostinato.spark.patterns.shipped_query import ShippedQuery
from ostinato.spark.patterns.task import Unit
from ostinato.spark.shipping import NeededKernels, ship
from ostinato.spark.sorting import BUDGET, Sorter

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.udtf import UserDefinedTableFunction

NAME = "ostinato_detect"
BUCKETS = 256  # groups of keys; each is read by one engine
_LANGUAGES: dict[str, type[PatternQuery]] = {kind.language: kind for kind in (CelQuery, SremQuery)}


@dataclass
class Analysis(AnalyzeResult):
    """The checked call, which Spark passes on to the workers."""

    query: ShippedQuery | None = None


class Detect:
    """`ostinato_detect(TABLE(t) PARTITION BY …, query => '…')`. Spark makes one of these per partition.

    Rows come in any order and leave as matches once all are there, as in a task of `CelQuery.detect`.
    """

    def __init__(self, analysis: Analysis) -> None:
        assert analysis.query is not None
        self.query = analysis.query
        named = self.query.binding
        self.sorter = Sorter(StreamColumns(named["time"], None, named["order_by"]), BUDGET)
        self.complete = bool(analysis.partitionBy) or analysis.withSinglePartition or _partitioned_in_sql()

    @staticmethod
    def analyze(
        input: AnalyzeArgument,
        query: AnalyzeArgument,
        time: AnalyzeArgument | None = None,
        type: AnalyzeArgument | None = None,
        order_by: AnalyzeArgument | None = None,
        events: AnalyzeArgument | None = None,
        language: AnalyzeArgument | None = None,
        identity: AnalyzeArgument | None = None,
    ) -> Analysis:
        given = {"time": time, "type": type, "order_by": order_by, "events": events}
        given |= {"language": language, "identity": identity}
        try:
            options = {option: _constant(option, value) for option, value in given.items() if value is not None}
            return _analyze(input, _constant("query", query), options)
        except OstinatoError as error:
            raise error.with_traceback(None) from None  # the message is for whoever wrote the SQL

    def eval(self, input: pa.RecordBatch, *constants: Any, **named: Any) -> None:
        if not self.complete:
            _check_single()
        self.sorter.add(input)

    def terminate(self) -> Iterator[pa.Table]:
        for query, matches in Unit((self.query,)).matches(self.sorter.tables()):
            if len(matches):
                yield query.fit_to_output(matches, query.answer)

    def cleanup(self) -> None:
        self.sorter.close()


def _analyze(table: AnalyzeArgument, text: Any, options: dict[str, Any]) -> Analysis:
    if not table.isTable or not isinstance(table.dataType, StructType):
        raise OstinatoError(f"the first argument of {NAME} is a table", fix=f"{NAME}(TABLE(name), query => '…')")
    checked = _check_options(options)
    found = check_query("query", _LANGUAGES[checked["language"]](text).text, table.dataType, **checked)
    shipped, keys = found.query, found.partition_by
    # A PARTITION BY in SQL cannot be seen here. One that the query has of its own is ours to bring about, by groups of
    # keys: one engine for many keys is much faster than one for each.
    own = bool(shipped.compiled.query.partition_by)
    hashed = ", ".join(map(quote_name, keys))
    return Analysis(
        spark_type(shipped.answer),
        withSinglePartition=own and not keys,
        partitionBy=[PartitioningColumn(f"pmod(xxhash64({hashed}), {BUCKETS})")] if own and keys else [],
        select=[SelectedColumn(quote_name(column)) for column in shipped.columns],
        query=shipped,
    )


def _check_options(options: dict[str, Any]) -> dict[str, Any]:
    """SQL has no lists: `order_by` is one name, or an array of them."""
    language = options.get("language", "cel")
    flags = {"events": options.get("events", True), "identity": options.get("identity", False)}
    for option, given in flags.items():
        if not isinstance(given, bool):
            raise bad_option(option, given, "true or false")
    if language not in tuple(_LANGUAGES):  # an array cannot be a key
        raise bad_option("language", language, " or ".join(map(repr, _LANGUAGES)))
    found = {
        "time": check_column_name("time", options.get("time")),
        "type": check_column_name("type", options.get("type")),
    }
    order_by = check_column_names("order_by", options.get("order_by", ()))
    return found | flags | {"order_by": order_by, "language": language}


def register_functions(spark: SparkSession) -> None:
    ship(spark, NeededKernels(("core", "patterns")))  # queries come later
    made = cast("UserDefinedTableFunction", udtf(Detect))
    # Whole Arrow batches instead of rows: `arrow_udtf` would ask for them, but takes no function that finds its columns
    # by `analyze`, although Spark runs such a function well.
    made.evalType = PythonEvalType.SQL_ARROW_UDTF
    spark.udtf.register(NAME, made)


def _constant(option: str, argument: AnalyzeArgument) -> Any:
    if not argument.isConstantExpression:
        raise OstinatoError(f"{option} must be a constant, so that the columns of the matches are known")
    return argument.value


def _partitioned_in_sql() -> bool:
    """Whether Spark makes one function per value of a PARTITION BY. It does not say so; the caller's name does."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if "WithPartition" in frame.f_code.co_qualname:
            return True
        frame = frame.f_back
    return False


def _check_single() -> None:
    """Refuse the second of several parts into which Spark has cut the table as it liked: they are one stream."""
    context = TaskContext.get()
    if context is not None and context.partitionId() > 0:
        raise DataError(
            "the table is read in several parts, and nothing says which rows belong together",
            fix="add PARTITION BY … or WITH SINGLE PARTITION after TABLE(…), or PARTITION BY to the query",
        )
