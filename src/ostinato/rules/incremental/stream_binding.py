"""A program bound to the columns of a live stream, as far as batches have shown them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ostinato.errors import DataError, Message, Option, QueryError, did_you_mean
from ostinato.rules.algebra.nodes import CelStream
from ostinato.rules.algebra.query_plan import plan_program
from ostinato.rules.incremental.schema_evolution import check_signed, conform_rows, signed_type, widen_schema
from ostinato.rules.relational.kinds import TERM
from ostinato.rules.runtime.bound_program import BoundProgram, bind_program
from ostinato.rules.runtime.required_columns import RequiredColumns, empty_events
from ostinato.rules.syntax.nodes import Ruleset


@dataclass(frozen=True)
class UnboundProgram:
    """A program, and the options of a run that say how it is bound to columns."""

    program: Ruleset
    text: str
    columns: Mapping[str, str | None]
    longest: float
    since: Mapping[int, int]

    @cached_property
    def required(self) -> RequiredColumns:
        return RequiredColumns.of(plan_program(self.program))

    def without_events(self) -> pa.Schema:
        """The columns of a stream that has ended without any event."""
        return empty_events(plan_program(self.program), self.columns).schema


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
            return bind_program(
                unbound.program, unbound.text, schema, unbound.columns, longest=unbound.longest, since=unbound.since
            )

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
        read = [each.reads for each in plans if not isinstance(each.match.stream, CelStream)]
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
        kinds = {name: [types[name] for types in derived if name in types] for types in derived for name in types}
        return [
            name for name, each in kinds.items() if all(kind is not None and pa.types.is_null(kind) for kind in each)
        ]
