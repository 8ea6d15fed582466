"""The tasks of a clause, without Spark: whatever lies in which task, the rows are those of the definition."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.spark.sql.plan import bind_input, columns_read
from ostinato.sql.runtime.answer import answer
from ostinato.sql.runtime.source import Source
from ostinato.sql.semantics import rows as declared
from ostinato.sql.syntax import nodes as n
from support.generators.draws import pick
from support.generators.sql import clauses, tables
from support.spark.sql import Tasks

SCHEMA = pa.schema([("g", pa.string()), ("ts", pa.int64()), ("v", pa.int64()), ("w", pa.int64())])


def twin(match: n.MatchRecognize, source: Source) -> pa.Table:
    return declared.evaluate(match, source.connection, source.text, source.alias, source.joined)


def outcome(text: str, table: pa.Table, evaluate: Any) -> Any:
    try:
        found = answer(ost.sql(text).query, {"t": table}, evaluate)
    except ost.DataError as error:
        return type(error)
    return found.column_names, sorted(map(repr, zip(*(column.to_pylist() for column in found.columns), strict=True)))


@pytest.mark.slow
@settings(max_examples=50)
@given(clauses(), tables(12), st.integers(0, 99), st.data())
def test_any_tasks(text: str, data: list[dict[str, Any]], seed: int, draw: st.DataObject) -> None:
    keys = pick(draw.draw, "g", "v", "g || w, v", "v % 2", "w / 2, g", "g = 'x'", "[v, w]")
    text = text.replace("PARTITION BY g", f"PARTITION BY {keys}")
    table = pa.Table.from_pylist(data, SCHEMA)
    assert outcome(text, table, Tasks(text, seed)) == outcome(text, table, twin)


@pytest.mark.parametrize(
    ("clause", "read"),
    [
        ("PARTITION BY g MEASURES count(*) AS n PATTERN (A)", ["g"]),
        ("ORDER BY ts MEASURES FIRST(A.w) AS w PATTERN (A)", ["ts", "w"]),
        ("MEASURES count(*) AS n PATTERN (A)", ["g"]),
        ("PARTITION BY g, lower(g) ORDER BY ts + v MEASURES max(abs(w)) AS w PATTERN (A)", ["g", "ts", "v", "w"]),
        ("MEASURES t AS r PATTERN (A)", ["g", "ts", "v", "w"]),
        ("MEASURES count(*) AS n ALL ROWS PER MATCH PATTERN (A)", ["g", "ts", "v", "w"]),
    ],
)
def test_tasks_get_the_columns_that_the_clause_reads(clause: str, read: list[str]) -> None:
    query = ost.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})")
    bound = bind_input(query.text, query.query.clauses[0].match, "t", (), SCHEMA)
    assert columns_read(bound).names == read
