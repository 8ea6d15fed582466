"""The live engine of rules: push batches of events, let time advance, get the events that rules derive."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.core.engine_errors import INCOMPLETE, stream_ended
from ostinato.core.events import to_arrow
from ostinato.core.options import bad_option
from ostinato.core.snapshot_format import RULES, Snapshot
from ostinato.errors import DataError, Message, Option, OstinatoError
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.algebra.time_relations import SECOND
from ostinato.rules.incremental.answers import AnswerBuilder
from ostinato.rules.incremental.deployments import Deployments
from ostinato.rules.incremental.event_rows import END, LABEL_COLUMN
from ostinato.rules.incremental.migrate_state import adopt_points, migrate_state
from ostinato.rules.incremental.options import RuleOptions, RuleStatistics
from ostinato.rules.incremental.periodic import ENDED
from ostinato.rules.incremental.quick_rows import FEW, QuickReader
from ostinato.rules.incremental.saved_state import load_state, save_state
from ostinato.rules.incremental.schema_evolution import conform_rows
from ostinato.rules.incremental.steps import StepEvaluator
from ostinato.rules.incremental.stream_binding import StreamBinding, UnboundProgram
from ostinato.rules.plan.check import parse_and_check
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.ingest import LABEL
from ostinato.rules.runtime.rate_limits import RateLimiter
from ostinato.rules.runtime.times import TimeColumns
from ostinato.rules.runtime.unknown_labels import missing_label_warnings
from ostinato.rules.syntax.nodes import Ruleset

_BEFORE, _AFTER = -ENDED, ENDED  # before and after all times
_ENDED = stream_ended("rules.engine()")


class RuleEngine:
    """State of one program over one stream. Build it with `rules.engine()`."""

    def __init__(
        self,
        program: Ruleset,
        text: str,
        options: RuleOptions,
        schema: pa.Schema | None = None,
        *,
        plan: RulePlan | None = None,
    ) -> None:
        self.options, self._deployments = options, Deployments.of(program, text)
        self.events = self.derived = self.late = self.unread = 0
        self.now = _BEFORE  # all that ends up to this tick is done
        self.stopped = ""
        self._late_rows: list[pa.Table] = []
        self._ready: list[pa.Table] = []  # derived by a call that failed later
        self._warned: set[tuple[str, str]] = set()
        self._told_of_nulls = False
        self._unbound = UnboundProgram(self._deployments, options.columns, options.longest, plan)
        self._binding: StreamBinding | None = None
        self._steps: StepEvaluator
        self._answers: AnswerBuilder
        self._quick: QuickReader | None = None
        self._limiter: RateLimiter | None = None
        self._nothing: pa.Table | None = None  # an answer without events
        if schema is not None:
            self._bind(StreamBinding.of(self._unbound, schema, final=True))

    # -- the life of an engine

    def push(self, batch: Any) -> pa.Table:
        """Read events; returns the derived events that end before time as it is now known.

        Parameters
        ----------
        batch
            A table (pyarrow, pandas, polars) or a list of dicts, with the columns of earlier batches.
        """
        self._check_open()
        ends = self._take_few(batch)
        if ends is None:
            ends = self._take(batch)
        if not len(ends) or self.options.lateness is None:
            return self._given()
        # Events of the same end wait for each other: what ends now may still come.
        lateness = -(-self.options.lateness * self.bound_program.columns.times.ticks_per_second // SECOND)
        return self._advance(int(ends.max()) - lateness - 1)

    def _take_few(self, batch: Any) -> Int64 | None:
        """A few dicts as rows of codes, and their ends; None where a table must be made of them first."""
        if self._quick is None or not isinstance(batch, list) or len(batch) > FEW:
            return None
        rows = self._quick.read(batch, self.now)
        if rows is None:
            return None
        self.events += len(rows)
        if not self._steps.reads_all:
            self.unread += int(np.count_nonzero(rows[:, LABEL_COLUMN] == 0))
        return np.asarray(rows[:, END])

    def _take(self, batch: Any) -> Int64:
        """Let events wait; gives their ends."""
        rows, dicts = to_arrow(batch), isinstance(batch, list)
        if not rows.num_columns:
            return np.zeros(0, np.int64)
        binding = self._binding_for(rows.schema, dicts=dicts)
        rows = binding.conform(rows, dicts=dicts)
        columns = binding.program.columns
        read = None
        if binding is self._binding and self._steps.reads_columns:
            begins, ends = columns.times.ticks(rows, first_row=self.events)
        else:
            read = columns.read(rows, first_row=self.events)
            begins, ends = read["begin"].to_numpy(), read["end"].to_numpy()
        late = self._late(columns.times, begins, ends)
        if late.any() and self.options.on_late == "raise":
            raise DataError(
                Message(
                    f"{int(late.sum())} of {len(rows)} events came after time had passed their end, or lasted longer "
                    "than ",
                    Option("longest"),
                    "; none was taken",
                ),
                row=self.events + int(np.argmax(late)),
                fix=Message("sort the events by their end, or allow ", Option("lateness")),
            )
        if binding is not self._binding:
            self._bind(binding)
        labels = columns.labels(rows) if read is None else read[LABEL]
        self._warn(labels)
        is_late = bool(late.any())
        taken = self._take_in_time(rows, read, labels, late) if is_late else self._wait(rows, read, begins, ends)
        self.events += len(rows)
        if not self._steps.reads_all:
            self.unread += int(np.count_nonzero(taken[:, LABEL_COLUMN] == 0))
        return np.asarray(ends[~late])

    def _wait(self, rows: pa.Table, read: pa.Table | None, begins: Int64, ends: Int64) -> Int64:
        if read is not None:
            return self._steps.wait(read)
        columns = self.bound_program.columns
        return self._steps.wait_columns(columns.labels(rows), begins, ends, lambda name: columns.attribute(rows, name))

    def _take_in_time(
        self, rows: pa.Table, read: pa.Table | None, labels: pa.ChunkedArray, late: npt.NDArray[np.bool_]
    ) -> Int64:
        """Let the events wait that are not late, and count the others."""
        self.late += int(late.sum())
        if not self._steps.reads_all:
            known = pa.array(self._steps.live.events.labels, pa.string())
            of_late = labels.filter(pa.array(late))
            self.unread += len(of_late) - (pc.sum(pc.is_in(of_late, known)).as_py() or 0)
        if self.options.on_late == "collect":
            self._late_rows.append(rows.filter(pa.array(late)))
        read = self.bound_program.columns.read(rows, first_row=self.events) if read is None else read
        return self._steps.wait(read.filter(pa.array(~late)))

    def advance(self, to: Any) -> pa.Table:
        """Say that time has passed `to`: nothing that ends up to then will come. Returns what that completes.

        Parameters
        ----------
        to
            A datetime or a number, as the time column holds; also a numpy, pandas or Arrow scalar.
        """
        self._check_open()
        return self._advance(self.bound_program.columns.times.tick(to))

    def flush(self) -> pa.Table:
        """The stream has ended: returns everything that was still waiting, timers included."""
        self._check_open()
        if self._binding is None:
            self._bind(StreamBinding.of(self._unbound, self._unbound.without_events()))
        answer = self._advance(_AFTER)
        self.stopped = _ENDED
        return answer

    def due(self) -> Any:
        """The time that must pass before `advance` has something to do; None when nothing waits."""
        if self._binding is None:
            return None
        ticks = [tick for tick in (self._steps.due, self._steps.earliest()) if tick is not None]
        if not ticks:
            return None
        whole = self.bound_program.whole_seconds
        return self.bound_program.columns.times.values(pa.array([min(ticks)]), whole=whole)[0].as_py()

    def late_events(self) -> pa.Table:
        """The rows that came too late, under on_late="collect"."""
        seen = self._seen
        return pa.concat_tables([seen.empty_table(), *(conform_rows(rows, seen) for rows in self._late_rows)])

    # -- other rules

    @property
    def deployed(self) -> list[str]:
        """The names under which rules were deployed."""
        return self._deployments.names

    def deploy(self, name: str, text: str, *, history: Any = None) -> None:
        """Let more rules run, or others in place of those deployed under the name. All other rules keep their state.

        The new rules start now, as if the stream began here. They may read what other rules derive, and the other way
        round; where no order of strata is left, nothing changes.

        Parameters
        ----------
        name
            A name for these rules, for `undeploy`.
        text
            The rules, as for `ostinato.rules`.
        history
            Events of the past, as for `push`: the new rules then go on from them. What they would have derived is not
            given.
        """
        self._check_open()
        if not name:
            raise bad_option("name", name, "a text, such as 'fraud'")
        deployments = self._deployments.with_part(name, text)
        before = self._deployments, self._unbound, self._binding, self.__dict__.get("_steps")
        self._exchange(deployments, whole=history is not None)
        if history is not None:
            try:
                self._read_history(history, max(deployments.since().values()))
            except BaseException:
                self._deployments, self._unbound, self._binding = before[:3]
                if self._binding is not None and before[3] is not None:
                    self._use(self._binding, before[3])
                raise

    def undeploy(self, name: str) -> None:
        """Let the rules that were deployed under a name run no longer; nothing is kept for them.

        Parameters
        ----------
        name
            The name that `deploy` got.
        """
        self._check_open()
        self._exchange(self._deployments.without(name))

    def _exchange(self, deployments: Deployments, *, whole: bool = False) -> None:
        """Go on with these programs, each point with what it has. `whole`: in a state of its own."""
        known = self._binding
        if known is None:
            self._unbound, self._deployments = self._unbound.changed(deployments), deployments
            return
        unbound = UnboundProgram(deployments, self.options.columns, self.options.longest)
        changed = None if whole or self._steps.live.is_worn else known.changed(unbound)
        if changed is None:
            self._bind(StreamBinding.of(unbound, known.seen, final=known.final, assuming=known.assuming))
        else:
            binding, parts = changed
            gone, _ = deployments.changes(self._deployments)
            self._steps.change(binding.program, gone, parts)
            self._use(binding, self._steps)
            unbound = binding.unbound
        self._unbound, self._deployments = unbound, deployments

    def _read_history(self, history: Any, since: int) -> None:
        """Let the points of a deployment have what they would have, had it read these events."""
        if self._binding is None:
            reason = "no events were pushed yet, so that there is no past"
            raise DataError(reason, fix=Message("push it first, or leave ", Option("history"), " out"))
        past = RuleEngine(self._deployments.program(), self._deployments.text, self.options)
        past._unbound, past._deployments = self._unbound, self._deployments
        past._take(to_arrow(history))
        last = past._steps.live.latest()
        if last is not None and last > self.now:
            reason = "the history has events that end later than time has come to"
            raise DataError(reason, fix="give only events that were pushed, or end before those")
        past._advance(self.now)
        adopt_points(self._steps, past._steps, since, self.now)

    def stats(self) -> RuleStatistics:
        """Numbers of the stream so far, and of what is kept of it."""
        if self._binding is None:
            return RuleStatistics(self.events, self.derived, self.late, self.unread, 0, {})
        counts = self.events, self.derived, self.late, self.unread
        return RuleStatistics(*counts, len(self._steps.waiting), self._steps.live.sizes())

    # -- steps

    def _advance(self, now: int) -> pa.Table:
        if now > self.now:
            try:
                self._steps.advance(now)
            except BaseException:
                # What is derived already is given by the next call; what is not done waits on.
                self.now = self._steps.now
                self._ready.append(self._answer())
                self.stopped = "" if self._steps.is_undoable else INCOMPLETE
                raise
            self.now = now
        return self._given()

    def _given(self) -> pa.Table:
        """What was derived and not given yet."""
        if self._binding is None:
            return pa.table({})
        answer = self._answer()
        if not self._ready:
            return answer
        tables, self._ready = [*self._ready, answer], []
        return pa.concat_tables(tables, promote_options="permissive")

    def _answer(self) -> pa.Table:
        """Derived events in the columns of the answer."""
        assert self._binding is not None
        found = [each for each in self._steps.live.take() if each[0] not in self._answers.private]
        if not found and self._nothing is not None:
            return self._nothing
        answer = self._answers.build(found)
        if self._limiter is not None:
            answer = self._limiter.let_through(answer)
        self.derived += len(answer)
        for name in self._binding.untyped:
            answer = answer.set_column(answer.schema.get_field_index(name), name, pa.nulls(len(answer)))
        self._steps.live.forget(self.now)
        if not found:
            self._nothing = answer
        return answer

    # -- columns

    def _binding_for(self, schema: pa.Schema, *, dicts: bool) -> StreamBinding:
        """The binding for rows of these columns. Nothing changes yet."""
        if self._binding is not None:
            return self._binding.for_rows(schema)
        return StreamBinding.of(self._unbound, schema, assuming=dicts and self.options.columns.get("document") is None)

    def _bind(self, binding: StreamBinding) -> None:
        """Go on with this binding, which may be wider than the one before."""
        before = None if self._binding is None or (not self.events and self.now == _BEFORE) else self._steps
        steps = StepEvaluator(binding.program, self.options.limits, None if before is None else before.interned)
        steps.wait(binding.program.columns.read(binding.schema.empty_table()))
        if before is not None:
            migrate_state(steps, before, self.now)
        self._use(binding, steps)

    def _use(self, binding: StreamBinding, steps: StepEvaluator) -> None:
        self._binding, self._steps, self._nothing = binding, steps, None
        self._answers = AnswerBuilder(binding.program, steps.interned)
        limits = binding.program.sql.plan.outputs.limits
        shown = {} if self._limiter is None else self._limiter.shown
        self._limiter = RateLimiter(limits, binding.program.columns.times, shown) if limits or shown else None
        self._quick = None if steps.engines else QuickReader.of(binding, steps.live, self.options)

    def is_late(self, begins: Int64, ends: Int64) -> npt.NDArray[np.bool_]:
        """Which events of these ticks come too late, or last too long."""
        return self._late(self.bound_program.columns.times, begins, ends)

    def _late(self, times: TimeColumns, begins: Int64, ends: Int64) -> npt.NDArray[np.bool_]:
        late = ends <= self.now
        if self.options.longest < inf and not times.points:
            late |= ends - begins > self.options.longest * times.ticks_per_second // SECOND
        return np.asarray(late)

    def _warn(self, labels: pa.ChunkedArray) -> None:
        """Warn of attributes that rules read of the labels that came, and no event had: they may be misspelt."""
        assert self._binding is not None
        if not self._told_of_nulls:
            for text in missing_label_warnings(labels):
                self._told_of_nulls = True
                warnings.warn(text, stacklevel=4)
        pending = {each: text for each, text in self._binding.missing.items() if each not in self._warned}
        came = set(pc.unique(labels).to_pylist()) if pending else set()
        for each, text in pending.items():
            if each[0] in came:
                self._warned.add(each)
                warnings.warn(text, stacklevel=3)

    @property
    def bound_program(self) -> BoundProgram:
        """The program bound to its columns; known from the first batch on."""
        if self._binding is None:
            raise DataError("no events were pushed yet", fix="push a batch (it may be empty, with its columns) first")
        return self._binding.program

    @property
    def _seen(self) -> pa.Schema:
        return pa.schema([]) if self._binding is None else self._binding.seen

    @property
    def is_bound(self) -> bool:
        return self._binding is not None

    def _check_open(self) -> None:
        if self.stopped:
            raise OstinatoError.parse(self.stopped)

    # -- snapshots

    def snapshot(self) -> bytes:
        """The whole state; `RuleEngine.restore` goes on from it."""
        if self.stopped == INCOMPLETE:
            raise OstinatoError.parse(INCOMPLETE)
        options = asdict(self.options)
        main, *deployed = self._deployments.parts
        meta = {"program": main.text, "options": options, "now": self.now, "bound": self.is_bound}
        meta["deployed"] = [[part.name, part.text, part.since] for part in deployed]
        meta |= {"events": self.events, "derived": self.derived, "late": self.late, "stopped": self.stopped}
        meta["unread"] = self.unread
        if self._limiter is not None:
            meta["shown"] = [[list(key), ends] for key, ends in self._limiter.shown.items()]
        if self._binding is None:
            return Snapshot(meta, {}, {}).to_bytes()
        meta |= {"final": self._binding.final, "assuming": self._binding.assuming}
        saved, arrays, tables = save_state(self._steps, self.now)
        meta |= saved
        tables["schema"] = self._seen.empty_table()
        if self._late_rows:
            tables["late"] = self.late_events()
        if self._ready:
            tables["ready"] = pa.concat_tables(self._ready, promote_options="permissive")
        return Snapshot(meta, arrays, tables).to_bytes()

    @classmethod
    def restore(cls, data: bytes, program: str | None = None) -> RuleEngine:
        """The engine that `snapshot` saved.

        Parameters
        ----------
        data
            What `snapshot` returned, in this process or another.
        program
            The text of a changed program, to go on with in place of the one that was saved: rules that are the same in
            both keep their state, others have only what these keep for them.
        """
        saved = Snapshot.from_bytes(data)
        saved.check_kind(RULES)
        meta = dict(saved.meta)
        engine = cls(parse_and_check(meta["program"]), meta["program"], RuleOptions(**meta["options"]))
        engine.now, engine.stopped = meta["now"], meta["stopped"]
        engine.events, engine.derived, engine.late = meta["events"], meta["derived"], meta["late"]
        engine.unread = meta.get("unread", 0)
        if meta.get("deployed"):
            engine._exchange(engine._deployments.with_parts(meta["deployed"]))
        if meta["bound"]:
            known = {option: meta.get(option, False) for option in ("final", "assuming")}
            binding = StreamBinding.of(engine._unbound, saved.tables["schema"].schema, **known)
            engine._bind(binding)
            load_state(engine._steps, saved, engine.now)
            if engine._limiter is not None:
                engine._limiter.shown = {tuple(key): ends for key, ends in meta.get("shown", [])}
            engine._late_rows = [saved.tables["late"]] if "late" in saved.tables else []
            engine._ready = [saved.tables["ready"]] if "ready" in saved.tables else []
        if program is not None:
            engine._exchange(engine._deployments.with_main(program))
        return engine
