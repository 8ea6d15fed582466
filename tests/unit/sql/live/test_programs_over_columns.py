"""Conditions over columns of numbers and times run as programs over what has come, without DuckDB."""

from __future__ import annotations

import random
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.core.snapshot_format import Snapshot
from ostinato.sql.runtime.row_values import RowValues

CLAUSES = [
    "DEFINE B AS x - PREV(x) > 0.5 * v - 2, C AS x < PREV(x, 2) OR x IS NULL",
    "DEFINE A AS v % 3 <> 0, B AS NEXT(v) >= v AND v BETWEEN 1 AND 7, C AS abs(x) > v / 2",
    "DEFINE A AS sum(A.v) < 12, B AS v > avg(A.v), C AS count(B.x) < 3 AND max(A.x) > min(B.x)",
    "DEFINE B AS x > FIRST(A.x) - LAST(B.v, 1) OR LAST(B.v, 1) IS NULL, C AS count(DISTINCT B.v) < 3",
    "DEFINE B AS CASE WHEN v > 5 THEN x > PREV(B.x) ELSE coalesce(x, 1) < 3 END, C AS least(x, v) < 2",
    "DEFINE C AS seen - PREV(seen) < INTERVAL 2 SECOND AND seen < A.seen + INTERVAL 9 SECOND",
]


def table(count: int) -> pa.Table:
    draw = random.Random(7)
    numbers = [None, float("nan"), -0.0, 0.0, 1.5, 2.25, -3.0]
    times = [datetime(2026, 1, 1) + timedelta(seconds=draw.randrange(5) + 2 * at) for at in range(count)]
    return pa.table({
        "k": [draw.choice("pqr") for _ in range(count)], "ts": range(count), "seen": times,
        "x": [draw.choice(numbers) for _ in range(count)],
        "v": pa.array([draw.choice([None, *range(9)]) for _ in range(count)], pa.int32()),
    })  # fmt: skip


def query(clause: str, within: str = "") -> Any:
    return ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY ts MEASURES FIRST(ts) AS since, LAST(C.ts) AS till,"
        f" count(B.*) AS n PATTERN (A B* C) {within} {clause})"
    )


@pytest.mark.parametrize("clause", CLAUSES)
@pytest.mark.parametrize("within", ["", "WITHIN 12"])
def test_they_find_what_the_whole_table_gives(clause: str, within: str) -> None:
    rows, draw = table(300), random.Random(3)
    engine, found, at = query(clause, within).engine(schema=rows.schema), [], 0
    while at < len(rows):
        size = draw.choice((1, 1, 2, 30))
        found += engine.push(rows.slice(at, size).to_pylist()[0] if size == 1 else rows.slice(at, size)).to_pylist()
        at += size
        if draw.random() < 0.1:
            engine = ost.SqlEngine.restore(engine.snapshot())
    found += engine.flush().to_pylist()
    expected = query(clause, within).detect(rows).to_pylist()
    assert Counter(map(repr, found)) == Counter(map(repr, expected)) and expected


def test_they_ask_duckdb_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table(50)
    engine = query(CLAUSES[0]).engine(schema=rows.schema)
    monkeypatch.setattr(RowValues, "evaluate", None)
    assert sum(len(engine.push(rows.slice(at, 5))) for at in range(0, 50, 5)) > 2


def test_a_value_that_cannot_be_used_is_said_as_duckdb_says_it() -> None:
    rows = pa.table({"ts": [1, 2], "v": pa.array([2**31 - 1, 2**31 - 1], pa.int32())})
    checked = ost.sql(
        "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts MEASURES ts AS t PATTERN (A B) DEFINE B AS v + v > 1)"
    )
    with pytest.raises(ost.DataError) as expected:
        checked.detect(rows)
    with pytest.raises(ost.DataError) as raised:
        checked.engine().push(rows)
    assert raised.value.reason.split(":")[-1] == expected.value.reason.split(":")[-1]


def test_snapshots_of_other_versions_begin_matches_anew() -> None:
    """What they hold of rows has another form; the rows themselves are there."""
    rows = table(120)
    engine = query(CLAUSES[2]).engine(schema=rows.schema)
    found = engine.push(rows.slice(0, 61)).to_pylist()
    stored = Snapshot.from_bytes(engine.snapshot())
    meta = {**stored.meta, "engine": {"count": stored.meta["engine"]["count"]}}
    arrays = {name: values for name, values in stored.arrays.items() if not name.startswith(("rows.f", "rows.i"))}
    engine = ost.SqlEngine.restore(Snapshot(meta, arrays, stored.tables).to_bytes())
    found += [*engine.push(rows.slice(61)).to_pylist(), *engine.flush().to_pylist()]
    assert Counter(map(repr, found)) == Counter(map(repr, query(CLAUSES[2]).detect(rows).to_pylist()))
