"""Events may come one at a time, as dicts, or in batches of any size: the rows are the same, in the same order."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support.answers import engine
from support.generators.cel import correlated_queries, loop_queries, queries
from support.generators.cel_streams import Row, streams, table

WAYS = ("table", "batch", "list", "dicts", "restart")
mixes = st.lists(st.tuples(st.sampled_from(WAYS), st.integers(0, 5) | st.just(20)), max_size=5)


def push_mixed(running: Engine, rows: list[Row], mix: list[tuple[str, int]]) -> list[pa.Table]:
    """Rows in pieces, each pushed in its own way; the last ones one at a time."""
    found = [running.push(table([]))]
    at = 0
    for way, size in [*mix, ("dicts", len(rows))]:
        piece, at = rows[at : at + size], at + size
        if way == "restart":
            running = Engine.restore(running.snapshot())
        if way == "table" or not piece:
            found.append(running.push(table(piece)))
        elif way == "batch":
            found.append(running.push(table(piece).combine_chunks().to_batches()[0]))
        elif way == "list":
            found.append(running.push(piece))
        else:
            found += [running.push(row) for row in piece]
    return [*found, running.flush()]


def check_mix(query: Query, rows: list[Row], mix: list[tuple[str, int]], **options: Any) -> None:
    query = parse(to_text(query))
    try:
        running = engine(query, **options)
    except QueryError:
        assume(False)
    found = pa.concat_tables(push_mixed(running, rows, mix))
    alone = engine(query, **options)
    expected = pa.concat_tables([alone.push(table([])), *(alone.push(table([row])) for row in rows), alone.flush()])
    assert found.to_pylist() == expected.to_pylist()


@pytest.mark.slow
@settings(max_examples=120)
@given(queries(wider_filters=True, reuse=False), streams(), mixes)
def test_any_mix_of_sizes(query: Query, rows: list[Row], mix: list[tuple[str, int]]) -> None:
    check_mix(query, rows, mix)


@pytest.mark.slow
@settings(max_examples=30)
@given(queries(wider_filters=True, reuse=False), streams(max_size=30), mixes)
def test_longer_lists_and_batches(query: Query, rows: list[Row], mix: list[tuple[str, int]]) -> None:
    check_mix(query, rows, [*mix, ("list", 20)])


@pytest.mark.slow
@settings(max_examples=60)
@given(correlated_queries(), streams(), mixes)
def test_patterns_that_compare_events(query: Query, rows: list[Row], mix: list[tuple[str, int]]) -> None:
    check_mix(query, rows, mix)


@pytest.mark.slow
@settings(max_examples=30)
@given(loop_queries(), streams(), mixes)
def test_loops_that_look_back(query: Query, rows: list[Row], mix: list[tuple[str, int]]) -> None:
    check_mix(query, rows, mix)


@settings(max_examples=40)
@given(queries(wider_filters=True, reuse=False), streams(), mixes, st.randoms(use_true_random=False))
def test_events_that_wait(query: Query, rows: list[Row], mix: list[tuple[str, int]], random: Any) -> None:
    if query.window is None or query.window.kind != "attribute":  # that one needs its attribute in stream order
        rows = sorted(rows, key=lambda row: row["ts"] + random.randrange(3))
        check_mix(query, rows, mix, lateness=3 * 10**9)
