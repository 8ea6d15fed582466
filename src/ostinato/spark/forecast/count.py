"""The first pass of learning: each task counts what follows what in its keys; what all counted is added up by tasks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.forecast.learn.statistics import Learner, Learnt
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.reader import Read, Reader
from ostinato.spark.forecast.columns import Rows, sorting
from ostinato.spark.forecast.grams import COUNTED, added, buckets_of, learnt_of, rows_of
from ostinato.spark.frames import map_in_arrow, shuffle_partitions
from ostinato.spark.packing import BUCKET, ROWS, pack, unpack
from ostinato.spark.patterns.task import BUDGET
from ostinato.spark.sorting import Sorter

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_OUTPUT = 100_000  # grams in a row of bytes
_PACKED = f"{BUCKET} int, {ROWS} binary"
_UNKNOWN = np.zeros(0, np.bool_)  # what completes is found in the second pass, with the symbols of all tasks


@dataclass(frozen=True)
class CountTask:
    """Events up to `cut`, in seconds, are the earlier ones. `symbols` are none yet, but have the grid to read by."""

    symbols: Symbols
    settings: Settings
    order: int
    cut: float
    buckets: int
    budget: int = BUDGET

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = Reader(self.symbols.pattern, self.settings.binding, self.symbols, learning=True)
        learner = Learner(reader.symbols, self.order)
        learnt: dict[bool, Learnt] = {}
        for table in sorted_tables(batches, self.settings, self.budget):
            read = reader.read(table)
            learner.symbols = reader.symbols
            for later, part in enumerate(divided(read, [self.cut])):
                more = learner.learn(part, _UNKNOWN)
                learnt[bool(later)] = learnt[bool(later)].merge(more) if later in learnt else more
        for later, found in learnt.items():
            yield from self._packed(rows_of(found, later=later), buckets_of(found, self.buckets))

    def _packed(self, rows: pa.Table, places: Int64) -> Iterator[pa.RecordBatch]:
        """The rows of each bucket as one row of bytes: Spark moves few long rows faster than many short ones."""
        order = np.argsort(places, kind="stable")
        rows = rows.take(pa.array(order))
        ends = np.searchsorted(places[order], np.arange(self.buckets + 1)).tolist()
        for bucket, (begin, end) in enumerate(pairwise(ends)):
            if begin < end:
                yield _row(bucket, rows.slice(begin, end - begin))


def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All rows of the buckets of a task, each gram once."""
    packed: dict[int, list[pa.Table]] = {}
    for batch in batches:
        for bucket, data in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            rows = pa.Table.from_batches([unpack(data.as_buffer(), COUNTED)])
            packed.setdefault(bucket, []).append(rows)
    for bucket in sorted(packed):
        sums = added(packed.pop(bucket))
        for begin in range(0, len(sums), _OUTPUT):
            yield _row(bucket, sums.slice(begin, _OUTPUT))


def _row(bucket: int, rows: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([bucket], pa.int32()), pa.array([pack(rows)])], [BUCKET, ROWS])


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


def counted(rows: Rows, symbols: Symbols, order: int, cut: float) -> tuple[Learnt, Learnt]:
    """What the earlier and the later events teach, read by the grid of `symbols`."""
    buckets = shuffle_partitions(rows.frame)
    task = CountTask(symbols, rows.settings, order, cut, buckets)
    found: DataFrame = map_in_arrow(rows.by_key(), task, _PACKED)
    sums = found.repartition(buckets, BUCKET).mapInArrow(add_up, _PACKED).select(ROWS).toArrow()
    tables = [pa.Table.from_batches([unpack(data.as_buffer(), COUNTED)]) for data in sums[ROWS]]
    return learnt_of(pa.concat_tables([COUNTED.empty_table(), *tables]), symbols, order)
