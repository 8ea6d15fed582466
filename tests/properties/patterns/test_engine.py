"""The engine gives what the declarative semantics says: for any query, any stream, any batching, any restart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from ostinato.core.expressions import Attribute, Call
from ostinato.patterns.plan.equality_partitions import partition_by_equalities
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula
from support.answers import answer, check_every_way, check_out_of_order, engine, expected
from support.generators.cel import queries
from support.generators.cel_streams import Row, streams, table

OPTIONS = {"wider_filters": True, "reuse": False}


@st.composite
def tied_queries(draw: Any) -> n.Query:
    """Queries in which every variable has the same k, by filters around the whole and inside each +."""
    query = draw(queries(absent=False, items=False, partitions=False))
    formula = all_named(query.formula)
    tied = replace(query, formula=with_ties(formula, None))
    assume(partition_by_equalities(tied).tied_by == "k")
    return tied


def all_named(formula: Formula) -> Formula:
    if isinstance(formula, n.Event):
        return replace(formula, variable=formula.variable.replace("#", "y"))
    return n.rebuild(formula, all_named)


def with_ties(formula: Formula, root: str | None) -> Formula:
    """Tie what the formula binds to `root`, or to each other; and so on inside every +."""
    names = sorted(n.bound(formula))
    root = root or (names[0] if names else None)
    formula = n.rebuild(
        formula, lambda child: with_ties(child, root) if isinstance(formula, n.Repeat | n.Or) else child
    )
    if isinstance(formula, n.Sequence):
        formula = replace(formula, parts=tuple(with_ties(part, root) for part in formula.parts))
    for name in names:
        if root is not None and name != root:
            formula = n.Filter(formula, Call("=", (Attribute(name, "k"), Attribute(root, "k"))))
    return formula


@settings(max_examples=90)
@given(queries(**OPTIONS), streams())
def test_whole_stream(query: n.Query, rows: list[Row]) -> None:
    assert answer(query, [engine(query).run_batch(table(rows))]) == expected(query, rows)


@pytest.mark.slow
@settings(max_examples=60)
@given(queries(trailing=False, **OPTIONS), streams(), st.integers(0, 9))
def test_max_where_it_chooses_nothing(query: n.Query, rows: list[Row], cut: int) -> None:
    query = replace(query, strategy="MAX")
    running = engine(query)
    assume(running.compiled.strategy == "ALL")
    want = expected(query, rows)
    assert want == expected(replace(query, strategy="ALL"), rows)
    assert answer(query, [running.push(table(rows[:cut])), running.push(table(rows[cut:]))]) == want


@settings(max_examples=30)
@given(queries(wider_filters=True, reuse=True), streams())
def test_variables_used_again(query: n.Query, rows: list[Row]) -> None:
    assert answer(query, [engine(query).run_batch(table(rows))]) == expected(query, rows)


@pytest.mark.slow
@settings(max_examples=45)
@given(queries(**OPTIONS), streams(), st.lists(st.integers(0, 9), max_size=4), st.booleans())
def test_any_batching_and_restart(query: n.Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(query, rows, cuts, restart)


@settings(max_examples=30)
@given(queries(**OPTIONS), streams(), st.randoms(use_true_random=False))
def test_out_of_order_within_the_lateness_bound(query: n.Query, rows: list[Row], random: Any) -> None:
    if query.window is None or query.window.kind != "attribute":  # that one needs its attribute in stream order
        check_out_of_order(query, engine(query, lateness=10**12), rows, random)


@pytest.mark.slow
@settings(max_examples=60, suppress_health_check=[HealthCheck.filter_too_much])  # few can be tied
@given(tied_queries(), streams(), st.lists(st.integers(0, 9), max_size=3), st.booleans())
def test_equality_as_partitions(query: n.Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    check_every_way(query, rows, cuts, restart)
