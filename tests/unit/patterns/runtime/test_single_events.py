"""Events pushed as dicts: what they may look like, and that they are read without Arrow where they can be."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine

PAIR = "SELECT x.v AS v, y.w AS w WHERE A AS x ; B AS y FILTER x[v > 10] PARTITION BY k WITHIN 10 seconds"


def event(kind: str, ts: int, **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "ts": ts, "k": 1} | attributes


def rows_of(engine: Engine, events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for each in events for row in engine.push(each).to_pylist()]


@pytest.fixture
def no_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing may be read as a batch."""

    def refuse(*_: Any) -> None:
        raise AssertionError("read as a batch")

    monkeypatch.setattr(Engine, "push_each", refuse)


def running(query: str = PAIR, **options: Any) -> Engine:
    engine = ost.cel(query).engine(**options)
    schema = {"type": pa.string(), "ts": pa.int64(), "k": pa.int64(), "v": pa.float64(), "w": pa.string()}
    engine.push(pa.schema(list(schema.items())).empty_table())
    return engine


def test_an_attribute_that_is_absent_is_null() -> None:
    engine = ost.cel(PAIR).engine()
    found = rows_of(engine, [event("A", 1, v=20.0), event("B", 2, w="yes"), event("A", 3), event("B", 4)])
    assert found == [{"v": 20.0, "w": "yes"}, {"v": 20.0, "w": None}]


@pytest.mark.parametrize("lateness", [0, 1])
def test_nothing_is_built_in_arrow(lateness: int, request: pytest.FixtureRequest) -> None:
    engine = running(lateness=lateness)
    request.getfixturevalue("no_batches")
    found = rows_of(engine, [event("A", 1, v=20.0), event("B", 2, w="yes"), event("A", 2, v=3), event("B", 9)])
    found += engine.flush().to_pylist()
    assert found == [{"v": 20.0, "w": "yes"}, {"v": 20.0, "w": None}]
    assert engine.stats().events == 4


def test_a_dict_that_waits_may_be_changed() -> None:
    engine = running(lateness=5)
    same = event("A", 1, v=20.0)
    engine.push(same)
    same["v"] = 0.0
    engine.push(event("B", 2, w="yes"))
    assert engine.flush().to_pylist() == [{"v": 20.0, "w": "yes"}]


def test_late_events() -> None:
    engine = running(lateness=2, on_late="collect")
    found = rows_of(engine, [event("A", 5, v=20.0), event("A", 3, v=30.0), event("B", 9, w="x"), event("A", 1)])
    found += engine.flush().to_pylist()
    assert found == [{"v": 20.0, "w": "x"}, {"v": 30.0, "w": "x"}]
    assert engine.stats().late == 1
    assert engine.late_events()["ts"].to_pylist() == [1]


def test_rows_of_batches_and_single_ones_wait_together() -> None:
    engine = running(lateness=5)
    engine.push(pa.Table.from_pylist([event("A", 4, v=20.0, w=None)], engine.stream.schema))
    engine.push(event("A", 2, v=30.0))
    restored = Engine.restore(engine.snapshot())
    restored.push(event("B", 6, w="x"))
    assert restored.flush().to_pylist() == [{"v": 20.0, "w": "x"}, {"v": 30.0, "w": "x"}]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (event("A", 3, v="much"), "Could not convert 'much'"),
        (event("A", 3, w="\ud800"), "lone surrogates"),
        ({"type": "A", "k": 1}, "`ts` is NULL"),
        (event("A", None), "NULL"),  # type: ignore[arg-type]
    ],
)
def test_nothing_is_taken_of_a_list_with_an_event_that_does_not_fit(bad: dict[str, Any], message: str) -> None:
    engine = running()
    with pytest.raises(ost.DataError, match=message):
        engine.push([event("A", 1, v=20.0), event("B", 2), bad])
    assert engine.stats().events == 0
    assert rows_of(engine, [event("A", 1, v=30.0), event("B", 2)]) == [{"v": 30.0, "w": None}]


def test_a_list_in_another_order_is_put_in_order() -> None:
    assert running().push([event("B", 2), event("A", 1, v=20.0)]).to_pylist() == [{"v": 20.0, "w": None}]


def test_keys_that_are_forgotten_and_come_again() -> None:
    engine = running()
    for ts in range(20_000):
        engine.push(event("A", ts, k=ts % 5000, v=20.0))
    assert engine.stats().keys < 5000
    assert rows_of(engine, [event("B", 20_000, k=ts % 5000) for ts in (19_990, 19_995)]) == [{"v": 20.0, "w": None}] * 2
    assert engine.stats().bytes < 3_000_000


def test_one_event_may_complete_many_matches() -> None:
    engine = ost.cel("A+ ; B").engine()
    for ts in range(12):
        engine.push({"type": "A", "ts": ts})
    assert len(engine.push({"type": "B", "ts": 12})) == 2**12 - 1


def test_events_that_are_compared(request: pytest.FixtureRequest) -> None:
    engine = running("SELECT x.v AS x, y.v AS y WHERE A AS x ; A AS y FILTER x.v < y.v WITHIN 3 EVENTS")
    request.getfixturevalue("no_batches")
    found = rows_of(engine, [event("A", ts, v=v) for ts, v in enumerate([2.0, 1, None, 3.0, float("nan"), -0.0])])
    assert found == [{"x": 1.0, "y": 3.0}]
