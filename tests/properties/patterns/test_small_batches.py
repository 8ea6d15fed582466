"""Small batches of plain columns are read in one go: the rows are those of batches that are read column by column."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query
from support.generators.cel import queries
from support.generators.cel_streams import Row, streams, table, typed_streams

pytestmark = pytest.mark.slow
sizes = st.lists(st.integers(0, 8), max_size=6)


def check(query: PatternQuery, rows: pa.Table, cut: list[int], **options: Any) -> Engine:
    """Pieces are slices, so that columns begin in the middle of their buffers."""
    small, large = query.engine(**options), query.engine(**options)
    at = 0
    for size in [0, *cut, len(rows)]:
        piece, at = rows.slice(at, size), at + size
        found, expected = small.push(piece), list(large.push_each(piece))
        assert found.to_pylist() == [row for part in expected for row in part.to_pylist()]
    assert small.stats() == large.stats()
    assert small.unseen_types() == large.unseen_types()
    assert small.late_events().equals(large.late_events())
    if len(cut) % 2:
        small = Engine.restore(small.snapshot())
    assert small.push(rows.slice(0, 0)).equals(large.push(rows.slice(0, 0)))
    assert small.flush().equals(large.flush())
    return small


@settings(max_examples=150)
@given(queries(wider_filters=True, reuse=False), streams(max_size=30), sizes)
def test_any_query(query: Query, rows: list[Row], cut: list[int]) -> None:
    try:
        compiled = ost.cel(to_text(query))
    except QueryError:
        assume(False)
    check(compiled, table(rows), cut)


TEXTS = [
    "A AS x ; B AS y FILTER x.v > 0 AND y.v <= 1 WITHIN 3 seconds",
    "A AS x ; B AS y FILTER x.k = y.k AND x.v < 2 WITHIN 5 EVENTS",
    "A AS x ; B AS y FILTER x.k = y.k AND y.s = 'a' WITHIN 4 seconds",
    "SELECT x, y WHERE A AS x ; (B AS y FILTER y.v IS NOT NULL)+ PARTITION BY k WITHIN 6 EVENTS",
    "SELECT NXT * WHERE A ; B PARTITION BY k WITHIN 4 seconds CONSUME BY ANY",
    "SELECT MAX * WHERE A+ ; B WITHIN 4 EVENTS",
]


@settings(max_examples=200)
@given(
    st.sampled_from(TEXTS), typed_streams(), sizes, st.sampled_from(["count", "collect"]), st.sampled_from([0, 0, 1])
)
@example(TEXTS[2], table([]), [1], "count", 0)
def test_any_columns(text: str, rows: pa.Table, cut: list[int], on_late: Any, lateness: int) -> None:
    check(ost.cel(text), rows, cut, on_late=on_late, lateness=lateness)
