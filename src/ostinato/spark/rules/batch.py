"""Rules over a batch DataFrame, all in one plan.

Rules with a key (rules/algebra/partition.py) are run in tasks, each over the events of its keys, in DuckDB as
everywhere; the others are Spark SQL, which joins over all of the cluster. Either way the SQL of joins, groups and
negation is written in rules/relational/operators.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.rules.algebra.partition import RuleUnit
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.ingest import LABEL
from ostinato.spark.columns import arrow_schema, column, spark_type
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.rules.columns import label_column, to_answer
from ostinato.spark.rules.placement import key_hash, plan_units, unit_program
from ostinato.spark.rules.prefilter import required_columns, required_rows
from ostinato.spark.rules.spark_query import run_in_sql
from ostinato.spark.rules.task import UNIT, LimitTask, UnitTask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ostinato.rules.program import RuleProgram

_HASH = "#hash"


def detect_batch(
    program: RuleProgram,
    bound: BoundProgram,
    frame: DataFrame,
    schema: pa.Schema,
    columns: dict[str, Any],
    tables: Mapping[str, DataFrame],
) -> DataFrame:
    """All derived events, in no order. `columns` is what the user said about them; `tables` are rows that hold from
    before all events, by their label."""
    units = plan_units(program, bound, streams=False)
    keyed = [unit for unit in units if unit.keys]
    parts = [_in_tasks(program, bound, keyed, frame, schema, columns)] if keyed else []
    for unit in units:
        if not unit.keys:
            own = bound
            if keyed:
                text = unit_program(program, unit, columns, schema)
                read = {label: arrow_schema(rows.schema) for label, rows in tables.items()}
                own = text.bind(read)
            parts.append(_limited(to_answer(run_in_sql(own, frame, tables), bound), own, bound))
    return reduce(lambda one, other: one.unionAll(other), parts)


def _limited(derived: DataFrame, rules: BoundProgram, bound: BoundProgram) -> DataFrame:
    """What output limits let through: the events of a limited label are all in one task, the others where they are."""
    from pyspark.sql import functions as f

    limits = rules.sql.plan.outputs.limits
    if not limits:
        return derived
    limited = column("type").isin(list(limits))
    spread = derived.repartition(f.when(limited, f.xxhash64(column("type"))).otherwise(f.spark_partition_id()))
    task = LimitTask(limits, bound.columns.times, bound.answer_schema)
    return map_in_arrow(spread, task, spark_type(bound.answer_schema))


def _in_tasks(
    program: RuleProgram,
    bound: BoundProgram,
    units: list[RuleUnit],
    frame: DataFrame,
    schema: pa.Schema,
    columns: dict[str, Any],
) -> DataFrame:
    """The frame is read once: a row goes to each unit that reads it, to the task of its key."""
    from pyspark.sql import functions as f

    rules = [unit_program(program, unit, columns, schema) for unit in units]
    fits = [each.bind() for each in rules]
    read = [set(schema.names) if (names := required_columns(each)) is None else names for each in fits]
    labelled = frame.withColumn(LABEL, label_column(frame, bound.columns))
    hashes = [key_hash(each, unit, partial(required_rows, each)) for each, unit in zip(fits, units, strict=True)]
    if len(units) == 1:
        placed = labelled.withColumns({UNIT: f.lit(0), _HASH: hashes[0]})
    else:
        places = [f.struct(f.lit(place).alias(UNIT), each.alias(_HASH)) for place, each in enumerate(hashes)]
        placed = labelled.select("*", f.inline(f.array(*places)))
    placed = placed.filter(column(_HASH).isNotNull())
    shown = []
    for name in schema.names:
        readers = [place for place, names in enumerate(read) if name in names]
        if len(readers) == len(units):
            shown.append(column(name))
        elif readers:  # empty for the others
            shown.append(f.when(column(UNIT).isin(readers), column(name)).alias(name))
    own = [replace(each, schema=_only(schema, names)) for each, names in zip(rules, read, strict=True)]
    spread = placed.select(*shown, column(UNIT), column(_HASH)).repartition(column(UNIT), column(_HASH)).drop(_HASH)
    return map_in_arrow(spread, UnitTask(tuple(own), bound.answer_schema), spark_type(bound.answer_schema))


def _only(schema: pa.Schema, names: Collection[str]) -> pa.Schema:
    return pa.schema([field for field in schema if field.name in names])
