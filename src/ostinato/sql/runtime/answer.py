"""The answer of a whole query: each clause's rows become a table that stands in its place, and DuckDB does the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from ostinato.errors import Span
from ostinato.sql.runtime.as_given import comes_back_alike, named_table, shows_all_of
from ostinato.sql.runtime.bind import bind
from ostinato.sql.runtime.clause import evaluate
from ostinato.sql.runtime.connect import connect, fetch
from ostinato.sql.runtime.errors import quote, translate_errors
from ostinato.sql.runtime.plans import Plans
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.places import table_aliases

Evaluate = Callable[[n.MatchRecognize, Source], pa.Table]


def answer(
    query: n.Query, tables: Mapping[str, pa.Table], evaluate: Evaluate = evaluate, plans: Plans | None = None
) -> pa.Table:
    """The rows of the query over these tables; `evaluate` gives those of a clause, `plans` say what is known of it."""
    with connect(tables) as connection, translate_errors(query.text, tables):
        rest = Replacement(query.text)
        for number, clause in enumerate(query.clauses):
            reads = source(clause, rest, connection, tables)
            if plans is None or not plans.fits(clause.match):
                bind(clause.match, reads, query.text)
                if plans is not None and reads.table is not None:
                    plans.put(clause.match)
            found = evaluate(clause.match, reads)
            name = f"#match{number}"
            connection.register(name, found)
            rest.put(clause.place, f'"{name}"')
        text = rest.text(Span(0, len(query.text)))
        return found if comes_back_alike(found) and shows_all_of(text, name) else fetch(connection, text)


@dataclass
class Replacement:
    """The text of a query, in which clauses are replaced by names of tables."""

    original: str
    put_in: list[tuple[Span, str]] = field(default_factory=list)

    def put(self, place: Span, name: str) -> None:
        """A clause is replaced after those inside it, which go with it."""
        self.put_in = [each for each in self.put_in if not place.start <= each[0].start < place.end]
        self.put_in.append((place, name))

    def text(self, place: Span) -> str:
        """The text of a place as it stands now."""
        parts, at = [], place.start
        for span, name in sorted(self.put_in, key=lambda each: each[0].start):
            if place.start <= span.start and span.end <= place.end:
                parts += [self.original[at : span.start], name]
                at = span.end
        return "".join([*parts, self.original[at : place.end]])


def source(
    clause: n.Clause, rest: Replacement, connection: duckdb.DuckDBPyConnection, tables: Mapping[str, pa.Table]
) -> Source:
    """What a clause reads, with the common table expressions that it can name."""
    text = rest.text(clause.input)
    table = None if clause.scopes else named_table(text, tables)
    names = table_aliases(text)
    if len(names) > 1:
        text = f"(SELECT {', '.join(map(quote, names))}, * FROM {text})"
    for scope in reversed(clause.scopes):
        recursive = "RECURSIVE " if scope.recursive else ""
        text = f"(WITH {recursive}{rest.text(scope.definitions)} SELECT * FROM {text})"
    alias, joined = (names[0], ()) if len(names) == 1 else ("#input", tuple(names))
    return Source(connection, text, alias, joined, table)
