"""The rows of a clause over a batch DataFrame: its partitions go to tasks, which sort and match them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ostinato.spark.columns import column, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.sql.plan import BoundInput
from ostinato.spark.sql.task import ClauseTask, KeyTask
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.input import column_of, key_text

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rows_of_clause(bound: BoundInput, frame: DataFrame, limits: SqlLimits) -> DataFrame:
    """Rows of a partition go to one task; without PARTITION BY all rows do."""
    clause, schema = bound.clause, bound.schema
    places = [(key_text(key), column_of(key, schema.names, clause.alias)) for key in clause.match.partition_by]
    computed = [text for text, name in places if name is None]
    if computed:
        names = tuple(f"#key{place}" for place in range(len(computed)))
        keyed = spark_type(schema)
        for name in names:
            keyed = keyed.add(name, "string")
        frame = map_in_arrow(frame, KeyTask(clause, schema, tuple(computed), names), keyed)
        keys = [column(name) for name in (*(name for _, name in places if name is not None), *names)]
        frame = frame.repartition(*keys).drop(*names)
    elif places:
        frame = frame.repartition(*(column(name) for _, name in places if name is not None))
    else:
        frame = frame.repartition(1)
    task = ClauseTask(clause, schema, bound.answer, limits)
    return map_in_arrow(frame, task, spark_type(bound.answer.schema))
