"""NOT with a time of its own, live: timers ring when `due` says so, and the answer is that of the semantics."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.syntax import nodes as n
from support.answers import answer, check_every_way, check_timers, engine, expected
from support.generators.cel import absence_queries, queries
from support.generators.cel_formulas import absent_formulas
from support.generators.cel_streams import Row, streams, table


@settings(max_examples=60)
@given(absent_formulas(), streams(max_size=12), st.integers(0, 12))
def test_not_of_a_formula(absent: n.AbsentFormula, rows: list[Row], cut: int) -> None:
    query = n.Query(n.Sequence((n.Event("A", "a"), absent, n.Event("B", "b"))))
    running = engine(query)
    found = [running.push(table(rows[:cut]))]
    running = Engine.restore(running.snapshot())
    found += [running.push(table(rows[cut:])), running.flush()]
    assert answer(query, found) == expected(query, rows)


@pytest.mark.slow
@settings(max_examples=150)
@given(absence_queries(), streams(max_size=10), st.lists(st.integers(0, 10), max_size=4), st.booleans())
def test_between_two_parts(query: n.Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(query, rows, cuts, restart)


@pytest.mark.slow
@settings(max_examples=150)
@given(queries(wider_filters=True, trailing=True, branches=True), streams(), st.lists(st.integers(0, 9), max_size=4))
def test_branches(query: n.Query, rows: list[Row], cuts: list[int]) -> None:
    check_every_way(query, rows, cuts, restart=True)


@pytest.mark.slow
@settings(max_examples=60)
@given(queries(wider_filters=True, trailing=True, branches=True), streams(), st.booleans())
def test_timers(query: n.Query, rows: list[Row], restart: bool) -> None:
    check_timers(query, rows, restart=restart)
