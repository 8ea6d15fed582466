"""Rows as bytes between the steps of a streaming job: Spark moves a few long rows instead of many short ones, and the
stateful step, which speaks pandas, sees only bytes, so that no type is lost on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.spark.buckets import Buckets
from ostinato.spark.worker_memory import end_task

SPLIT, BUCKET, ROWS = "split", "bucket", "rows"
PACKED = "split string, bucket int, rows binary"
LATE = "late"  # the column of rows that came too late, where a stream collects them
_PACKED = pa.schema({SPLIT: pa.string(), BUCKET: pa.int32(), ROWS: pa.binary()})


def hash_column(place: int) -> str:
    """The column with the hash of a row's key, for the group of queries at this place; NULL: they do not want it."""
    return f"#hash{place}"


@dataclass(frozen=True)
class Pack:
    """Rows of one bucket of one group of queries become one row of bytes. `splits` name the groups.

    Before them comes a row of no bytes for `also`, a split that must be woken in every micro-batch.
    """

    splits: tuple[str, ...]
    schema: pa.Schema
    buckets: Buckets
    also: str

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pylist([{SPLIT: self.also, BUCKET: 0, ROWS: b""}], _PACKED)
        for batch in batches:
            rows = pa.Table.from_batches([batch]).select(self.schema.names).cast(self.schema)
            packed = [part for place in range(len(self.splits)) for part in self._group(place, rows, batch)]
            if packed:
                columns = zip(*packed, strict=True)
                yield pa.RecordBatch.from_arrays([pa.array(list(column)) for column in columns], schema=_PACKED)

    def _group(self, place: int, rows: pa.Table, batch: pa.RecordBatch) -> Iterator[tuple[str, Any, bytes]]:
        hashes = batch.column(hash_column(place))
        wanted = pc.indices_nonzero(hashes.is_valid())
        numbers = self.buckets.of(hashes.take(wanted).to_numpy())
        # numpy sorts numbers of one or two bytes many times faster.
        order = np.argsort(numbers.astype(np.min_scalar_type(numbers.max(initial=0))), kind="stable")
        ordered = rows.take(wanted.take(pa.array(order)))
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        for start, end in pairwise([*starts.tolist(), len(order)]):
            yield self.splits[place], numbers[order[start]], pack(ordered.slice(start, end - start))


@dataclass(frozen=True)
class Unpack:
    """The rows that were packed, again."""

    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column(ROWS):
                if data.is_valid:
                    yield unpack(data.as_buffer(), self.schema)
        end_task()


def pack(table: pa.Table) -> bytes:
    """One record batch, without its schema, which the other side knows."""
    batches = table.combine_chunks().to_batches()
    data: bytes = (batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)).serialize().to_pybytes()
    return data


def unpack(data: pa.Buffer | bytes, schema: pa.Schema) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(pa.py_buffer(data), schema)
