"""Many queries in one engine give the rows that each gives in an engine of its own."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.errors import LimitError
from ostinato.patterns.query import PatternQuery
from ostinato.patterns.syntax.nodes import Query
from support.generators.cel import correlated_queries, queries
from support.generators.cel_streams import Pieces, Row, in_pieces, pieces, streams, table
from support.named_queries import name_queries

pytestmark = pytest.mark.slow
FEW = ost.Limits(matches=10_000, memory=64 << 20)


def check(named: dict[str, PatternQuery], rows: list[Row], cut: Pieces, **options: Any) -> None:
    live = ost.engine(named, limits=FEW, **options)
    alone = {name: query.engine(limits=FEW, **options) for name, query in named.items()}
    found: dict[str, list[Any]] = {name: [] for name in named}
    expected: dict[str, list[Any]] = {name: [] for name in named}
    for piece in [*in_pieces(rows, cut), None]:
        matches = live.flush() if piece is None else live.push(piece)
        for name, each in list(alone.items()):
            try:
                answer = each.flush() if piece is None else each.push(piece)
            except LimitError as error:
                stopped = live.stats().queries[name].stopped
                assert stopped is not None and stopped.splitlines()[0] == str(error).splitlines()[0]
                del alone[name], found[name], expected[name]
            else:
                expected[name] += answer.to_pylist()
        assert len(matches) == sum(matches.counts().values())
        for name, answer in matches.tables.items():
            found[name] += answer.to_pylist()
    assert found == expected


@settings(max_examples=80)
@given(st.lists(queries(wider_filters=True), min_size=1, max_size=4), streams(max_size=30), pieces)
def test_any_queries(asked: list[Query], rows: list[Row], cut: Pieces) -> None:
    check(name_queries(asked), rows, cut)


@settings(max_examples=60)
@given(st.lists(correlated_queries() | queries(), min_size=1, max_size=3), streams(max_size=24), pieces)
def test_queries_that_compare_events(asked: list[Query], rows: list[Row], cut: Pieces) -> None:
    check(name_queries(asked), rows, cut)


@settings(max_examples=60)
@given(st.lists(queries(), min_size=1, max_size=3), streams(max_size=24), pieces, st.randoms(use_true_random=False))
def test_events_that_wait(asked: list[Query], rows: list[Row], cut: Pieces, random: Any) -> None:
    asked = [query for query in asked if query.window is None or query.window.kind != "attribute"]
    rows = sorted(rows, key=lambda row: row["ts"] + random.randrange(3))
    check(name_queries(asked), rows, cut, lateness=3)


@settings(max_examples=60)
@given(st.lists(queries(wider_filters=True), min_size=1, max_size=3), streams(max_size=16), st.integers(0, 16))
def test_a_restored_engine_goes_on(asked: list[Query], rows: list[Row], cut: int) -> None:
    named = name_queries(asked)
    whole, first = ost.engine(named, limits=FEW, lateness=1), ost.engine(named, limits=FEW, lateness=1)
    for row in [table([]), *rows[:cut]]:
        assert first.push(row).counts() == whole.push(row).counts()
    data = first.snapshot()
    second, third = ost.LiveEngine.restore(data), ost.engine(named, limits=FEW, lateness=1)
    ruled = any(query.window is not None and query.window.kind == "attribute" for query in asked)
    for row in [table([]), *(rows if ruled else reversed(rows))]:  # it has been elsewhere
        third.push(row)
    if set(third.queries) == set(named):
        third.resume(data)
    else:
        third = ost.LiveEngine.restore(data)
    assert second.queries == whole.queries
    for row in rows[cut:]:
        expected = list(whole.push(row))
        assert list(second.push(row)) == expected
        assert list(third.push(row)) == expected
    expected = list(whole.flush())
    assert list(second.flush()) == expected
    assert list(third.flush()) == expected
    for engine in (second, third):
        numbers, wanted = engine.stats(), whole.stats()
        assert (numbers.events, numbers.late) == (wanted.events, wanted.late)
        for name, each in wanted.queries.items():
            assert (numbers.queries[name].matches, numbers.queries[name].events) == (each.matches, each.events)


@settings(max_examples=80)
@given(
    st.lists(queries(wider_filters=True) | correlated_queries(), min_size=2, max_size=4),
    streams(max_size=20),
    st.data(),
)
def test_an_engine_with_other_queries_goes_on(asked: list[Query], rows: list[Row], data: st.DataObject) -> None:
    """One query is new, one is gone; the others do not notice, and the new one begins where the engine goes on."""
    named = name_queries(asked)
    new, *others = named
    assume(others)
    gone, *kept = others
    cut = data.draw(st.integers(0, len(rows)))
    first = ost.engine({name: named[name] for name in others}, limits=FEW)
    second = ost.engine({name: named[name] for name in [*reversed(kept), new]}, limits=FEW)
    whole = ost.engine({name: named[name] for name in kept} or {gone: named[gone]}, limits=FEW)
    begun = named[new].engine(limits=FEW)
    for row in [table([]), *rows[:cut]]:
        first.push(row)
        whole.push(row)
    for row in [table([]), *rows[cut // 2 :]]:
        second.push(row)
    if set(second.queries) != {*kept, new}:
        return  # one has reached its limit
    second.resume(first.snapshot())
    begun.push(table([]))
    for row in rows[cut:]:
        found, expected = second.push(row).tables, whole.push(row).tables
        for name in kept:
            assert (name in found) == (name in expected)
            if name in expected:
                assert found[name].to_pylist() == expected[name].to_pylist()
        try:
            wanted = begun.push(row)
        except LimitError:
            return
        answer = found.get(new, wanted.slice(0, 0))
        if "positions" in wanted.column_names:
            shifted = [[place + cut for place in places] for places in wanted["positions"].to_pylist()]
            assert answer["positions"].to_pylist() == shifted
        else:
            assert answer.to_pylist() == wanted.to_pylist()


@settings(max_examples=60)
@given(st.lists(queries(), min_size=2, max_size=4), streams(max_size=12), st.integers(0, 12), st.integers(0, 12))
def test_queries_that_come_and_go(asked: list[Query], rows: list[Row], first: int, second: int) -> None:
    """A query gives what it would give of the events that came while it was there."""
    named = name_queries(asked)
    late, *others = named
    begin, end = sorted((first, second))
    live = ost.engine({name: named[name] for name in others}, limits=FEW)
    live.push(table([]))
    own = named[late].engine(limits=FEW)
    own.push(table([]))
    found, expected = list[Any](), list[Any]()
    for number, row in enumerate(rows):
        if number == begin:
            live.add(late, named[late])
        if number == end and begin < len(rows):
            if begin == end:
                live.push(table([]))
            live.remove(late)
        answer = live.push(row).tables.get(late, pa.table({}))
        if begin <= number < end:
            found.append(len(answer))
            expected.append(len(own.push(row)))
        else:
            assert not len(answer)
    assert found == expected


@settings(max_examples=80)
@given(st.lists(queries(wider_filters=True), min_size=2, max_size=3), streams(max_size=14), st.data())
def test_a_query_may_begin_with_the_past(asked: list[Query], rows: list[Row], data: st.DataObject) -> None:
    named = name_queries(asked)
    late, *others = named
    now = data.draw(st.integers(0, len(rows)))
    begin = data.draw(st.integers(0, now))
    live = ost.engine({name: named[name] for name in others}, limits=FEW)
    own = named[late].engine(limits=FEW)
    own.push(table([]))
    for row in [table([]), *rows[:now]]:
        live.push(row)
    try:
        if begin < now:
            own.push(table(rows[begin:now]))
    except LimitError:
        return
    live.add(late, named[late], limits=FEW, since=table(rows[begin:now]))
    for row in rows[now:]:
        try:
            expected = own.push(row)
        except LimitError:
            assert live.push(row).counts().get(late) is None
            return
        found = live.push(row).tables.get(late, expected.slice(0, 0))
        if "positions" in expected.column_names:
            shifted = [[place + begin for place in places] for places in expected["positions"].to_pylist()]
            assert found["positions"].to_pylist() == shifted
        else:
            assert found.to_pylist() == expected.to_pylist()
