"""From queries and a DataFrame to what the workers need: checked before any job starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.events import StreamColumns
from ostinato.patterns.many import joint_schema
from ostinato.spark.columns import arrow_schema, column, spark_type
from ostinato.spark.frames import check_names
from ostinato.spark.patterns.columns import check
from ostinato.spark.patterns.prefilter import prefilter
from ostinato.spark.patterns.task import Reading

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from ostinato.patterns.query import PatternQuery


@dataclass(frozen=True)
class Source:
    """A DataFrame cut down to the columns that the queries read.

    `readings` are grouped by the attributes that split the stream for them: () where nothing does.
    """

    frame: DataFrame
    binding: StreamColumns
    groups: Mapping[tuple[str, ...], tuple[Reading, ...]]
    output: pa.Schema

    @property
    def readings(self) -> tuple[Reading, ...]:
        return tuple(reading for group in self.groups.values() for reading in group)

    @property
    def schema(self) -> pa.Schema:
        """The columns that are read."""
        return arrow_schema(self.frame.schema)

    def relevant_to(self, readings: Iterable[Reading]) -> Column | None:
        """The rows that can matter to one of these, as far as Spark can tell; None: all may."""
        return prefilter((reading.compiled for reading in readings), self.binding, self.frame.schema)

    @property
    def output_type(self) -> StructType:
        return spark_type(self.output)


def source(queries: Mapping[str, PatternQuery], frame: DataFrame, *, named: bool = False, **options: Any) -> Source:
    """Check the queries against the frame's columns. `named`: a column says which query a match belongs to.

    `options` are those of `columns.check`.
    """
    check_names(frame)
    checked = [
        check(name, query.text, frame.schema, language=query.language, **options) for name, query in queries.items()
    ]
    groups: dict[tuple[str, ...], tuple[Reading, ...]] = {}
    for each in checked:
        groups[each.split] = (*groups.get(each.split, ()), each.reading)
    read = {name for each in checked for name in each.reading.columns}
    answers = {each.reading.name: each.reading.answer for each in checked}
    output = joint_schema(answers) if named else next(iter(answers.values()))
    kept = frame.select(*(column(name) for name in frame.columns if name in read))
    return Source(kept, checked[0].binding, groups, output)
