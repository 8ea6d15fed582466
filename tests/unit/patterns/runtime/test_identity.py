"""What identifies a match, and what does not matter to it."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import OstinatoError

EVENTS = [
    {"ts": 1, "type": "A", "v": 3, "k": "a", "note": "one"},
    {"ts": 2, "type": "B", "v": 5, "k": "a", "note": "two"},
    {"ts": 4, "type": "C", "v": 7, "k": "b", "note": "three"},
]
PAIR = "A AS x ; B AS y FILTER x.v < y.v"


def ids(text: str, data: Any = EVENTS, **options: Any) -> list[str]:
    found: list[str] = ost.cel(text).detect(data, identity=True, **options)["match_id"].to_pylist()
    return found


def test_an_id_is_the_same_in_every_version() -> None:
    """Sinks know matches by it."""
    assert ids(PAIR) == ["0d46132037ec3c09a0cf30388c468d59"]
    assert ids("SELECT x.v AS low, count(y) AS n WHERE A AS x ; (B AS y)+") == ["7a679c0f0f7abd2d27ec39c09c541210"]


def test_how_values_are_stored_does_not_matter() -> None:
    table = pa.Table.from_pylist(EVENTS)
    for kind, column in ((pa.float64(), "v"), (pa.int8(), "v"), (pa.large_string(), "type"), (pa.float64(), "ts")):
        cast = table.set_column(table.column_names.index(column), column, table[column].cast(kind))
        assert ids(PAIR, cast) == ids(PAIR)
    coded = table.set_column(1, "type", table["type"].dictionary_encode())
    assert ids(PAIR, coded) == ids(PAIR)


def test_what_the_query_does_not_read_does_not_matter() -> None:
    others = [{**event, "note": "other", "k": "z"} for event in EVENTS]
    assert ids(PAIR, others) == ids(PAIR)
    assert ids(PAIR, others, events=True) == ids(PAIR)
    assert ids(PAIR, others, order_by=["k"]) != ids(PAIR)  # it names an event beside what is read


@pytest.mark.parametrize("change", [{"v": 4}, {"ts": 0}, {"v": None}])
def test_the_content_of_its_events_matters(change: dict[str, Any]) -> None:
    text = "A AS x ; B AS y FILTER x.v < y.v OR x.v IS NULL"
    assert ids(text, [EVENTS[0] | change, *EVENTS[1:]]) != ids(text)


def test_spaces_do_not_matter_and_the_rest_of_the_query_does() -> None:
    assert ids("  A AS x;B AS y  FILTER x.v<y.v -- pairs") == ids(PAIR) == ids(f"SELECT * WHERE {PAIR}")
    assert ids(f"{PAIR} WITHIN 1 hour") != ids(PAIR)


def test_events_that_are_alike_make_different_matches() -> None:
    twice = [EVENTS[0], EVENTS[0], EVENTS[1], EVENTS[1]]
    assert len(set(ids("A ; B", twice))) == 4
    engine = ost.cel("A ; B").engine(identity=True)
    pushed = [row for event in twice for row in engine.push(event)["match_id"].to_pylist()]
    assert sorted(pushed) == sorted(ids("A ; B", twice))
    later = [EVENTS[0] | {"ts": 2}] * 2
    engine = ost.cel("A").engine(identity=True)
    found = [row for batch in ([EVENTS[0]], [EVENTS[0], *later]) for row in engine.push(batch)["match_id"].to_pylist()]
    assert sorted(found) == sorted(ids("A", [EVENTS[0], EVENTS[0], *later])) and len(set(found)) == 4


def test_times_of_what_is_shown_and_when_it_is_known() -> None:
    def row(text: str) -> dict[str, Any]:
        (found,) = ost.cel(text).detect(EVENTS, identity=True).drop_columns(["match_id"]).to_pylist()
        return dict(found)

    assert row("SELECT x.v AS v WHERE A AS x ; C") == {"v": 3, "start": 1, "end": 1, "known": 4}
    assert row("SELECT y.v AS v WHERE A ; B AS y") == {"v": 5, "start": 2, "end": 2, "known": 2}
    waits = "SELECT x.v AS v WHERE A AS x ; NOT D FOR 5 seconds"
    assert row(waits) == {"v": 3, "start": 1, "end": 1, "known": 6}
    assert row("SELECT x.v AS v WHERE C AS x : NOT D") == {"v": 7, "start": 4, "end": 4, "known": None}
    nothing = "SELECT x.v AS v WHERE D AS x OR C"
    assert row(nothing) == {"v": None, "start": None, "end": None, "known": 4}


def test_a_stream_without_time_tells_events_by_position() -> None:
    events = [{"type": "A"}, {"type": "A"}, {"type": "B"}]
    found = ost.cel("SELECT x.type AS kind WHERE A AS x ; B").detect(events, identity=True).to_pylist()
    assert {(row["start"], row["end"], row["known"]) for row in found} == {(0, 0, 2), (1, 1, 2)}
    assert len({row["match_id"] for row in found}) == 2


def test_columns_of_other_kinds() -> None:
    events = [EVENTS[0] | {"d": Decimal("1.50"), "o": {"list": [1, None]}}, EVENTS[1] | {"d": None, "o": None}]
    assert len(ids("A AS x ; B AS y FILTER x.d = 1.5 AND x.o.list IS NOT NULL", events)) == 1


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("SELECT x.v AS match_id WHERE A AS x", "rename it with AS"),
        ("SELECT x.ts AS start WHERE A AS x", "rename it with AS"),
        ("SELECT x.ts AS known WHERE A AS x ; B", "rename it with AS"),
    ],
)
def test_columns_that_are_there_already(text: str, fix: str) -> None:
    with pytest.raises(OstinatoError, match=fix):
        ids(text)


def test_the_option_is_a_flag() -> None:
    with pytest.raises(OstinatoError, match="identity cannot be 'yes'"):
        ost.cel(PAIR).detect(EVENTS, identity="yes")  # type: ignore[call-overload]
