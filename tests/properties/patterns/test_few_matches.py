"""Few matches become the table and the rows that many become, whether their events came one by one or in batches."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.few_matches import FewMatches
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support.generators.cel import correlated_queries, queries
from support.generators.cel_streams import Pieces, Row, in_pieces, pieces, streams, typed_streams


@pytest.mark.slow
@settings(max_examples=150)
@given(queries(wider_filters=True, trailing=True) | correlated_queries(), streams(max_size=24), pieces, st.booleans())
def test_as_many_are(query: Query, rows: list[Row], cut: Pieces, events: bool) -> None:
    try:
        compiled = ost.cel(to_text(query))
    except QueryError:
        assume(False)
    few, many = compiled.engine(events=events), compiled.engine(events=events)
    live = ost.engine({"q": compiled}, events=events)
    for piece in in_pieces(rows, cut):
        expected = slow_push(many, piece)
        assert few.push(piece).equals(expected)
        assert list(live.push(piece)) == [{"query": "q", **row} for row in expected.to_pylist()]
    assert few.flush().equals(many.flush())


@pytest.mark.slow
@settings(max_examples=60)
@given(
    typed_streams(),
    st.sampled_from(["SELECT x, y.v, y.s AS s", "SELECT *", "SELECT x.ts AS t, y.k AS k"]),
    st.booleans(),
)
def test_columns_of_every_type(rows: pa.Table, items: str, events: bool) -> None:
    compiled = ost.cel(f"{items} WHERE A AS x ; (B AS y)+ PARTITION BY k WITHIN 4 EVENTS")
    few, many = compiled.engine(events=events), compiled.engine(events=events)
    few.push(rows.slice(0, 0))
    many.push(rows.slice(0, 0))
    for at in range(0, len(rows), 7):
        expected = slow_push(many, rows.slice(at, 7))
        assert few.push(rows.slice(at, 7)).equals(expected)


def slow_push(engine: Engine, piece: Any) -> pa.Table:
    """By way of Arrow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FewMatches, "are_few", lambda *_: False)
        return engine.push(piece)


@pytest.mark.slow
@settings(max_examples=60)
@given(queries(wider_filters=True, trailing=True), streams(max_size=24), pieces, st.integers(0, 30), st.booleans())
def test_matches_that_wait(query: Query, rows: list[Row], cut: Pieces, moment: int, restart: bool) -> None:
    """Few events look up the matches that they cancel; many are compared with all of them."""
    compiled = ost.cel(to_text(query))
    few, many = compiled.engine(), compiled.engine()
    for number, piece in enumerate(in_pieces(rows, cut)):
        given = [piece] if isinstance(piece, dict) else piece
        expected = [row for part in many.push_each(given) for row in part.to_pylist()]
        assert few.push(piece).to_pylist() == expected
        assert few.due() == many.due()
        assert few.stats().waiting == many.stats().waiting
        if restart and number % 3 == 1:
            few = Engine.restore(few.snapshot())
    now = moment + max([0, *(row["ts"] for row in rows)])
    assert few.advance(now).to_pylist() == many.advance(now).to_pylist()
    assert few.flush().equals(many.flush())
