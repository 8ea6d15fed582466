"""A clause bound to the columns of a stream: its conditions, and how far they and its measures look."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import duckdb
import numpy as np
import pyarrow as pa

from ostinato.core import database
from ostinato.core.arrays import Bools, Int64
from ostinato.sql.automaton.build import Automaton, build_automaton
from ostinato.sql.live.code_book import MOST_PACKED
from ostinato.sql.runtime.bind import bind
from ostinato.sql.runtime.clause import texts_of_clause
from ostinato.sql.runtime.conditions import Conditions, compile_by_columns, compile_conditions
from ostinato.sql.runtime.errors import quote, translate_errors
from ostinato.sql.runtime.input import (
    OrderedRows,
    column_of,
    key_text,
    named_columns,
    plain_text,
    select,
)
from ostinato.sql.runtime.row_values import RowValues
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.places import table_aliases

INPUT = "#input"
_DEADLINE = "#deadline"


@dataclass(frozen=True)
class BoundClause:
    """Attributes
    ----------
    schema : pyarrow.Schema
        The columns of the input.
    keys : dict
        The names of the columns of keys, those that are computed among them.
    computed : list
        Computed columns of rows, as text over the input.
    kept : list
        The columns that are kept of each row.
    """

    text: str  # of the query, for errors
    match: n.MatchRecognize
    alias: str
    schema: pa.Schema
    keys: dict[n.Key, str]
    computed: list[str]
    kept: list[str]
    automaton: Automaton
    values: RowValues
    conditions: Conditions

    @staticmethod
    def of(text: str, match: n.MatchRecognize, alias: str, schema: pa.Schema) -> BoundClause:
        connection = database.connect()
        connection.register(INPUT, schema.empty_table())
        source = Source(connection, quote(INPUT), alias)
        with translate_errors(text, [alias]):
            bind(match, source, text)
            keys: dict[n.Key, str] = {}
            computed = []
            for key in (*match.partition_by, *match.order_by):
                name = column_of(key, schema.names, alias)
                if name is None:
                    name = f"#key{len(keys)}"
                    computed.append(f"({key_text(key)}) AS {quote(name)}")
                keys[key] = name
            if match.within is not None:
                computed.append(f"({key_text(match.order_by[0])}) + ({plain_text(match.within)}) AS {quote(_DEADLINE)}")
            kept = list(schema.names)
            if match.rows == "ONE ROW":
                named = {name for each in texts_of_clause(match) for name in named_columns(each, schema.names, alias)}
                kept = [name for name in kept if name in named or name in keys.values()]
            kept += [name for name in keys.values() if name not in schema.names]
            automaton = prune(build_automaton(match.pattern))
            empty = _with_columns(connection, schema.empty_table(), computed, alias)
            rows = OrderedRows(source, empty, list(schema.names), keys, None, np.zeros(1, np.int64))
            values = RowValues(match, rows)
            conditions = compile_by_columns(match, automaton.variables, values)
            if conditions is None or len(conditions.local) > MOST_PACKED:
                conditions = compile_conditions(match, automaton.variables, values)
        return BoundClause(text, match, alias, schema, keys, computed, kept, automaton, values, conditions)

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        return self.values.rows.source.connection

    def prepare(self, rows: pa.Table) -> pa.Table:
        """Rows of the input with computed columns beside theirs."""
        return _with_columns(self.connection, rows, self.computed, self.alias)

    def deadlines(self, rows: pa.Table) -> pa.ChunkedArray | None:
        return rows[_DEADLINE] if self.match.within is not None else None

    def ordered(self, rows: pa.Table, bounds: Int64) -> OrderedRows:
        """Kept rows, partition by partition."""
        source = self.values.rows.source
        return OrderedRows(source, rows, list(self.schema.names), self.keys, None, bounds)

    @cached_property
    def ahead(self) -> int:
        """How many rows after a row must be known before its conditions can be evaluated."""
        return max(0, *(term.step for value in self._conditions() for term in navigations(value)), 0)

    @cached_property
    def back(self) -> int:
        """How many rows before a row its conditions and the measures of a match that begins there may read."""
        values = [*self._conditions(), *(measure.value for measure in self.match.measures)]
        return max(0, *(-term.step for value in values for term in navigations(value)), 0)

    @cached_property
    def looking_on(self) -> list[n.Navigation]:
        """What measures read after other rows."""
        found = [term for measure in self.match.measures for term in navigations(measure.value)]
        return [term for term in found if term.step > 0]

    @cached_property
    def furthest(self) -> int:
        return max((term.step for term in self.looking_on), default=0)

    def _conditions(self) -> list[n.Sql]:
        return [each.condition for each in self.match.definitions]


def alias_of(text: str) -> str:
    """The name that expressions may qualify columns of the input with."""
    names = table_aliases(text)
    return names[0] if len(names) == 1 else INPUT


def navigations(value: n.Sql) -> Iterator[n.Navigation]:
    for term in value.terms:
        if isinstance(term, n.Navigation):
            yield term


def prune(automaton: Automaton) -> Automaton:
    """Without transitions after which no match can be complete, whatever rows come: nothing waits for them."""
    alive: Bools = automaton.accepting_at_end.copy()
    symbols = automaton.edges >= 0
    while True:
        leads = np.zeros(automaton.edges.size, np.bool_)
        leads[symbols] = alive[automaton.edges[symbols]]
        found = alive.copy()
        found[automaton.sources[leads]] = True
        if (found == alive).all():
            break
        alive = found
    kept = leads | ~symbols
    ends = np.concatenate([[0], np.cumsum(np.bincount(automaton.sources[kept], minlength=automaton.states))])
    return replace(automaton, edges=automaton.edges[kept], ends=ends.astype(np.int64))


def _with_columns(connection: duckdb.DuckDBPyConnection, rows: pa.Table, computed: list[str], alias: str) -> pa.Table:
    if not computed:
        return rows
    found = select(connection, computed, rows, alias)
    for name in found.column_names:
        rows = rows.append_column(name, found[name])
    return rows
