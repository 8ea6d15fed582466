"""The events of a live stream: read in the columns that batches have shown, they wait for time in a program's steps."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.core.events import to_arrow
from ostinato.core.user_functions import UserFunction
from ostinato.errors import DataError, Message, Option
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.algebra.time_relations import SECOND
from ostinato.rules.incremental.answers import AnswerBuilder
from ostinato.rules.incremental.deployments import Deployments
from ostinato.rules.incremental.event_rows import END, LABEL_COLUMN
from ostinato.rules.incremental.migrate_state import migrate_state
from ostinato.rules.incremental.options import RuleOptions
from ostinato.rules.incremental.periodic import ENDED
from ostinato.rules.incremental.quick_rows import FEW, QuickReader
from ostinato.rules.incremental.steps import StepEvaluator
from ostinato.rules.incremental.stream_binding import StreamBinding, UnboundProgram
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.ingest import LABEL
from ostinato.rules.runtime.rate_limits import RateLimiter
from ostinato.rules.runtime.times import TimeColumns
from ostinato.rules.runtime.unknown_labels import missing_label_warnings
from ostinato.rules.syntax.nodes import Ruleset

BEFORE = -ENDED  # before all times


class LiveStream:
    """A program over a stream, bound to its columns once these are known."""

    def __init__(
        self,
        program: Ruleset,
        text: str,
        options: RuleOptions,
        schema: pa.Schema | None = None,
        *,
        plan: RulePlan | None = None,
        functions: Mapping[str, UserFunction] | None = None,
        tables: Mapping[str, pa.Table] | None = None,
    ) -> None:
        self.options, self._deployments = options, Deployments.of(program, text, functions or {})
        self.events = self.derived = self.late = self.unread = 0
        self.now = BEFORE  # all that ends up to this tick is done
        self.stopped = ""
        self._late_rows: list[pa.Table] = []
        self._ready: list[pa.Table] = []  # derived by a call that failed later
        self._warned: set[tuple[str, str]] = set()
        self._told_of_nulls = False
        self._unbound = UnboundProgram(self._deployments, options.columns, options.longest, plan, tables or {})
        self._binding: StreamBinding | None = None
        self._steps: StepEvaluator
        self._answers: AnswerBuilder
        self._quick: QuickReader | None = None
        self._limiter: RateLimiter | None = None
        self._nothing: pa.Table | None = None  # an answer without events
        if schema is not None:
            self._bind(StreamBinding.of(self._unbound, schema, final=True))

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

    # -- columns

    def _binding_for(self, schema: pa.Schema, *, dicts: bool) -> StreamBinding:
        """The binding for rows of these columns. Nothing changes yet."""
        if self._binding is not None:
            return self._binding.for_rows(schema)
        return StreamBinding.of(self._unbound, schema, assuming=dicts and self.options.columns.get("document") is None)

    def _bind(self, binding: StreamBinding) -> None:
        """Go on with this binding, which may be wider than the one before."""
        before = None if self._binding is None or (not self.events and self.now == BEFORE) else self._steps
        if before is not None:  # while no other has values interned: it frees those that it has not
            before.live.forget(self.now, all_of_it=True)
        steps = StepEvaluator(binding.program, self.options.limits, None if before is None else before.interned)
        steps.wait(binding.program.columns.read(binding.schema.empty_table()))
        steps.load(binding.unbound.tables)
        if before is not None:
            migrate_state(steps, before, self.now)
        self._use(binding, steps)

    def _use(self, binding: StreamBinding, steps: StepEvaluator) -> None:
        self._binding, self._steps, self._nothing = binding, steps, None
        self._answers = AnswerBuilder(binding.program, steps.interned)
        limits = binding.program.sql.plan.outputs.limits
        shown = {} if self._limiter is None else self._limiter.shown
        self._limiter = RateLimiter(limits, binding.program.columns.times, shown) if limits or shown else None
        self._quick = None if steps.reads_all else QuickReader.of(binding, steps.live, self.options)

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
