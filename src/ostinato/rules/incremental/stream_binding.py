"""A program bound to the columns of a live stream, as far as batches have shown them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from ostinato.errors import DataError, Message, Option, QueryError, did_you_mean
from ostinato.rules.algebra.nodes import stream_label
from ostinato.rules.algebra.plan_changes import plan_beside, plan_without
from ostinato.rules.algebra.query_plan import RulePlan, plan_program
from ostinato.rules.incremental.deployments import Deployments
from ostinato.rules.incremental.schema_evolution import check_signed, conform_rows, signed_type, widen_schema
from ostinato.rules.relational.kinds import TERM, Attributes
from ostinato.rules.relational.sql_program import SqlProgram
from ostinato.rules.runtime.bound_program import BoundProgram, bind_program
from ostinato.rules.runtime.ingest import IncomingColumns
from ostinato.rules.runtime.program_changes import bind_beside, bind_without
from ostinato.rules.runtime.required_columns import RequiredColumns, empty_events


@dataclass(frozen=True)
class UnboundProgram:
    """What is deployed, and the options of a run that say how it is bound to columns. `known` is its plan, if there is
    one, and `needs` what that reads."""

    deployments: Deployments
    columns: Mapping[str, str | None]
    longest: float
    known: RulePlan | None = None
    tables: Mapping[str, pa.Table] = field(default_factory=dict)  # rows that hold from before all events
    needs: RequiredColumns | None = None

    @cached_property
    def plan(self) -> RulePlan:
        """Raises QueryError, with its place, where rules wait for each other."""
        if self.known is not None:
            return self.known
        try:
            return plan_program(self.deployments.program(), since=self.deployments.since())
        except QueryError as error:
            raise self.deployments.located(error) from None

    def changed(self, deployments: Deployments) -> UnboundProgram:
        """The same with other deployments. Only what is new is planned, where nothing else depends on it."""
        known: RulePlan | None = self.plan
        after = self.unplanned(deployments)
        gone, new = deployments.changes(self.deployments)
        try:
            for since in gone:
                known = known and plan_without(known, since)
            for part in new:
                found = known and plan_beside(known, deployments.program_of(part), part.since)
                known = found[0] if found else None
        except QueryError:
            known = None  # planned as a whole, it says what is wrong with all of it
        after = replace(after, known=known)
        assert after.plan is not None
        return after

    def unplanned(self, deployments: Deployments) -> UnboundProgram:
        return replace(self, deployments=deployments, known=None, needs=None)

    @cached_property
    def required(self) -> RequiredColumns:
        return self.needs or RequiredColumns.of(self.plan, self.tables)

    def without_events(self) -> pa.Schema:
        """The columns of a stream that has ended without any event."""
        return empty_events(self.plan, self.columns, self.tables).schema


@dataclass(frozen=True)
class StreamBinding:
    """`seen` are the columns of all batches. `final`: a schema has fixed them. `assuming`: rows may leave out what they
    have no value for, so that columns which rules read may still come."""

    unbound: UnboundProgram
    seen: pa.Schema
    schema: pa.Schema  # what is seen and what is assumed
    program: BoundProgram
    final: bool
    assuming: bool

    @classmethod
    def of(
        cls, unbound: UnboundProgram, seen: pa.Schema, *, final: bool = False, assuming: bool = False
    ) -> StreamBinding:
        def bind(schema: pa.Schema) -> BoundProgram:
            try:
                return bind_program(
                    unbound.deployments.program(),
                    None,
                    schema,
                    unbound.columns,
                    longest=unbound.longest,
                    since=unbound.deployments.since(),
                    plan=unbound.plan,
                    tables={label: rows.schema for label, rows in unbound.tables.items()},
                )
            except QueryError as error:
                raise unbound.deployments.located(error) from None

        if not assuming:
            return cls(unbound, seen, seen, bind(seen), final, assuming)
        schema = unbound.required.complete_schema(seen)
        try:
            return cls(unbound, seen, schema, bind(schema), final, assuming)
        except QueryError as error:
            schema = unbound.required.complete_schema(seen, recursive=True)
            with suppress(QueryError):
                return cls(unbound, seen, schema, bind(schema), final, assuming)
            raise error from None

    def changed(self, unbound: UnboundProgram) -> tuple[StreamBinding, list[SqlProgram]] | None:
        """With other deployments: also the parts of the program that are new. None where others depend on what comes
        or goes, so that all of it has to be bound anew."""
        bound, parts = self.program, []
        gone, new = unbound.deployments.changes(self.unbound.deployments)
        if 0 in gone:
            return None
        needs: RequiredColumns | None = None

        def columns(plan: RulePlan) -> IncomingColumns | None:
            nonlocal needs
            if not self.assuming:
                return self.program.columns
            if needs is None:
                needs = RequiredColumns.of(bound.sql.plan, unbound.tables) if gone else self.unbound.required
            needs = RequiredColumns.of(plan, unbound.tables, beside=needs)
            return self._columns(needs)

        try:
            for since in gone:
                less = bind_without(bound, since)
                if less is None:
                    return None
                bound = less
            for part in new:
                more = bind_beside(bound, unbound.deployments.program_of(part), part.since, columns)
                if more is None:
                    return None
                bound = more[0]
                parts.append(more[1])
        except QueryError:
            return None  # bound as a whole, it says what is wrong with all of it
        kinds = bound.columns.attributes.types
        schema = pa.schema([*self.schema, *((name, pa.null()) for name in kinds if name not in self.schema.names)])
        unbound = replace(unbound, known=bound.sql.plan, needs=needs)
        return replace(self, unbound=unbound, schema=schema, program=bound), parts

    def _columns(self, required: RequiredColumns) -> IncomingColumns | None:
        """The columns that are there, and others that are required and may come. None where that changes what is
        there."""
        columns = self.program.columns
        schema = required.complete_schema(self.schema)
        known = columns.attributes.types
        new = {field.name: field.type for field in schema if field.name not in self.schema.names}
        if not all(map(pa.types.is_null, new.values())) or any(field not in schema for field in self.schema):
            return None
        return replace(columns, attributes=Attributes.of({**known, **new})) if new else columns

    def for_rows(self, given: pa.Schema) -> StreamBinding:
        """A binding that is wide enough for rows of these columns, maybe this. Raises DataError where there is none."""
        if given.equals(self.seen):
            return self
        seen = widen_schema(self.seen, given)
        if self.final or seen.equals(self.seen):
            return self
        wider = StreamBinding.of(self.unbound, seen, assuming=self.assuming)
        self._check_roles(wider)
        return wider

    def _check_roles(self, wider: StreamBinding) -> None:
        before, after = self.program.columns, wider.program.columns
        roles = [
            (before.times.begin, after.times.begin, "when events happen", "name the columns that do with ", "time"),
            (before.times.end, after.times.end, "when events happen", "name the columns that do with ", "time"),
            (before.type, after.type, "what events are", "name the column that does with ", "type"),
        ]
        for known, given, what, fix, option in roles:
            if known != given:
                raise DataError(
                    f"the column `{given}` is new, and would say {what}",
                    fix=Message(fix, Option(option), ", or leave it out"),
                )

    def conform(self, rows: pa.Table, *, dicts: bool) -> pa.Table:
        """Rows in these columns. A table must have all columns that were seen; dicts, only times and type."""
        if rows.schema.equals(self.schema) and not self._unsigned:
            return rows
        columns = self.program.columns
        roles = {columns.times.begin, columns.times.end, columns.type, columns.document}
        needed = [name for name in self.seen.names if not dicts or name in roles]
        missing = [name for name in needed if name not in rows.column_names]
        if missing:
            reason = f"the batch has no column `{missing[0]}`, which earlier ones had"
            raise DataError(reason, fix="push the same columns each time")
        rows = conform_rows(rows, self.schema)
        for name in self._unsigned:
            check_signed(rows[name], name)
        return rows

    @cached_property
    def _unsigned(self) -> list[str]:
        """Columns that rules read whose numbers may be too large for them: no step could get past such an event."""
        kinds = self.program.columns.attributes.types
        held = [name for name, kind in kinds.items() if kind is not TERM and signed_type(kind) != kind]
        plans = self.program.sql.plan_types.match_plans.values() if held else []
        read = [each.reads for each in plans if stream_label(each.match.stream) is not None]
        return [name for name in held if any(name in names for names in read)]

    @cached_property
    def missing(self) -> Mapping[tuple[str, str], str]:
        """A warning for each attribute that rules need and no event has had yet, by label and name."""
        if not self.assuming:
            return {}
        known = [name for name in self.program.columns.attributes.types if name in self.seen.names]
        found = {}
        for label, name in sorted(self.unbound.required.needed):
            if name not in self.seen.names:
                hint = did_you_mean(name, known)
                warning = f"no event has had `{name}` yet, which a rule reads of `{label}`"
                found[label, name] = f"{warning}; {hint}" if hint else warning
        return found

    @cached_property
    def untyped(self) -> list[str]:
        """Columns of the answer whose type is not known yet."""
        if self.final:
            return []
        sql = self.program.sql
        derived = [types for label, types in sql.plan_types.derived.items() if label not in sql.plan.outputs.private]
        kinds = {(name, kind) for types in derived for name, kind in types.items()}
        typed = {name for name, kind in kinds if kind is TERM or not pa.types.is_null(kind)}
        return [name for name in dict.fromkeys(name for types in derived for name in types) if name not in typed]
