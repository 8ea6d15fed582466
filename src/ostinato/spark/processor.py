"""The stateful step of a streaming job: one engine per query and bucket of keys, kept in Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructField, StructType

from ostinato.errors import DataError
from ostinato.runtime.engine import Engine, Statistics
from ostinato.spark.packing import ROWS, pack, unpack
from ostinato.spark.task import Reading

if TYPE_CHECKING:
    import pandas as pd

# Beside the packed matches: whose they are, and how the engine's counts changed.
COUNTS = ("events", "matches", "late", "keys", "live", "bytes")
GIVEN = "query string, rows binary, " + ", ".join(f"{name} long" for name in COUNTS)
_QUERY = StructType([StructField("query", StringType())])
_STATE = StructType([StructField("snapshot", BinaryType()), StructField("buckets", IntegerType())])
_RISING = ("events", "matches", "late")  # told as what this step adds; the others as they are now


@dataclass(frozen=True)
class Streaming:
    """What the stateful step knows: the queries of each split, the columns that come in, the columns that go out."""

    splits: dict[str, tuple[Reading, ...]]
    schema: pa.Schema
    output: pa.Schema
    buckets: int


class Detector(StatefulProcessor):
    """Rows wait in the engine until the watermark has passed them; then they are read in order of time."""

    def __init__(self, streaming: Streaming) -> None:
        self.streaming = streaming

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.states = handle.getMapState("engines", _QUERY, _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        batches = [unpack(data, self.streaming.schema) for frame in rows for data in frame[ROWS]]
        yield from self._step(key, pa.Table.from_batches(batches, self.streaming.schema), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        yield from self._step(key, self.streaming.schema.empty_table(), timerValues)

    def close(self) -> None:
        """All that lasts is in the state store."""

    def _step(self, key: Any, rows: pa.Table, timer_values: Any) -> Iterator[pd.DataFrame]:
        import pandas as pd

        watermark = timer_values.getCurrentWatermarkInMs()
        due: list[int] = []
        given: list[dict[str, Any]] = []
        for reading in self.streaming.splits.get(key[0], ()):
            engine = self._engine(reading)
            before = engine.stats()
            found = [engine.push(rows), engine.advance(to=pa.scalar(watermark, pa.timestamp("ms")))]
            snapshot = engine.snapshot()
            self.states.updateValue((reading.name,), (snapshot, self.streaming.buckets))
            matches = reading.given(pa.concat_tables(found), self.streaming.output)
            given.append(_counted(reading, matches, before, replace(engine.stats(), bytes=len(snapshot))))
            if (time := engine.due()) is not None:
                due.append(1 + int(pa.scalar(time).cast(pa.timestamp("ms"), safe=False).value))
        for timer in self.handle.listTimers():
            self.handle.deleteTimer(timer)
        if due:
            self.handle.registerTimer(max(min(due), watermark + 1))
        yield pd.DataFrame(given)

    def _engine(self, reading: Reading) -> Engine:
        if not self.states.containsKey((reading.name,)):
            engine = reading.engine(lateness=None)
            engine.push(self.streaming.schema.empty_table())
            return engine
        state = self.states.getValue((reading.name,))
        assert state is not None
        snapshot, buckets = state
        engine = Engine.restore(bytes(snapshot))
        _check_same(reading, engine, buckets, self.streaming.buckets)
        return engine


def _check_same(reading: Reading, engine: Engine, buckets: int, wanted: int) -> None:
    """A checkpoint goes on only with what it was begun with."""
    if engine.compiled.query.text != reading.text:
        raise DataError(
            f"the checkpoint holds the state of another query {reading.name!r}: {engine.compiled.query.text}",
            fix="start the changed query with a new checkpointLocation, or under another name",
        )
    if buckets != wanted:
        raise DataError(
            f"the checkpoint was begun with buckets={buckets}, now it is {wanted}",
            fix=f"go on with buckets={buckets}, or start with a new checkpointLocation",
        )


def _counted(reading: Reading, matches: pa.Table, before: Statistics, after: Statistics) -> dict[str, Any]:
    counts = {
        name: getattr(after, name) - (getattr(before, name) if name in _RISING else 0) for name in COUNTS
    }
    return {"query": reading.name, ROWS: pack(matches) if len(matches) else None} | counts
