"""Ranges of time give together what the whole stream gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.core.clock import Clock
from ostinato.core.window_clause import Window
from ostinato.patterns.compile import compile_text
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.locality import shows_events
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from ostinato.spark.patterns.shipped_query import ShippedQuery
from ostinato.spark.patterns.task import Unit
from ostinato.spark.patterns.time_ranges import make_ranges, may_split
from support.generators.cel import queries
from support.generators.cel_streams import SECOND, Row, streams, table

CLOCK = Clock("ts", pa.int64())


def reading(text: str, events: pa.Table) -> ShippedQuery:
    binding = {"time": "ts", "type": None, "order_by": ("place",)}
    names = tuple(events.column_names)
    found = ShippedQuery("q", text, binding, True, Limits(), names, pa.schema([]))
    return replace(found, answer=found.engine().push(events.slice(0, 0)).schema)


def counted(tables: list[pa.Table]) -> Counter[str]:
    """Matches, however often; without positions, which count from the start of a range."""
    rows = [row for found in tables for row in found.to_pylist()]
    return Counter(repr({name: value for name, value in row.items() if name != "positions"}) for row in rows)


def in_ranges(text: str, events: pa.Table, cuts: list[int], count: int) -> Counter[str]:
    one = reading(text, events)
    ticks = events["ts"].to_numpy()
    sizes = Counter(np.searchsorted(cuts, ticks, side="right").tolist())
    found = []
    for part in make_ranges(cuts, dict(sizes), [one.compiled], CLOCK, count):
        inside = np.ones(len(ticks), bool)
        if part.reach is not None:
            inside &= ticks >= part.reach
        if part.end is not None:
            inside &= ticks < part.end
        rows = events.filter(pa.array(inside))
        found += [matches for _, matches in Unit((one,), part.begin).matches([rows])]
    return counted(found)


def with_places(rows: list[Row]) -> pa.Table:
    return table(rows).append_column("place", pa.array(range(len(rows)), pa.int64()))


WINDOWS = [
    *(Window("events", count, text=f"{count} EVENTS") for count in (6, 4, 3, 2, 1)),
    *(Window("time", seconds * SECOND, text=f"{seconds} seconds") for seconds in (8, 5, 3, 1, 0)),
]


@settings(max_examples=36)
@given(
    queries(trailing=False, wider_filters=True),
    st.sampled_from(WINDOWS),
    streams(max_size=14),
    st.integers(2, 6),
    st.data(),
)
def test_any_cuts(query: Query, window: Window, rows: list[Row], count: int, data: Any) -> None:
    text = to_text(replace(query, window=window, consume="NONE"))
    assume(may_split(compile_text(text), CLOCK))
    times = sorted({row["ts"] for row in rows})
    cuts = sorted(data.draw(st.sets(st.sampled_from(times)))) if times else []
    events = with_places(rows)
    assert in_ranges(text, events, cuts, count) == counted([ost.cel(text).detect(events, events=True)])


def letters(text: str, **columns: list[Any]) -> pa.Table:
    rows = [{"type": letter, "ts": place, "place": place} for place, letter in enumerate(text)]
    events = pa.Table.from_pylist(rows)
    for name, values in columns.items():
        events = events.append_column(name, pa.array(values))
    return events


@pytest.mark.parametrize(
    "text",
    [
        "A AS x ; B AS y PARTITION BY k WITHIN 4 EVENTS",  # so many events of one partition may lie anywhere
        "A AS x ; B AS y WITHIN 5 seconds CONSUME BY ANY",
        "A AS x ; B AS y",
        "A AS x ; B AS y WITHIN 5 ON v",
        "A AS x ; NOT B AS n WITHIN 5 seconds",
        "SELECT x.v AS c WHERE A AS x OR B AS y ; C AS z WITHIN 5 seconds",  # may show nothing, and only once
    ],
)
def test_what_cannot_be_cut(text: str) -> None:
    assert not may_split(compile_text(text), CLOCK)


@pytest.mark.parametrize("kind", [pa.float64(), pa.decimal128(9, 2)])
def test_times_that_spark_cannot_count(kind: pa.DataType) -> None:
    assert not may_split(compile_text("A AS x ; B AS y WITHIN 5 seconds"), Clock("ts", kind))


@pytest.mark.parametrize(
    ("text", "shows"),
    [
        ("A AS x ; B AS y", True),
        ("SELECT x.v AS c WHERE A AS x ; B AS y", True),
        ("SELECT y.v AS c WHERE A AS x ; (B AS y)+", True),
        ("SELECT x.v AS c WHERE A AS x OR B AS y", False),
        ("SELECT x.v AS c WHERE B AS y ; (A AS x OR C AS z) ; D AS w", False),
        ("SELECT x.v AS c, y.v AS d WHERE A AS x OR B AS y", True),
    ],
)
def test_whether_an_answer_shows_events_an_event(text: str, shows: bool) -> None:
    assert shows_events(compile_text(text)) is shows


def test_no_rows_and_no_cuts() -> None:
    (only,) = make_ranges([], {}, [compile_text("A AS x WITHIN 3 EVENTS")], CLOCK, 7)
    assert (only.reach, only.begin, only.end) == (None, None, None)


def test_events_are_counted_over_whole_pieces() -> None:
    events = letters("ACCCCCCCCB")
    for count in (2, 3, 9):
        assert sum(in_ranges("A AS x ; B AS y WITHIN 10 EVENTS", events, list(range(1, 10)), count).values()) == 1
        assert not in_ranges("A AS x ; B AS y WITHIN 9 EVENTS", events, list(range(1, 10)), count)
