"""The stateful step of a stream of MATCH_RECOGNIZE: an engine for each bucket of partitions, kept in Spark's state
store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.core.snapshot_format import Snapshot
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import check_header
from ostinato.spark.packing import ROWS, pack
from ostinato.spark.sql.checkpoint import SavedBucket, checkpoint_header
from ostinato.spark.sql.columns import AnswerColumns
from ostinato.spark.stateful_step import StatefulStep, Wake
from ostinato.sql.limits import SqlLimits
from ostinato.sql.live.bound_clause import BoundClause
from ostinato.sql.live.engine import SqlEngine, SqlOptions

if TYPE_CHECKING:
    import pandas as pd

# Beside the packed rows: what this step adds to the first three, and how much there is of the others now.
COUNTS = ("rows_read", "matches", "late", "kept", "bytes")
GIVEN = "rows binary, " + ", ".join(f"{name} long" for name in COUNTS)
bind_clause = lru_cache(maxsize=16)(BoundClause.of)  # once for each process: it takes longer than a step


@dataclass(frozen=True)
class ClauseStreaming:
    """What the stateful step knows: the query, the columns that come in, the columns that go out; `delay` is the
    watermark's, see StatefulStep."""

    text: str
    limits: SqlLimits
    on_late: OnLate
    schema: pa.Schema
    answer: AnswerColumns
    buckets: Buckets
    time: str
    delay: int | None

    def engine(self, saved: bytes | None) -> SqlEngine:
        options = SqlOptions(None, self.on_late, self.limits, alone=True)
        engine = SqlEngine(self.text, options, self.schema, bind_clause)
        if saved is not None:
            engine.load(Snapshot.from_bytes(saved))
        return engine


class ClauseDetector(StatefulStep):
    """Rows wait in the engine until the watermark has passed them; timers wake it when something is due."""

    state_name = "engine"

    def __init__(self, streaming: ClauseStreaming) -> None:
        super().__init__(streaming.schema, streaming.delay)
        self.streaming = streaming

    def check_header(self, before: bytes | None) -> bytes:
        streaming = self.streaming
        header = checkpoint_header(streaming.buckets.count(), streaming.text, streaming.answer.schema)
        return check_header(before, header)

    def step(self, part: str, rows: pa.Table, wake: Wake) -> Iterator[pd.DataFrame]:
        import pandas as pd

        kept = self.kept()
        saved = SavedBucket.load(kept)
        engine = self.streaming.engine(saved.snapshot)
        before = engine.stats()
        found = []
        if wake.watermark:
            found.append(engine.advance(_moment(wake.watermark)))
        if len(rows):
            found.append(engine.push(rows))
            if (ahead := self.next_watermark(rows, self.streaming.time)) is not None:
                found.append(engine.advance(_moment(ahead)))
        now = engine.stats()
        data = engine.snapshot()
        tick = engine.due()
        due = None if tick is None else int(pa.scalar(tick).cast(pa.timestamp("us", tz="UTC")).value // 1000)
        state = SavedBucket(data, self.set_timer(due, saved.timer, wake)).dump()
        if state != kept:
            self.keep(state)
        fit = self.streaming.answer
        answer = pa.concat_tables([fit.schema.empty_table(), *(fit.fit(table) for table in found)])
        counts = (now.rows - before.rows, now.matches - before.matches, now.late - before.late, now.kept, len(data))
        packed = {ROWS: pack(answer) if len(answer) else None}
        yield pd.DataFrame([packed | dict(zip(COUNTS, counts, strict=True))])


def _moment(milliseconds: int) -> pa.Scalar:
    return pa.scalar(milliseconds, pa.timestamp("ms", tz="UTC"))
