"""The stateful step of a stream of forecasts: Spark's state store keeps where the keys of a bucket stand, and the rows
that wait for their turn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StructField, StructType

from ostinato.core.clock import Clock
from ostinato.core.reorder import ReleasedRows, ReorderBuffer
from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError
from ostinato.forecast.scorer import Scorer
from ostinato.spark.checkpoint_header import HEADER, check_header
from ostinato.spark.forecast.columns import sort_columns
from ostinato.spark.forecast.task import ShippedModel, join_columns
from ostinato.spark.packing import ROWS, pack, unpack

if TYPE_CHECKING:
    import pandas as pd

OUTPUT = "rows binary"
_STATE = StructType([StructField("held", BinaryType())])


@dataclass(frozen=True)
class ScoringPlan:
    """What the stateful step knows: the model, the columns that come in, and the columns that go out."""

    shipped: ShippedModel
    fingerprint: str
    schema: pa.Schema
    output: pa.Schema
    buckets: int
    # How far, in milliseconds, Spark's watermark lies behind the latest row at most; None: nobody knows.
    delay: int | None = None
    within: tuple[int, ...] = ()

    def check_checkpoint(self, before: bytes | None) -> bytes:
        """What the checkpoint keeps of how it was begun. Raises DataError if that was with another model or number of
        buckets."""
        if before is not None and json.loads(before)["model"] != self.fingerprint:
            raise DataError(
                "the checkpoint was begun with another model",
                fix="go on with that one, or start with a new checkpointLocation",
            )
        now = {"buckets": self.buckets, "late": False, "queries": {}, "model": self.fingerprint}
        return check_header(before, now)


@dataclass
class ForecastBucket:
    """The state of one bucket of keys. `timer` is the one that is set, in milliseconds."""

    scorer: Scorer
    reorder: ReorderBuffer
    timer: int | None = None

    @classmethod
    def load(cls, state: tuple[bytes] | None, plan: ScoringPlan) -> ForecastBucket:
        """As it was stored; empty at first."""
        model, schema = plan.shipped.model, plan.schema
        binding = sort_columns(model.settings)
        assert binding.time is not None
        bucket = cls(Scorer(model, plan.within), ReorderBuffer(Clock.of(schema, binding.time), binding, schema, None))
        if state is not None:
            stored = Snapshot.from_bytes(bytes(state[0]))
            bucket.scorer.restore(stored.arrays["scorer"].tobytes())
            bucket.reorder.rows = stored.tables["waiting"].cast(schema)
            bucket.reorder.positions = np.zeros(len(bucket.reorder.rows), np.int64)
            bucket.reorder.watermark, bucket.timer = stored.meta["watermark"], stored.meta["timer"]
        return bucket

    def dump(self) -> bytes:
        meta = {"watermark": int(self.reorder.watermark), "timer": self.timer}
        scorer = np.frombuffer(self.scorer.snapshot(), np.uint8)
        return Snapshot(meta, {"scorer": scorer}, {"waiting": self.reorder.rows}).to_bytes()

    def step(self, rows: pa.Table, watermark: int, delay: int | None) -> list[pa.Table]:
        """The rows whose turn has come, with their forecasts; and those that came too late, without any."""
        reorder, found = self.reorder, []
        assert reorder.clock is not None
        if watermark:  # 0 is before the first one
            # What comes now is late if it lies before what Spark saw in earlier steps, in whatever bucket.
            found.append(self._pass(reorder.advance(reorder.clock.tick(pa.scalar(watermark, pa.timestamp("ms"))))))
        released, late = reorder.push(rows, np.zeros(len(rows), np.int64))
        found += [self._pass(released), late]
        if delay is not None and len(rows):
            # All rows of the bucket are here, so those that the next watermark will have passed need not wait for it.
            latest = pc.max(rows[reorder.clock.column]).cast(pa.timestamp("us")).value // 1000
            ahead = reorder.clock.tick(pa.scalar(latest - delay, pa.timestamp("ms")))
            found.append(self._pass(reorder.advance(ahead)))
        return [table for table in found if len(table)]

    def _pass(self, released: ReleasedRows) -> pa.Table:
        return join_columns(released.rows, self.scorer.push(released.rows)) if len(released.rows) else released.rows

    @property
    def due(self) -> int | None:
        """When the next row's turn comes, in milliseconds."""
        reorder = self.reorder
        if reorder.clock is None or not len(reorder.rows):
            return None
        return 1 + int(reorder.clock.ticks(reorder.rows[reorder.clock.column]).min()) // 1000


class ForecastProcessor(StatefulProcessor):
    """Rows wait as long as earlier ones may come; then each moves its key on."""

    def __init__(self, plan: ScoringPlan) -> None:
        self.plan = plan

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("forecast", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        if key[0] == HEADER:
            state = self.state.get()
            self.state.update((self.plan.check_checkpoint(bytes(state[0]) if state is not None else None),))
            return
        batches = [unpack(data, self.plan.schema) for frame in rows for data in frame[ROWS]]
        yield from self._step(pa.Table.from_batches(batches, self.plan.schema), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        # Spark takes away a timer that went off.
        yield from self._step(self.plan.schema.empty_table(), timerValues, timer_is_set=False)

    def close(self) -> None:
        """All that lasts is in the state store."""

    def _step(self, rows: pa.Table, timer_values: Any, *, timer_is_set: bool = True) -> Iterator[pd.DataFrame]:
        import pandas as pd

        watermark = timer_values.getCurrentWatermarkInMs()
        bucket = ForecastBucket.load(self.state.get(), self.plan)
        found = bucket.step(rows, watermark, self.plan.delay)
        before = bucket.timer if timer_is_set else None
        bucket.timer = None if bucket.due is None else max(bucket.due, watermark + 1)
        if bucket.timer != before:
            if before is not None:
                self.handle.deleteTimer(before)
            if bucket.timer is not None:
                self.handle.registerTimer(bucket.timer)
        self.state.update((bucket.dump(),))
        if found:
            yield pd.DataFrame({ROWS: [pack(self._output_rows(table)) for table in found]})

    def _output_rows(self, table: pa.Table) -> pa.Table:
        """With all columns of the output, NULL where there is no forecast."""
        output = self.plan.output
        columns = [
            table[each.name].cast(each.type) if each.name in table.column_names else pa.nulls(len(table), each.type)
            for each in output
        ]
        return pa.table(columns, schema=output)
