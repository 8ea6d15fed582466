"""Steps of a program over one stream (section 3.4.3): events wait for time, and what time completes is derived."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.errors import Limit, LimitError, Message
from ostinato.rules.algebra.nodes import CelStream, TableStream
from ostinato.rules.incremental.codes import encode_column
from ostinato.rules.incremental.event_rows import END
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.incremental.live_patterns import LivePatterns
from ostinato.rules.incremental.periodic import PeriodicTimers
from ostinato.rules.incremental.state import LiveProgram, TooManyRoundsError
from ostinato.rules.limits import RuleLimits
from ostinato.rules.relational.operators import MAX_TICK
from ostinato.rules.relational.sql_program import SqlProgram
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.given_rows import read_rows


class StepEvaluator:
    """Holds the state of a program that is bound to columns, and lets time go on in it."""

    def __init__(self, bound: BoundProgram, limits: RuleLimits, interned: Interned | None = None) -> None:
        self.bound, self.program, self.limits = bound, bound.sql, limits
        self.interned = interned or Interned()
        self.patterns = LivePatterns(bound.patterns, self.interned)
        self.engines = self.patterns.engines
        self.live = LiveProgram(self.program, self.interned, limits.rounds, self.patterns)
        self.over_all = self.patterns.over_all
        self.reads_all = bool(self.over_all)  # a pattern reads events of any label
        self.periodic = PeriodicTimers(bound.periods, limits)
        self.unseen: pa.Table | None = None  # the events that wait, for patterns

    # Deployments

    def change(self, bound: BoundProgram, gone: Iterable[int], parts: Iterable[SqlProgram]) -> None:
        """Go on with a program of which some deployments have gone, and others come."""
        self.bound, self.program = bound, bound.sql
        self.live.events.incoming = bound.sql.incoming
        for since in gone:
            self.live.undeploy(since)
        for part in parts:
            self.live.deploy(part)

    def load(self, given: Mapping[str, pa.Table]) -> None:
        """Let the rows of tables be there before all events."""
        for label, rows in given.items():
            point = self.live.planner.sources.get(TableStream(label))
            if point is not None and len(rows):
                codes = self.interned.with_null(partial(self._rows, label, read_rows(rows)))
                self.live.add(point, codes)
                self.live.advance(-MAX_TICK)

    def _rows(self, label: str, rows: pa.Table) -> Int64:
        """Rows that are given beside the stream, as they end before all events."""
        attributes = self.program.plan_types.given[label]
        before = np.full(len(rows), -MAX_TICK)
        kinds = attributes.types.items()
        codes = [encode_column(rows[attributes.columns[name]], kind, self.interned) for name, kind in kinds]
        return np.stack([before, before, *codes], axis=1)

    # Events

    def wait(self, events: pa.Table) -> Int64:
        """Take events; gives their rows."""
        rows = self.live.room(len(events))
        rows[:] = self.interned.with_null(lambda: self.live.events.encode(events))
        self.live.wait(len(events))
        if self.over_all:
            self.unseen = events if self.unseen is None else pa.concat_tables([self.unseen, events])
        return rows

    def wait_columns(
        self, labels: pa.ChunkedArray, begins: Int64, ends: Int64, attribute: Callable[[str], pa.ChunkedArray]
    ) -> Int64:
        """Take events by their columns, where `reads_columns`; gives their rows."""
        rows = self.live.room(len(begins))
        encode = self.live.events.encode_columns
        rows[:] = self.interned.with_null(lambda: encode(labels, begins, ends, attribute))
        self.live.wait(len(begins))
        return rows

    @property
    def reads_columns(self) -> bool:
        """Whether no event is needed as a whole."""
        return not self.over_all and not self.live.events.readers and self.bound.columns.document is None

    @property
    def waiting(self) -> Int64:
        return self.live.waiting

    # Time

    def advance(self, now: int) -> None:
        """Let time go on to `now`. Where it fails, it is as if it had stopped before, if `is_undoable`."""
        if self.periodic.periods:
            for stream, times in self.periodic.until(now, self.live.now, self.waiting[:, END]):
                self.live.add_times(self.live.planner.source_point(stream), times)
        if self.over_all:
            self._match_patterns(now)
        try:
            self.live.advance(now)
        except TooManyRoundsError as error:
            raise LimitError(
                "rounds",
                self.limits.rounds,
                reason=f"the recursion of {error.label} goes on making new events",
                fix=Message(
                    "bound what its rules count or build: where { var N < … }, or allow more: ",
                    Limit("rounds", "RuleLimits"),
                ),
            ) from None

    @property
    def now(self) -> int:
        """All that ends up to this tick is done."""
        return self.live.now

    @property
    def due(self) -> int | None:
        ticks = [tick for tick in (self.live.due, self.periodic.due) if tick is not None]
        return min(ticks, default=None)

    @property
    def is_undoable(self) -> bool:
        """Whether a step that fails can be undone: the state of patterns cannot."""
        return not self.engines

    def _match_patterns(self, now: int) -> None:
        """Let the matches over all that comes in that end up to `now` wait for their step."""
        assert self.unseen is not None, "an engine begins with a table without events"
        ends = self.unseen["end"].to_numpy()
        events, self.unseen = self.unseen.filter(pa.array(ends <= now)), self.unseen.filter(pa.array(ends > now))
        for stream in self.over_all:
            found = self.patterns.read(stream, events, now)
            rows = self.interned.with_null(partial(self.patterns.encode, stream, found))
            self.live.add(self.live.planner.source_point(stream), rows)

    # Saving

    def restore(self, points: Mapping[str, Int64], patterns: Mapping[CelStream, bytes], now: int) -> None:
        self.engines.update({stream: self.bound.patterns[stream].restore(saved) for stream, saved in patterns.items()})
        self.live.restore(dict(points), now)

    def earliest(self) -> int | None:
        """The end of the event that waits for time and ends first."""
        waiting = self.waiting
        return int(waiting[:, END].min()) if len(waiting) else None
