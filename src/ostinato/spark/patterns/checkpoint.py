"""What a stream keeps in Spark's state store: for each bucket of keys, a snapshot of each query's engine; and a header
that says what the checkpoint was started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ostinato.core.options import OnLate
from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError, Message, Option
from ostinato.patterns.runtime.engine import Engine
from ostinato.spark.checkpoint_header import changed_columns
from ostinato.spark.patterns.task import ShippedQuery


def checkpoint_header(buckets: int, splits: Mapping[str, tuple[ShippedQuery, ...]], *, late: bool) -> dict[str, Any]:
    """The header as plain data. `late`: whether rows that come too late are given in a column of their own."""
    queries = {
        query.name: {"text": query.text, "language": query.language, "answer": str(query.answer)}
        for group in splits.values()
        for query in group
    }
    return {"buckets": buckets, "late": late, "queries": queries}


@dataclass(frozen=True)
class BucketState:
    """The engines of one bucket. Keys are hashed into `buckets` parts; `timer` is the one that is set, in ms."""

    snapshots: Mapping[str, bytes]
    buckets: int
    timer: int | None = None

    @staticmethod
    def load(state: bytes | None, buckets: int) -> BucketState:
        """The state that was saved, which is empty at first. A checkpoint cannot change its number of buckets."""
        if state is None:
            return BucketState({}, buckets)
        stored = Snapshot.from_bytes(state)
        snapshots = {name: array.tobytes() for name, array in stored.arrays.items()}
        loaded = BucketState(snapshots, stored.meta["buckets"], stored.meta["timer"])
        if loaded.buckets != buckets:
            raise DataError(
                Message("the checkpoint was begun with ", Option("buckets", loaded.buckets), f", now it is {buckets}"),
                fix=Message(
                    "go on with ", Option("buckets", loaded.buckets), ", or start with a new checkpointLocation"
                ),
                option="buckets",
            )
        return loaded

    def dump(self) -> bytes:
        arrays = {name: np.frombuffer(snapshot, np.uint8) for name, snapshot in self.snapshots.items()}
        return Snapshot({"buckets": self.buckets, "timer": self.timer}, arrays, {}).to_bytes()

    def engine(self, query: ShippedQuery, on_late: OnLate) -> Engine:
        """The engine of a query as it was; a new one for a query that was not there before."""
        mode: OnLate = "raise" if on_late == "raise" else "count"
        if query.name not in self.snapshots:
            return query.engine(lateness=None, on_late=mode)
        engine = Engine.restore(self.snapshots[query.name])
        if (engine.compiled.query.text, engine.compiled.query.language) != (query.text, query.language):
            raise DataError(
                f"the checkpoint holds the state of another query {query.name!r}: {engine.compiled.query.text}",
                fix="start the changed query with a new checkpointLocation, or under another name",
            )
        if engine.options.events != query.events:
            raise changed_columns(query.name, str(engine.push(engine.stream.schema.empty_table()).schema))
        engine.options = replace(engine.options, on_late=mode)
        return engine
