"""From queries and a DataFrame to what the workers need: checked before any job starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.events import StreamColumns
from ostinato.patterns.joint_answers import joint_schema
from ostinato.spark.columns import arrow_schema, column, spark_type, tie_breakers
from ostinato.spark.frames import check_names
from ostinato.spark.patterns.columns import check_query
from ostinato.spark.patterns.prefilter import prefilter
from ostinato.spark.patterns.shipped_query import ShippedQuery
from ostinato.spark.shipping import NeededKernels

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from ostinato.patterns.query import PatternQuery


@dataclass(frozen=True)
class DetectionPlan:
    """A DataFrame cut down to the columns that the queries read, and the queries that run over it.

    `groups` has the queries by the attributes that partition the stream for them: () where nothing does. `order_by` are
    the columns that put rows of one time in order for all queries, `columns` the options that name some. With `named`,
    there may be several queries, and a column says which one a match belongs to.
    """

    frame: DataFrame
    binding: StreamColumns
    groups: Mapping[tuple[str, ...], tuple[ShippedQuery, ...]]
    output: pa.Schema
    kernels: NeededKernels
    order_by: tuple[str, ...]
    columns: Mapping[str, Any]
    named: bool

    @property
    def queries(self) -> tuple[ShippedQuery, ...]:
        return tuple(query for group in self.groups.values() for query in group)

    @property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        return arrow_schema(self.frame.schema)

    def relevant_rows(self, queries: Iterable[ShippedQuery]) -> Column | None:
        """A test for the rows that can matter to one of these, as far as Spark can tell; None: all rows may."""
        return prefilter((query.compiled for query in queries), self.binding, self.frame.schema)

    @property
    def carries_time(self) -> bool:
        """Whether matches come in order of a time that they have, as far as Spark's watermark says. They do not where a
        strategy chooses among matches that wait: one may come when another has been cancelled, at any time."""
        compiled = [query.compiled for query in self.queries]
        chooses = any(each.trailing and each.strategy in ("NXT", "LAST", "MAX") for each in compiled)
        return not chooses and all(query.identity is not None for query in self.queries)

    @property
    def output_type(self) -> StructType:
        return spark_type(self.output)


def plan_detection(
    queries: Mapping[str, PatternQuery], frame: DataFrame, *, named: bool = False, **options: Any
) -> DetectionPlan:
    """Check the queries against the frame's columns. `named`: a column says which query a match belongs to.

    `options` are those of `columns.check_query`.
    """
    check_names(frame)
    checked = [
        check_query(name, query.text, frame.schema, language=query.language, **options)
        for name, query in queries.items()
    ]
    groups: dict[tuple[str, ...], tuple[ShippedQuery, ...]] = {}
    for each in checked:
        groups[each.partition_by] = (*groups.get(each.partition_by, ()), each.query)
    read = {name for each in checked for name in each.query.columns}
    answers = {each.query.name: each.query.answer for each in checked}
    output = joint_schema(answers) if named else next(iter(answers.values()))
    kept = frame.select(*(column(name) for name in frame.columns if name in read))
    shared = ("patterns.live", "patterns.kernels.live") if frame.isStreaming or len(checked) > 1 else ()
    kernels = NeededKernels(("core", *shared), tuple(kernel for each in checked for kernel in each.kernels))
    columns = {option: options.get(option) for option in ("time", "type")} | {"order_by": list(options["order_by"])}
    binding = checked[0].binding
    reads, schema = [each.reads for each in checked], arrow_schema(kept.schema)
    order_by = tie_breakers(reads, schema, options["order_by"], binding.time or "")
    return DetectionPlan(kept, binding, groups, output, kernels, order_by, columns, named)
