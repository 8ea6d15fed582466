"""The stateful step of a stream: keeps a snapshot for each bucket of keys in Spark's state store, and lends it to an
engine of this process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.spark.checkpoint_header import HEADER, check_header
from ostinato.spark.packing import ROWS, pack, unpack
from ostinato.spark.patterns.checkpoint import BucketState, SplitState, check_keys, checkpoint_header
from ostinato.spark.patterns.engines import StreamSettings
from ostinato.spark.patterns.split_step import SplitStep
from ostinato.spark.stateful_step import StatefulStep, Wake

if TYPE_CHECKING:
    import pandas as pd

QUERIES = "queries"  # the column of packed rows that says for which queries they are: the split
# Beside the packed matches: whose counts these are, how they changed, and why the query was stopped.
COUNTS = ("events", "matches", "late", "keys", "live", "bytes")
ROW_COUNTS = ("events", "late")  # the same for all queries that are split alike
STOPPED = "stopped"
OUTPUT_COLUMNS = "query string, rows binary, " + ", ".join(f"{name} long" for name in COUNTS) + f", {STOPPED} string"


class Detector(StatefulStep):
    """Rows wait in the engine as long as earlier ones may come; then they are read in order of time."""

    state_name = "engines"

    def __init__(self, settings: StreamSettings, columns: Mapping[str, Any]) -> None:
        """`columns` are the options that name columns, as the user gave them."""
        super().__init__(settings.schema, settings.delay)
        self.settings, self.columns = settings, columns

    def check_header(self, before: bytes | None) -> bytes:
        settings, late = self.settings, self.settings.on_late == "collect"
        header = checkpoint_header(
            settings.buckets.count(), settings.splits, self.schema, late=late, columns=self.columns
        )
        check_keys(before, header, self.schema)
        return check_header(before, header)

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        if key[0] == HEADER:
            yield from super().handleInputRows(key, rows, timerValues)
            return
        batches: dict[str, list[pa.RecordBatch]] = {}
        for frame in rows:
            for split, data in zip(frame[QUERIES], frame[ROWS], strict=True):
                if data:
                    batches.setdefault(split, []).append(unpack(data, self.schema))
        tables = {split: pa.Table.from_batches(parts, self.schema) for split, parts in batches.items()}
        yield from self._step(tables, Wake(timerValues.getCurrentWatermarkInMs()))

    def step(self, part: str, rows: pa.Table, wake: Wake) -> Iterator[pd.DataFrame]:
        yield from self._step({}, wake)

    def _step(self, rows: Mapping[str, pa.Table], wake: Wake) -> Iterator[pd.DataFrame]:
        """Let those queries go on that have rows, or something to do."""
        kept = self.kept()
        state = BucketState.load(kept, self.settings.buckets.count())
        splits: dict[str, SplitState] = {}
        given: list[pa.Table] = []
        counts: list[dict[str, Any]] = []
        for split, queries in self.settings.splits.items():
            before, own = state.splits.get(split), rows.get(split)
            if own is None and (before is None or _sleeps(before, {query.name for query in queries}, wake)):
                splits |= {} if before is None else {split: before}
                continue
            step = SplitStep(self.settings, split, before or SplitState())
            first = own if self.settings.carried else None  # which lie after the watermark of the step before
            if first is not None:
                step.push(first)
            if wake.watermark:
                # Other rows are late if they lie before what Spark saw in earlier steps, in any bucket.
                step.advance(wake.watermark)
            if own is not None and first is None:
                step.push(own)
                if (ahead := self.next_watermark(own, queries[0].binding["time"])) is not None:
                    step.advance(ahead)
            result = step.finish()
            splits |= {} if result.state is None else {split: result.state}
            given += result.given
            counts += [{"query": name} | numbers for name, numbers in result.counts.items()]
        due = min((split.due for split in splits.values() if split.due is not None), default=None)
        now = replace(state, splits=splits, timer=self.set_timer(due, state.timer, wake, self._margin))
        self._keep(now, kept)
        if counts:
            yield self._answer(given, counts)

    @property
    def _margin(self) -> int:
        return 0 if self.settings.carries else 1

    def _keep(self, state: BucketState, before: bytes | None) -> None:
        """Write only what has changed."""
        if not state.splits:
            self.forget(before)
        elif (data := state.dump()) != before:
            self.keep(data)

    def _answer(self, given: list[pa.Table], counts: list[dict[str, Any]]) -> pd.DataFrame:
        """The counts of each query; beside the first stand all matches."""
        import pandas as pd

        found = pa.concat_tables(given) if given else self.settings.output.empty_table()
        packed = [pack(found) if len(found) else None] + [None] * (len(counts) - 1)
        columns = {name: [row[name] for row in counts] for name in (*COUNTS, STOPPED)}
        return pd.DataFrame({"query": [row["query"] for row in counts], ROWS: packed} | columns)


def _sleeps(state: SplitState, names: set[str], wake: Wake) -> bool:
    """Whether neither time nor a change of the queries concerns it."""
    known = {*state.running, *state.begins, *state.stopped}
    return known == names and not state.stopped and (state.due is None or state.due >= wake.watermark)
