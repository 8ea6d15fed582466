"""The automaton over symbols completes exactly where the engine finds a match."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.core.units import parse_duration
from ostinato.core.window_clause import Window
from ostinato.errors import LimitError, QueryError
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.automaton import SymbolAutomaton
from ostinato.forecast.symbols.encoder import Symbols
from ostinato.forecast.symbols.event_spacing import PaceMeter
from ostinato.forecast.symbols.reader import SymbolBatch, SymbolReader
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Query, Segment
from support.generators.cel import correlated_queries, queries
from support.generators.cel_streams import Row, streams, table
from support.generators.srem import alike_streams, patterns

pytestmark = pytest.mark.slow

BINDING: dict[str, Any] = {"time": None, "type": None, "order_by": ()}


def symbol_moves(pattern: ForecastPattern, rows: list[Row]) -> SymbolReader:
    """A reader that learns, with a grid for these rows where the window needs one."""
    symbols = Symbols(pattern)
    if symbols.measured:
        meter = PaceMeter(pattern, BINDING)
        meter.add(table(rows))
        symbols = symbols.with_grid(meter.pace, 5_000)
    return SymbolReader(pattern, BINDING, symbols, learning=True)


def completions(pattern: ForecastPattern, rows: list[Row]) -> list[bool]:
    """Per event, in stream order, whether the automaton completes."""
    reader = symbol_moves(pattern, rows)
    read = reader.read(table(rows))
    try:
        automaton = reader.symbols.with_unseen().automaton(1_000)
    except LimitError:
        assume(False)
    return count_followers(automaton, read)


def count_followers(automaton: SymbolAutomaton, read: SymbolBatch) -> list[bool]:
    states: dict[int, int] = {}
    found = []
    for at, symbol in enumerate(read.symbols.tolist()):
        key = 0 if read.keys is None else int(read.keys[at])
        state = states.get(key, automaton.start)
        assert automaton.next[state, symbol] >= 0
        found.append(bool(automaton.completes[state, symbol]))
        states[key] = int(automaton.next[state, symbol])
    return found


def detected(pattern: ForecastPattern, rows: list[Row]) -> list[bool]:
    ends = {row[-1] for row in pattern.query.detect(table(rows))["positions"].to_pylist()}
    return [at in ends for at in range(len(rows))]


def forecastable(query: Query, features: tuple[str, ...] = ()) -> ForecastPattern:
    try:
        pattern = ForecastPattern.of(to_text(query), features)
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
@given(queries(trailing=False, items=False), streams(12), st.sampled_from(["2.5 seconds", "3 seconds", "7 seconds"]))
def test_windows_in_time(query: Query, rows: list[Row], within: str) -> None:
    """What completes is found exactly; of events at regular times, the automaton says the same."""
    amount = parse_duration(within)
    pattern = forecastable(replace(query, window=Window("time", amount, text=within)))
    read = symbol_moves(pattern, rows).read(table(rows))
    assert read.completes is not None and read.completes.tolist() == detected(pattern, rows)
    assume(rows and not query.partition_by)
    regular = [{**row, "ts": at} for at, row in enumerate(rows)]
    assert completions(pattern, regular) == detected(pattern, regular)


@settings(max_examples=60)
@given(patterns(), alike_streams(8))
def test_segments(pattern: Any, rows: list[Row]) -> None:
    window = pattern.window if pattern.window is None or pattern.window.kind == "events" else None
    query = Query(Segment(pattern.expression), partition_by=pattern.partition_by, window=window, language="srem")
    try:
        known = ForecastPattern(to_text(query), "srem")
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
        pattern = ForecastPattern.of(to_text(replace(query, window=window)))
    except QueryError:
        assume(False)
    assume(pattern.correlated)
    reader = SymbolReader(pattern, BINDING)
    read = reader.read(table(rows))
    expected = detected(pattern, rows)
    assert read.completes is not None and read.completes.tolist() == expected
    try:
        automaton = reader.symbols.with_unseen().automaton(1_000)
    except LimitError:
        assume(False)
    assert count_followers(automaton, read) == expected


@pytest.mark.parametrize(
    "query",
    [
        "A : B:+",
        "A : B:+ WITHIN 4 EVENTS",
        "SELECT STRICT * WHERE A ; B+",
        "SELECT STRICT * WHERE A ; (B OR C)+ WITHIN 5 EVENTS",
        "A ; B+ CONSUME BY ANY",
    ],
)
def test_patterns_that_end_in_a_repetition(query: str) -> None:
    pattern = ForecastPattern.of(query)
    rows = [{"ts": at, "type": kind} for at, kind in enumerate("ABBCABABBBCCBABCBB")]
    assert completions(pattern, rows) == detected(pattern, rows)


def test_more_kinds_of_events_than_can_be_provided_for() -> None:
    """What completes is found exactly all the same, also of kinds that were never observed."""
    flags = [f"a{number}" for number in range(10)]
    pattern = ForecastPattern.of(
        " ; ".join(f"(T AS v{number} FILTER v{number}.{flag} > 0)" for number, flag in enumerate(flags))
    )
    one = [{"ts": at, "type": "T", **dict.fromkeys(flags, 0), flags[at % 10]: 1} for at in range(50)]
    many = [
        {"ts": at, "type": "T", **{flag: (at * place) % 3 % 2 for place, flag in enumerate(flags)}} for at in range(30)
    ]
    reader = SymbolReader(pattern, BINDING)
    reader.read(pa.Table.from_pylist(one))
    read = SymbolReader(pattern, BINDING, reader.symbols.with_unseen()).read(pa.Table.from_pylist(many))
    assert read.completes is not None
    ends = {row[-1] for row in pattern.query.detect(many)["positions"].to_pylist()}
    assert [bool(each) for each in read.completes] == [at in ends for at in range(30)]
