"""The stateful step of a stream of rules: an engine for each bucket of each unit, kept in Spark's state store."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from ostinato.errors import DataError
from ostinato.rules.incremental.engine import RuleEngine, RuleOptions
from ostinato.spark.checkpoint_header import HEADER, check_header
from ostinato.spark.packing import LATE, ROWS, pack, unpack
from ostinato.spark.rules.checkpoint import STATE, SavedEngine, checkpoint_header
from ostinato.spark.rules.rule_groups import conform_answer
from ostinato.spark.rules.task import without_row

if TYPE_CHECKING:
    import pandas as pd

FIRST = "#first"  # the first unit that a row goes to: it is counted there
# Beside the packed events: what this step adds to the first three, and how much there is of the others now.
COUNTS = ("events", "derived", "late", "waiting", "kept", "bytes")
GIVEN = "rows binary, " + ", ".join(f"{name} long" for name in COUNTS)
# Engines of the last steps in this process, each by the state that it was saved as: where Spark gives that back, the
# engine goes on, since to load one takes longer than a step.
_engines: OrderedDict[bytes, RuleEngine] = OrderedDict()
_MOST = 32


@dataclass(frozen=True)
class RuleStreaming:
    """What the stateful step knows: the rules of each unit, the columns that come in, the columns that go out."""

    text: str
    units: tuple[str, ...]
    options: RuleOptions
    schema: pa.Schema
    output: pa.Schema
    buckets: int
    # How far, in milliseconds, Spark's watermark lies behind the latest row at most; None: nobody knows.
    delay: int | None = None

    def engine(self, unit: int, saved: bytes | None) -> RuleEngine:
        options = replace(self.options, on_late="raise" if self.options.on_late == "raise" else "count")
        if saved is not None:
            engine = _engines.pop(_digest(saved), None) or RuleEngine.restore(saved)
            engine.options = replace(engine.options, on_late=options.on_late)
            return engine
        from ostinato.rules.program import RuleProgram

        program = RuleProgram(self.units[unit])
        return RuleEngine(program.program, program.text, options, self.schema)


class RuleDetector(StatefulProcessor):
    """Events wait in the engine until time has passed their end; timers wake it when they are due."""

    def __init__(self, streaming: RuleStreaming) -> None:
        self.streaming = streaming

    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.state = handle.getValueState("engine", STATE)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        if key[0] == HEADER:
            self._check_header()
            return
        schema = self.streaming.schema.append(pa.field(FIRST, pa.int32()))
        batches = [unpack(data, schema) for frame in rows for data in frame[ROWS]]
        yield from self._step(int(key[0]), pa.Table.from_batches(batches, schema), timerValues)

    def _check_header(self) -> None:
        """Whether this stream may go on from its checkpoint."""
        streaming, state = self.streaming, self.state.get()
        late = streaming.options.on_late == "collect"
        now = checkpoint_header(streaming.buckets, streaming.text, streaming.output, late=late)
        self.state.update((check_header(bytes(state[0]) if state is not None else None, now),))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[pd.DataFrame]:
        # Spark takes away a timer that went off.
        yield from self._step(int(key[0]), None, timerValues, timer_is_set=False)

    def close(self) -> None:
        """All that lasts is in the state store."""

    def _step(
        self, unit: int, given: pa.Table | None, timer_values: Any, *, timer_is_set: bool = True
    ) -> Iterator[pd.DataFrame]:
        import pandas as pd

        watermark = timer_values.getCurrentWatermarkInMs()
        saved = SavedEngine.load(self.state.get())
        engine = self.streaming.engine(unit, saved.snapshot)
        derived = engine.derived
        found: list[pa.Table] = []
        if watermark:  # 0 is before the first one
            # What ends at the watermark may still come; what ended before is late, in whatever bucket.
            found.append(engine.advance(to=_moment(watermark)))
        events = late = 0
        if given is not None:
            rows, mine = given.drop_columns([FIRST]), pc.equal(given[FIRST], unit)
            events = pc.sum(mine).as_py() or 0
            too_late = rows.filter(pc.and_(mine, pa.array(self._late(engine, rows))))
            late = len(too_late)
            found.append(engine.push(rows))
            if (ahead := self._ahead(engine, rows)) is not None:
                found.append(engine.advance(to=ahead))
            if self.streaming.options.on_late == "collect":
                found.append(pa.table({LATE: too_late.combine_chunks().to_struct_array()}))
        output = self.streaming.output
        answer = pa.concat_tables([output.empty_table(), *(conform_answer(table, output) for table in found)])
        data, now = engine.snapshot(), engine.stats()
        counts = {"events": events, "derived": engine.derived - derived, "late": late, "waiting": now.waiting}
        counts |= {"kept": sum(now.kept.values()), "bytes": len(data)}
        timer = self._timer(engine, watermark, saved.timer if timer_is_set else None)
        self.state.update((SavedEngine(data, timer).dump(),))
        _engines[_digest(data)] = engine
        if len(_engines) > _MOST:
            _engines.popitem(last=False)
        yield pd.DataFrame([{ROWS: pack(answer) if len(answer) else None} | counts])

    def _timer(self, engine: RuleEngine, watermark: int, before: int | None) -> int | None:
        due = engine.due()
        timer = None
        if due is not None:
            ticks = pa.scalar(due).cast(pa.timestamp("us", tz="UTC")).value
            timer = max(ticks // 1000 + 1, watermark + 1)
        if timer != before:
            if before is not None:
                self.handle.deleteTimer(before)
            if timer is not None:
                self.handle.registerTimer(timer)
        return timer

    def _late(self, engine: RuleEngine, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Which rows the engine is going to refuse."""
        try:
            begins, ends = engine.bound_program.columns.times.ticks(rows)
        except DataError as error:
            raise without_row(error) from None
        return engine.is_late(begins, ends)

    def _ahead(self, engine: RuleEngine, rows: pa.Table) -> pa.Scalar | None:
        """What the watermark of the next step will have reached at least, to go by the rows of this one: all rows of
        the bucket are here, so those before that need not wait for it."""
        if self.streaming.delay is None or not len(rows):
            return None
        latest = pc.max(rows[engine.bound_program.columns.times.end]).cast(pa.timestamp("us", tz="UTC")).value // 1000
        return _moment(latest - self.streaming.delay)


def _moment(watermark: int) -> pa.Scalar:
    """The last moment before a watermark of Spark, which counts milliseconds."""
    return pa.scalar(watermark * 1000 - 1, pa.timestamp("us", tz="UTC"))


def _digest(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=32).digest()
