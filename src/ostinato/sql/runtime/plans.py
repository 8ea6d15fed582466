"""What a query needs to know of the types of its tables, kept for the next tables with the same ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from ostinato.errors import Span
from ostinato.sql.automaton.build import Automaton
from ostinato.sql.runtime.conditions import Conditions
from ostinato.sql.syntax import nodes as n


@dataclass
class ClausePlan:
    """Of a clause whose expressions fit the columns that it reads."""

    conditions: tuple[Automaton, Conditions] | None = None
    shifted: dict[tuple[str, int], str] = field(default_factory=dict)  # of RowValues
    types: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plans:
    """Of the clauses that read a table as it is given. What others read may have other columns for other rows."""

    schemas: Mapping[str, pa.Schema]
    clauses: dict[Span, ClausePlan] = field(default_factory=dict)

    def of(self, tables: Mapping[str, pa.Table]) -> Plans:
        """Those for these tables."""
        schemas = {name: table.schema for name, table in tables.items()}
        return self if self.schemas == schemas else Plans(schemas)

    def fits(self, match: n.MatchRecognize) -> bool:
        return match.span in self.clauses

    def put(self, match: n.MatchRecognize) -> None:
        self.clauses[match.span] = ClausePlan()

    def get(self, match: n.MatchRecognize) -> ClausePlan:
        """A new one where none is kept."""
        return self.clauses.get(match.span) or ClausePlan()
