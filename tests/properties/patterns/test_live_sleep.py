"""Queries with engines of their own sleep in an engine for many: what they give is what they give if they read all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import LimitError
from ostinato.patterns.syntax.nodes import Query, Skip
from support.generators.cel import absence_queries, correlated_queries, loop_queries, queries, timeout_queries
from support.generators.cel_streams import Row, streams, table
from support.named_queries import name_queries

FEW = ost.Limits(matches=10_000, memory=64 << 20)
STEPS = st.lists(st.sampled_from(["table", "dicts", "advance", "restart"]), max_size=8)
OTHER = {"type": "E", "v": None, "s": None, "k": 1, "t": None, "o": None}


@st.composite
def sparse(draw: st.DrawFn) -> list[Row]:
    """Streams most of whose events no query names."""
    rows: list[Row] = []
    ts = n = 0
    for row in draw(streams(max_size=12)):
        for _ in range(draw(st.integers(0, 3))):
            ts, n = ts + draw(st.integers(0, 3)), n + 1
            rows.append(OTHER | {"ts": ts, "n": n, "m": n - 9})
        ts, n = ts + draw(st.integers(0, 2)), n + 1
        rows.append(row | {"ts": ts, "n": n, "m": n - 9 * (row["k"] or 0)})
    return rows


@st.composite
def limited(draw: st.DrawFn) -> Query:
    """With LIMIT, or AFTER MATCH SKIP."""
    query = draw(queries(wider_filters=True, reuse=False, trailing=False))
    if draw(st.booleans()):
        return replace(query, limit=draw(st.integers(1, 3)))
    return replace(query, skip=Skip("NEXT")) if query.consume == "NONE" else query


asked = st.lists(
    queries(wider_filters=True, reuse=False)
    | limited()
    | correlated_queries()
    | loop_queries()
    | absence_queries()
    | timeout_queries(),
    min_size=1,
    max_size=3,
)


def pieces(rows: list[Row], steps: list[str], size: int) -> list[Any]:
    found: list[Any] = [table([])]
    at = 0
    for step in [*steps, "table"]:
        if step == "restart":
            found.append(step)
            continue
        piece, at = rows[at : at + size], at + size
        if step == "advance":
            found.append(piece[0]["ts"] if piece else 10**6)
        found += piece if step == "dicts" else [table(piece)]
    return [*found, *rows[at:]]


@pytest.mark.slow
@settings(max_examples=150)
@given(asked, sparse(), STEPS, st.integers(1, 9))
def test_queries_that_sleep(given: list[Query], rows: list[Row], steps: list[str], size: int) -> None:
    named = name_queries(given)
    live = ost.engine(named, limits=FEW)
    alone = {name: query.engine(limits=FEW) for name, query in named.items()}
    for piece in [*pieces(rows, steps, size), None]:
        if isinstance(piece, str):
            live = ost.LiveEngine.restore(live.snapshot())
            continue
        due = [each for engine in alone.values() if (each := engine.due()) is not None]
        assert live.due() is None or live.due() <= min(due)
        matches = live.flush() if piece is None else live.advance(piece) if isinstance(piece, int) else live.push(piece)
        for name, each in list(alone.items()):
            try:
                answer = (
                    each.flush()
                    if piece is None
                    else each.advance(piece)
                    if isinstance(piece, int)
                    else each.push(piece)
                )
            except LimitError:
                assert live.stats().queries[name].stopped is not None
                del alone[name]
                continue
            assert matches.tables.get(name, answer.slice(0, 0)).to_pylist() == answer.to_pylist()
            assert live.stats().queries[name].matches == each.stats().matches
