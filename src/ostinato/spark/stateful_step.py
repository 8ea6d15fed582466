"""The life of a stateful step: Spark's state store keeps what a bucket of keys needs, and timers wake buckets that get
no rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StructField, StructType

from ostinato.spark.checkpoint_header import HEADER
from ostinato.spark.packing import ROWS, unpack
from ostinato.spark.worker_memory import end_task

if TYPE_CHECKING:
    import pandas as pd

_STATE = StructType([StructField("held", BinaryType())])


@dataclass(frozen=True)
class Wake:
    """When and why a bucket is woken, and which. `watermark`: Spark's, in milliseconds; 0 is before the first one."""

    watermark: int
    by_timer: bool = False
    bucket: int = 0


class StatefulStep(StatefulProcessor):
    """Reads the packed rows of a bucket, and wakes it when its timer goes off.

    `delay` is how far, in milliseconds, Spark's watermark lies behind the latest row at most; None: nobody knows.
    """

    state_name: ClassVar[str]  # checkpoints know the state by it

    def __init__(self, schema: pa.Schema, delay: int | None) -> None:
        self.schema, self.delay = schema, delay

    @abstractmethod
    def check_header(self, before: bytes | None) -> bytes:
        """The header for the checkpoint. Raises DataError where this stream may not go on from it."""

    @abstractmethod
    def step(self, part: str, rows: pa.Table, wake: Wake) -> Iterator[pd.DataFrame]:
        """Read rows of a bucket of `part`, none if its timer went off; keep its state and set its timer."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState(self.state_name, _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        if key[0] == HEADER:
            self.keep(self.check_header(self.kept()))
            return
        batches = [unpack(data, self.schema) for frame in rows for data in frame[ROWS]]
        table = pa.Table.from_batches(batches, self.schema)
        yield from self.step(key[0], table, Wake(timerValues.getCurrentWatermarkInMs(), bucket=int(key[1])))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        wake = Wake(timerValues.getCurrentWatermarkInMs(), by_timer=True, bucket=int(key[1]))
        yield from self.step(key[0], self.schema.empty_table(), wake)

    def close(self) -> None:
        """All that lasts is in the state store."""
        end_task()

    # -- for the steps themselves

    def kept(self) -> bytes | None:
        """What the bucket kept in its last step."""
        state = self.state.get()
        return bytes(state[0]) if state is not None else None

    def keep(self, data: bytes) -> None:
        self.state.update((data,))

    def forget(self, before: bytes | None) -> None:
        """Keep nothing, where there was something."""
        if before is not None:
            self.state.clear()

    def set_timer(self, due: int | None, before: int | None, wake: Wake, margin: int = 1) -> int | None:
        """Wake the bucket once the watermark is more than `margin` milliseconds after `due`. `before` is the timer of
        its last step; returns the new one."""
        if wake.by_timer:
            before = None  # Spark takes away a timer that went off
        timer = None if due is None else max(due, wake.watermark) + margin
        if timer != before:
            if before is not None:
                self.handle.deleteTimer(before)
            if timer is not None:
                self.handle.registerTimer(timer)
        return timer

    def next_watermark(self, rows: pa.Table, time: str) -> int | None:
        """What the watermark of the next step will have reached at least, to go by the rows of this one. All rows of
        the bucket are here, so those before it need not wait."""
        if self.delay is None or not len(rows):
            return None
        latest = pc.max(rows[time]).cast(pa.timestamp("us", tz="UTC")).value // 1000
        return int(latest - self.delay)
