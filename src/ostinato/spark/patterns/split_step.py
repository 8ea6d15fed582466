"""One step of the engine that a bucket keeps for queries which are split alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.patterns.joint_answers import fit_to_schema
from ostinato.patterns.live.matches import LiveMatches
from ostinato.patterns.live.snapshot import holds_nothing
from ostinato.spark.packing import LATE
from ostinato.spark.patterns.checkpoint import SplitState
from ostinato.spark.patterns.engines import StreamSettings
from ostinato.spark.patterns.shipped_query import ShippedQuery


@dataclass(frozen=True)
class StepResult:
    """The state to keep, None where there is nothing to keep; the rows that are given; and counts by query."""

    state: SplitState | None
    given: list[pa.Table]
    counts: dict[str, dict[str, Any]]


class SplitStep:
    """Reads rows and lets time pass. A query that was added begins after the last row that waited before it came."""

    def __init__(self, settings: StreamSettings, split: str, state: SplitState) -> None:
        self.settings, self.split = settings, split
        self.queries: Mapping[str, ShippedQuery] = {query.name: query for query in settings.splits[split]}
        state = state.of(self.queries)
        self.begins, self.stopped = dict(state.begins), dict(state.stopped)
        self.found: list[LiveMatches] = []
        self.matches = dict.fromkeys(self.queries, 0)
        self.late: pa.Table = settings.schema.empty_table()
        self.events = 0
        new = state.new_queries(self.queries)
        if not state.running and state.snapshot is None:
            self._open([name for name in self.queries if name in new], None)
            return
        self._open([name for name in self.queries if name in state.running], state.snapshot)
        if new and (last := self._last_waiting()) is not None:
            self.begins |= dict.fromkeys(new, last)
        elif new:
            self._begin(new)

    def _open(self, names: list[str], snapshot: bytes | None) -> None:
        self.running = names
        self.live = self.settings.engine(self.split, [self.queries[name] for name in names])
        self.live.resume(snapshot)

    def _begin(self, names: list[str]) -> None:
        """Let more queries run from here on."""
        snapshot = self.live.snapshot()
        self._give_back()
        self._open([name for name in self.queries if name in self.running or name in names], snapshot)

    def _give_back(self) -> None:
        self.settings.give_back(self.split, [self.queries[name] for name in self.running], self.live)

    def _last_waiting(self) -> int | None:
        front = self.live.front
        assert front is not None and front.clock is not None
        waiting = front.reorder.rows
        return int(front.clock.ticks(waiting[front.clock.column]).max()) if len(waiting) else None

    def advance(self, milliseconds: int) -> None:
        """Spark's watermark has reached so many milliseconds: what lies before them has passed, or up to them."""
        front = self.live.front
        assert front is not None and front.clock is not None
        tick = front.clock.tick(pa.scalar(milliseconds, pa.timestamp("ms")), up=True) + self.settings.carries
        while self.begins and (passed := min(self.begins.values()) + bool(self.settings.order_by)) <= tick:
            self._advance(passed)
            begun = [name for name, last in self.begins.items() if last + bool(self.settings.order_by) == passed]
            for name in begun:
                del self.begins[name]
            self._begin(begun)
        self._advance(tick)

    def _advance(self, tick: int) -> None:
        front = self.live.front
        assert front is not None and front.clock is not None
        self._take(self.live.advance(front.clock.values(np.array([tick]))[0]))

    def push(self, rows: pa.Table) -> None:
        front = self.live.front
        assert front is not None and front.clock is not None
        self.events += len(rows)
        if front.reorder.count_late(rows):
            self.late = rows.filter(pa.array(front.clock.ticks(rows[front.clock.column]) < front.reorder.watermark))
        self._take(self.live.push(rows))

    def _take(self, matches: LiveMatches) -> None:
        if len(matches):
            self.found.append(matches)
        if not self.live.errors:
            return
        for name, error in self.live.errors.items():
            if not self.settings.isolated:
                raise error
            self.stopped[name] = {"reason": str(error), "limits": asdict(self.queries[name].limits)}
        self.running = [name for name in self.running if name not in self.live.errors]
        self.live.errors = {}

    def finish(self) -> StepResult:
        given = self._given()
        live = self.live
        snapshot = live.snapshot()
        times = [time for time in (live.due(), live.expires()) if time is not None]
        due = min((self._due(time) for time in times), default=None)
        empty = not self.begins and not self.stopped and holds_nothing(live)
        counts = self._counts(0 if empty else len(snapshot))
        self._give_back()
        if empty:
            return StepResult(None, given, counts)
        running = {name: self.queries[name].plain_text for name in self.running}
        return StepResult(SplitState(snapshot, running, self.begins, self.stopped, due), given, counts)

    def _due(self, time: Any) -> int:
        """The last millisecond at which the watermark has not passed a time."""
        if not self.settings.carries:
            return int(pa.scalar(time).cast(pa.timestamp("ms"), safe=False).value)
        return int((pa.scalar(time).cast(pa.timestamp("us")).value - 2) // 1000)

    def _given(self) -> list[pa.Table]:
        """Matches, and where they are asked for, late rows, each as a row of the output with nothing but itself."""
        output = self.settings.output
        given: list[pa.Table] = []
        for matches in self.found:
            for name, table in matches.tables.items():
                self.matches[name] += len(table)
                given.append(self.queries[name].fit_to_output(table, output))
        if self.settings.on_late == "collect" and len(self.late):
            late = pa.table({LATE: self.late.combine_chunks().to_struct_array()})
            given += [fit_to_schema(name, late, output) for name in self.queries]
        return given

    def _counts(self, size: int) -> dict[str, dict[str, Any]]:
        """What the step adds to the first three; the others are as they are now. What queries keep together is counted
        for each of them in equal parts."""
        own = {name: self.live.engines[name].matcher.live for name in self.running}
        counts: dict[str, dict[str, Any]] = {}
        for name in self.queries:
            keys = self._keys(name) if own.get(name) else 0
            counts[name] = {"events": self.events, "matches": self.matches[name], "late": len(self.late), "keys": keys}
            counts[name] |= {"live": own.get(name, 0), "bytes": size // len(self.queries)}
            counts[name]["stopped"] = self.stopped[name]["reason"] if name in self.stopped else None
        return counts

    def _keys(self, name: str) -> int:
        keys = self.live.engines[name].stream.keys
        return keys.size if keys is not None else 1
