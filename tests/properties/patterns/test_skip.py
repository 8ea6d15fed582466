"""AFTER MATCH SKIP TO … takes the matches that the declarative semantics says: for any batching and restart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.core.window_clause import Window
from ostinato.errors import QueryError
from ostinato.patterns.compile import compile_query
from ostinato.patterns.runtime import matcher
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text
from support.answers import check_every_way
from support.generators.cel import correlated_queries, queries
from support.generators.cel_streams import Row, streams

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


@pytest.mark.slow
@settings(max_examples=120)
@given(queries(wider_filters=True, reuse=False, **OPTIONS), st.data(), limits, streams(), cuts, st.booleans())
def test_skips(query: n.Query, data: Any, limit: int | None, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(skipping(query, data, limit), rows, cuts, restart)


@settings(max_examples=60)
@given(queries(reuse=False, **OPTIONS), st.data(), streams(), st.integers(1, 9), st.integers(2, 9))
def test_matches_in_small_chunks(query: n.Query, data: Any, rows: list[Row], room: int, width: int) -> None:
    """So that the matches of one event are in several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matcher, "_CHUNK_VALUES", room)
        check_every_way(skipping(replace(query, window=Window("events", width)), data, None), rows, [], False)


@pytest.mark.slow
@settings(max_examples=60)
@given(correlated_queries(**OPTIONS), st.data(), limits, streams(), cuts, st.booleans())
def test_compared_events(
    query: n.Query, data: Any, limit: int | None, rows: list[Row], cuts: list[int], restart: bool
) -> None:
    check_every_way(parse(to_text(skipping(query, data, limit))), rows, cuts, restart)
