"""Every rewriting pass keeps the complex events of a query and their labels; together they reach the normal form."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given

from generators import queries, streams
from ostinato.errors import LimitError
from ostinato.lang.expr import variables
from ostinato.plan.nodes import Event, Filter, Formula, Query, Sequence, children, vdef_plus
from ostinato.plan.rewrite import normalise
from ostinato.semantics.cel import evaluate

Row = dict[str, Any]


def stages(query: Query) -> list[tuple[str, Query]]:
    try:
        return list(normalise(query))
    except LimitError:
        assume(False)
        raise


def check(query: Query, s: list[Row]) -> None:
    expected = evaluate(query, s, time="ts")
    for name, rewritten in stages(query):
        assert evaluate(rewritten, s, time="ts") == expected, name


@given(queries(), streams(max_size=7))
def test_filters_on_bound_variables(query: Query, s: list[Row]) -> None:
    check(query, s)


@given(queries(wider_filters=True), streams(max_size=7))
def test_filters_on_variables_of_a_wider_scope(query: Query, s: list[Row]) -> None:
    check(query, s)


@given(queries(wider_filters=True, reuse=True), streams(max_size=7))
def test_unsafe_variables(query: Query, s: list[Row]) -> None:
    check(query, s)


def subformulas(formula: Formula) -> list[Formula]:
    return [formula, *(below for child in children(formula) for below in subformulas(child))]


@given(queries(wider_filters=True) | queries(wider_filters=True, reuse=True))
def test_the_result_is_safe_and_in_lp_normal_form(query: Query) -> None:
    for formula in subformulas(stages(query)[-1][1].formula):
        if isinstance(formula, Sequence):
            defined = [variable for part in formula.parts for variable in vdef_plus(part)]
            assert len(defined) == len(set(defined))
        if isinstance(formula, Filter):
            assert isinstance(formula.body, Event)
            assert variables(formula.predicate) <= {formula.body.variable}
