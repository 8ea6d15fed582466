"""The stateful step of a stream of forecasts: each bucket of keys knows where its keys stand, and which rows wait for
their turn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.spark.buckets import Buckets
from ostinato.spark.forecast.checkpoint import ForecastBucket, check_checkpoint
from ostinato.spark.forecast.task import ShippedModel
from ostinato.spark.packing import ROWS, pack
from ostinato.spark.stateful_step import StatefulStep, Wake

if TYPE_CHECKING:
    import pandas as pd

OUTPUT = "rows binary"


@dataclass(frozen=True)
class ScoringPlan:
    """What the stateful step knows: the model, the columns that come in, and the columns that go out."""

    shipped: ShippedModel
    fingerprint: str
    schema: pa.Schema
    output: pa.Schema
    buckets: Buckets
    delay: int | None = None  # of the watermark; see StatefulStep
    within: tuple[int, ...] = ()


class ForecastProcessor(StatefulStep):
    """Rows wait as long as earlier ones may come; then each moves its key on."""

    state_name = "forecast"

    def __init__(self, plan: ScoringPlan) -> None:
        super().__init__(plan.schema, plan.delay)
        self.plan = plan

    def check_header(self, before: bytes | None) -> bytes:
        return check_checkpoint(before, self.plan.buckets.count(), self.plan.fingerprint)

    def step(self, part: str, rows: pa.Table, wake: Wake) -> Iterator[pd.DataFrame]:
        import pandas as pd

        bucket = ForecastBucket.load(self.kept(), self.plan.shipped.model, self.schema, self.plan.within)
        found = []
        if wake.watermark:
            # What comes now is late if it lies before what Spark saw in earlier steps, in whatever bucket.
            found.append(bucket.advance(wake.watermark))
        found += bucket.push(rows)
        if (ahead := self.next_watermark(rows, bucket.clock.column)) is not None:
            found.append(bucket.advance(ahead))
        bucket.timer = self.set_timer(bucket.due, bucket.timer, wake)
        self.keep(bucket.dump())
        if tables := [table for table in found if len(table)]:
            yield pd.DataFrame({ROWS: [pack(self._output_rows(table)) for table in tables]})

    def _output_rows(self, table: pa.Table) -> pa.Table:
        """With all columns of the output, NULL where there is no forecast."""
        output = self.plan.output
        columns = [
            table[each.name].cast(each.type) if each.name in table.column_names else pa.nulls(len(table), each.type)
            for each in output
        ]
        return pa.table(columns, schema=output)
