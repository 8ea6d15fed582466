"""The stateful step of a stream of rules: an engine for each bucket of each unit, kept in Spark's state store."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import DataError
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.incremental.options import RuleOptions
from ostinato.spark.buckets import Buckets
from ostinato.spark.checkpoint_header import check_header
from ostinato.spark.packing import LATE, ROWS, pack
from ostinato.spark.rules.checkpoint import SavedEngine, check_keys, checkpoint_header
from ostinato.spark.rules.placement import conform_answer
from ostinato.spark.rules.task import without_row
from ostinato.spark.stateful_step import StatefulStep, Wake

if TYPE_CHECKING:
    import pandas as pd

HASH_OF_ROW = "#hash"  # of a row that is given beside the stream
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
    reads: tuple[str, ...]  # the columns that rules read
    buckets: Buckets
    delay: int | None = None  # of the watermark; see StatefulStep
    carried: bool = False  # whether rows come from another stateful step, and are not late at its watermark
    given: tuple[Mapping[str, pa.Table], ...] = ()  # rows of tables beside the stream, for each unit
    keys: tuple[Mapping[str, tuple[str, ...]], ...] = ()  # of each unit, by label

    def engine(self, unit: int, bucket: int, saved: bytes | None) -> RuleEngine:
        options = replace(self.options, on_late="raise" if self.options.on_late == "raise" else "count")
        if saved is not None:
            engine = _engines.pop(_digest(saved), None) or RuleEngine.restore(saved)
            engine.options = replace(engine.options, on_late=options.on_late)
            engine.widen(self.schema)
            return engine
        from ostinato.rules.program import RuleProgram

        program = RuleProgram(self.units[unit])
        given = {
            label: rows.filter(self._is_of(bucket, rows)).drop_columns([HASH_OF_ROW])
            for label, rows in (self.given[unit] if self.given else {}).items()
        }
        return RuleEngine(program.program, program.text, options, self.schema, tables=given)

    def _is_of(self, bucket: int, rows: pa.Table) -> pa.Array:
        """Which rows a bucket reads. One without a key is read by none."""
        hashes = rows[HASH_OF_ROW].fill_null(0).to_numpy()
        return pa.array(self.buckets.of(hashes) == bucket)


class RuleDetector(StatefulStep):
    """Events wait in the engine until time has passed their end; timers wake it when they are due."""

    state_name = "engine"

    def __init__(self, streaming: RuleStreaming) -> None:
        super().__init__(streaming.schema.append(pa.field(FIRST, pa.int32())), streaming.delay)
        self.streaming = streaming

    def check_header(self, before: bytes | None) -> bytes:
        streaming = self.streaming
        late = streaming.options.on_late == "collect"
        columns = streaming.schema, streaming.reads
        header = checkpoint_header(streaming.buckets.count(), streaming.text, streaming.output, *columns, late=late)
        header["keys"] = [{label: list(names) for label, names in sorted(keys.items())} for keys in streaming.keys]
        check_keys(before, header)
        return check_header(before, header)

    def step(self, part: str, rows: pa.Table, wake: Wake) -> Iterator[pd.DataFrame]:
        import pandas as pd

        unit, saved = int(part), SavedEngine.load(self.kept())
        engine = self.streaming.engine(unit, wake.bucket, saved.snapshot)
        derived = engine.derived
        found: list[pa.Table] = []
        carried = self.streaming.carried and len(rows) > 0
        if wake.watermark and not carried:
            # What ends at the watermark may still come; what ended before is late, in whatever bucket.
            found.append(engine.advance(to=_moment(wake.watermark)))
        counted = late = 0
        if len(rows):
            events, mine = rows.drop_columns([FIRST]), pc.equal(rows[FIRST], unit)
            counted = pc.sum(mine).as_py() or 0
            too_late = events.filter(pc.and_(mine, pa.array(self._late(engine, events))))
            late = len(too_late)
            found.append(engine.push(events))
            if (ahead := self.next_watermark(events, engine.bound_program.columns.times.end)) is not None:
                found.append(engine.advance(to=_moment(ahead)))
            if wake.watermark and carried:
                found.append(engine.advance(to=_moment(wake.watermark)))
            if self.streaming.options.on_late == "collect":
                found.append(pa.table({LATE: too_late.combine_chunks().to_struct_array()}))
        output = self.streaming.output
        answer = pa.concat_tables([output.empty_table(), *(conform_answer(table, output) for table in found)])
        data, now = engine.snapshot(), engine.stats()
        counts = {"events": counted, "derived": engine.derived - derived, "late": late, "waiting": now.waiting}
        counts |= {"kept": sum(now.kept.values()), "bytes": len(data)}
        timer = self.set_timer(_milliseconds(engine.due()), saved.timer, wake)
        self.keep(SavedEngine(data, timer).dump())
        _engines[_digest(data)] = engine
        if len(_engines) > _MOST:
            _engines.popitem(last=False)
        yield pd.DataFrame([{ROWS: pack(answer) if len(answer) else None} | counts])

    def _late(self, engine: RuleEngine, rows: pa.Table) -> npt.NDArray[np.bool_]:
        """Which rows the engine is going to refuse."""
        try:
            begins, ends = engine.bound_program.columns.times.ticks(rows)
        except DataError as error:
            raise without_row(error) from None
        return engine.is_late(begins, ends)


def _moment(watermark: int) -> pa.Scalar:
    """The last moment before a watermark of Spark, which counts milliseconds."""
    return pa.scalar(watermark * 1000 - 1, pa.timestamp("us", tz="UTC"))


def _milliseconds(due: Any) -> int | None:
    return None if due is None else int(pa.scalar(due).cast(pa.timestamp("us", tz="UTC")).value // 1000)


def _digest(state: bytes) -> bytes:
    return hashlib.blake2b(state, digest_size=32).digest()
