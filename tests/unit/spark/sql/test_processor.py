"""The stateful step of a clause, with a state store and a watermark of plain Python: any cuts, any buckets."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.spark.sql.late_rows import HIDDEN
from ostinato.spark.sql.plan import bind_input
from ostinato.sql.live.engine import SqlEngine, SqlOptions
from support.generators.draws import pick, rarely
from support.generators.sql import clauses, tables
from support.spark.sql import Stream

TIME = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("g", pa.string()), ("ts", TIME), ("v", pa.int64()), ("w", pa.int64())])
BEGIN = datetime(2026, 7, 6, tzinfo=UTC)


def at(second: int, g: str | None = None, v: int | None = None) -> dict[str, Any]:
    return {"ts": BEGIN + timedelta(seconds=second), "g": g, "v": v}


def table(*rows: dict[str, Any]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


END = table(at(10_000, "z"))


def stream(text: str, **options: Any) -> Stream:
    query = ost.sql(text).query
    return Stream(query, bind_input(query.text, query.clauses[0].match, "t", (), SCHEMA), **options)


def contents(tables: list[pa.Table]) -> list[str]:
    rows = (zip(*(column.to_pylist() for column in each.columns), strict=True) for each in tables)
    return sorted(repr(row) for part in rows for row in part)


def at_once(text: str, rows: pa.Table) -> list[str] | type:
    """What one engine gives that sees all rows in one step."""
    engine = SqlEngine(text, SqlOptions(None, alone=True), SCHEMA)
    try:
        return contents([engine.push(pa.concat_tables([rows, END])), engine.advance(END["ts"][0].as_py())])
    except ost.DataError as error:
        return type(error)


def in_steps(text: str, batches: list[pa.Table], buckets: int) -> list[str] | type:
    job = stream(text, buckets=buckets)
    try:
        for rows in [*batches, END]:
            job.read(rows)
        job.read(END.slice(0, 0))
    except ost.DataError as error:
        return type(error)
    return contents(job.found)


@pytest.mark.slow
@settings(max_examples=30)
@given(clauses(), tables(10), st.data())
def test_any_cuts_and_buckets(text: str, data: list[dict[str, Any]], draw: st.DataObject) -> None:
    order = pick(draw.draw, "ORDER BY ts", "ORDER BY ts, v NULLS FIRST", "ORDER BY ts, w DESC")
    within = f"WITHIN INTERVAL {pick(draw.draw, 1, 2, 3)} SECOND" if rarely(draw.draw) else ""
    text = text.replace("ORDER BY ts DESC", order).replace("ORDER BY v NULLS FIRST, ts", order)
    text = text.replace(" SUBSET U", f" {within} SUBSET U")
    text = text.replace("PARTITION BY g", f"PARTITION BY {pick(draw.draw, 'g', 'g, v % 2')}")
    rows = table(*({**row, "ts": at(row["ts"])["ts"]} for row in data))
    # What is later than the rows of a batch before must not be of an earlier time.
    places = [place for place in range(1, len(data)) if data[place]["ts"] > data[place - 1]["ts"]]
    edges = [0, *(place for place in places if draw.draw(st.booleans())), len(data)]
    batches = [rows.slice(start, stop - start) for start, stop in pairwise(edges)]
    assert in_steps(text, batches, draw.draw(st.integers(1, 3))) == at_once(text, rows)


CLAUSE = "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY g ORDER BY ts {} PATTERN ({}) DEFINE B AS v > A.v)"


def test_late_rows_come_once_and_beside_the_matches() -> None:
    job = stream(CLAUSE.format("MEASURES B.v AS v", "A B"), buckets=1, on_late="collect")
    job.read(table(at(0, "a", 1), at(10, "a", 2)))
    job.read(table(at(5, "a", 9), at(4, "b", 7), at(11, "a", 3)))
    job.read(END)
    job.read(END.slice(0, 0))
    rows = pa.concat_tables(job.found).to_pylist()
    late = sorted(row[HIDDEN]["v"] for row in rows if row[HIDDEN])
    assert late == [7, 9] and sum(counts["late"] for counts in job.counts) == 2
    assert [row["v"] for row in rows if not row[HIDDEN]] == [2]


@pytest.mark.parametrize(
    ("measures", "pattern", "kept"),
    [
        ("MEASURES B.v AS v", "A B", False),
        ("MEASURES MATCH_NUMBER() AS n", "A B", True),
        ("MEASURES B.v AS v", "A B | ^ B", True),
        ("MEASURES PREV(B.v) AS v", "A B", True),
    ],
)
def test_buckets_in_which_nothing_is_sought_take_no_room(measures: str, pattern: str, kept: bool) -> None:
    """Unless what comes depends on how many matches there were, or on the row before."""
    job = stream(CLAUSE.format(measures, pattern), buckets=4)
    job.read(table(*(at(second, "abcdef"[second], 1) for second in range(6))))
    assert held(job) == job.stores.keys() and len(job.stores) > 1
    job.read(table(*(at(10 + second, "abcdef"[second], 2) for second in range(6))))
    job.read(table(at(20, "z")))
    assert held(job) == job.stores.keys() if kept else len(held(job)) == 1
    assert sum(counts["matches"] for counts in job.counts) == 6


def held(job: Stream) -> set[int]:
    return {bucket for bucket, store in job.stores.items() if store.value is not None}
