"""The stateful step of a stream of MATCH_RECOGNIZE: an engine for each bucket of partitions, kept in Spark's state
store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.core.snapshot_format import Snapshot
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import check_header
from ostinato.spark.packing import ROWS, pack
from ostinato.spark.sql.checkpoint import SavedBucket, check_source, checkpoint_header, read_columns
from ostinato.spark.sql.late_rows import HIDDEN
from ostinato.spark.sql.plan import BoundInput
from ostinato.spark.stateful_step import StatefulStep, Wake
from ostinato.sql.limits import SqlLimits
from ostinato.sql.live.bound_clause import BoundClause
from ostinato.sql.live.engine import SqlEngine, SqlOptions, SqlStatistics
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import words

if TYPE_CHECKING:
    import pandas as pd

# Beside the packed rows: what this step adds to the first three, and how much there is of the others now.
COUNTS = ("rows_read", "matches", "late", "kept", "bytes")
GIVEN = "rows binary, " + ", ".join(f"{name} long" for name in COUNTS)
bind_clause = lru_cache(maxsize=16)(BoundClause.of)  # once for each process: it takes longer than a step


@dataclass(frozen=True)
class ClauseStreaming:
    """What the stateful step knows: the query, the columns that come in, and those of them that the clause reads;
    `delay` is the watermark's, see StatefulStep."""

    text: str
    limits: SqlLimits
    on_late: OnLate
    schema: pa.Schema
    bound: BoundInput
    buckets: Buckets
    time: str
    delay: int | None

    def engine(self, saved: bytes | None) -> SqlEngine:
        options = SqlOptions(None, self.on_late, self.limits, alone=True)
        engine = SqlEngine(self.text, options, self.bound.schema, bind_clause)
        if saved is not None:
            engine.load(read_columns(Snapshot.from_bytes(saved), self.bound.schema))
        return engine

    @cached_property
    def output(self) -> pa.Schema:
        """The columns that go out."""
        given, rows = self.bound.answer.schema, pa.struct(list(self.bound.schema))
        return given.append(pa.field(HIDDEN, rows)) if self.on_late == "collect" else given

    @cached_property
    def reads_past(self) -> bool:
        """Whether a match depends on what came before the rows that it reads."""
        counts = any(word.keyword == "MATCH_NUMBER" for word in words(self.text))
        return counts or any(isinstance(node, n.Anchor) for node in n.walk(self.bound.clause.match.pattern))

    def forgets(self, stats: SqlStatistics) -> bool:
        """Whether an engine that begins anew would go on just so."""
        return not (stats.kept or stats.waiting or (stats.keys and self.reads_past))

    def answer(self, found: list[pa.Table], late: pa.Table) -> pa.Table:
        """Rows of the clause; beside them, where they are asked for, each late row as a row of nothing but itself."""
        fit = self.bound.answer
        tables = [self.output.empty_table(), *(fit.fit(table) for table in found)]
        if len(late):
            tables.append(pa.table({HIDDEN: late.combine_chunks().to_struct_array()}))
        return pa.concat_tables(tables, promote_options="default").cast(self.output)


class ClauseDetector(StatefulStep):
    """Rows wait in the engine until the watermark has passed them; timers wake it when something is due."""

    state_name = "engine"

    def __init__(self, streaming: ClauseStreaming) -> None:
        super().__init__(streaming.schema, streaming.delay)
        self.streaming = streaming

    def check_header(self, before: bytes | None) -> bytes:
        streaming = self.streaming
        header = checkpoint_header(
            streaming.buckets.count(),
            streaming.text,
            streaming.bound.answer.schema,
            streaming.bound.schema,
            late=streaming.on_late == "collect",
        )
        return check_header(check_source(before, header), header)

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
            found.append(engine.push(rows.select(self.streaming.bound.schema.names)))
            if (ahead := self.next_watermark(rows, self.streaming.time)) is not None:
                found.append(engine.advance(_moment(ahead)))
        late = engine.late_events()
        now = engine.stats()
        tick = engine.due()
        due = None if tick is None else int(pa.scalar(tick).cast(pa.timestamp("us", tz="UTC")).value // 1000)
        timer = self.set_timer(due, saved.timer, wake)
        data = b"" if self.streaming.forgets(now) else engine.snapshot()
        if not data:
            self.forget(kept)
        elif (state := SavedBucket(data, timer).dump()) != kept:
            self.keep(state)
        answer = self.streaming.answer(found, late)
        counts = (now.rows - before.rows, now.matches - before.matches, now.late - before.late, now.kept, len(data))
        packed = {ROWS: pack(answer) if len(answer) else None}
        yield pd.DataFrame([packed | dict(zip(COUNTS, counts, strict=True))])


def _moment(milliseconds: int) -> pa.Scalar:
    return pa.scalar(milliseconds, pa.timestamp("ms", tz="UTC"))
