"""DataFrames as all languages use them: names of columns, functions over Arrow batches, sizes of a shuffle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.options import bad_option
from ostinato.errors import DataError, OstinatoError
from ostinato.spark.worker_memory import end_task

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

SHUFFLE_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class RenameColumns:
    """A function over batches, which get the names of their columns from here."""

    names: tuple[str, ...]
    function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from self.function(batch.rename_columns(list(self.names)) for batch in batches)
        end_task()


def map_in_arrow(
    frame: DataFrame, function: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], given: StructType | str
) -> DataFrame:
    """`frame.mapInArrow`, for columns of any name: Spark itself takes the name a.b for part b of a column a."""
    plain = frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))
    return plain.mapInArrow(RenameColumns(tuple(frame.columns), function), given)


def shuffle_partitions(frame: DataFrame) -> int:
    """As many tasks as Spark makes of a shuffle; read from the settings, so that Spark Connect can tell it too."""
    return max(1, int(frame.sparkSession.conf.get(SHUFFLE_PARTITIONS) or 1))


def only_for_streams(option: str) -> OstinatoError:
    return OstinatoError(
        f"{option} applies only to streaming DataFrames; this one is read whole", fix="leave it out", option=option
    )


def check_count(option: str, value: Any) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise bad_option(option, value, "a whole number from 1")


def check_names(frame: DataFrame) -> None:
    """No two columns may have the same name; by default, Spark ignores case."""
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
