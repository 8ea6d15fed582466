"""WITH TIMEOUT ROWS: what the semantics says did not complete, in every way to read a stream."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.patterns.compile import compile_query
from ostinato.patterns.runtime import parallel
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from support.answers import check_every_way, check_timers, engine
from support.generators.cel import timeout_queries
from support.generators.cel_streams import Row, streams, table

pytestmark = pytest.mark.slow
CUTS = st.lists(st.integers(0, 9), max_size=4)


def check_allowed(query: n.Query) -> None:
    """Registers cannot hold everything."""
    try:
        compile_query(query)
    except QueryError as error:
        assume("remembered until" not in error.reason and "compares with events of a loop" not in error.reason)
        raise


@settings(max_examples=150)
@given(timeout_queries(), streams(max_size=8), CUTS, st.booleans())
def test_any_query(query: n.Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_allowed(query)
    check_every_way(query, rows, cuts, restart)


@settings(max_examples=100)
@given(timeout_queries(correlated=True), streams(max_size=8), CUTS, st.booleans())
def test_events_compared_with_each_other(query: n.Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_allowed(query)
    check_every_way(query, rows, cuts, restart)


@settings(max_examples=100)
@given(timeout_queries(loops=True), streams(max_size=6), CUTS, st.booleans())
def test_loops_that_look_back(query: n.Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_allowed(query)
    check_every_way(query, rows, cuts, restart)


@settings(max_examples=60)
@given(timeout_queries(), streams(max_size=8), st.booleans())
def test_timers(query: n.Query, rows: list[Row], restart: bool) -> None:
    check_allowed(query)
    check_timers(query, rows, restart=restart)


@given(timeout_queries(), streams(max_size=20), st.integers(2, 4))
def test_threads(query: n.Query, rows: list[Row], threads: int) -> None:
    check_allowed(query)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parallel, "LEAST", 2)
        alone = engine(query).run_batch(table(rows))
        assert parallel.detect_table(lambda: engine(query), table(rows), threads).equals(alone)
        assert parallel.count_rows(lambda: engine(query), table(rows), threads) == len(alone)


@given(timeout_queries())
def test_text(query: n.Query) -> None:
    assert parse(to_text(query)).timeout == query.timeout
