"""Rows of a task in time order, in bounded memory: sorted at once where they fit, else in runs that are merged."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.clock import Clock
from ostinato.core.events import StreamColumns, time_order

# Rows that a task holds to sort them, in bytes of Arrow data. Reading them takes about twice as much again.
BUDGET = 128 << 20
_BATCH = 1 << 16  # rows of a run that are read at once


class Sorter:
    """Takes rows in any order and returns them as tables, each before the next in time.

    About `budget` bytes are held in memory, the rest in files. Inside a table the rows are in any order, so the reader
    must sort it. If all rows fit, there is one table.
    """

    def __init__(self, binding: StreamColumns, budget: int) -> None:
        self.binding, self.budget = binding, budget
        self._held: list[pa.RecordBatch] = []
        self._size = 0
        self._runs: list[_Run] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        if len(batch):
            self._held.append(batch)
            self._size += batch.nbytes
            if self._size > self.budget:
                self._spill()

    def tables(self) -> Iterator[pa.Table]:
        """All rows that were added."""
        if not self._runs:
            if self._held:
                yield pa.Table.from_batches(self._held)
            return
        if self._held:
            self._spill()
        try:
            yield from _merge_runs(self._runs, _rows_at_once(self._runs, self.budget))
        finally:
            self.close()

    def close(self) -> None:
        """Remove the files, if there are any."""
        self._runs = []
        if self._folder is not None:
            self._folder.cleanup()

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="ostinato-sort-")
        path = Path(self._folder.name) / str(len(self._runs))
        self._runs.append(_Run.write(pa.Table.from_batches(self._held), self.binding, path))
        self._held, self._size = [], 0


@dataclass
class _Run:
    """A file of sorted rows. `table` and `ticks` are those read and not yet given; `next` is the batch to read next."""

    file: pa.ipc.RecordBatchFileReader
    clock: Clock
    table: pa.Table
    ticks: Int64
    bytes_per_row: float
    next: int = 0

    @classmethod
    def write(cls, table: pa.Table, binding: StreamColumns, path: Path) -> _Run:
        assert binding.time is not None
        clock = Clock.of(table.schema, binding.time)
        order = time_order(table, binding)
        if order is not None:
            table = table.take(pa.array(order))
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks(), max_chunksize=_BATCH)
        file = pa.ipc.open_file(pa.memory_map(str(path)))
        return cls(file, clock, table.slice(0, 0), np.zeros(0, np.int64), table.nbytes / max(1, len(table)))

    @property
    def more(self) -> bool:
        return bool(self.next < self.file.num_record_batches)

    def read(self) -> None:
        """One more batch."""
        table = pa.Table.from_batches([self.file.get_batch(self.next)])
        self.next += 1
        self.table = pa.concat_tables([self.table, table])
        self.ticks = np.concatenate([self.ticks, self.clock.ticks(table[self.clock.column])])

    def take_before(self, tick: int | None) -> pa.Table:
        """The rows read so far that lie before a time (None: all)."""
        cut = len(self.ticks) if tick is None else int(np.searchsorted(self.ticks, tick))
        table, self.table, self.ticks = self.table.slice(0, cut), self.table.slice(cut), self.ticks[cut:]
        return table


def _rows_at_once(runs: list[_Run], budget: int) -> int:
    return max(_BATCH, int(budget / max(1.0, *(run.bytes_per_row for run in runs))))


def _merge_runs(runs: list[_Run], rows_at_once: int) -> Iterator[pa.Table]:
    """Rows before the last time that every unfinished run has been read up to: nothing earlier can follow them."""
    share = max(_BATCH, rows_at_once // len(runs))
    while any(run.more or len(run.ticks) for run in runs):
        for run in runs:
            while run.more and len(run.ticks) < share:
                run.read()
        # A run's last time may go on in its next batch, so only what is strictly before it is complete.
        bound = min((int(run.ticks[-1]) for run in runs if run.more), default=None)
        if bound is not None and not any(len(run.ticks) and run.ticks[0] < bound for run in runs):
            # All that was read is of one time: read on, it must be given together.
            for run in runs:
                if run.more and int(run.ticks[-1]) == bound:
                    run.read()
            continue
        table = pa.concat_tables([run.take_before(bound) for run in runs])
        if len(table):
            yield table
