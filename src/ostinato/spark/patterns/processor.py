"""The stateful step of a streaming job: one engine per query and bucket of keys, kept in Spark's state store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.core.reorder import ReorderBuffer
from ostinato.patterns.joint_answers import fit_to_schema
from ostinato.patterns.runtime.engine import Statistics
from ostinato.spark.checkpoint_header import check_header
from ostinato.spark.packing import LATE, ROWS, pack
from ostinato.spark.patterns.checkpoint import BucketState, checkpoint_header
from ostinato.spark.patterns.task import ShippedQuery
from ostinato.spark.stateful_step import StatefulStep, Wake

if TYPE_CHECKING:
    import pandas as pd

# Beside the packed matches: whose they are, and how the engine's counts changed.
COUNTS = ("events", "matches", "late", "keys", "live", "bytes")
OUTPUT_COLUMNS = "query string, rows binary, " + ", ".join(f"{name} long" for name in COUNTS)
_RISING = ("events", "matches", "late")  # reported as what this step adds; the others as they are now


@dataclass(frozen=True)
class StreamSettings:
    """What the stateful step knows: the queries of each split, the columns that come in, and those that go out."""

    splits: dict[str, tuple[ShippedQuery, ...]]
    schema: pa.Schema
    output: pa.Schema
    buckets: int
    delay: int | None = None  # of the watermark; see StatefulStep
    on_late: OnLate = "count"


class Detector(StatefulStep):
    """Rows wait in the engine as long as earlier ones may come; then they are read in order of time."""

    state_name = "engines"

    def __init__(self, settings: StreamSettings) -> None:
        super().__init__(settings.schema, settings.delay)
        self.settings = settings

    def check_header(self, before: bytes | None) -> bytes:
        late = self.settings.on_late == "collect"
        return check_header(before, checkpoint_header(self.settings.buckets, self.settings.splits, late=late))

    def step(self, part: str, rows: pa.Table, wake: Wake) -> Iterator[pd.DataFrame]:
        import pandas as pd

        state = BucketState.load(self.kept(), self.settings.buckets)
        due: list[int] = []
        counted: list[dict[str, Any]] = []
        snapshots = {}
        for query in self.settings.splits.get(part, ()):
            engine = state.engine(query, self.settings.on_late)
            before = engine.stats()
            found = [engine.push(query.select_columns(rows.slice(0, 0)))]
            if wake.watermark:
                # Rows are late if they lie before what Spark saw in earlier steps, in any bucket.
                found.append(engine.advance(to=_moment(wake.watermark)))
            late = self._late(query, rows, engine.reorder)
            found.append(engine.push(query.select_columns(rows)))
            if (ahead := self.next_watermark(rows, query.binding["time"])) is not None:
                found.append(engine.advance(to=_moment(ahead)))
            matches = pa.concat_tables([query.fit_to_output(pa.concat_tables(found), self.settings.output), *late])
            snapshot = snapshots[query.name] = engine.snapshot()
            counted.append(_counts_row(query, matches, before, replace(engine.stats(), bytes=len(snapshot))))
            if (time := engine.due()) is not None:
                due.append(int(pa.scalar(time).cast(pa.timestamp("ms"), safe=False).value))
        timer = self.set_timer(min(due, default=None), state.timer, wake)
        self.keep(BucketState(snapshots, self.settings.buckets, timer).dump())
        yield pd.DataFrame(counted)

    def _late(self, query: ShippedQuery, rows: pa.Table, reorder: ReorderBuffer) -> list[pa.Table]:
        """Where they are asked for, rows that come too late, each as a row of the output with nothing but itself."""
        if self.settings.on_late != "collect" or reorder.clock is None:
            return []
        late = rows.filter(pa.array(reorder.clock.ticks(rows[reorder.clock.column]) < reorder.watermark))
        return [fit_to_schema(query.name, pa.table({LATE: late.to_struct_array()}), self.settings.output)]


def _moment(watermark: int) -> pa.Scalar:
    return pa.scalar(watermark, pa.timestamp("ms"))


def _counts_row(query: ShippedQuery, matches: pa.Table, before: Statistics, after: Statistics) -> dict[str, Any]:
    counts = {name: getattr(after, name) - (getattr(before, name) if name in _RISING else 0) for name in COUNTS}
    return {"query": query.name, ROWS: pack(matches) if len(matches) else None} | counts
