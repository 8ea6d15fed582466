"""The live engine of rules: push batches of events, let time advance, get the events that rules derive."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from ostinato.core.engine_errors import INCOMPLETE, stream_ended
from ostinato.core.events import to_arrow
from ostinato.core.frames import TableLike
from ostinato.core.options import bad_option
from ostinato.core.snapshot_format import RULES, Snapshot
from ostinato.core.stream_schema import check_wider
from ostinato.core.user_functions import FunctionLike, UserFunction, read_functions
from ostinato.errors import DataError, Message, Option, OstinatoError
from ostinato.rules.algebra.time_relations import SECOND
from ostinato.rules.incremental.deployments import Deployments
from ostinato.rules.incremental.live_stream import LiveStream
from ostinato.rules.incremental.migrate_state import adopt_points
from ostinato.rules.incremental.options import RuleOptions, RuleStatistics
from ostinato.rules.incremental.periodic import ENDED
from ostinato.rules.incremental.saved_state import load_state, save_state
from ostinato.rules.incremental.schema_evolution import conform_rows, widen_schema
from ostinato.rules.incremental.stream_binding import StreamBinding
from ostinato.rules.plan.check import parse_and_check
from ostinato.rules.syntax.nodes import BUILT_IN

_TABLE = "table "  # before the label of one whose rows were given
_ENDED = stream_ended("rules.engine()")


class RuleEngine(LiveStream):
    """State of one program over one stream. Build it with `rules.engine()`."""

    # -- the life of an engine

    def push(self, batch: TableLike) -> pa.Table:
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
        answer = self._advance(ENDED)
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
        past = None if history is None else self._past_rows(history)
        self._exchange(deployments, past=past)
        if past is not None:
            try:
                self._read_history(past, max(deployments.since().values()))
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

    def widen(self, schema: pa.Schema) -> None:
        """Go on with the columns of a schema, as if they had been there from the beginning: some may be new, or wider
        than those of before.

        Parameters
        ----------
        schema
            The columns of all further batches.
        """
        self._check_open()
        if self._binding is None or self._seen.equals(schema):
            return
        check_wider(self._seen, schema)
        known = self._binding
        self._bind(StreamBinding.of(self._unbound, schema, final=known.final, assuming=known.assuming))

    def _exchange(self, deployments: Deployments, *, past: pa.Table | None = None) -> None:
        """Go on with these programs, each point with what it has. `past` events, in a state that can hold them."""
        known = self._binding
        if known is None:
            self._unbound, self._deployments = self._unbound.changed(deployments), deployments
            return
        unbound = known.unbound.unplanned(deployments)
        changed = None if past is not None or self._steps.live.is_worn else known.changed(unbound)
        if changed is None:
            seen = known.seen if past is None else known.for_rows(past.schema).seen
            self._bind(StreamBinding.of(unbound, seen, final=known.final, assuming=known.assuming))
        else:
            binding, parts = changed
            gone, _ = deployments.changes(self._deployments)
            self._steps.change(binding.program, gone, parts)
            self._use(binding, self._steps)
            unbound = binding.unbound
        self._unbound, self._deployments = unbound, deployments

    def _past_rows(self, history: Any) -> pa.Table:
        """Events of the past in the columns of the stream, of which they may lack some that other rules read."""
        if self._binding is None:
            reason = "no events were pushed yet, so that there is no past"
            raise DataError(reason, fix=Message("push it first, or leave ", Option("history"), " out"))
        rows = to_arrow(history)
        wide = widen_schema(self._seen, rows.schema)
        if not self._binding.assuming:  # tables that come later need no columns beside those of the stream
            wide = pa.schema([field for field in wide if field.name in self._seen.names])
            rows = rows.select([name for name in rows.column_names if name in wide.names])
        return conform_rows(rows, wide)

    def _read_history(self, rows: pa.Table, since: int) -> None:
        """Let the points of a deployment have what they would have, had it read these events."""
        assert self._binding is not None
        given = self._unbound.tables
        past = RuleEngine(self._deployments.program(), self._deployments.text, self.options, tables=given)
        past._unbound, past._deployments = self._unbound, self._deployments
        past._bind(StreamBinding.of(past._unbound, rows.schema, assuming=self._binding.assuming))
        past._take(rows)
        last = past._steps.live.latest()
        if last is not None and last > self.now:
            reason = "the history has events that end after the engine's current time"
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
        if called := self._deployments.called():
            meta["functions"] = dict(called)
        if self._limiter is not None:
            meta["shown"] = [[list(key), ends] for key, ends in self._limiter.shown.items()]
        given = {f"{_TABLE}{label}": rows for label, rows in self._unbound.tables.items()}
        if self._binding is None:
            return Snapshot(meta, {}, given).to_bytes()
        meta |= {"final": self._binding.final, "assuming": self._binding.assuming}
        saved, arrays, tables = save_state(self._steps, self.now)
        meta |= saved
        tables |= given | {"schema": self._seen.empty_table()}
        if self._late_rows:
            tables["late"] = self.late_events()
        if self._ready:
            tables["ready"] = pa.concat_tables(self._ready, promote_options="permissive")
        return Snapshot(meta, arrays, tables).to_bytes()

    @classmethod
    def restore(
        cls, data: bytes, program: str | None = None, *, functions: Mapping[str, FunctionLike] | None = None
    ) -> RuleEngine:
        """The engine that `snapshot` saved.

        Parameters
        ----------
        data
            What `snapshot` returned, in this process or another.
        program
            The text of a changed program, to go on with in place of the one that was saved: rules that are the same in
            both keep their state, others have only what these keep for them.
        functions
            The functions of your own that rules call, as for `ostinato.rules`.
        """
        saved = Snapshot.from_bytes(data)
        saved.check_kind(RULES)
        meta = dict(saved.meta)
        known = read_functions(functions, BUILT_IN)
        _check_functions(meta.get("functions", {}), known)
        options = RuleOptions(**meta["options"])
        tables = {name.removeprefix(_TABLE): rows for name, rows in saved.tables.items() if name.startswith(_TABLE)}
        engine = cls(parse_and_check(meta["program"], known), meta["program"], options, functions=known, tables=tables)
        engine.now, engine.stopped = meta["now"], meta["stopped"]
        engine.events, engine.derived, engine.late = meta["events"], meta["derived"], meta["late"]
        engine.unread = meta.get("unread", 0)
        if meta.get("deployed"):
            engine._exchange(engine._deployments.with_parts(meta["deployed"]))
        if meta["bound"]:
            columns = {option: meta.get(option, False) for option in ("final", "assuming")}
            binding = StreamBinding.of(engine._unbound, saved.tables["schema"].schema, **columns)
            engine._bind(binding)
            load_state(engine._steps, saved, engine.now)
            if engine._limiter is not None:
                engine._limiter.shown = {tuple(key): ends for key, ends in meta.get("shown", [])}
            engine._late_rows = [saved.tables["late"]] if "late" in saved.tables else []
            engine._ready = [saved.tables["ready"]] if "ready" in saved.tables else []
        if program is not None:
            engine._exchange(engine._deployments.with_main(program))
        return engine


def _check_functions(saved: Mapping[str, str], given: Mapping[str, UserFunction]) -> None:
    """Snapshots name the functions of the user that their rules call; the functions themselves are given again."""
    for name, signature in saved.items():
        if name not in given:
            fix = Message("give it again with ", Option("functions"))
            raise DataError(f"the rules of the snapshot call {name}{signature}, a function of yours", fix=fix)
        if given[name].signature != signature:
            reason = f"the rules of the snapshot call {name}{signature}, and {name}{given[name].signature} is given"
            raise DataError(reason, fix="give a function of the same types, and new rules another name of it")
