"""The state of a program over one stream: points with their tuples, and what moves them.

Kernels do the work; here they get the room that they ask for, and Python's delta queries their turn.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.core.jit import prefetch
from ostinato.rules.incremental.codes import NUMBERED, code_kind
from ostinato.rules.incremental.delta_query import DeltaQuery, PointPlan
from ostinato.rules.incremental.event_rows import END, EventRows, read_waiting_terms
from ostinato.rules.incremental.heads import write_deltas
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.incremental.kept_windows import clear_windows, renew_windows
from ostinato.rules.incremental.live_patterns import LivePatterns
from ostinato.rules.incremental.null_code import NullTakenError
from ostinato.rules.incremental.operators import DeltaPlanner
from ostinato.rules.incremental.recode import carry_columns
from ostinato.rules.incremental.table_rows import reopen_rows
from ostinato.rules.incremental.tables import Linker
from ostinato.rules.kernels import layout as k
from ostinato.rules.kernels.events import MOST, drop_done, drop_repeats, sort_few
from ostinato.rules.kernels.retention import clear, forget
from ostinato.rules.kernels.steps import run
from ostinato.rules.kernels.stores import add_rows, rebuild_due, reindex
from ostinato.rules.relational.sql_program import SqlProgram

_ROWS = 20_000  # events of a call of kernels, which nothing can interrupt
_KERNELS = (run, add_rows, reindex, sort_few, drop_repeats, drop_done, forget)
FEW_ROWS = 16  # a group of so few is aggregated as a whole, instead of what enters and leaves
CHUNK = 256  # events of a step, about: look-ups pass over what came after them in it


class TooManyRoundsError(Exception):
    """A recursion goes on making new events of a label."""

    def __init__(self, label: str) -> None:
        super().__init__(label)
        self.label = label


class LiveProgram:
    """Points and delta queries of a program. `events` are the rows that wait for time, or are being read."""

    def __init__(self, program: SqlProgram, interned: Interned, max_rounds: int, patterns: LivePatterns) -> None:
        prefetch(*_KERNELS)
        self.interned, self.patterns = interned, patterns
        self.events = EventRows(program.incoming, interned)
        self.planner = DeltaPlanner(self.events, interned, max_rounds, patterns)
        write_deltas(self.planner, program)
        self._set_constants_apart()
        self.linker = Linker(self.planner)
        self.state, self.deltas = self.linker.state, self.linker.deltas
        self.state.marks[k.CHUNK], self.state.marks[k.FEW_ROWS] = CHUNK, FEW_ROWS
        self.points, self.derived = self.planner.by_name, self.planner.derived
        interned.keepers.add(self)
        self._begin_fixed()

    def _begin_fixed(self, now: int = k.LOWEST) -> None:
        """Let absolute timers wait that go off after a time."""
        for point, begin, end in self.planner.fixed:
            if end > now:
                self.add_times(point, np.array([[begin, end]], np.int64))
        self.planner.fixed.clear()

    # Deployments

    def deploy(self, part: SqlProgram) -> None:
        """Let the rules of a part of the program run from now on."""
        width = self.events.width
        write_deltas(self.planner, part)
        self._set_constants_apart()
        self.linker.extend()
        waiting = self.waiting
        carry_columns(waiting[:, :width], self.events, waiting, self.events, width)
        self._begin_fixed(self.now)
        if self.events.readers:
            read_waiting_terms(self.waiting, self.events, self.waiting, self.events)

    @property
    def is_worn(self) -> bool:
        """Whether deployments that are gone have left much behind."""
        return self.linker.is_worn

    def undeploy(self, since: int) -> None:
        """Let the rules of a deployment run no longer."""
        if self.linker.drop(since):
            self.state.marks[k.STEP] += 1  # what came in the step before waits on
            rebuild_due(self.state)

    # Events

    @property
    def waiting(self) -> Int64:
        """The events that time has not reached."""
        events = self.state.points[0]
        return events.rows[: self.state.marks[k.EVENTS]]

    def room(self, more: int) -> Int64:
        """The rows after those that wait, of which some more will be written."""
        marks, events = self.state.marks, self.state.points[0]
        size = int(marks[k.EVENTS])
        if size + more > len(events.rows):
            self._resize(0, max(2 * len(events.rows), size + more))
        return events.rows[size : size + more]

    def wait(self, more: int) -> None:
        """Rows that were written into `room` are events."""
        self.state.marks[k.EVENTS] += more

    def _sort(self, now: int) -> int:
        """Put the events in the order of their end; gives how many end up to now."""
        if self.state.marks[k.EVENTS] <= MOST:
            return int(sort_few(self.state, now))
        rows = self.waiting
        ends = rows[:, END]
        if (ends[1:] < ends[:-1]).any():
            rows[:] = rows[np.argsort(ends, kind="stable")]
        return int(np.searchsorted(ends, now, side="right"))

    def latest(self) -> int | None:
        """The last end of an event that waits."""
        return int(self.waiting[:, END].max()) if len(self.waiting) else None

    # Steps

    def advance(self, now: int) -> None:
        """Let time go on to `now`, and what ends up to then happen. Where it fails, the steps before are done."""
        if self.state.marks[k.IS_NULL_TAKEN]:  # by what was added since
            self.interned.change_null()
        self.interned.with_null(lambda: self._advance(now))

    def _advance(self, now: int) -> None:
        state, count = self.state, self._sort(now)
        if count > 1 and self.events.counted:
            counted = np.zeros(self.events.last_label + 1, np.int64)
            counted[list(self.events.counted)] = 1
            drop_repeats(state, count, counted, np.full(1 << (2 * count).bit_length(), -1, np.int64))
        marks, total = state.marks, int(state.marks[k.EVENTS])
        try:
            last, ends = 0, self.waiting[:, END]
            while last < count:
                last = count if count - last <= _ROWS else int(np.searchsorted(ends, ends[last + _ROWS], side="right"))
                marks[k.EVENTS], marks[k.FINAL] = last, ends[last - 1] if last < count else now
                self._run()
                forget(state, int(marks[k.DONE_NOW]), False)
            if not count:
                marks[k.EVENTS], marks[k.FINAL] = 0, now
                self._run()
        except BaseException:
            self._undo()
            raise
        finally:
            drop_done(state, total)

    def _run(self) -> None:
        state = self.state
        marks = state.marks
        self._update_plains()
        while (status := run(state)) != k.FINISHED:
            who = int(marks[k.WHO])
            if status == k.HOST:
                self._run_host(self.deltas[who])
                self._update_plains()
            elif status == k.NEED_ROWS:
                self._resize(who, 2 * len(state.points[who].rows))
            elif status == k.NEED_WINDOWS:
                renew_windows(state.windows[who], int(marks[k.NOW]), int(marks[k.GROUP_ROWS]))
            elif status == k.TOO_MANY_ROUNDS:
                raise TooManyRoundsError(self.deltas[who].source.name)
            elif status == k.NEED_NULL:
                raise NullTakenError
            else:
                self._grow(status, who)

    def _run_host(self, delta: DeltaQuery) -> None:
        source = self.state.points[delta.source.number]
        done, count = int(self.state.deltas[delta.number, k.DONE]), int(source.marks[k.COUNT])
        self.state.deltas[delta.number, k.DONE] = count
        assert delta.host is not None
        if done < count:
            self.patterns.done = self.now
            self.add(delta.host.target, delta.host(source.rows[done:count].copy()))

    def add(self, point: PointPlan, rows: Int64) -> None:
        """Add tuples to a point; those that end in the future wait."""
        if not len(rows):
            return
        ends = rows[:, point.ends].max(axis=1) if point.waits else np.full(len(rows), k.LOWEST)
        self._update_plains()
        done = 0
        while (done := add_rows(self.state, point.number, rows, ends, done)) < len(rows):
            struct = self.state.points[point.number]
            if struct.marks[k.COUNT] >= len(struct.rows):
                self._resize(point.number, max(2 * len(struct.rows), len(struct.rows) + len(rows)))
            elif point.waits:
                self._grow(k.NEED_PENDING, point.number)
                self._grow(k.NEED_DUE, 0)

    def add_times(self, point: PointPlan, times: Int64) -> None:
        """Add tuples of numbers that are not NULL."""
        while (times == self.interned.null).any():
            self.interned.change_null()
        self.add(point, times)

    def _update_plains(self) -> None:
        interned, state = self.interned, self.state
        if state.plains is not interned.plains:
            state.update(plains=interned.plains, plain_kinds=interned.plain_kinds)

    # Room

    def _resize(self, number: int, size: int) -> None:
        """Give a point room for so many tuples."""
        point = self.state.points[number]
        rows = np.zeros((size, point.rows.shape[1]), np.int64)
        rows[: len(point.rows)] = point.rows
        indexes = point.links.shape[0]
        links, hashes = np.zeros((indexes, size), np.int64), np.zeros((indexes, size), np.int64)
        buckets = 1 << (4 * size - 1).bit_length()
        point.update(rows=rows, links=links, hashes=hashes, tails=np.full((indexes, buckets), -1, np.int64))
        if number:
            reindex(self.state, number)

    def _grow(self, status: int, who: int) -> None:
        state = self.state
        if status == k.NEED_PENDING:
            point = state.points[who]
            point.pending = _longer(point.pending)
        elif status == k.NEED_DUE:
            state.update(due=_longer(state.due), log=_longer(state.log))
        elif status == k.NEED_GROUP:
            rows = len(state.group)
            distinct, ranked = np.zeros(8 * rows, np.int64), np.zeros(2 * rows, np.int64)
            state.update(group=_longer(state.group), distinct=distinct, ranked=ranked)

    # Failures

    def _undo(self) -> None:
        """Take back what the step that failed has done."""
        state = self.state
        for kept in state.windows:
            clear_windows(kept)
        marks, deltas = state.marks, state.deltas
        rebuild_due(state)
        for number, point in enumerate(state.points):
            changed = point.marks[k.COUNT] != point.marks[k.COMMITTED]
            point.marks[k.COUNT], point.marks[k.TOUCHED] = point.marks[k.COMMITTED], 0
            if changed and number:
                reindex(state, number)
        for plan in self.planner.points:
            if plan.until >= 0:
                reopen_rows(state.points[plan.number], plan.until, int(marks[k.DONE_NOW]))
        for delta in self.deltas:
            deltas[delta.number, k.DONE] = state.points[delta.source.number].marks[k.COMMITTED]
        deltas[:, k.QUEUED] = 0
        for mark in (k.QUEUE_SIZE, k.TOUCHED_SIZE, k.LOG_SIZE, k.RESUMES, k.SKIP, k.PHASE, k.IS_NULL_TAKEN):
            marks[mark] = 0
        marks[k.DELTA], marks[k.NOW], marks[k.FINAL] = -1, marks[k.DONE_NOW], marks[k.DONE_NOW]

    # NULL

    def _set_constants_apart(self) -> None:
        while self.planner.frame.has(self.interned.null):
            self.interned.change_null()

    def codes(self) -> Iterator[Int64]:
        """All codes that are kept between steps."""
        yield self.state.frame
        yield self.waiting
        for point in self.state.points[1:]:
            yield point.rows[: point.marks[k.COUNT]]
            yield point.pending[: point.marks[k.USED]]

    def replace_null(self, old: int, new: int) -> None:
        state = self.state
        state.null = new
        for codes in self.codes():
            codes[codes == old] = new
        for number in range(1, len(state.points)):
            reindex(state, number)
        for kept in state.windows:
            clear_windows(kept)
        state.marks[k.IS_NULL_TAKEN] = 0

    # What was derived

    def take(self) -> list[tuple[str, Int64]]:
        """The derived events since the last call: label, and rows of begin, end and attributes."""
        state = self.state
        found = []
        for number in sorted(state.dirty[: state.marks[k.DIRTY_SIZE]].tolist()):
            plan, struct = self.planner.points[number], state.points[number]
            if plan.retention == k.DERIVED and (count := int(struct.marks[k.COUNT])):
                found.append((plan.name, struct.rows[:count].copy()))
                clear(state, number)
        return found

    # Time

    @property
    def now(self) -> int:
        """All that ends up to this tick is done."""
        return int(self.state.marks[k.DONE_NOW])

    @property
    def due(self) -> int | None:
        """When the next timer goes off."""
        state = self.state
        return int(state.due[0, 0]) if state.marks[k.DUE_SIZE] else None

    def forget(self, now: int, *, all_of_it: bool = False) -> None:
        """Drop tuples that no later event can meet, and the numbers of values that nothing has any more."""
        forget(self.state, now, all_of_it)
        if self.interned.is_full or all_of_it:
            self.interned.sweep(self._numbers())

    def _numbers(self) -> Iterator[Int64]:
        """All codes that are numbers of interned values."""
        waiting = self.waiting
        for column in self.events.numbered_columns():
            yield waiting[:, column]
        for plan in self.planner.points[1:]:
            point = self.state.points[plan.number]
            columns = [place for place, kind in enumerate(plan.kinds) if code_kind(kind) == NUMBERED]
            for column in columns:
                yield point.rows[: point.marks[k.COUNT], column]
                if plan.waits:
                    alive = point.pending[: point.marks[k.USED]]
                    yield alive[alive[:, -1] == k.WAITS, column]

    # Tuples, to be saved and restored

    def sizes(self) -> dict[str, int]:
        """How many tuples each point keeps."""
        found = {}
        for name, plan in self.points.items():
            if plan.retention == k.STORED or plan.waits:
                marks = self.state.points[plan.number].marks
                found[name] = int(marks[k.COUNT] + marks[k.WAITING])
        return found

    def tuples(self, name: str) -> Int64:
        """All that a point keeps, and what waits in it."""
        plan = self.points[name]
        point = self.state.points[plan.number]
        pending = point.pending[: point.marks[k.USED]]
        pending = pending[pending[:, -1] == k.WAITS][:, : len(plan.columns)]
        return np.concatenate([point.rows[: point.marks[k.COUNT]], pending])

    def restore(self, tuples: dict[str, Int64], now: int) -> None:
        """Take these tuples in place of those that are there."""
        state = self.state
        marks = state.marks
        for kept in state.windows:
            clear_windows(kept)
        marks[k.NOW] = marks[k.FINAL] = marks[k.DONE_NOW] = now
        for name in tuples:
            point = state.points[self.points[name].number]
            point.marks[k.USED] = 0
            if point.marks[k.COUNT]:
                point.marks[k.COUNT] = point.marks[k.COMMITTED] = 0
                reindex(state, self.points[name].number)
        rebuild_due(state)
        for name, rows in tuples.items():
            plan = self.points[name]
            if plan.retention != k.STORED and plan.waits:
                rows = rows[rows[:, plan.ends].max(axis=1) > now]
            self.add(plan, rows)
            serials = [rows[:, place].max() for place in plan.serials if len(rows)]
            marks[k.LAST_SERIAL] = max([marks[k.LAST_SERIAL], *serials])
        for point in state.points:
            point.marks[k.TOUCHED] = 0
            point.marks[k.COMMITTED] = point.marks[k.KEPT] = point.marks[k.COUNT]
        for delta in self.deltas:
            state.deltas[delta.number, k.DONE] = state.points[delta.source.number].marks[k.COUNT]
        state.deltas[:, k.QUEUED] = 0
        marks[k.QUEUE_SIZE] = marks[k.TOUCHED_SIZE] = 0


def _longer(table: Int64) -> Int64:
    """The same rows, with room for as many more."""
    return np.concatenate([table, np.zeros((max(16, len(table)), table.shape[1]), np.int64)])
