"""From queries and a DataFrame to what the workers need: checked before any job starts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.errors import DataError
from ostinato.events import Binding
from ostinato.many import joint_schema
from ostinato.spark.columns import arrow_schema, check, spark_type
from ostinato.spark.prefilter import column, prefilter
from ostinato.spark.task import Reading

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

    from ostinato.query import PatternQuery


@dataclass(frozen=True)
class Source:
    """A DataFrame cut down to the columns that the queries read.

    `readings` are grouped by the attributes that split the stream for them: () where nothing does.
    """

    frame: DataFrame
    binding: Binding
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


@dataclass(frozen=True)
class Named:
    """A function over batches, which get the names of their columns from here."""

    names: tuple[str, ...]
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return self.function(batch.rename_columns(list(self.names)) for batch in batches)


def map_in_arrow(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], given: StructType | str
) -> DataFrame:
    """`frame.mapInArrow`, for columns of any name: Spark itself takes the name a.b for part b of a column a."""
    plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return plain.mapInArrow(Named(tuple(frame.columns), function), given)


def shuffle_partitions(frame: DataFrame) -> int:
    """As many tasks as Spark makes of a shuffle; read from the settings, so that Spark Connect can tell it too."""
    return max(1, int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 1))


def default_buckets(frame: DataFrame) -> int:
    """A few per task of the stateful step, so that tasks get about as many keys each."""
    return 4 * shuffle_partitions(frame)


def check_names(frame: DataFrame) -> None:
    """No two columns may go by one name; Spark takes no notice of case unless it is told to."""
    names = frame.columns
    if frame.sparkSession.conf.get("spark.sql.caseSensitive") != "true":
        names = [name.lower() for name in names]
    for place, name in enumerate(names):
        if name in names[:place]:
            twice = {frame.columns[names.index(name)], frame.columns[place]}
            raise DataError(
                f"two columns are named {' and '.join(f'`{name}`' for name in sorted(twice))}",
                fix="rename or drop one of them",
            )
