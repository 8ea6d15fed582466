"""Embedded, in batch and streaming, however the rows are cut: one answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import OstinatoError
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support import paths
from support.generators.cel import correlated_queries, queries
from support.generators.cel_streams import SCHEMA as PLAIN
from support.generators.cel_streams import Row, streams
from support.spark.patterns import (
    BOUNDED,
    QUERIES,
    START,
    UNBOUNDED,
    Feed,
    by_query,
    cut,
    embedded,
    end_of_stream,
    frame,
    same,
    shuffled,
    stream,
)
from support.spark.settings import TWO_PARTS, changed

EVENTS = stream(5, 90)
MANY = 400  # random queries with more matches than this only take time


@pytest.fixture(autouse=True, scope="module")
def generated_code(spark: Any) -> Iterator[None]:
    """Counts of so many queries take Spark long without."""
    with changed(spark, TWO_PARTS | {"spark.sql.codegen.factoryMode": "FALLBACK"}):
        yield


@pytest.fixture(scope="module")
def expected() -> dict[str, list[str]]:
    return embedded(QUERIES, EVENTS, identity=True)


def test_every_case_has_matches(expected: dict[str, list[str]]) -> None:
    assert not [name for name, rows in expected.items() if not rows]


# Batch ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("group", [BOUNDED, UNBOUNDED], ids=["bounded", "unbounded"])
@pytest.mark.parametrize(("pieces", "parallel"), [(1, None), (5, 7)])
def test_batch(
    spark: Any, expected: dict[str, list[str]], group: dict[str, PatternQuery], pieces: int, parallel: int | None
) -> None:
    rows = frame(spark, EVENTS, pieces=pieces, seed=pieces)
    answer = ost.detect_many(group, rows, order_by=["n"], identity=True, parallel=parallel)
    same(by_query(answer.toArrow(), group), {name: expected[name] for name in group})


@pytest.mark.parametrize("name", ["all-events", "hidden", "keys", "tied", "tied-events", "consume-any-key", "trailing"])
def test_batch_of_one_query(spark: Any, expected: dict[str, list[str]], name: str) -> None:
    events = frame(spark, EVENTS, pieces=3, seed=1)
    answer = QUERIES[name].detect(events, order_by=["n"], identity=True, parallel=3).toArrow()
    found = by_query(answer.append_column("query", pa.array([name] * len(answer), pa.string())), [name])
    same(found, {name: expected[name]})


def test_events_that_are_alike(spark: Any) -> None:
    """Their matches are told apart by counting, wherever they are found."""
    twice, group = pa.concat_tables([EVENTS, EVENTS]), {name: QUERIES[name] for name in ("all", "key", "trailing")}
    found = ost.detect_many(group, frame(spark, twice, pieces=3, seed=2), order_by=["n"], identity=True, parallel=3)
    answer = found.toArrow()
    same(by_query(answer, group), embedded(group, twice, identity=True))
    assert len(set(answer["match_id"].to_pylist())) == len(answer)


def test_increments(spark: Any, expected: dict[str, list[str]]) -> None:
    """Nights of any length, one after the other."""
    names = ["all", "all-events", "nxt", "labels", "hidden", "hidden-events", "key", "trailing", "trailing-labels"]
    group = {name: QUERIES[name] for name in names}
    rows = frame(spark, EVENTS, pieces=2, seed=3)
    moments = [None, "2026-01-01 00:00:20", EVENTS["ts"][50].as_py(), None]
    nights = [
        ost.detect_many(group, rows, order_by=["n"], identity=True, since=since, until=until, parallel=2)
        for since, until in pairwise(moments)
    ]
    answers = [night.toArrow() for night in nights]
    assert all(map(len, answers))
    same(by_query(pa.concat_tables(answers), group), {name: expected[name] for name in group})


def test_without_the_matched_rows(spark: Any) -> None:
    """Fewer columns are read then; those that split the stream are among them."""
    group = {name: query for name, query in QUERIES.items() if name not in ("rows", "max-rows")}
    answer = ost.detect_many(group, frame(spark, EVENTS, pieces=3, seed=2), order_by=["n"], events=False)
    assert "events" not in answer.columns
    same(by_query(answer.toArrow(), group), embedded(group, EVENTS, events=False))


# Streaming ------------------------------------------------------------------------------------------------------------


def test_streaming(spark: Any, tmp_path: Path, expected: dict[str, list[str]]) -> None:
    """Cut anywhere, also between events of one time, and shuffled inside each batch."""
    pieces = [shuffled(piece, seed=1) for piece in cut(EVENTS, (7, 8))]
    feed = Feed(spark, tmp_path).add(*pieces, end_of_stream())
    feed.run(QUERIES, identity=True)
    same(feed.found(QUERIES), expected)


def test_streaming_out_of_order_within_the_lateness(spark: Any, tmp_path: Path, expected: dict[str, list[str]]) -> None:
    """No row of a batch is more than `lateness` before the last of an earlier one."""
    names = ["all", "max", "in-a-row", "rows", "keys", "tied-at-once", "on", "consume", "trailing", "trailing-key"]
    group = {name: QUERIES[name] for name in names}
    span = (EVENTS["ts"][-1].as_py() - START).total_seconds()
    feed = Feed(spark, tmp_path).add(*cut(shuffled(EVENTS, seed=3), (20, 50)), end_of_stream())
    running = feed.run(group, identity=True, lateness=span)
    same(feed.found(group), {name: expected[name] for name in group})
    assert running.lastProgress is not None


# The vectors ----------------------------------------------------------------------------------------------------------

VECTORS = json.loads((paths.VECTORS / "cel.json").read_text())


def vectors(name: str) -> tuple[pa.Table, dict[str, PatternQuery], dict[str, list[list[int]]]]:
    """The rows of a stream, one second apart, the queries over it, and the positions they match."""
    rows = VECTORS["streams"][name]
    times = pa.array([START.replace(second=place) for place in range(len(rows))], pa.timestamp("us", tz="UTC"))
    table = pa.Table.from_pylist(rows).append_column("ts", times).append_column("n", pa.array(range(len(rows))))
    texts, answers = {}, {}
    for case in VECTORS["cases"]:
        if case["stream"] == name:
            for strategy, positions in case["positions"].items():
                texts[f"{case['name']} {strategy}"] = f"SELECT {strategy} * WHERE {case['query']}"
                answers[f"{case['name']} {strategy}"] = sorted(positions)
            for width, positions in case["within_events"].items():
                texts[f"{case['name']} {width}"] = f"{case['query']} WITHIN {width} EVENTS"
                answers[f"{case['name']} {width}"] = sorted(positions)
    return table, {name: ost.cel(text) for name, text in texts.items()}, answers


def positions(answer: pa.Table, names: Any) -> dict[str, list[list[int]]]:
    found: dict[str, list[list[int]]] = {name: [] for name in names}
    for row in answer.select(["query", "events"]).to_pylist():
        found[row["query"]].append([event["n"] for event in row["events"]])
    return {name: sorted(matches) for name, matches in found.items()}


@pytest.mark.parametrize("name", sorted(VECTORS["streams"]))
def test_vectors(spark: Any, tmp_path: Path, name: str) -> None:
    table, group, expected = vectors(name)
    for parallel in (None, 3):
        answer = ost.detect_many(group, frame(spark, table, pieces=2, seed=1), parallel=parallel).toArrow()
        assert positions(answer, group) == expected
    feed = Feed(spark, tmp_path, table.schema).add(*cut(table, [len(table) // 2]), end_of_stream(table.schema))
    feed.run(group)
    answer = spark.read.parquet(str(feed.sink)).toArrow()
    assert positions(answer, group) == expected


# Random queries -------------------------------------------------------------------------------------------------------

RANDOM = queries(wider_filters=True) | correlated_queries()


def as_events(rows: list[Row]) -> pa.Table:
    """A random stream with moments for seconds; rows of one time keep their order by `place`."""
    table = pa.Table.from_pylist(rows, PLAIN)
    times = pa.array([START.timestamp() + row["ts"] for row in rows], pa.float64()).cast(pa.int64())
    moments = times.cast(pa.timestamp("s", tz="UTC")).cast(pa.timestamp("us", tz="UTC"))
    table = table.set_column(table.column_names.index("ts"), "ts", moments)
    table = table.set_column(table.column_names.index("t"), "t", table["t"].cast(moments.type))  # Spark's have a zone
    return table.append_column("place", pa.array(range(len(rows)), pa.int64()))


def runnable(drawn: list[Query], table: pa.Table) -> dict[str, PatternQuery]:
    """Those of the queries that have an answer of a fair size, each with output columns of its own."""
    found: dict[str, PatternQuery] = {}
    for number, query in enumerate(drawn):
        items = query.items and tuple(replace(item, name=f"{item.name}_{number}") for item in query.items)
        try:
            ready = ost.cel(to_text(replace(query, items=items)))
            few = ready.count(table, order_by=["place"]) <= MANY
        except OstinatoError:
            continue
        if few:
            found[ready.text] = ready
    return found


@settings(max_examples=6, phases=[Phase.generate])
@given(st.lists(RANDOM, min_size=6, max_size=6), streams(max_size=12), st.sampled_from([None, 2, 5]))
def test_random_queries_in_batch(spark: Any, drawn: list[Query], rows: list[Row], parallel: int | None) -> None:
    table = as_events(rows)
    if group := runnable(drawn, table):
        answer = ost.detect_many(
            group, frame(spark, table, pieces=2, seed=len(rows)), order_by=["place"], parallel=parallel
        )
        same(by_query(answer.toArrow(), group), embedded(group, table, order_by=["place"]))


@settings(max_examples=8, phases=[Phase.generate])
@given(queries(wider_filters=True), streams(max_size=12), st.sampled_from([2, 3, 6]))
def test_a_random_query_over_ranges_of_time(spark: Any, query: Query, rows: list[Row], parallel: int) -> None:
    if query.window is None:
        return
    table = as_events(rows)
    for name, ready in runnable([query], table).items():
        answer = ost.detect_many(
            {name: ready}, frame(spark, table, seed=len(rows)), order_by=["place"], parallel=parallel
        )
        same(by_query(answer.toArrow(), [name]), embedded({name: ready}, table, order_by=["place"]))


def test_random_queries_streaming(spark: Any, tmp_path: Path) -> None:
    """One stream, thirty queries, in micro-batches of random rows."""
    drawn: list[Query] = []
    taken: list[list[Row]] = []

    @seed(7)
    @settings(max_examples=100, database=None, phases=[Phase.generate])
    @given(RANDOM, streams(max_size=12))
    def draw(query: Query, rows: list[Row]) -> None:
        drawn.append(query)
        taken.append(rows)

    draw()
    table = as_events(max(taken, key=len))
    group = dict(list(runnable(drawn, table).items())[:30])
    last = pa.Table.from_pylist(
        [{"ts": START.replace(year=2100), "n": 10**9, "m": 10**9, "place": 10**9}], table.schema
    )
    feed = Feed(spark, tmp_path, table.schema).add(*cut(table, (3, 4)), last)
    feed.run(group, order_by=["place"], buckets=32)
    same(feed.found(group), embedded(group, table, order_by=["place"]))
    assert len(group) > 20
