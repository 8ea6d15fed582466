"""Where few events come at a time, a NOT at the end looks up the matches that an event cancels, and one at the start
when such an event came last: with the same answers."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine

SCHEMA = pa.schema({"ts": pa.float64(), "type": pa.string(), "id": pa.int64(), "v": pa.float64()})
QUERIES = [
    "A AS x ; NOT (B AS y FILTER y.id = x.id) FOR 3 seconds",
    "A AS x ; NOT (B AS y FILTER y.id = x.id AND y.v > x.v) FOR 3 seconds",
    "A AS x ; C AS z ; NOT (B AS y FILTER x.v <= y.v AND z.v != y.v) WITHIN 4 seconds",
    "A ; NOT (B OR C) PARTITION BY id WITHIN 4 seconds",
    "SELECT x.v, z.v AS w WHERE A AS x ; C AS z ; NOT B FOR 1 second WITHIN 5 seconds",
    "NOT B FOR 0.5 seconds ; A",
    "NOT (B AS n FILTER n.id = x.id) FOR 2 seconds ; A AS x ; C WITHIN 3 seconds",
    "NOT B FOR 1 second ; A ; C PARTITION BY id WITHIN 9 seconds",
    "NOT (B AS n FILTER n.v = x.v AND x.id = n.id) FOR 2 seconds ; A AS x ; NOT C FOR 0.5 seconds",
    "NOT (B AS n FILTER n.v > x.v) FOR 2 seconds ; A AS x ; C WITHIN 3 seconds",
    "SELECT x, z WHERE (A AS x)+ ; C AS z ; NOT (B AS y FILTER y.id = z.id) FOR 1 second WITHIN 5 seconds",
]


def stream(seed: int) -> pa.Table:
    """Times at half seconds, often equal, and values that are sometimes NULL or NaN."""
    random, now = Random(seed), 0.0
    rows: list[dict[str, Any]] = []
    for _ in range(120):
        now += random.choice((0, 0.5, 0.5, 1))
        value = random.choice((0.0, -0.0, 1, 2.5, None, float("nan")))
        rows.append({"ts": now, "type": random.choice("ABC"), "id": random.choice((1, 2, None)), "v": value})
    return pa.Table.from_pylist(rows, SCHEMA)


@pytest.mark.parametrize("size", [1, 7, 40])
@pytest.mark.parametrize("query", QUERIES)
def test_the_same_answers(query: str, size: int) -> None:
    total = 0
    for seed in range(2):
        rows, running, whole = stream(seed), ost.cel(query).engine(), ost.cel(query).engine()
        running.push(rows.slice(0, 0))
        found, expected = list[str](), list[str]()
        for at in range(0, len(rows), size):
            part = rows.slice(at, size)
            found += map(repr, running.push(part.to_pylist()[0] if size == 1 else part).to_pylist())
            expected += [repr(row) for table in whole.push_each(part) for row in table.to_pylist()]
            if at % 3 == 2:
                running = Engine.restore(running.snapshot())
        assert found == expected
        total += len(found)
        assert running.next_deadline() == whole.next_deadline()
        assert running.stats().waiting == whole.stats().waiting
        assert repr(running.flush().to_pylist()) == repr(whole.flush().to_pylist())
    assert total > 5


def test_no_batch_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    running = ost.cel(QUERIES[0]).engine()
    running.push(SCHEMA.empty_table())
    monkeypatch.setattr(Engine, "push_each", lambda *_: pytest.fail("read as a batch"))
    assert not len(running.push({"ts": 0.0, "type": "A", "id": 1}))
    assert not len(running.push({"ts": 1.0, "type": "A", "id": 2}))
    assert not len(running.push([{"ts": 2.0, "type": "B", "id": 1}, {"ts": 2.0, "type": "C"}]))
    assert running.push({"ts": 9.0, "type": "C"})["positions"].to_pylist() == [[1]]


def test_what_was_cancelled_is_forgotten() -> None:
    running = ost.cel(QUERIES[0]).engine()
    running.push(SCHEMA.empty_table())
    for number in range(100):
        running.push({"ts": 0.0, "type": "A", "id": number})
        running.push({"ts": 0.0, "type": "B", "id": number})
    assert running.stats().waiting == 0
    assert running.due() is None
