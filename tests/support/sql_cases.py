"""Reads the cases of MATCH_RECOGNIZE in tests/vectors/sql.

A file holds tables and cases. Each begins with a line `== …`:

    == table ticks(ts, price)          then rows as SQL: VALUES (1, 10), (2, 20)
    == what the case shows             then a query, then `----` and the rows expected

Rows have their values between `|`, NULL for nothing. They are compared in any order unless the query orders them.
`---- QueryError` or `---- DataError` stands for an error, and the lines after it for parts of its message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

import ostinato as ost
from ostinato.sql.runtime.connect import fetch
from ostinato.sql.runtime.errors import quote
from ostinato.sql.runtime.input import column_of
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n
from support import paths

FOLDER = paths.VECTORS / "sql"


@dataclass(frozen=True)
class Case:
    file: str
    name: str
    query: str
    error: str | None
    expected: tuple[str, ...]
    tables: dict[str, pa.Table] = field(repr=False, compare=False)

    @property
    def ordered(self) -> bool:
        """Whether the query around the clauses orders its rows."""
        return re.search(r"\)[^()]*\bORDER BY [^()]*$", self.query, re.IGNORECASE) is not None


def read_cases() -> list[Case]:
    return [case for file in sorted(FOLDER.glob("*.cases")) for case in _read(file)]


def _read(file: Path) -> list[Case]:
    tables: dict[str, pa.Table] = {}
    cases = []
    for block in re.split(r"^== ", file.read_text(), flags=re.MULTILINE)[1:]:
        title, _, body = block.partition("\n")
        body = "\n".join(line for line in body.split("\n") if not line.startswith("#"))
        if found := re.fullmatch(r"table (\w+)(\([^)]*\))", title.strip()):
            tables[found[1]] = _table(f"SELECT * FROM ({body}) AS t{found[2]}")
            continue
        query, _, rest = body.partition("\n----")
        kind, _, rows = rest.partition("\n")
        lines = tuple(line.strip() for line in rows.strip().split("\n") if line.strip())
        cases.append(Case(file.stem, title.strip(), query.strip(), kind.strip() or None, lines, tables))
    return cases


def _table(query: str) -> pa.Table:
    with duckdb.connect() as connection:
        return connection.sql(query).to_arrow_table()


def rows(table: pa.Table, ordered: bool) -> tuple[str, ...]:
    """The rows of an answer as the cases write them."""
    written = ["|".join(map(_text, row)) for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]
    return tuple(written if ordered else sorted(written))


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, float):
        return f"{value:.10g}"
    return str(value)


@dataclass(frozen=True)
class Cuts:
    """Evaluates a clause as a stream does: an engine gets its rows in the order of time, one batch after the other."""

    text: str

    def __call__(self, match: n.MatchRecognize, source: Source) -> pa.Table:
        table = fetch(source.connection, f"SELECT * FROM {source.text}")
        clause = self.text[match.span.start : match.span.end]
        query = ost.sql(f"SELECT * FROM {quote(source.alias)} {clause}")
        name = column_of(match.order_by[0], table.column_names, source.alias) if match.order_by else None
        waits = bool(match.order_by) and name is None
        if name is not None:
            table = table.take(pc.sort_indices(table, [(name, "ascending")]))
        engine = query.engine(schema=table.schema, lateness="30000 days" if waits else 0)
        found = [engine.push(table.slice(0, 1))]
        if len(self.text) % 4 == 0:  # binding a clause to its columns takes longer than all else
            engine = ost.SqlEngine.restore(engine.snapshot())
        found += [engine.push(table.slice(start, 2)) for start in range(1, len(table), 2)]
        return pa.concat_tables([*found, engine.flush()])
