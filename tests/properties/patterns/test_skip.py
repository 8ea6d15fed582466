"""AFTER MATCH SKIP TO … takes the matches that the declarative semantics says: for any batching and restart."""

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
from support.answers import answer, engine, expected
from support.generators.cel import Row, correlated_queries, queries, streams, table

OPTIONS: dict[str, Any] = {"trailing": False}
cuts = st.lists(st.integers(0, 9), max_size=4)
limits = st.sampled_from([None, None, None, 1, 2])


def skipping(query: n.Query, data: Any, limit: int | None) -> n.Query:
    names = sorted(name for name in n.vdef(query.formula) if not name.startswith("#"))
    to = data.draw(st.sampled_from(["NEXT", "FIRST", "LAST"] if names else ["NEXT"]))
    skip = n.Skip(to, None if to == "NEXT" else data.draw(st.sampled_from(names)))
    skipping = replace(query, consume="NONE", skip=skip, limit=limit)
    try:
        compile_query(skipping)
    except QueryError:  # refused, with or without it
        assume(False)
    return skipping


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
@given(queries(wider_filters=True, reuse=False, **OPTIONS), st.data(), limits, streams(), cuts, st.booleans())
def test_skips(query: n.Query, data: Any, limit: int | None, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check(skipping(query, data, limit), rows, cuts, restart)


@settings(max_examples=60)
@given(correlated_queries(**OPTIONS), st.data(), limits, streams(), cuts, st.booleans())
def test_compared_events(
    query: n.Query, data: Any, limit: int | None, rows: list[Row], cuts: list[int], restart: bool
) -> None:
    check(parse(to_text(skipping(query, data, limit))), rows, cuts, restart)
