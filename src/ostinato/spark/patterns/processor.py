"""The stateful step of a streaming job: one engine per query and bucket of keys, kept in Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StructField, StructType

from ostinato.core.options import OnLate
from ostinato.core.reorder import ReorderBuffer
from ostinato.patterns.many import fit_to_schema
from ostinato.patterns.runtime.engine import Statistics
from ostinato.spark.checkpoint import STREAM, agreed
from ostinato.spark.packing import ROWS, pack, unpack
from ostinato.spark.patterns.checkpoint import Held, begun
from ostinato.spark.patterns.task import Reading

if TYPE_CHECKING:
    import pandas as pd

LATE = "late"  # the column of rows that came too late, where they are collected
# Beside the packed matches: whose they are, and how the engine's counts changed.
COUNTS = ("events", "matches", "late", "keys", "live", "bytes")
GIVEN = "query string, rows binary, " + ", ".join(f"{name} long" for name in COUNTS)
_STATE = StructType([StructField("held", BinaryType())])
_RISING = ("events", "matches", "late")  # told as what this step adds; the others as they are now


@dataclass(frozen=True)
class Streaming:
    """What the stateful step knows: the queries of each split, the columns that come in, the columns that go out."""

    splits: dict[str, tuple[Reading, ...]]
    schema: pa.Schema
    output: pa.Schema
    buckets: int
    # How far, in milliseconds, Spark's watermark lies behind the latest row at most; None: nobody knows.
    delay: int | None = None
    on_late: OnLate = "count"


class Detector(StatefulProcessor):
    """Rows wait in the engine as long as earlier ones may come; then they are read in order of time."""

    def __init__(self, streaming: Streaming) -> None:
        self.streaming = streaming

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("engines", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        if key[0] == STREAM:
            self._agree()
            return
        batches = [unpack(data, self.streaming.schema) for frame in rows for data in frame[ROWS]]
        yield from self._step(key, pa.Table.from_batches(batches, self.streaming.schema), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        # Spark takes away a timer that went off.
        yield from self._step(key, self.streaming.schema.empty_table(), timerValues, timer_is_set=False)

    def _agree(self) -> None:
        """Whether this stream may go on from its checkpoint."""
        streaming, state = self.streaming, self.state.get()
        now = begun(streaming.buckets, streaming.splits, late=streaming.on_late == "collect")
        self.state.update((agreed(bytes(state[0]) if state is not None else None, now),))

    def close(self) -> None:
        """All that lasts is in the state store."""

    def _step(
        self, key: Any, rows: pa.Table, timer_values: Any, *, timer_is_set: bool = True
    ) -> Iterator[pd.DataFrame]:
        import pandas as pd

        watermark = timer_values.getCurrentWatermarkInMs()
        held = Held.load(self.state.get(), self.streaming.buckets)
        due: list[int] = []
        given: list[dict[str, Any]] = []
        snapshots = {}
        for reading in self.streaming.splits.get(key[0], ()):
            engine = held.engine(reading, self.streaming.on_late)
            before = engine.stats()
            found = [engine.push(reading.read(rows.slice(0, 0)))]
            if watermark:  # 0 is before the first one
                # What comes now is late if it lies before what Spark saw in earlier steps, in whatever bucket.
                found.append(engine.advance(to=pa.scalar(watermark, pa.timestamp("ms"))))
            late = self._late(reading, rows, engine.reorder)
            found.append(engine.push(reading.read(rows)))
            if (ahead := self._ahead(reading, rows)) is not None:
                found.append(engine.advance(to=ahead))
            matches = pa.concat_tables([reading.given(pa.concat_tables(found), self.streaming.output), *late])
            snapshot = snapshots[reading.name] = engine.snapshot()
            given.append(_counted(reading, matches, before, replace(engine.stats(), bytes=len(snapshot))))
            if (time := engine.due()) is not None:
                due.append(1 + int(pa.scalar(time).cast(pa.timestamp("ms"), safe=False).value))
        timer = max(min(due), watermark + 1) if due else None
        before_timer = held.timer if timer_is_set else None
        if timer != before_timer:
            if before_timer is not None:
                self.handle.deleteTimer(before_timer)
            if timer is not None:
                self.handle.registerTimer(timer)
        self.state.update((Held(snapshots, self.streaming.buckets, timer).dump(),))
        yield pd.DataFrame(given)

    def _ahead(self, reading: Reading, rows: pa.Table) -> pa.Scalar | None:
        """What the watermark of the next step will have reached at least, to go by the rows of this one: all rows of
        the bucket are here, so those before that need not wait for it."""
        if self.streaming.delay is None or not len(rows):
            return None
        latest = pc.max(rows[reading.binding["time"]]).cast(pa.timestamp("us")).value // 1000
        return pa.scalar(latest - self.streaming.delay, pa.timestamp("ms"))

    def _late(self, reading: Reading, rows: pa.Table, reorder: ReorderBuffer) -> list[pa.Table]:
        """Where they are asked for, rows that come too late, each as a row of the output with nothing but itself."""
        if self.streaming.on_late != "collect" or reorder.clock is None:
            return []
        late = rows.filter(pa.array(reorder.clock.ticks(rows[reorder.clock.column]) < reorder.watermark))
        return [fit_to_schema(reading.name, pa.table({LATE: late.to_struct_array()}), self.streaming.output)]


def _counted(reading: Reading, matches: pa.Table, before: Statistics, after: Statistics) -> dict[str, Any]:
    counts = {name: getattr(after, name) - (getattr(before, name) if name in _RISING else 0) for name in COUNTS}
    return {"query": reading.name, ROWS: pack(matches) if len(matches) else None} | counts
