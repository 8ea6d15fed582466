"""What a stream keeps in Spark's state store: for each bucket of keys a snapshot of the engine of each query, and what
the checkpoint was begun with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ostinato.core.options import OnLate
from ostinato.core.snapshot import Snapshot
from ostinato.errors import DataError
from ostinato.patterns.runtime.engine import Engine
from ostinato.spark.patterns.task import Reading


def begun(buckets: int, readings: Mapping[str, tuple[Reading, ...]], *, late: bool) -> dict[str, Any]:
    """As plain data. `late`: whether rows that come too late are given in a column of their own."""
    queries = {
        reading.name: {"text": reading.text, "language": reading.language, "answer": str(reading.answer)}
        for group in readings.values()
        for reading in group
    }
    return {"buckets": buckets, "late": late, "queries": queries}


@dataclass(frozen=True)
class Held:
    """`buckets` is into how many parts the keys were hashed; `timer` is the one that is set, in milliseconds."""

    snapshots: Mapping[str, bytes]
    buckets: int
    timer: int | None = None

    @staticmethod
    def load(state: tuple[bytes] | None, buckets: int) -> Held:
        """What was held; nothing at first. A checkpoint goes on only with as many buckets as it was begun with."""
        if state is None:
            return Held({}, buckets)
        stored = Snapshot.from_bytes(bytes(state[0]))
        snapshots = {name: array.tobytes() for name, array in stored.arrays.items()}
        held = Held(snapshots, stored.meta["buckets"], stored.meta["timer"])
        if held.buckets != buckets:
            raise DataError(
                f"the checkpoint was begun with buckets={held.buckets}, now it is {buckets}",
                fix=f"go on with buckets={held.buckets}, or start with a new checkpointLocation",
            )
        return held

    def dump(self) -> bytes:
        arrays = {name: np.frombuffer(snapshot, np.uint8) for name, snapshot in self.snapshots.items()}
        return Snapshot({"buckets": self.buckets, "timer": self.timer}, arrays, {}).to_bytes()

    def engine(self, reading: Reading, on_late: OnLate) -> Engine:
        """The engine of a query as it was; a new one for a query that was not there before."""
        told: OnLate = "raise" if on_late == "raise" else "count"
        if reading.name not in self.snapshots:
            return reading.engine(lateness=None, on_late=told)
        engine = Engine.restore(self.snapshots[reading.name])
        if (engine.compiled.query.text, engine.compiled.query.language) != (reading.text, reading.language):
            raise DataError(
                f"the checkpoint holds the state of another query {reading.name!r}: {engine.compiled.query.text}",
                fix="start the changed query with a new checkpointLocation, or under another name",
            )
        engine.options = replace(engine.options, on_late=told)
        return engine
