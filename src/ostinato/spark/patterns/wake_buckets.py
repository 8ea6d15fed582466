"""Wakes every bucket once when a stream starts, so that each of them learns which queries there are now.

A bucket knows only its own state. If it slept through a run without a query, it could not tell that the query was
removed and has come again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from ostinato.spark.packing import BUCKET, ROWS, SPLIT, Pack

CALL = "#call"  # the split of rows of no bytes that wake buckets
_BATCH, _RUN = "streaming.sql.batchId", "spark.jobGroup.id"
_first_batches: dict[str, str] = {}  # of each run, the first micro-batch that this process has seen
_MOST_RUNS = 1 << 10


@dataclass(frozen=True)
class WakeBuckets:
    """Packs rows; before those of the first micro-batch of a run come rows that wake all buckets."""

    pack: Pack

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if _is_first_batch():
            count = self.pack.buckets.count()
            columns = {SPLIT: pa.array([CALL] * count), BUCKET: pa.array(range(count), pa.int32())}
            yield pa.RecordBatch.from_pydict(columns | {ROWS: pa.array([b""] * count, pa.binary())})
        yield from self.pack(batches)


def _is_first_batch() -> bool:
    """Whether this is the first of the tasks of a micro-batch, and for all that this process knows, of a run.

    A process that joins later calls once more than is needed. A task that runs again calls again, too.
    """
    from pyspark import TaskContext

    task = TaskContext.get()
    batch, run = (task.getLocalProperty(name) for name in (_BATCH, _RUN)) if task is not None else (None, None)
    if task is None or batch is None or run is None:
        return True  # no stream that is known of
    if len(_first_batches) > _MOST_RUNS:
        _first_batches.clear()
    return _first_batches.setdefault(run, batch) == batch and task.partitionId() == 0
