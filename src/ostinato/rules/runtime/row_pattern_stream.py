"""SQL row patterns as event queries: a match of MATCH_RECOGNIZE is an event, from its first row to its last.

Rows are the events of one label, in the order of patterns over labels. The live engine runs over tables too; an empty
match is no event.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import QueryError
from ostinato.rules.plan.embedded_sql import BEGIN, END, read_row_pattern
from ostinato.rules.relational.kinds import Attributes, logical_type
from ostinato.rules.runtime.pattern_stream import PatternStream
from ostinato.sql.live.engine import SqlEngine, SqlOptions


@dataclass(frozen=True)
class RowPatternStream(PatternStream):
    """The matches of an SQL query over the events of its label."""

    @cached_property
    def attributes(self) -> Attributes:
        try:
            schema = self.engine().push(self._no_rows()).schema
        except QueryError as error:  # with its place in the text as engines run it, and names that these have
            fix = (
                f"the events of its label have {', '.join(f'`{name}`' for name in self.incoming.types) or 'no columns'}"
            )
            raise QueryError(f"in the SQL query: {error.reason}", text=self.query, fix=fix) from None
        types = {name: logical_type(schema.field(name).type) for name in schema.names if name not in (BEGIN, END)}
        return Attributes.of(types)

    def kernels(self) -> tuple[Any, ...]:
        return ()  # the package of those of SQL

    def engine(self) -> Any:
        return SqlEngine(read_row_pattern(self.query).text, SqlOptions())

    def restore(self, saved: bytes) -> Any:
        return SqlEngine.restore(saved)

    def has_read(self, engine: Any) -> bool:
        return bool(engine.rows)

    def _engine_schema(self, engine: Any) -> pa.Schema:
        schema: pa.Schema = engine.schema
        return schema

    def _as_events(self, matches: pa.Table) -> pa.Table:
        return super()._as_events(matches.filter(pc.is_valid(matches[END])))
