"""LIMIT gives the first answers of each partition, as the declarative semantics says: for any batching and restart."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.patterns.compile import compile_query
from ostinato.patterns.runtime.count import count_table
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from support.answers import answer, check_out_of_order, engine, expected
from support.generators.cel import Row, correlated_queries, queries, streams, table

limits = st.sampled_from([1, 1, 2, 3, 5])


def limited(query: n.Query, limit: int) -> n.Query:
    # Which of LAST comes first is not known before the windows of all have passed: that is refused.
    try:
        waits = bool(compile_query(query).trailing) and query.strategy == "LAST"
    except QueryError:  # refused, with or without LIMIT
        assume(False)
    return replace(query, limit=limit, strategy="NXT" if waits else query.strategy)


def check(query: n.Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    want = expected(query, rows)
    assert answer(query, [engine(query).run_batch(table(rows))]) == want
    assert count_table(engine(query), table(rows)) == len(want)
    running = engine(query)
    found = []
    for begin, end in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        found.append(running.push(table(rows[begin:end])))
        if restart:
            running = Engine.restore(running.snapshot())
    found.append(running.flush())
    assert answer(query, found) == want


@settings(max_examples=120)
@given(
    queries(wider_filters=True, reuse=False), limits, streams(), st.lists(st.integers(0, 9), max_size=4), st.booleans()
)
def test_first_answers(query: n.Query, limit: int, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check(limited(query, limit), rows, cuts, restart)


@settings(max_examples=60)
@given(correlated_queries(trailing=False), limits, streams(), st.lists(st.integers(0, 9), max_size=4), st.booleans())
def test_compared_events(query: n.Query, limit: int, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check(parse(to_text(limited(query, limit))), rows, cuts, restart)


@settings(max_examples=30)
@given(queries(wider_filters=True, reuse=False), limits, streams(), st.randoms(use_true_random=False))
def test_out_of_order(query: n.Query, limit: int, rows: list[Row], random: Any) -> None:
    query = limited(query, limit)
    if query.window is None or query.window.kind != "attribute":
        check_out_of_order(query, engine(query, lateness=10**12), rows, random)
