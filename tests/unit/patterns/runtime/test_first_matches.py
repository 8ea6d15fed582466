"""LIMIT: what is read no more, and what an engine still holds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine


def stream(letters: str, keys: str | None = None, *, at: int = 0) -> pa.Table:
    columns = {"type": list(letters), "ts": list(range(at, at + len(letters)))}
    return pa.table(columns | ({"k": list(keys)} if keys is not None else {}))


def positions(table: pa.Table) -> list[list[int]]:
    return sorted(table["positions"].to_pylist())


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("A ; B LIMIT 3", [[0, 2], [0, 3], [1, 2]]),
        ("SELECT FIRST * WHERE A+ ; B", [[0, 1, 2]]),
        ("SELECT FIRST LAST * WHERE A+ ; B", [[0, 1, 2]]),
        ("SELECT FIRST MAX * WHERE A ; B", [[0, 2]]),
        ("A ; B CONSUME BY ANY LIMIT 9", [[0, 2], [1, 2]]),
    ],
)
def test_first(query: str, found: list[list[int]]) -> None:
    assert positions(ost.cel(query).detect(stream("AABB"))) == found


def test_rows_that_are_shown_count() -> None:
    query = ost.cel("SELECT y.ts WHERE A AS x ; B AS y LIMIT 2")
    assert query.detect(stream("AAABBB"))["ts"].to_pylist() == [3, 4]
    assert query.count(stream("AAABBB")) == 2


@pytest.mark.parametrize("window", ["", "WITHIN 50 EVENTS", "WITHIN 50 seconds"])
@pytest.mark.parametrize("formula", ["A+ ; B", "(A AS x ; B AS y) FILTER x.ts < y.ts"])
@pytest.mark.parametrize("limit", [1, 2])
def test_full_partitions_hold_nothing(formula: str, window: str, limit: int) -> None:
    running = ost.cel(f"{formula} PARTITION BY k {window} LIMIT {limit}").engine()
    assert len(running.push(stream("AABAABBB", "ppppqqqq"))) == 2 * limit
    running = Engine.restore(running.snapshot())
    assert len(running.push(stream("AAAAB", "ppppp", at=8))) == 0
    running = Engine.restore(running.snapshot())
    assert len(running.history.kept) == 0
    assert len(running.push(stream("AB", "rr", at=13))) == 1


def test_full_stream_is_not_read() -> None:
    running = ost.cel("A+ ; B LIMIT 1").engine()
    assert positions(running.push(stream("A" * 60 + "B"))) == [list(range(61))]
    running.push(stream("A" * 60 + "B", at=61))
    assert running.stats().live == 0
    assert len(running.flush()) == 0


def test_stops_soon() -> None:
    """Two thousand of each in turn have billions of triples; the first hundred come early."""
    assert len(ost.cel("A ; B ; C LIMIT 100").detect(stream("ABC" * 2000))) == 100


def test_many_keys() -> None:
    count = 20_000
    keys = np.random.default_rng(1).integers(0, count, 6 * count)
    rows = pa.table({"type": np.where(np.arange(6 * count) % 2, "B", "A"), "ts": np.arange(6 * count), "k": keys})
    every = ost.cel("A ; B PARTITION BY k").detect(rows)
    first = ost.cel("SELECT FIRST * WHERE A ; B PARTITION BY k").detect(rows)
    assert sorted(first["k"].to_pylist()) == sorted(every["k"].unique().to_pylist())
    assert first["end"].to_pylist() == sorted(every.group_by("k").aggregate([("end", "min")])["end_min"].to_pylist())


def test_windows_that_end_first() -> None:
    query = ost.cel("A ; NOT B WITHIN 2 seconds LIMIT 2")
    assert positions(query.detect(stream("ABAAAAA"))) == [[2], [3]]
    with pytest.raises(ost.QueryError, match="LIMIT does not know"):
        ost.cel("SELECT LAST * WHERE A ; NOT B WITHIN 2 seconds LIMIT 2")


def test_other_partitions_are_consumed_all_the_same() -> None:
    query = ost.cel("A ; B PARTITION BY k CONSUME BY ANY LIMIT 1")
    assert positions(query.detect(stream("ABAABB", "ppqppq"))) == [[0, 1]]
