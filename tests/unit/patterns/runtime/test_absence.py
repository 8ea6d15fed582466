"""NOT with a time of its own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.runtime.engine import Engine


def stream(letters: str, **columns: list[Any]) -> list[dict[str, Any]]:
    """One letter and one second each; a dot is a second without an event."""
    rows = [{"ts": ts, "type": letter} for ts, letter in enumerate(letters) if letter != "."]
    return [row | {name: values[at] for name, values in columns.items()} for at, row in enumerate(rows)]


def found(query: str, letters: str, **columns: list[Any]) -> list[list[int]]:
    rows = stream(letters, **columns)
    whole = positions(ost.cel(query).detect(rows))
    engine, each = ost.cel(query).engine(), []
    for row in rows:
        each += positions(engine.push([row]))
        engine = Engine.restore(engine.snapshot())
    each += positions(engine.flush())
    assert sorted(each) == sorted(whole)
    assert ost.cel(query).count(rows) == len(whole)
    return whole


def positions(table: pa.Table) -> list[list[int]]:
    return table["positions"].to_pylist()


# NOT … FOR at the end -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "letters", "want"),
    [
        ("A ; C ; NOT B FOR 2 seconds", "AC..B", [[0, 1]]),
        ("A ; C ; NOT B FOR 3 seconds", "AC..B", []),  # at exactly its end it is still inside
        ("A ; C ; NOT B WITHIN 3 seconds", "AC..B", [[0, 1]]),
        ("A ; NOT B FOR 0 seconds", "AB", [[0]]),
        ("A ; NOT B FOR 2 seconds ; NOT C FOR 4 seconds", "A..B.A...C", [[0]]),
        ("A ; NOT B FOR 2 seconds ; NOT C WITHIN 4 seconds", "A..C.A.X", [[2]]),
        ("A ; C ; NOT B FOR 5 seconds WITHIN 2 seconds", "AC.C", [[0, 1]]),  # WITHIN is about A and C
        ("A ; C ; NOT B FOR 5 seconds WITHIN 2 EVENTS", "ACC", [[0, 1]]),
        ("SELECT MAX * WHERE A+ ; NOT B FOR 1 second", "AA.B", [[0], [0, 1]]),
    ],
)
def test_no_event_for_some_time_after_the_last_one(query: str, letters: str, want: list[list[int]]) -> None:
    assert sorted(found(query, letters)) == want


def test_order_is_that_of_deadlines() -> None:
    query = "(A OR C ; C) ; NOT B FOR 2 seconds ; NOT D WITHIN 4 seconds"
    assert found(query, "CA.C.") == [[1], [0, 2]]  # until 5 and until 6, though they began at 1 and at 0


def test_it_may_compare_what_does_not_come_with_the_match() -> None:
    query = "A AS x ; C ; NOT (B AS n FILTER n.v = x.v) FOR 2 seconds"
    assert found(query, "ACBA.CB", v=[1, 0, 2, 2, 0, 2]) == [[0, 1], [0, 4]]


def test_partitions_do_not_see_each_other() -> None:
    assert found("A ; NOT B FOR 2 seconds PARTITION BY k", "AAB", k=[1, 2, 2]) == [[0]]


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.timestamp("ms"), pa.decimal128(10, 2)])
def test_timers_for_each_type_of_time(kind: pa.DataType) -> None:
    def after(seconds: int) -> Any:
        return datetime(2026, 1, 1) + timedelta(seconds=seconds) if pa.types.is_timestamp(kind) else seconds

    engine = ost.cel("A ; NOT B FOR 5 seconds").engine()
    assert engine.push(pa.table({"ts": pa.array([after(0), after(2)], kind), "type": ["A", "C"]})).num_rows == 0
    assert not len(engine.advance(to=pa.scalar(after(5), kind)))
    assert positions(engine.advance(to=pa.scalar(engine.due(), kind))) == [[0]]
    assert engine.due() is None


def test_it_needs_a_time_column() -> None:
    with pytest.raises(ost.OstinatoError, match="time"):
        ost.cel("A ; NOT B FOR 5 seconds").detect([{"type": "A"}])


def test_for_is_a_name_as_well() -> None:
    rows = [{"ts": 0, "type": "for", "for": 1}]
    assert len(ost.cel("for AS for ; NOT for FOR 5 seconds FILTER for.for = 1").detect(rows)) == 1
