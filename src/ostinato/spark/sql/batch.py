"""The rows of a clause over a batch DataFrame: its partitions go to tasks, which sort and match them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.spark.columns import column, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.sql.keys import with_partition_keys
from ostinato.spark.sql.plan import BoundInput
from ostinato.spark.sql.task import ClauseTask
from ostinato.sql.limits import SqlLimits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_of_clause(bound: BoundInput, frame: DataFrame, limits: SqlLimits) -> DataFrame:
    """Rows of a partition go to one task; without PARTITION BY all rows do."""
    given, keys = with_partition_keys(bound, frame)
    apart = given.repartition(*map(column, keys)) if keys else given.repartition(1)
    task = ClauseTask(bound.clause, bound.schema, bound.answer, limits)
    return map_in_arrow(apart.select(*map(column, frame.columns)), task, spark_type(bound.answer.schema))
