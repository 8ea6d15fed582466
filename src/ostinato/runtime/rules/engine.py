"""The live engine of rules: push batches of events, let time advance, get the events that rules derive."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import DataError, OstinatoError
from ostinato.events import to_arrow
from ostinato.options import OnLate
from ostinato.plan.rules import Program
from ostinato.relational.kinds import TERM, Attributes
from ostinato.relational.select import SECOND
from ostinato.runtime.rules.ingest import LABEL, untag
from ostinato.runtime.rules.steps import Derived, Steps
from ostinato.runtime.rules.whole import Fitted, fit, typed
from ostinato.runtime.state import Snapshot
from ostinato.terms.data import to_json

Int64 = npt.NDArray[np.int64]

_BEFORE, _AFTER = -(2**62), 2**62  # before and after all times
_ROWS = 20_000  # events in a step, about: a join looks at all pairs of a key within one
_ENDED = "this engine was flushed: its stream has ended\nfix: build a new one with rules.engine()"
_STOPPED = "this engine stopped in the middle of a step: its state is incomplete\nfix: restore it from a snapshot"


@dataclass(frozen=True)
class RuleOptions:
    """What a user may say about a run, beside the program. `lateness` and `longest` are in nanoseconds."""

    columns: dict[str, str | None]
    lateness: int | None = 0  # None: events wait for `advance`
    on_late: OnLate = "count"
    longest: float = inf


@dataclass(frozen=True)
class RuleStatistics:
    """events: rows pushed; derived: events given; late: rows that came too late, or lasted too long; unread: rows whose
    label no rule asks for; waiting: rows that time has not reached yet; kept: tuples of each materialisation point,
    those among them that are not yet cleared away."""

    events: int
    derived: int
    late: int
    unread: int
    waiting: int
    kept: dict[str, int]


class RuleEngine:
    """State of one program over one stream. Build it with `rules.engine()`."""

    def __init__(self, program: Program, text: str, options: RuleOptions, schema: pa.Schema | None = None) -> None:
        self.program, self.text, self.options = program, text, options
        self.events = self.derived = self.late = self.unread = 0
        self.now = _BEFORE  # all that ends up to this tick is done
        self.stopped = ""
        self._late_rows: list[pa.Table] = []
        self._schema: pa.Schema | None = None
        self._waiting: pa.Table = pa.table({})
        self._fitted: Fitted | None = None
        if schema is not None:
            self._bind(schema)

    # -- the life of an engine

    def push(self, batch: Any) -> pa.Table:
        """Read events; returns the derived events that end before time as it is now known."""
        self._check_open()
        rows = to_arrow(batch)
        if self._schema is None and not rows.num_columns:
            return pa.table({})
        rows = self._meet(rows, optional=isinstance(batch, list))
        read = self.fitted.columns.read(rows, first_row=self.events)
        ends = read["end"].to_numpy()
        late = self.is_late(read["begin"].to_numpy(), ends)
        if late.any() and self.options.on_late == "raise":
            raise DataError(
                f"{int(late.sum())} of {len(rows)} events came after time had passed their end, or lasted longer than "
                "longest=…; none was taken",
                row=self.events + int(np.argmax(late)),
                fix="sort the events by their end, or allow lateness=…",
            )
        self.events += len(rows)
        if self._steps.labels is not None:
            self.unread += len(rows) - (pc.sum(pc.is_in(read[LABEL], self._steps.labels)).as_py() or 0)
        if late.any():
            self.late += int(late.sum())
            if self.options.on_late == "collect":
                self._late_rows.append(rows.filter(pa.array(late)))
            read, ends = read.filter(pa.array(~late)), ends[~late]
        self._waiting = pa.concat_tables([self._waiting, read]) if len(self._waiting) else read
        if not len(ends) or self.options.lateness is None:
            return self._answer({})
        # Events of the same end wait for each other: what ends now may still come.
        lateness = -(-self.options.lateness * self.fitted.columns.moments.ticks_per_second // SECOND)
        return self._advance(int(ends.max()) - lateness - 1)

    def advance(self, to: Any) -> pa.Table:
        """Say that time has passed `to`: nothing that ends up to then will come. Returns what that completes."""
        self._check_open()
        return self._advance(self.fitted.columns.moments.tick(to))

    def flush(self) -> pa.Table:
        """The stream has ended: returns everything that was still waiting, timers included."""
        self._check_open()
        if self._fitted is None:
            self.stopped = _ENDED
            return pa.table({})
        answer = self._advance(_AFTER)
        self.stopped = _ENDED
        return answer

    def due(self) -> Any:
        """The time that must pass before `advance` has something to do; None when nothing waits."""
        if self._fitted is None:
            return None
        ticks = [] if self._steps.due is None else [self._steps.due]
        if len(self._waiting):
            ticks.append(int(self._waiting["end"].to_numpy().min()))
        if not ticks:
            return None
        whole = self.fitted.whole_seconds
        return self.fitted.columns.moments.values(pa.array([min(ticks)]), whole=whole)[0].as_py()

    def late_events(self) -> pa.Table:
        """The rows that came too late, under on_late="collect"."""
        assert self._schema is not None
        return pa.concat_tables(self._late_rows) if self._late_rows else self._schema.empty_table()

    def stats(self) -> RuleStatistics:
        if self._fitted is None:
            return RuleStatistics(self.events, self.derived, self.late, self.unread, 0, {})
        counts = self.events, self.derived, self.late, self.unread
        return RuleStatistics(*counts, len(self._waiting), dict(self._steps.sizes))

    # -- steps

    def _advance(self, now: int) -> pa.Table:
        if now <= self.now:
            return self._answer({})
        ends = self._waiting["end"].to_numpy()
        ripe = ends <= now
        events = self._waiting.filter(pa.array(ripe)) if not ripe.all() else self._waiting
        self._waiting = self._waiting.filter(pa.array(~ripe)) if not ripe.all() else self._waiting.slice(0, 0)
        self.stopped = _STOPPED
        tables = [self._answer(self._step(part, until)) for part, until in self._parts(events, ends[ripe], now)]
        self.stopped = ""
        return pa.concat_tables(tables)

    def _parts(self, events: pa.Table, ends: Int64, now: int) -> list[tuple[pa.Table, int]]:
        """The events in steps of bounded size: all that end at the same time in one."""
        if len(ends) <= _ROWS:
            return [(events, now)]
        order = np.argsort(ends, kind="stable")
        ends, events = ends[order], events.take(pa.array(order))
        cuts = [0]
        while cuts[-1] < len(ends):
            last = ends[min(cuts[-1] + _ROWS, len(ends)) - 1]
            cuts.append(int(np.searchsorted(ends, last, side="right")))
        parts = [(events.slice(at, to - at), int(ends[to - 1])) for at, to in pairwise(cuts)]
        return [*parts[:-1], (parts[-1][0], now)]

    def _step(self, events: pa.Table, now: int) -> Derived:
        found = self._steps.step(events, self.now, now)
        self.now = now
        self._steps.forget(now)
        return found

    def _answer(self, found: Derived) -> pa.Table:
        """Derived events in the columns of the answer."""
        output = self.fitted.program.output
        tables = []
        for label, rows in found.items():
            kinds = self.fitted.program.binding.derived[label]
            columns = Attributes.of(kinds).columns
            data = {"type": pa.array([label] * len(rows), pa.string()), "begin": rows["begin"], "end": rows["end"]}
            for field in output:
                if field.name not in kinds:
                    data[field.name] = pa.nulls(len(rows), field.type)
                elif kinds[field.name] is TERM:
                    data[field.name] = pa.array(map(_as_text, rows[columns[field.name]].to_pylist()), pa.string())
                else:
                    data[field.name] = typed(rows[columns[field.name]], field.type)
            tables.append(pa.table(data))
            self.derived += len(rows)
        if not tables:
            return self.fitted.answer_schema.empty_table()
        return self.fitted.answer(pa.concat_tables(tables))

    # -- columns

    def _meet(self, rows: pa.Table, *, optional: bool) -> pa.Table:
        """The rows in the columns of the first batch; `optional`: what is not there has no value."""
        if self._schema is None:
            self._bind(rows.schema)
        assert self._schema is not None
        if rows.schema.equals(self._schema):
            return rows
        missing = [name for name in self._schema.names if name not in rows.column_names]
        for name in self._attributes if optional and rows.num_columns else ():
            if name in missing:
                missing.remove(name)
                rows = rows.append_column(name, pa.nulls(len(rows), self._schema.field(name).type))
        if missing and rows.num_columns:
            raise DataError(
                f"the batch has no column `{missing[0]}`, which the first one had",
                fix="push the same columns each time",
            )
        if not rows.num_columns:
            return self._schema.empty_table()
        try:
            return rows.select(self._schema.names).cast(self._schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
            fix = "say what columns hold from the start: rules.engine(schema=pyarrow.schema(…)), or cast them"
            raise DataError(f"the batch has other types than the first one: {error}", fix=fix) from error

    def _bind(self, schema: pa.Schema) -> None:
        # A column without a value has no type yet; most that come without are texts.
        fields = [field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema]
        schema = pa.schema(fields)
        self._fitted = fit(self.program, self.text, schema, self.options.columns, longest=self.options.longest)
        self._schema = schema
        self._steps = Steps(self._fitted)
        self._waiting = self._fitted.columns.read(schema.empty_table())

    def is_late(self, begins: Int64, ends: Int64) -> npt.NDArray[np.bool_]:
        """Which events of these ticks come too late, or last too long."""
        late = ends <= self.now
        if self.options.longest < inf and not self.fitted.columns.moments.points:
            late |= ends - begins > self.options.longest * self.fitted.columns.moments.ticks_per_second // SECOND
        return np.asarray(late)

    @property
    def fitted(self) -> Fitted:
        """The program bound to its columns; known from the first batch on."""
        if self._fitted is None:
            raise DataError("no events were pushed yet", fix="push a batch (it may be empty, with its columns) first")
        return self._fitted

    @property
    def _attributes(self) -> list[str]:
        return [] if self.options.columns.get("document") else list(self.fitted.columns.attributes.types)

    @property
    def bound(self) -> bool:
        return self._fitted is not None

    def _check_open(self) -> None:
        if self.stopped:
            raise OstinatoError(self.stopped)

    # -- snapshots

    def snapshot(self) -> bytes:
        """The whole state; `RuleEngine.restore` goes on from it."""
        options = asdict(self.options)
        meta = {"program": self.text, "options": options, "now": self.now, "bound": self.bound}
        meta |= {"events": self.events, "derived": self.derived, "late": self.late, "stopped": self.stopped}
        meta["unread"] = self.unread
        if self._schema is None:
            return Snapshot(meta, {}, {}).to_bytes()
        self._steps.forget(self.now, all_of_it=True)
        tables = {f"point {name}": rows for name, rows in self._steps.tables().items()}
        tables |= {"schema": self._schema.empty_table(), "waiting": self._waiting.combine_chunks()}
        if self._late_rows:
            tables["late"] = self.late_events()
        arrays = {
            f"pattern {query}": np.frombuffer(engine.snapshot(), np.uint8)
            for query, engine in self._steps.engines.items()
        }
        return Snapshot(meta, arrays, tables).to_bytes()

    @classmethod
    def restore(cls, data: bytes) -> RuleEngine:
        """The engine that `snapshot` saved."""
        from ostinato.ruleset import RuleProgram

        saved = Snapshot.from_bytes(data)
        if "program" not in saved.meta:
            raise DataError("this is a snapshot of another engine", fix="restore it with ostinato.Engine.restore")
        meta = dict(saved.meta)
        engine = cls(RuleProgram(meta["program"]).program, meta["program"], RuleOptions(**meta["options"]))
        engine.now, engine.stopped = meta["now"], meta["stopped"]
        engine.events, engine.derived, engine.late = meta["events"], meta["derived"], meta["late"]
        engine.unread = meta.get("unread", 0)
        if meta["bound"]:
            engine._bind(saved.tables["schema"].schema)
            engine._waiting = saved.tables["waiting"]
            points = {
                name.removeprefix("point "): rows for name, rows in saved.tables.items() if name.startswith("point ")
            }
            patterns = {name.removeprefix("pattern "): array.tobytes() for name, array in saved.arrays.items()}
            engine._steps.restore(points, patterns, engine.now)
            engine._late_rows = [saved.tables["late"]] if "late" in saved.tables else []
        return engine


def _as_text(value: str | None) -> str | None:
    """A TERM as the text that users see."""
    if value is None:
        return None
    plain = untag(value)
    return plain if isinstance(plain, str) else to_json(plain)
