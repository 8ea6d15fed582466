"""Incremental evaluation (section 3.4.3): points as tables of DuckDB, one statement for each that a step may change.

A step takes the events that end after `previous` and not after `now`, and gives the derived events that do. What it
adds to each point is Figure 11's difference, with only those arms whose inputs have changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from itertools import count as count_up
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import LimitError
from ostinato.patterns.runtime.engine import Engine
from ostinato.rules.algebra.nodes import CelStream, Construct, Definition, FixedStream, Match, Point, Stream
from ostinato.rules.incremental.small_steps import SMALL_STEP, PointTuples, SmallSteps
from ostinato.rules.incremental.statements import Statements
from ostinato.rules.relational.dialects import write_sql
from ostinato.rules.relational.kinds import TERM, Attributes
from ostinato.rules.relational.operators import NOW, PREVIOUS
from ostinato.rules.relational.sql_names import INCOMING, derived_table, matched_table, stream_table
from ostinato.rules.relational.sql_program import MAX_ROUNDS
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.duckdb_store import DuckDBStore, column_type, connect, quote_identifier
from ostinato.rules.runtime.ingest import LABEL, TermMatcher

_MANY = 1_000  # fewer tuples are not worth looking through for what to forget, fewer events not worth buckets of time
_SCRATCH = 5_000  # events of steps that are done, in a table of events
Derived = dict[str, pa.Table]  # label -> events: begin, end and the attributes of the label


class StepEvaluator:
    """Evaluates steps of a program over one stream, and holds its state."""

    def __init__(self, bound: BoundProgram) -> None:
        self.bound, self.program = bound, bound.sql
        self.plan = self.program.plan
        self.generator = copy(self.program.generator)
        self.generator.stepwise = True
        self._large = False
        self.store = DuckDBStore(connect(threads=1), self.generator.names)
        self.sizes: dict[str, int] = {}  # tuples of each stored point
        self._kept: dict[str, int] = {}  # how many there were when the point was last looked through
        self.waiting: dict[str, int | None] = {}  # of each point that waits, the next time at which a tuple ends
        self._matchers: dict[str, TermMatcher] = {}
        self._expired: dict[str, str | None] = {}
        self._small_steps = SmallSteps(self.program)
        self._found: dict[str, PointTuples] = {}  # what the step adds to points, as far as Python has found it
        self._empty = {label: self._nothing(label) for label in self.program.rules_of}
        self._statements = Statements(self.plan.query_plan.definitions, self.generator, self.store)
        for definition in self.plan.query_plan.definitions:
            self._prepare(definition)
        self.engines = {stream: pattern.engine() for stream, pattern in bound.patterns.items()}
        # The labels that something reads; None where a pattern may read all.
        labels = [stream for stream in self.program.plan_types.attributes if isinstance(stream, str)]
        self.labels = None if self.engines else pa.array(labels, pa.string())
        # Tables of events, of which only those of the step count; emptied now and then.
        self._events: dict[str, int] = {}
        self._incoming: pa.Table | None = None  # the events of the step, until a statement needs them
        self._create(INCOMING, self._no_events().schema)
        for label in labels:
            self._prepare_stream(label)

    def _prepare(self, definition: Definition) -> None:
        name, node = definition.name, definition.node
        if isinstance(node, Match):
            found = self.program.plan_types.match_plans[name]
            if found.flat is None:
                attributes = self.program.plan_types.attributes[node.stream]
                self._matchers[name] = TermMatcher(found, attributes, self.generator.names)
        if isinstance(node, Construct) or not (relevance := self.plan.relevance[name]).stored:
            return
        kinds = self.program.plan_types.kinds[name]
        types = {self.generator.names.variable(each): column_type(kind) for each, kind in kinds.items()}
        columns = [
            f"{quote_identifier(column)} {types.get(column, 'TEXT' if column.endswith('.ref') else 'BIGINT')}"
            for column in self.generator.columns(node)
        ]
        self.store.run(f"CREATE TABLE {quote_identifier(name)} ({', '.join(columns)})")
        self.sizes[name] = self._kept[name] = 0
        point = Point(name, node.schema)
        gone = self.generator.expiry_condition(point, [use.bounds for use in relevance.uses])
        self._expired[name] = None if gone is None else write_sql(gone, "duckdb")
        if relevance.waits:
            self.waiting[name] = None
        if isinstance(node, FixedStream):
            self.store.run(f"INSERT INTO {quote_identifier(name)} {write_sql(self.generator.select(node), 'duckdb')}")
            self.sizes[name] = 1
            self.waiting[name] = self._next(name, None)

    def _prepare_stream(self, label: str) -> None:
        """Events of a label as a view: those that came in, and those that rules have derived."""
        derived = label in self.program.rules_of
        if derived:
            self._create(derived_table(label), self._nothing(label).schema)
        self.store.define(stream_table(label), self.program.stream_query(label, derived=derived), kept=False)

    def _create(self, table: str, schema: pa.Schema) -> None:
        columns = [
            f"{quote_identifier(field.name)} {column_type(field.type, unread=table == INCOMING)}" for field in schema
        ]
        self.store.run(f"CREATE TABLE {quote_identifier(table)} ({', '.join(columns)})")
        self._events[table] = 0

    def _no_events(self) -> pa.Table:
        attributes = self.program.incoming
        return pa.schema([(LABEL, pa.string()), *_fields(attributes)]).empty_table()

    def _nothing(self, label: str) -> pa.Table:
        return pa.schema(_fields(Attributes.of(self.program.plan_types.derived[label]))).empty_table()

    # One step

    def step(self, events: pa.Table, previous: int, now: int) -> Derived:
        """`events` end after `previous` and not after `now`; gives the derived events that do.

        Where it fails, all is as it was before, if `is_undoable`.
        """
        if not self.is_undoable:
            return self._step(events, previous, now)
        sizes, waiting = dict(self.sizes), dict(self.waiting)
        try:
            return self._step(events, previous, now)
        except BaseException:
            self._undo(sizes, previous)
            self.waiting = waiting
            raise

    def _undo(self, sizes: dict[str, int], previous: int) -> None:
        """Take back what a step has added. (A transaction for each would cost a tenth of small ones.)"""
        for table in self._events:
            self.store.run(f'DELETE FROM {quote_identifier(table)} WHERE "end" > {previous}')
        for name, size in sizes.items():
            added = self.store.count(name) - size
            if added:  # a step only appends
                last = f"SELECT rowid FROM {quote_identifier(name)} ORDER BY rowid DESC LIMIT {added}"
                self.store.run(f"DELETE FROM {quote_identifier(name)} WHERE rowid IN ({last})")
        self.sizes = sizes

    @property
    def is_undoable(self) -> bool:
        """Whether a step can be undone: the state of patterns is not in tables."""
        return not self.engines

    def _step(self, events: pa.Table, previous: int, now: int) -> Derived:
        streams: set[Stream] = set(pc.unique(events[LABEL]).to_pylist()) if len(events) else set()
        self._large = len(events) >= _MANY
        self._incoming = events if streams else None
        self._found = self._small_steps.additions(events) if len(events) <= SMALL_STEP else {}
        for stream, engine in self.engines.items():
            matches = self.bound.patterns[stream].matches(engine, events, now)
            if len(matches):
                self.store.connection.register(stream_table(stream), matches)
                streams.add(stream)
        times = {PREVIOUS: previous, NOW: now}
        active = {name for name, due in self.waiting.items() if due is not None and due <= now}
        found: Derived = {}
        for number, group in enumerate(self.plan.groups):
            definitions = self.program.definitions_of(number)
            if group.recursive:
                self._enter()  # before rounds that are undone
                self._fixpoint(number, streams, active, times, found)
            else:
                made = self._run(definitions, streams, active, times)
                self._show(self._note(made, found), found, streams, previous)
        self._look_ahead(active, now)
        return found

    def _run(
        self, definitions: list[Definition], streams: set[Stream], active: set[str], times: Mapping[str, int]
    ) -> dict[str, pa.Table]:
        """Every definition once; gives what the rules among them make. `active` are the points that have changed."""
        made: dict[str, pa.Table] = {}
        for definition in definitions:
            name, node = definition.name, definition.node
            if name in self._found:
                self._store(name, active, times[NOW])
                continue
            if isinstance(node, Match):
                if node.stream not in streams:
                    continue
                active.add(name)
                if name in self._matchers:
                    self._match(name, node, times)
            elif isinstance(node, FixedStream) or self._small_steps.adds_nothing(name, self._found):
                continue
            statement = self._statements.of(definition, active, large=self._large)
            if statement is None:
                continue
            if statement.reads_events:
                self._enter()
            if isinstance(node, Construct):
                rows = self._derive(node, statement.call(times))
                if len(rows):
                    made[name] = rows
            elif name in self.sizes:
                count = int(self.store.run(*statement.call(times))[0][0])
                self.sizes[name] += count
                if count:
                    active.add(name)
            else:
                active.add(name)
        return made

    def _enter(self) -> None:
        """Let statements see the events of the step."""
        if self._incoming is not None:
            self.store.insert(INCOMING, self._incoming)
            self._events[INCOMING] += len(self._incoming)
            self._incoming = None

    def _store(self, name: str, active: set[str], now: int) -> None:
        """Add to a point what Python has found for it."""
        rows = self._found[name]
        if not rows:
            return
        if name in self.sizes:
            self.store.insert_rows(name, rows)
            self.sizes[name] += len(rows)
        ends = self._small_steps.ends(name, rows) if name in self.waiting else [now]
        if min(ends) <= now:
            active.add(name)
        else:
            due = self.waiting[name]
            self.waiting[name] = min(ends) if due is None else min(due, *ends)

    def _derive(self, node: Construct, call: tuple[str, dict[str, int]]) -> pa.Table:
        if self._large or len(self.program.rules_of[node.head.label]) > 1:
            return self.store.arrow(*call)
        # Few rows, and mostly none: Arrow would take longer to set up than they take to make.
        schema = self._empty[node.head.label].schema
        if any(pa.types.is_nested(field.type) or pa.types.is_temporal(field.type) for field in schema):
            return self.store.arrow(*call)
        columns = list(zip(*self.store.run(*call), strict=True))
        if not columns:
            return self._empty[node.head.label]
        arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
        return pa.table(arrays, schema=schema)

    def _match(self, name: str, node: Match, times: Mapping[str, int]) -> None:
        self._enter()
        table = quote_identifier(stream_table(node.stream))
        events = self.store.arrow(f'SELECT * FROM {table} WHERE "end" > ${PREVIOUS} AND "end" <= ${NOW}', times)
        self.store.connection.register(matched_table(name), self._matchers[name](events))

    # What rules derive

    def _note(self, made: Mapping[str, pa.Table], found: Derived) -> set[str]:
        """Add what rules have made to what the step has derived, as a set; gives the labels that have changed."""
        changed = {label for label, rules in self.program.rules_of.items() if any(rule in made for rule in rules)}
        for label in changed:
            rules = [rule for rule in self.program.rules_of[label] if rule in made]
            tables = [self._as_derived(label, rule, made[rule]) for rule in rules]
            if label in found or len(tables) > 1:
                tables += [found[label]] if label in found else []
                found[label] = self._distinct(pa.concat_tables(tables))
            else:
                found[label] = tables[0]
        return changed

    def _show(self, changed: set[str], found: Derived, streams: set[Stream], previous: int) -> None:
        """Let later rules see what was derived."""
        for label in changed & self.program.plan_types.attributes.keys():
            table = derived_table(label)
            if label in streams:  # some of it may be there already
                self.store.run(f'DELETE FROM {quote_identifier(table)} WHERE "end" > {previous}')
            self.store.insert(table, found[label])
            self._events[table] += len(found[label])
            streams.add(label)

    def _as_derived(self, label: str, rule: str, rows: pa.Table) -> pa.Table:
        """What one rule makes in the columns of its label."""
        if len(self.program.rules_of[label]) > 1:
            self.store.connection.register(rule, rows)
            text = write_sql(self.program.derived_query(label, [rule]), "duckdb")
            rows = self.store.arrow(text)
        wanted = self._empty[label].schema
        return rows if rows.schema.equals(wanted) else rows.cast(wanted)

    def _distinct(self, rows: pa.Table) -> pa.Table:
        self.store.connection.register("#rows", rows)
        return self.store.arrow('SELECT DISTINCT * FROM "#rows"').cast(rows.schema)

    def _fixpoint(
        self, number: int, streams: set[Stream], active: set[str], times: Mapping[str, int], found: Derived
    ) -> None:
        """Rounds over the same step, each from the state before it, until one derives nothing new."""
        definitions, group = self.program.definitions_of(number), self.program.rounds[number].labels
        known = 0
        for _ in count_up() if self.program.is_finite(number) else range(MAX_ROUNDS):
            with self._undoable() as undo:
                made = self._run(definitions, set(streams), trial := set(active), times)
                changed = self._note(made, found)
                count = sum(len(found[label]) for label in group if label in found)
                if count == known:
                    active |= trial
                    return
                undo()
            self._show(changed, found, streams, times[PREVIOUS])
            known = count
        raise LimitError(
            "rounds",
            MAX_ROUNDS,
            reason=f"the recursion of {', '.join(group)} goes on making new events",
            fix="bound what its rules count or build: where { var N < … }",
        )

    @contextmanager
    def _undoable(self) -> Iterator[Any]:
        """A transaction that is undone when asked to be."""
        sizes, undone = dict(self.sizes), False

        def undo() -> None:
            nonlocal undone
            undone = True

        self.store.run("BEGIN")
        try:
            yield undo
        except BaseException:
            undo()
            raise
        finally:
            self.store.run("ROLLBACK" if undone else "COMMIT")
            if undone:
                self.sizes = sizes

    # Time

    def _look_ahead(self, touched: set[str], now: int) -> None:
        """Note when a timer goes off next."""
        for name in self.waiting.keys() & touched:
            self.waiting[name] = self._next(name, now)

    def _next(self, name: str, now: int | None) -> int | None:
        node = self.generator.definitions[name]
        end = write_sql(self.generator.end(node), "duckdb")
        parameters = {} if now is None else {NOW: now}
        where = "" if now is None else f" WHERE {end} > ${NOW}"
        found = self.store.run(f"SELECT min({end}) FROM {quote_identifier(name)}{where}", parameters)[0][0]
        return None if found is None else int(found)

    @property
    def due(self) -> int | None:
        return min((time for time in self.waiting.values() if time is not None), default=None)

    # Forgetting

    def forget(self, now: int, *, all_of_it: bool = False) -> None:
        """Drop tuples that no later event can meet, once they may be half of a point; or now, `all_of_it`."""
        for table, size in self._events.items():
            if size > _SCRATCH or all_of_it:
                self.store.clear(table)
                self._events[table] = 0
        for name, size in self.sizes.items():
            gone = self._expired[name]
            if gone is None or (not all_of_it and size < 2 * self._kept[name] + _MANY):
                continue
            kept = f"SELECT * FROM {quote_identifier(name)} WHERE NOT ({gone})"
            rows = self.store.arrow(kept, {NOW: now})
            self.store.clear(name)
            self.store.insert(name, rows)
            self.sizes[name] = self._kept[name] = len(rows)

    # Saving

    def tables(self) -> dict[str, pa.Table]:
        return {name: self.store.arrow(f"SELECT * FROM {quote_identifier(name)}") for name in self.sizes}

    def restore(self, tables: Mapping[str, pa.Table], patterns: Mapping[CelStream, bytes], now: int) -> None:
        self.engines |= {stream: Engine.restore(saved) for stream, saved in patterns.items()}
        for name, rows in tables.items():
            self.store.run(f"DELETE FROM {quote_identifier(name)}")
            self.store.insert(name, rows)
            self.sizes[name] = self._kept[name] = len(rows)
        for name in self.waiting:
            self.waiting[name] = self._next(name, now)


def _fields(attributes: Attributes) -> list[tuple[str, pa.DataType]]:
    times = [("begin", pa.int64()), ("end", pa.int64())]
    return times + [
        (attributes.columns[name], pa.string() if kind is TERM else kind) for name, kind in attributes.types.items()
    ]
