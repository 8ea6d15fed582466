"""Every rewriting pass keeps the complex events of a query and their labels; together they reach the normal form."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given, settings

from ostinato.core.expressions import Attribute, Call, variables
from ostinato.errors import LimitError, QueryError
from ostinato.patterns.plan.check import check_query
from ostinato.patterns.plan.equality_partitions import partition_by_equalities
from ostinato.patterns.plan.passes import normalise
from ostinato.patterns.semantics.cel import evaluate
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula
from support.generators.cel import correlated_queries, loop_queries, queries
from support.generators.cel_streams import Row, streams


def stages(query: n.Query) -> list[tuple[str, n.Query]]:
    check_query(query)
    try:
        return list(normalise(query))
    except LimitError:
        assume(False)
        raise


def check_stages(query: n.Query, s: list[Row]) -> None:
    expected = evaluate(query, s, time="ts")
    for name, rewritten in stages(query):
        assert evaluate(rewritten, s, time="ts") == expected, name


@settings(max_examples=60)
@given(queries(), streams(max_size=7))
def test_filters_on_bound_variables(query: n.Query, s: list[Row]) -> None:
    check_stages(query, s)


@settings(max_examples=60)
@given(queries(wider_filters=True), streams(max_size=7))
def test_filters_on_variables_of_a_wider_scope(query: n.Query, s: list[Row]) -> None:
    check_stages(query, s)


@settings(max_examples=60)
@given(queries(wider_filters=True, reuse=True), streams(max_size=7))
def test_unsafe_variables(query: n.Query, s: list[Row]) -> None:
    check_stages(query, s)


@settings(max_examples=60)
@given(correlated_queries() | correlated_queries(reuse=True) | loop_queries(), streams(max_size=6))
def test_events_compared_with_each_other(query: n.Query, s: list[Row]) -> None:
    try:
        check_stages(query, s)
    except QueryError:
        assume(False)  # a NOT in a place where it cannot stand


def subformulas(formula: Formula) -> list[Formula]:
    return [formula, *(below for child in n.children(formula) for below in subformulas(child))]


@given(queries(wider_filters=True) | queries(wider_filters=True, reuse=True))
def test_the_result_is_safe_and_in_lp_normal_form(query: n.Query) -> None:
    for formula in subformulas(stages(query)[-1][1].formula):
        if isinstance(formula, n.Sequence):
            defined = [variable for part in formula.parts for variable in n.vdef_plus(part)]
            assert len(defined) == len(set(defined))
        if isinstance(formula, n.Filter):
            assert isinstance(formula.body, n.Event)
            assert variables(formula.predicate) <= {formula.body.variable}


def tied(formula: Formula, root: str) -> Formula:
    """Every other event has the k of `root`."""
    if isinstance(formula, n.Event) and formula.variable != root:
        return n.Filter(formula, Call("=", (Attribute(formula.variable, "k"), Attribute(root, "k"))))
    return n.rebuild(formula, lambda child: tied(child, root))


@given(queries(absent=False, wider_filters=True), streams())
def test_equality_filters_made_a_tie(query: n.Query, s: list[Row]) -> None:
    roots = sorted(n.bound(query.formula))
    assume(roots)
    query = replace(query, formula=tied(query.formula, roots[0]), partition_by=())
    assert evaluate(partition_by_equalities(query), s, time="ts") == evaluate(query, s, time="ts")
