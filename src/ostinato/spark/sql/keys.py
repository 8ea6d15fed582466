"""Keys of a clause as columns of its rows, which Spark can shuffle by and keep time by: those that compute something
are computed in tasks, by DuckDB as in the clause itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.spark.columns import arrow_schema, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.sql.plan import BoundInput
from ostinato.spark.sql.task import ComputeTask
from ostinato.sql.runtime.input import column_of, key_text
from ostinato.sql.syntax import nodes as n

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

TIME = "#time"  # the first key of ORDER BY, where it is computed


def with_partition_keys(bound: BoundInput, frame: DataFrame) -> tuple[DataFrame, list[str]]:
    """The columns of PARTITION BY."""
    names, computed = partition_keys(bound)
    return _with_columns(bound, frame, computed), names


def partition_keys(bound: BoundInput) -> tuple[list[str], dict[str, str]]:
    """Their names, and what the computed ones are, as texts."""
    names, computed = [], {}
    for place, key in enumerate(bound.clause.match.partition_by):
        name = column_of(key, bound.schema.names, bound.clause.alias)
        if name is None:
            name = f"#key{place}"
            computed[name] = f"CAST(({key_text(key)}) AS VARCHAR)"
        names.append(name)
    return names, computed


def with_time(bound: BoundInput, frame: DataFrame, key: n.Key) -> tuple[DataFrame, str]:
    """The column of the first key of ORDER BY."""
    name = column_of(key, bound.schema.names, bound.clause.alias)
    return (frame, name) if name is not None else (_with_columns(bound, frame, {TIME: f"({key_text(key)})"}), TIME)


def _with_columns(bound: BoundInput, frame: DataFrame, columns: dict[str, str]) -> DataFrame:
    if not columns:
        return frame
    schema = arrow_schema(frame.schema)
    task = ComputeTask(bound.clause, schema, columns)
    return map_in_arrow(frame, task, spark_type(task.add(schema.empty_table()).schema))
