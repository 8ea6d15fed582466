"""The automaton over symbols completes exactly where the engine finds a match."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from generators import Row, correlated_queries, queries, streams, table
from generators_srem import alike_streams, patterns
from ostinato.errors import LimitError, QueryError
from ostinato.forecast.automaton import SymbolAutomaton
from ostinato.forecast.pattern import Pattern
from ostinato.forecast.reader import Read, Reader
from ostinato.plan.format import to_text
from ostinato.plan.nodes import Query, Segment, Window

BINDING: dict[str, Any] = {"time": None, "type": None, "order_by": ()}


def completions(pattern: Pattern, rows: list[Row]) -> list[bool]:
    """Per event, in stream order, whether the automaton completes."""
    reader = Reader(pattern, BINDING)
    read = reader.read(table(rows))
    try:
        automaton = reader.symbols.completed().automaton(1_000)
    except LimitError:
        assume(False)
    return followed(automaton, read)


def followed(automaton: SymbolAutomaton, read: Read) -> list[bool]:
    states: dict[int, int] = {}
    found = []
    for at, symbol in enumerate(read.symbols.tolist()):
        key = 0 if read.keys is None else int(read.keys[at])
        state = states.get(key, automaton.start)
        assert automaton.next[state, symbol] >= 0
        found.append(bool(automaton.completes[state, symbol]))
        states[key] = int(automaton.next[state, symbol])
    return found


def detected(pattern: Pattern, rows: list[Row]) -> list[bool]:
    ends = {row[-1] for row in pattern.query.detect(table(rows))["positions"].to_pylist()}
    return [at in ends for at in range(len(rows))]


def forecastable(query: Query, features: tuple[str, ...] = ()) -> Pattern:
    try:
        pattern = Pattern.of(to_text(query), features)
    except QueryError:
        assume(False)
        raise
    assume(not pattern.correlated)
    return pattern


@settings(max_examples=150)
@given(queries(trailing=False, items=False), streams(12), st.sampled_from([(), ("v > 1",), ("v > 1", "k = 1")]))
def test_completes_where_the_engine_does(query: Query, rows: list[Row], features: tuple[str, ...]) -> None:
    window = query.window if query.window is None or query.window.kind == "events" else None
    pattern = forecastable(replace(query, window=window), features)
    assert completions(pattern, rows) == detected(pattern, rows)


@settings(max_examples=60)
@given(queries(trailing=False, items=False), streams(12))
def test_a_window_in_time_is_at_most_a_part_longer(query: Query, rows: list[Row]) -> None:
    assume(query.window is not None and query.window.kind == "time" and query.window.amount > 0)
    pattern = forecastable(replace(query, consume="NONE"))
    found = completions(pattern, rows)
    assert Reader(pattern, BINDING).read(table(rows)).completes.tolist() == detected(pattern, rows)
    assert all(forecast for forecast, exact in zip(found, detected(pattern, rows), strict=True) if exact)
    without = forecastable(replace(query, consume="NONE", window=None))
    assert all(free for free, forecast in zip(detected(without, rows), found, strict=True) if forecast)


@settings(max_examples=60)
@given(patterns(), alike_streams(8))
def test_segments(pattern: Any, rows: list[Row]) -> None:
    window = pattern.window if pattern.window is None or pattern.window.kind == "events" else None
    query = Query(Segment(pattern.expression), partition_by=pattern.partition_by, window=window, language="srem")
    try:
        known = Pattern(to_text(query), "srem")
        known.check()
    except QueryError:
        assume(False)
    assume(not known.correlated)
    assert completions(known, rows) == detected(known, rows)


@settings(max_examples=60)
@given(correlated_queries(trailing=False, items=False), streams(12))
def test_patterns_that_compare_events(query: Query, rows: list[Row]) -> None:
    """What is read of the events says where the engine finds matches, and the automaton follows it."""
    window = (
        query.window if query.window is not None and query.window.kind == "events" else Window("events", 4, text="4")
    )
    try:
        pattern = Pattern.of(to_text(replace(query, window=window)))
    except QueryError:
        assume(False)
    assume(pattern.correlated)
    reader = Reader(pattern, BINDING)
    read = reader.read(table(rows))
    expected = detected(pattern, rows)
    assert read.completes is not None and read.completes.tolist() == expected
    try:
        automaton = reader.symbols.completed().automaton(1_000)
    except LimitError:
        assume(False)
    assert followed(automaton, read) == expected
