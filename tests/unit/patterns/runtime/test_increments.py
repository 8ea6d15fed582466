"""Periods of time: what they give, what they read, and which queries have none."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import OstinatoError

PAIR = "A AS x ; B AS y WITHIN 10 seconds"
EVENTS = [{"ts": second, "type": kind, "k": 1} for second, kind in enumerate("AABXBAB")]


def ends(text: str, events: Any = EVENTS, **options: Any) -> list[Any]:
    found: list[Any] = ost.cel(text).detect(events, **options)["end"].to_pylist()
    return found


def test_since_is_outside_and_until_inside() -> None:
    assert ends(PAIR, since=2) == [4, 4, 6, 6, 6]
    assert ends(PAIR, since=2, until=4) == [4, 4]
    assert ends(PAIR, until=2) == [2, 2]
    assert ends(PAIR, since=9) == ends(PAIR, until=-1) == []


def test_columns_are_those_of_any_answer() -> None:
    query = ost.cel(PAIR)
    assert query.detect(EVENTS, since=2).schema == query.detect(EVENTS).schema
    assert query.detect(EVENTS, since=2)["positions"].to_pylist() == query.detect(EVENTS)["positions"].to_pylist()[2:]
    assert query.detect(EVENTS, since=2, identity=True).schema == query.detect(EVENTS, identity=True).schema


def test_a_match_that_waits_belongs_to_when_it_is_certain() -> None:
    text = "X AS x ; NOT C WITHIN 5 seconds"
    assert ends(text, since=7, until=8) == [3] and ends(text, since=3, until=7) == ends(text, since=8) == []


def test_rows_in_no_order_and_what_came_long_ago(monkeypatch: pytest.MonkeyPatch) -> None:
    from ostinato.patterns.runtime.engine import Engine

    many = [{"ts": -50, "type": "A", "k": 1}, *EVENTS[::-1]]
    read: list[int] = []
    finish = Engine.finish_batch

    def count_and_finish(engine: Engine, given: Any) -> pa.Table:
        read.append(len(given.rows))
        return finish(engine, given)

    monkeypatch.setattr(Engine, "finish_batch", count_and_finish)
    assert ends(PAIR.replace("10", "2"), many, since=5) == [6]
    assert read == [4]  # the rows at 3, 4, 5 and 6


@pytest.mark.parametrize(
    ("kind", "since"),
    [
        (pa.timestamp("us", tz="UTC"), "2026-07-01"),
        (pa.timestamp("us", tz="UTC"), "2026-07-01 02:00:00+02:00"),
        (pa.timestamp("ms"), datetime(2026, 7, 1)),
        (pa.timestamp("us", tz="UTC"), datetime(2026, 7, 1, tzinfo=UTC)),
        (pa.date32(), "2026-07-01"),
        (pa.date32(), date(2026, 7, 1)),
    ],
)
def test_times_of_any_kind(kind: pa.DataType, since: Any) -> None:
    days = [datetime(2026, 6, 30), datetime(2026, 7, 1), datetime(2026, 7, 2), datetime(2026, 7, 3)]
    times = pa.array(days, pa.timestamp("us")).cast(kind)
    found = ends("A ; B WITHIN 2 days", pa.table({"ts": times, "type": list("ABAB")}), since=since)
    assert [moment.day for moment in found] == [3]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A ; B", "the query has no window"),
        ("A ; B WITHIN 5 ON ts", "measured along `ts`"),
        ("A ; B PARTITION BY k WITHIN 5 EVENTS", "counts the events of each key"),
        ("A ; B WITHIN 5 seconds LIMIT 1", "go by all earlier matches"),
        ("A ; B WITHIN 5 seconds CONSUME BY ANY", "go by all earlier matches"),
        ("A ; B WITHIN 5 seconds AFTER MATCH SKIP TO NEXT ROW", "go by all earlier matches"),
        ("A : NOT B WITHIN 5 seconds", "waits for the next event"),
        ("SELECT x.k WHERE A AS x OR B WITHIN 5 seconds", "is given once in the whole stream"),
    ],
)
def test_what_no_time_bounds_is_refused(text: str, reason: str) -> None:
    with pytest.raises(OstinatoError, match=reason) as caught:
        ost.cel(text).detect(EVENTS, since=2)
    assert "snapshot" in str(caught.value)


def test_bad_times() -> None:
    with pytest.raises(OstinatoError, match="'noon' is no time of `ts`, which holds int64"):
        ost.cel(PAIR).detect(EVENTS, since="noon")
    with pytest.raises(OstinatoError, match="no time column"):
        ost.cel("A ; B WITHIN 5 EVENTS").detect([{"type": "A"}], since=1)
