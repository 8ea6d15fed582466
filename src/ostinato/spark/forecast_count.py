"""The first pass of learning: each task counts what follows what in its keys, and Spark adds it up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ostinato.forecast.learnt import Learner, Learnt
from ostinato.forecast.pattern import Pattern
from ostinato.forecast.reader import Read, Reader
from ostinato.forecast.settings import Settings
from ostinato.spark.columns import spark_type
from ostinato.spark.forecast_columns import Rows, sorting
from ostinato.spark.forecast_grams import COUNTED, KEYS, SUMS, learnt_of, rows_of
from ostinato.spark.frames import map_in_arrow
from ostinato.spark.sorting import Sorter
from ostinato.spark.task import BUDGET

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OUTPUT = 100_000  # rows handed to Spark at once
_UNKNOWN = np.zeros(0, np.bool_)  # what completes is found in the second pass, with the symbols of all tasks


@dataclass(frozen=True)
class CountTask:
    """Events up to `cut`, in seconds, are the earlier ones."""

    pattern: Pattern
    settings: Settings
    order: int
    cut: float
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader(self.pattern, self.settings.binding)
        learner = Learner(reader.symbols, self.order)
        learnt: dict[bool, Learnt] = {}
        for table in sorted_tables(batches, self.settings, self.budget):
            read = reader.read(table)
            learner.symbols = reader.symbols
            for later, part in enumerate(divided(read, [self.cut])):
                more = learner.learn(part, _UNKNOWN)
                learnt[bool(later)] = learnt[bool(later)].merge(more) if later in learnt else more
        for later, found in learnt.items():
            yield from rows_of(found, later=later).to_batches(max_chunksize=_OUTPUT)


def sorted_tables(batches: Iterable[pa.RecordBatch], settings: Settings, budget: int) -> Iterator[pa.Table]:
    """The rows of a task as tables each of which lies before the next in time."""
    sorter = Sorter(sorting(settings), budget)
    for batch in batches:
        sorter.add(batch)
    yield from sorter.tables()


def divided(read: Read, cuts: list[float]) -> Iterator[Read]:
    """Events up to the first cut, then up to the next, and so on to those after the last."""
    assert read.seconds is not None
    ends = np.searchsorted(read.seconds, cuts, side="right").tolist()
    for begin, end in zip([0, *ends], [*ends, len(read.symbols)], strict=True):
        yield read.part(begin, end)


def counted(rows: Rows, order: int, cut: float) -> tuple[Learnt, Learnt]:
    """What the earlier and the later events teach."""
    from pyspark.sql import functions as f

    task = CountTask(rows.pattern, rows.settings, order, cut)
    found: DataFrame = map_in_arrow(rows.by_key(), task, spark_type(COUNTED))
    sums = found.groupBy(*KEYS).agg(*(f.sum(name).alias(name) for name in SUMS))
    return learnt_of(sums.toArrow(), rows.pattern, order)
