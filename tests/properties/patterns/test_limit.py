"""LIMIT gives the first answers of each partition, as the declarative semantics says: for any batching and restart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.patterns.compile import compile_query
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from support.answers import check_every_way, check_out_of_order, engine
from support.generators.cel import correlated_queries, queries
from support.generators.cel_streams import Row, streams

limits = st.sampled_from([1, 1, 2, 3, 5])


def limited(query: n.Query, limit: int) -> n.Query:
    # Which of LAST comes first is not known before the windows of all have passed: that is refused.
    try:
        compiled = compile_query(query)
    except QueryError:  # refused, with or without LIMIT
        assume(False)
    if compiled.branched and query.strategy in ("NXT", "LAST", "MAX"):  # neither is it where branches wait apart
        return replace(query, limit=limit, strategy="ALL")
    waits = bool(compiled.trailing) and query.strategy == "LAST"
    return replace(query, limit=limit, strategy="NXT" if waits else query.strategy)


@pytest.mark.slow
@settings(max_examples=120)
@given(
    queries(wider_filters=True, reuse=False, branches=True),
    limits,
    streams(),
    st.lists(st.integers(0, 9), max_size=4),
    st.booleans(),
)
def test_first_answers(query: n.Query, limit: int, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(limited(query, limit), rows, cuts, restart)


@pytest.mark.slow
@settings(max_examples=60)
@given(correlated_queries(trailing=False), limits, streams(), st.lists(st.integers(0, 9), max_size=4), st.booleans())
def test_compared_events(query: n.Query, limit: int, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(parse(to_text(limited(query, limit))), rows, cuts, restart)


@settings(max_examples=30)
@given(queries(wider_filters=True, reuse=False), limits, streams(), st.randoms(use_true_random=False))
def test_out_of_order(query: n.Query, limit: int, rows: list[Row], random: Any) -> None:
    query = limited(query, limit)
    if query.window is None or query.window.kind != "attribute":
        check_out_of_order(query, engine(query, lateness=10**12), rows, random)
