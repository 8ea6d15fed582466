"""Small batches: that they are read in one go where they can be, and what happens where they cannot."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine

QUERIES = [
    "A AS x ; B AS y FILTER x.v > 10 WITHIN 5 EVENTS",
    "A AS x ; B AS y FILTER x.id = y.id AND y.v < 90 WITHIN 10 EVENTS",
    "A AS x ; B AS y FILTER x.id = y.id AND y.v < 90 WITHIN 10 seconds",
    "SELECT x.name AS name, y.v AS v WHERE A AS x ; B AS y PARTITION BY name WITHIN 5 EVENTS",
]


def stream(count: int) -> pa.Table:
    random = np.random.default_rng(3)
    return pa.table(
        {
            "ts": np.arange(count) // 2,
            "type": random.choice(list("ABC"), count),
            "id": random.integers(0, 5, count),
            "name": random.choice(["ann", "bob", "a name of more than sixteen bytes"], count),
            "v": random.random(count) * 100,
        }
    )


def refuse(*_: Any) -> None:
    raise AssertionError("read column by column")


@pytest.mark.parametrize("text", QUERIES)
def test_two_calls_read_a_batch(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = stream(400)
    engine, alone = ost.cel(text).engine(), ost.cel(text).engine()
    engine.push(rows.slice(0, 200))  # whose values are known then
    alone.push(rows.slice(0, 200))
    expected = [list(alone.push_each(rows.slice(begin, 50))) for begin in (200, 250)]
    monkeypatch.setattr(Engine, "push_each", refuse)
    pieces = [rows.slice(200, 50), rows.slice(250, 50).combine_chunks().to_batches()[0]]
    for piece, tables in zip(pieces, expected, strict=True):
        assert engine.push(piece).to_pylist() == [row for table in tables for row in table.to_pylist()] != []


def test_a_batch_in_chunks_is_read() -> None:
    rows = stream(40)
    engine = ost.cel(QUERIES[0]).engine()
    found = engine.push(rows.slice(0, 10)).num_rows
    found += engine.push(pa.concat_tables([rows.slice(10, 10), rows.slice(20, 20)])).num_rows
    assert found == ost.cel(QUERIES[0]).detect(rows).num_rows > 0


def test_a_batch_that_comes_late_changes_nothing_but_the_count() -> None:
    rows = stream(40)
    engine = ost.cel(QUERIES[1]).engine(on_late="raise")
    engine.push(rows.slice(0, 20))
    before = engine.stats()
    with pytest.raises(ost.DataError, match="came later"):
        engine.push(rows.slice(10, 10))
    assert engine.stats() == before
    found = engine.push(rows.slice(20, 20)).num_rows
    assert found == len([row for row in ost.cel(QUERIES[1]).detect(rows).to_pylist() if row["positions"][-1] >= 20])


def test_many_keys_come_in_small_batches() -> None:
    """The tables of keys grow, keys that fall silent are forgotten, and come again."""
    count = 60_000
    numbers = np.arange(count)
    rows = pa.table(
        {
            "ts": numbers,
            "type": np.array(["A", "B"])[numbers % 2],
            "name": pa.array([f"customer {number // 2 % 9_000}" for number in numbers]),
        }
    )
    query = ost.cel("A AS x ; B AS y PARTITION BY name WITHIN 20 seconds")
    engine = query.engine()
    found = sum(engine.push(rows.slice(begin, 100)).num_rows for begin in range(0, count, 100))
    assert found == query.count(rows) == count // 2
    assert engine.stats().keys < 9_000
    assert engine.stats().bytes < 4_000_000


def test_a_small_batch_may_complete_very_many_matches() -> None:
    """The output is full several times, and the kernel goes on."""
    engine = ost.cel("A+ ; B").engine()
    engine.push(pa.table({"type": ["A"]}))
    engine.push(pa.table({"type": ["A", "C", "B"]}))
    found = engine.push(pa.table({"type": ["A"] * 12 + ["B"]}))
    assert found.num_rows == 2**14 - 1
    assert len(engine.push(pa.table({"type": ["B", "C"]}))) == 2**14 - 1


def test_limits_hold() -> None:
    engine = ost.cel("A+ ; B").engine(limits=ost.Limits(matches=1000))
    engine.push(pa.table({"type": ["A", "B"]}))
    with pytest.raises(ost.LimitError, match="1,000"):
        engine.push(pa.table({"type": ["A"] * 12 + ["B"]}))
    with pytest.raises(ost.OstinatoError, match="incomplete"):
        engine.push(pa.table({"type": ["A"]}))


def test_batches_are_released() -> None:
    """What a batch holds is freed once no match can need it."""
    before = pa.total_allocated_bytes()
    engine = ost.cel("A ; B WITHIN 3 EVENTS").engine()
    for _ in range(300):
        kinds = pa.array(["A", "C"]).take(pa.array(np.arange(1000) % 2))
        engine.push(pa.table({"type": kinds}))
    assert pa.total_allocated_bytes() - before < 1_000_000
