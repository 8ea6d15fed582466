"""What a stream of forecasts keeps in Spark's state store: where the keys of a bucket stand, the rows that wait for
their turn, and what the checkpoint was started with."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostinato.core.clock import Clock
from ostinato.core.reorder import ReleasedRows, ReorderBuffer
from ostinato.core.snapshot_format import Snapshot
from ostinato.errors import DataError
from ostinato.forecast.model import ForecastModel
from ostinato.forecast.scorer import Scorer
from ostinato.spark.checkpoint_header import check_header
from ostinato.spark.forecast.columns import sort_columns
from ostinato.spark.forecast.task import join_columns


def check_checkpoint(before: bytes | None, buckets: int, fingerprint: str) -> bytes:
    """The header to keep. Raises DataError if the checkpoint was begun with another model or number of buckets."""
    if before is not None and json.loads(before)["model"] != fingerprint:
        raise DataError(
            "the checkpoint was begun with another model",
            fix="go on with that one, or start with a new checkpointLocation",
        )
    return check_header(before, {"buckets": buckets, "late": False, "queries": {}, "model": fingerprint})


@dataclass
class ForecastBucket:
    """The state of one bucket of keys. `timer` is the one that is set, in milliseconds."""

    scorer: Scorer
    reorder: ReorderBuffer
    timer: int | None = None

    @classmethod
    def load(
        cls, state: bytes | None, model: ForecastModel, schema: pa.Schema, within: tuple[int, ...]
    ) -> ForecastBucket:
        """As it was stored; empty at first."""
        binding = sort_columns(model.settings)
        assert binding.time is not None
        bucket = cls(Scorer(model, within), ReorderBuffer(Clock.of(schema, binding.time), binding, schema, None))
        if state is not None:
            stored = Snapshot.from_bytes(state)
            bucket.scorer.restore(stored.arrays["scorer"].tobytes())
            waiting = stored.tables["waiting"].cast(schema)
            bucket.reorder.load(waiting, np.zeros(len(waiting), np.int64))
            bucket.reorder.watermark, bucket.timer = stored.meta["watermark"], stored.meta["timer"]
        return bucket

    def dump(self) -> bytes:
        meta = {"watermark": int(self.reorder.watermark), "timer": self.timer}
        scorer = np.frombuffer(self.scorer.snapshot(), np.uint8)
        return Snapshot(meta, {"scorer": scorer}, {"waiting": self.reorder.rows}).to_bytes()

    def advance(self, watermark: int) -> pa.Table:
        """The rows whose turn comes with a watermark in milliseconds, with their forecasts."""
        return self._score(self.reorder.advance(self.clock.tick(pa.scalar(watermark, pa.timestamp("ms")))))

    def push(self, rows: pa.Table) -> list[pa.Table]:
        """The rows whose turn has come, with their forecasts; and those that came too late, without any."""
        released, late = self.reorder.push(rows, np.zeros(len(rows), np.int64))
        return [self._score(released), late]

    def _score(self, released: ReleasedRows) -> pa.Table:
        return join_columns(released.rows, self.scorer.push(released.rows)) if len(released.rows) else released.rows

    @property
    def clock(self) -> Clock:
        assert self.reorder.clock is not None
        return self.reorder.clock

    @property
    def due(self) -> int | None:
        """The millisecond after which the next row's turn comes."""
        if not len(self.reorder.rows):
            return None
        return int(self.clock.ticks(self.reorder.rows[self.clock.column]).min()) // 1000
