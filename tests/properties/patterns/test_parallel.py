"""Several threads give the rows of one, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.window_clause import Window
from ostinato.errors import LimitError, QueryError
from ostinato.patterns.compile import compile_query
from ostinato.patterns.runtime import grouped, parallel
from ostinato.patterns.runtime.count import count_table
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.syntax import nodes as n
from support.generators.cel import correlated_queries, queries
from support.generators.cel_streams import SCHEMA, Row, streams

pytestmark = pytest.mark.slow
BINDING: dict[str, Any] = {"time": "ts", "type": "type", "order_by": ()}


@pytest.fixture(autouse=True)
def _small_pieces() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "LEAST", 2)
        yield


def check(query: n.Query, rows: list[Row], threads: int) -> None:
    compiled = compile_query(query)
    table = pa.Table.from_pylist(rows, SCHEMA)

    def engine() -> Engine:
        return Engine(compiled, EngineOptions(dict(BINDING)))

    alone = engine().run_batch(table)
    found = parallel.detect_table(engine, table, threads)
    if compiled.registers is None:
        assert found.equals(alone)
    else:  # where events are compared, matches of one event come in no particular order
        assert sorted(map(str, found.to_pylist())) == sorted(map(str, alone.to_pylist()))
    assert parallel.count_rows(engine, table, threads) == count_table(engine(), table) == len(alone)


@settings(max_examples=80)
@given(queries(wider_filters=True), streams(max_size=30), st.integers(2, 4))
def test_any_query(query: n.Query, rows: list[Row], threads: int) -> None:
    with suppress(LimitError):
        check(query, rows, threads)


@settings(max_examples=60)
@given(correlated_queries(), streams(max_size=24), st.integers(2, 4))
def test_events_compared_with_each_other(query: n.Query, rows: list[Row], threads: int) -> None:
    with suppress(LimitError, QueryError):
        check(query, rows, threads)


@settings(max_examples=60)
@given(queries(), streams(max_size=30), st.integers(2, 4), st.sampled_from(["NONE", "PARTITION"]), st.integers(1, 6))
def test_events_counted_by_key(query: n.Query, rows: list[Row], threads: int, consume: n.Consume, width: int) -> None:
    query = replace(query, partition_by=("k",), window=Window("events", width), consume=consume)
    with suppress(LimitError, QueryError), pytest.MonkeyPatch.context() as patch:
        patch.setattr(grouped, "AGAIN", 0)  # reads as much again as it takes
        check(query, rows, threads)


@settings(max_examples=40)
@given(st.one_of(queries(), correlated_queries()), streams(max_size=30), st.randoms(use_true_random=False))
def test_rows_that_are_not_sorted(query: n.Query, rows: list[Row], random: Any) -> None:
    shuffled = list(rows)
    if query.window is None or query.window.kind != "attribute":  # which must not decrease
        random.shuffle(shuffled)
    with suppress(LimitError, QueryError):
        check(query, shuffled, 3)
