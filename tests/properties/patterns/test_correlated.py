"""Patterns that compare events with each other: the engine with registers gives what the declarative semantics says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.patterns.runtime.count import count_table
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support.answers import answer, check_every_way, check_out_of_order, engine, expected
from support.generators.cel import correlated_queries, ended_loop_queries, loop_queries
from support.generators.cel_streams import Row, streams, table


def parsed(query: Query) -> Query:
    """As from text, which is what a snapshot keeps."""
    return parse(to_text(query))


def running(query: Query, **options: Any) -> Engine:
    """An engine, unless the query would need more than finitely many registers, and so is refused."""
    try:
        return engine(query, **options)
    except QueryError as error:
        assume("remembered until" not in error.reason and "must not come only with events before" not in error.reason)
        assume("NOT can come last" not in error.reason and "an event outside and one inside" not in error.reason)
        raise


@pytest.mark.slow
@settings(max_examples=90)
@given(correlated_queries() | correlated_queries(reuse=True), streams())
def test_whole_stream(query: Query, rows: list[Row]) -> None:
    assert answer(query, [running(query).run_batch(table(rows))]) == expected(query, rows)


@pytest.mark.slow
@settings(max_examples=45)
@given(correlated_queries(), streams(), st.integers(0, 9))
def test_any_batching_and_restart(query: Query, rows: list[Row], cut: int) -> None:
    query = parsed(query)
    first = running(query)
    found = [first.push(table(rows[:cut]))]
    second = Engine.restore(first.snapshot())
    found += [second.push(table(rows[cut:])), second.flush()]
    assert answer(query, found) == expected(query, rows)


@settings(max_examples=30)
@given(correlated_queries(), streams())
def test_count(query: Query, rows: list[Row]) -> None:
    assert count_table(running(query), table(rows)) == len(expected(query, rows))


@settings(max_examples=60)
@given(loop_queries(), streams(), st.integers(0, 9))
def test_loops_that_look_back(query: Query, rows: list[Row], cut: int) -> None:
    query = parsed(query)
    want, first = expected(query, rows), running(query)
    found = [first.push(table(rows[:cut]))]
    second = Engine.restore(first.snapshot())
    assert answer(query, [*found, second.push(table(rows[cut:])), second.flush()]) == want
    assert answer(query, [running(query).run_batch(table(rows))]) == want
    assert count_table(running(query), table(rows)) == len(want)


@pytest.mark.slow
@settings(max_examples=80)
@given(ended_loop_queries(), streams(), st.lists(st.integers(0, 9), max_size=4), st.booleans())
def test_conditions_on_loops_that_have_ended(query: Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(parsed(query), rows, cuts, restart)


@settings(max_examples=30)
@given(correlated_queries(), streams(), st.randoms(use_true_random=False))
def test_out_of_order_within_the_lateness_bound(query: Query, rows: list[Row], random: Any) -> None:
    if query.window is None or query.window.kind != "attribute":
        check_out_of_order(query, running(query, lateness=10**12), rows, random)
