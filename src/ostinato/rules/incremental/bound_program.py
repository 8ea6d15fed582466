"""A program bound to the columns of a live stream, as far as batches have shown them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ostinato.errors import DataError, QueryError, did_you_mean
from ostinato.rules.algebra.query_plan import plan_program
from ostinato.rules.algebra.translate import PATTERN
from ostinato.rules.incremental.widening import check_signed, conformed, signed, widened
from ostinato.rules.relational.kinds import TERM
from ostinato.rules.runtime.batch import Fitted, fit
from ostinato.rules.runtime.required_columns import Asked, no_events
from ostinato.rules.syntax.nodes import Program


@dataclass(frozen=True)
class Source:
    """A program, and the options of a run that tell how it is fitted to columns."""

    program: Program
    text: str
    columns: Mapping[str, str | None]
    longest: float

    @cached_property
    def asked(self) -> Asked:
        return Asked.of(plan_program(self.program))

    def without_events(self) -> pa.Schema:
        """The columns of a stream that has ended before it had any."""
        return no_events(plan_program(self.program), self.columns).schema


@dataclass(frozen=True)
class Bound:
    """`seen` are the columns of all batches. `final`: a schema has said what there is. `assuming`: rows may leave out
    what they have no value for, so that what rules ask for may still come."""

    source: Source
    seen: pa.Schema
    schema: pa.Schema  # what is seen and what is assumed
    fitted: Fitted
    final: bool
    assuming: bool

    @classmethod
    def of(cls, source: Source, seen: pa.Schema, *, final: bool = False, assuming: bool = False) -> Bound:
        def fitted(schema: pa.Schema) -> Fitted:
            return fit(source.program, source.text, schema, source.columns, longest=source.longest)

        if not assuming:
            return cls(source, seen, seen, fitted(seen), final, assuming)
        schema = source.asked.assumed(seen)
        try:
            return cls(source, seen, schema, fitted(schema), final, assuming)
        except QueryError as error:
            schema = source.asked.assumed(seen, recursive=True)
            with suppress(QueryError):
                return cls(source, seen, schema, fitted(schema), final, assuming)
            raise error from None

    def for_rows(self, given: pa.Schema) -> Bound:
        """Wide enough for rows of these columns; itself where it is. Raises DataError where nothing would be."""
        if given.equals(self.seen):
            return self
        seen = widened(self.seen, given)
        if self.final or seen.equals(self.seen):
            return self
        wider = Bound.of(self.source, seen, assuming=self.assuming)
        self._check_roles(wider)
        return wider

    def _check_roles(self, wider: Bound) -> None:
        before, after = self.fitted.columns, wider.fitted.columns
        roles = [
            (before.moments.begin, after.moments.begin, "when events happen: name the columns that do with time=…"),
            (before.moments.end, after.moments.end, "when events happen: name the columns that do with time=…"),
            (before.type, after.type, "what events are: name the column that does with type=…"),
        ]
        for known, given, use in roles:
            if known != given:
                told, fix = use.split(": ")
                raise DataError(f"the column `{given}` is new, and would say {told}", fix=f"{fix}, or leave it out")

    def rows(self, rows: pa.Table, *, dicts: bool) -> pa.Table:
        """Rows in these columns. A table must have all that were seen; rows that are dicts, what tells events apart."""
        columns = self.fitted.columns
        telling = {columns.moments.begin, columns.moments.end, columns.type, columns.document}
        needed = [name for name in self.seen.names if not dicts or name in telling]
        missing = [name for name in needed if name not in rows.column_names]
        if missing:
            reason = f"the batch has no column `{missing[0]}`, which earlier ones had"
            raise DataError(reason, fix="push the same columns each time")
        rows = conformed(rows, self.schema)
        for name in self._unsigned:
            check_signed(rows[name], name)
        return rows

    @cached_property
    def _unsigned(self) -> list[str]:
        """Columns that rules read whose numbers may be too large for them: no step could get past such an event."""
        kinds = self.fitted.columns.attributes.types
        held = [name for name, kind in kinds.items() if kind is not TERM and signed(kind) != kind]
        matchings = self.fitted.program.binding.matchings.values() if held else []
        read = [each.reads for each in matchings if not each.match.stream.startswith(PATTERN)]
        return [name for name in held if any(name in names for names in read)]

    @cached_property
    def untold(self) -> Mapping[tuple[str, str], str]:
        """What rules need and no event has had yet, by label and name, with what to say of it."""
        if not self.assuming:
            return {}
        known = [name for name in self.fitted.columns.attributes.types if name in self.seen.names]
        found = {}
        for label, name in sorted(self.source.asked.needed):
            if name not in self.seen.names:
                hint = did_you_mean(name, known)
                told = f"no event has had `{name}` yet, which a rule asks `{label}` for"
                found[label, name] = f"{told}; {hint}" if hint else told
        return found

    @cached_property
    def untyped(self) -> list[str]:
        """Columns of the answer whose type is still to be seen."""
        if self.final:
            return []
        derived = self.fitted.program.binding.derived.values()
        kinds = {name: [types[name] for types in derived if name in types] for types in derived for name in types}
        return [
            name for name, each in kinds.items() if all(kind is not None and pa.types.is_null(kind) for kind in each)
        ]
