"""MATCH_RECOGNIZE on Spark: `query.detect(spark)`, `query.detect(frame)`, batch where frames are, else streaming."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from ostinato.core.backends import is_spark_frame, is_spark_session
from ostinato.core.options import check_column_name, check_on_late, parse_delay
from ostinato.errors import DataError
from ostinato.spark.buckets import unit_buckets
from ostinato.spark.frames import check_count, check_names, only_for_streams
from ostinato.spark.shipping import NeededKernels, ship
from ostinato.spark.sql.batch import rows_of_clause
from ostinato.spark.sql.plan import SparkQuery
from ostinato.sql.limits import SqlLimits
from ostinato.sql.plan.tables import only_table
from ostinato.sql.query import SqlQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ostinato.core.options import OnLate

KERNELS = NeededKernels(("core", "sql.kernels"))


def detect_sql(
    query: SqlQuery,
    data: SparkSession | DataFrame | Mapping[str, DataFrame],
    /,
    *,
    limits: SqlLimits | None = None,
    lateness: str | float | timedelta | None = None,
    on_late: OnLate | None = None,
    buckets: int | None = None,
    metrics: str | None = None,
) -> DataFrame:
    """The rows of a query over tables of a session, over one DataFrame, or over DataFrames by name.

    Parameters
    ----------
    query
        A query, as `ostinato.sql` compiles it.
    data
        A session, whose tables and views the query names; a DataFrame for the one table that it reads; or DataFrames by
        name. One that streams must be the only one.
    limits
        Bounds on rows, steps and memory, in each task.
    lateness
        Streams: how long a row may come after later ones (default: the frame's own watermark, else not at all).
    on_late
        Streams: what to do with rows later than that: "count" them (default), "collect" them, each as a row of its own
        in the column `late`, or "raise" an error.
    buckets
        Streams: the number of parts that partitions are hashed into (default: two per shuffle partition). A checkpoint
        keeps the number that it was begun with.
    metrics
        Streams: the name of the counts in Spark's progress (default: "ostinato").
    """
    tables: dict[str, Any] = {}
    if not is_spark_session(data):
        tables = dict(data) if isinstance(data, Mapping) else {only_table(query.query): data}
        if not all(map(is_spark_frame, tables.values())):
            raise DataError("some of these tables are no DataFrames of Spark", fix="give DataFrames, or none")
        for frame in tables.values():
            check_names(frame)
    spark: Any = next(iter(tables.values())).sparkSession if tables else data
    on_stream = {"lateness": lateness, "on_late": on_late, "buckets": buckets, "metrics": metrics}
    given = SparkQuery(spark, query.query, tables, all_columns=on_late == "collect")
    ship(spark, KERNELS)
    if any(frame.isStreaming for frame in tables.values()) or (not tables and reads_stream(spark, query)):
        check_count("buckets", buckets)
        from ostinato.spark.sql.stream import rows_of_stream

        return given.run(
            partial(
                rows_of_stream,
                query=query.query,
                limits=limits or SqlLimits(),
                lateness=None if lateness is None else parse_delay(lateness),
                on_late=check_on_late(on_late or "count"),
                buckets=unit_buckets(buckets),
                metrics=check_column_name("metrics", metrics) or "ostinato",
            )
        )
    for option, value in on_stream.items():
        if value is not None:
            raise only_for_streams(option)
    return given.run(partial(rows_of_clause, limits=limits or SqlLimits()))


def reads_stream(spark: SparkSession, query: SqlQuery) -> bool:
    """Whether a table of the session that the query names is a stream; one that is not there is none."""
    from pyspark.errors import AnalysisException

    for name in query.tables:
        try:
            if spark.table(name).isStreaming:
                return True
        except AnalysisException:
            continue
    return False
