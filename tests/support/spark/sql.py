"""MATCH_RECOGNIZE through what Spark runs, without Spark: tasks over parts of a table, and the stateful step over
micro-batches, with stores of plain Python."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.spark.buckets import Buckets
from ostinato.spark.packing import ROWS, pack, unpack
from ostinato.spark.sql.keys import partition_keys
from ostinato.spark.sql.plan import BoundInput, bind_input, columns_read
from ostinato.spark.sql.processor import ClauseDetector, ClauseStreaming
from ostinato.spark.sql.task import ClauseTask, ComputeTask
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.connect import fetch
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n
from support.spark.state_store import Store


@dataclass(frozen=True)
class Tasks:
    """Evaluates a clause as Spark does: partitions come together in tasks, in batches of any size."""

    text: str
    seed: int = 0

    def __call__(self, match: n.MatchRecognize, source: Source) -> pa.Table:
        chance = random.Random(self.seed)
        table = fetch(source.connection, f"SELECT * FROM {source.text}")
        bound = bind_input(self.text, match, source.alias, source.joined, table.schema)
        parts: dict[Any, list[int]] = {}
        for place, key in enumerate(keys_of(bound, table)):
            parts.setdefault(key, []).append(place)
        tasks: list[list[int]] = [[] for _ in range(3)]
        for rows in parts.values():
            chance.choice(tasks).extend(rows)
        read = columns_read(bound)
        task = ClauseTask(bound.clause, read, bound.answer, SqlLimits())
        found = [bound.answer.schema.empty_table()]
        for rows in tasks:
            batches = (
                table.select(read.names)
                .take(pa.array(sorted(rows), pa.int64()))
                .to_batches(max_chunksize=chance.randint(1, 5))
            )
            found += [pa.Table.from_batches([batch]) for batch in task(batches)]
        return pa.concat_tables(found)


def keys_of(bound: BoundInput, table: pa.Table) -> list[Any]:
    """What Spark shuffles each row by."""
    names, computed = partition_keys(bound)
    with_keys = ComputeTask(bound.clause, table.schema, computed).add(table) if computed else table
    columns = [list(map(repr, with_keys[name].to_pylist())) for name in names]
    return list(zip(*columns, strict=True)) if names else [()] * len(table)


@dataclass
class Stream:
    """The stateful step of a query over one table; each step is that of a new process."""

    query: n.Query
    bound: BoundInput
    buckets: int = 2
    on_late: OnLate = "count"
    stores: dict[int, Store] = field(default_factory=dict)
    latest: int = 0
    found: list[pa.Table] = field(default_factory=list)
    counts: list[dict[str, int]] = field(default_factory=list)

    def read(self, rows: pa.Table) -> None:
        """A micro-batch: rows go to their buckets, timers go off, time goes on."""
        parts: dict[int, list[int]] = {}
        for place, key in enumerate(keys_of(self.bound, rows)):
            parts.setdefault(random.Random(repr(key)).randrange(self.buckets), []).append(place)
        for bucket, places in parts.items():
            self._step(bucket, rows.take(pa.array(places)))
        for bucket, store in self.stores.items():
            for timer in [timer for timer in store.timers if timer <= store.watermark]:
                store.timers.discard(timer)
                self._step(bucket, None)
        times = rows[self._time].cast(pa.int64()).to_pylist()
        self.latest = max([self.latest, *(time // 1000 for time in times)])
        for store in self.stores.values():
            store.watermark = self.latest

    def _step(self, bucket: int, rows: pa.Table | None) -> None:
        store = self.stores.setdefault(bucket, Store(watermark=self.latest))
        detector = ClauseDetector(self._streaming)
        detector.init(store)  # type: ignore[arg-type]
        if rows is None:
            given = detector.handleExpiredTimer(("0", bucket), store, None)
        else:
            frames = iter([pd.DataFrame({ROWS: [pack(rows.select(self.bound.schema.names))]})])
            given = detector.handleInputRows(("0", bucket), frames, store)
        for frame in given:
            self.counts += frame.drop(columns=ROWS).to_dict("records")
            self.found += [
                pa.Table.from_batches([unpack(data, self._streaming.output)]) for data in frame[ROWS] if data
            ]

    @property
    def _time(self) -> str:
        return self.bound.clause.match.order_by[0].value.parts[0].strip()  # type: ignore[union-attr]

    @property
    def _streaming(self) -> ClauseStreaming:
        return ClauseStreaming(
            self.query.text,
            SqlLimits(),
            self.on_late,
            self.bound.schema,
            self.bound,
            Buckets(self.buckets),
            self._time,
            0,
        )
