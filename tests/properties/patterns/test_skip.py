"""AFTER MATCH SKIP TO … takes the matches that the declarative semantics says: for any batching and restart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.patterns.compile import compile_query
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from support.answers import check_every_way
from support.generators.cel import Row, correlated_queries, queries, streams

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


@settings(max_examples=120)
@given(queries(wider_filters=True, reuse=False, **OPTIONS), st.data(), limits, streams(), cuts, st.booleans())
def test_skips(query: n.Query, data: Any, limit: int | None, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(skipping(query, data, limit), rows, cuts, restart)


@settings(max_examples=60)
@given(correlated_queries(**OPTIONS), st.data(), limits, streams(), cuts, st.booleans())
def test_compared_events(
    query: n.Query, data: Any, limit: int | None, rows: list[Row], cuts: list[int], restart: bool
) -> None:
    check_every_way(parse(to_text(skipping(query, data, limit))), rows, cuts, restart)
