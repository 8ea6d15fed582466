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
from ostinato.patterns.detect_many import fit_to_schema
from ostinato.patterns.runtime.engine import Statistics
from ostinato.spark.checkpoint_header import HEADER, check_header
from ostinato.spark.packing import LATE, ROWS, pack, unpack
from ostinato.spark.patterns.checkpoint import BucketState, checkpoint_header
from ostinato.spark.patterns.task import ShippedQuery

if TYPE_CHECKING:
    import pandas as pd

# Beside the packed matches: whose they are, and how the engine's counts changed.
COUNTS = ("events", "matches", "late", "keys", "live", "bytes")
OUTPUT_COLUMNS = "query string, rows binary, " + ", ".join(f"{name} long" for name in COUNTS)
_STATE = StructType([StructField("held", BinaryType())])
_RISING = ("events", "matches", "late")  # reported as what this step adds; the others as they are now


@dataclass(frozen=True)
class StreamSettings:
    """What the stateful step knows: the queries of each split, the columns that come in, and those that go out."""

    splits: dict[str, tuple[ShippedQuery, ...]]
    schema: pa.Schema
    output: pa.Schema
    buckets: int
    # How far, in milliseconds, Spark's watermark lies behind the latest row at most; None: nobody knows.
    delay: int | None = None
    on_late: OnLate = "count"


class Detector(StatefulProcessor):
    """Rows wait in the engine as long as earlier ones may come; then they are read in order of time."""

    def __init__(self, settings: StreamSettings) -> None:
        self.settings = settings

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("engines", _STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        if key[0] == HEADER:
            self._check_header()
            return
        batches = [unpack(data, self.settings.schema) for frame in rows for data in frame[ROWS]]
        yield from self._step(key, pa.Table.from_batches(batches, self.settings.schema), timerValues)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        # Spark takes away a timer that went off.
        yield from self._step(key, self.settings.schema.empty_table(), timerValues, timer_is_set=False)

    def _check_header(self) -> None:
        """Whether this stream may go on from its checkpoint."""
        settings, state = self.settings, self.state.get()
        now = checkpoint_header(settings.buckets, settings.splits, late=settings.on_late == "collect")
        self.state.update((check_header(bytes(state[0]) if state is not None else None, now),))

    def close(self) -> None:
        """All that lasts is in the state store."""

    def _step(
        self, key: Any, rows: pa.Table, timer_values: Any, *, timer_is_set: bool = True
    ) -> Iterator[pd.DataFrame]:
        import pandas as pd

        watermark = timer_values.getCurrentWatermarkInMs()
        state = BucketState.load(self.state.get(), self.settings.buckets)
        due: list[int] = []
        counted: list[dict[str, Any]] = []
        snapshots = {}
        for query in self.settings.splits.get(key[0], ()):
            engine = state.engine(query, self.settings.on_late)
            before = engine.stats()
            found = [engine.push(query.select_columns(rows.slice(0, 0)))]
            if watermark:  # 0 is before the first one
                # Rows are late if they lie before what Spark saw in earlier steps, in any bucket.
                found.append(engine.advance(to=pa.scalar(watermark, pa.timestamp("ms"))))
            late = self._late(query, rows, engine.reorder)
            found.append(engine.push(query.select_columns(rows)))
            if (ahead := self._ahead(query, rows)) is not None:
                found.append(engine.advance(to=ahead))
            matches = pa.concat_tables([query.fit_to_output(pa.concat_tables(found), self.settings.output), *late])
            snapshot = snapshots[query.name] = engine.snapshot()
            counted.append(_counts_row(query, matches, before, replace(engine.stats(), bytes=len(snapshot))))
            if (time := engine.due()) is not None:
                due.append(1 + int(pa.scalar(time).cast(pa.timestamp("ms"), safe=False).value))
        timer = max(min(due), watermark + 1) if due else None
        before_timer = state.timer if timer_is_set else None
        if timer != before_timer:
            if before_timer is not None:
                self.handle.deleteTimer(before_timer)
            if timer is not None:
                self.handle.registerTimer(timer)
        self.state.update((BucketState(snapshots, self.settings.buckets, timer).dump(),))
        yield pd.DataFrame(counted)

    def _ahead(self, query: ShippedQuery, rows: pa.Table) -> pa.Scalar | None:
        """A bound that the watermark of the next step will have reached, by the rows of this one. All rows of the
        bucket are here, so those before the bound need not wait for it."""
        if self.settings.delay is None or not len(rows):
            return None
        latest = pc.max(rows[query.binding["time"]]).cast(pa.timestamp("us")).value // 1000
        return pa.scalar(latest - self.settings.delay, pa.timestamp("ms"))

    def _late(self, query: ShippedQuery, rows: pa.Table, reorder: ReorderBuffer) -> list[pa.Table]:
        """Where they are asked for, rows that come too late, each as a row of the output with nothing but itself."""
        if self.settings.on_late != "collect" or reorder.clock is None:
            return []
        late = rows.filter(pa.array(reorder.clock.ticks(rows[reorder.clock.column]) < reorder.watermark))
        return [fit_to_schema(query.name, pa.table({LATE: late.to_struct_array()}), self.settings.output)]


def _counts_row(query: ShippedQuery, matches: pa.Table, before: Statistics, after: Statistics) -> dict[str, Any]:
    counts = {name: getattr(after, name) - (getattr(before, name) if name in _RISING else 0) for name in COUNTS}
    return {"query": query.name, ROWS: pack(matches) if len(matches) else None} | counts
