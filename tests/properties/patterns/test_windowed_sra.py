"""Windowed register automata: each construction against `accepts`, and satisfiability against random events."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.expression_interpreter import passes
from ostinato.core.expressions import COMPARISONS, CURRENT, TRUE, Attribute, Call, Expr, Literal
from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.determinise import determinise, powerset
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.sra.unroll import unroll
from ostinato.patterns.sra.witness import reason_empty, witness
from ostinato.patterns.syntax.srem.nodes import Expression
from ostinato.patterns.theory.minterms import minterm_test, satisfiable_minterms
from ostinato.patterns.theory.satisfiability import find_model, is_satisfiable
from support.generators.cel_streams import streams
from support.generators.srem import expressions
from support.sra import is_deterministic

Draw = Callable[[st.SearchStrategy[Any]], Any]

# Tests ----------------------------------------------------------------------------------------------------------------


@st.composite
def comparisons(draw: Draw, variables: tuple[str, ...], arithmetic: bool) -> Expr:
    name = draw(st.sampled_from(["v", "v", "w", "s"]))
    left: Expr = Attribute(draw(st.sampled_from(variables)), name)
    kind = draw(st.sampled_from(["constant", "constant", "attribute", "attribute", "null", "in", "like"]))
    constants = ["a", "b"] if name == "s" else [0, 1, 2, 1.5]
    if kind == "null":
        return Call("is_null", (left,))
    if kind == "in":
        return Call("in", (left, *map(Literal, draw(st.lists(st.sampled_from([*constants, None]), min_size=1)))))
    if kind == "like" and name == "s":
        return Call("like", (left, Literal(draw(st.sampled_from(["a%", "_", "%"])))))
    right: Expr = Literal(draw(st.sampled_from(constants)))
    if kind == "attribute":
        other = name if name == "s" else draw(st.sampled_from(["v", "w"]))
        right = Attribute(draw(st.sampled_from(variables)), other)
    if arithmetic and name != "s" and draw(st.booleans()):
        right = Call(draw(st.sampled_from("+-*")), (right, Literal(draw(st.sampled_from([1, 2])))))
    return Call(draw(st.sampled_from(COMPARISONS)), (left, right))


@st.composite
def conditions(draw: Draw, variables: tuple[str, ...], arithmetic: bool = False, depth: int = 2) -> Expr:
    kind = draw(st.sampled_from(["comparison", "comparison", "comparison", "and", "or", "not", "is_true"]))
    if kind == "comparison" or not depth:
        return draw(comparisons(variables, arithmetic))
    count = 2 if kind in ("and", "or") else 1
    return Call(kind, tuple(draw(conditions(variables, arithmetic, depth - 1)) for _ in range(count)))


NUMBERS = (None, math.nan, 0, 1, 2, 1.5, 3, -1)
TEXTS = (None, "a", "b", "aa")


@st.composite
def assignments(draw: Draw) -> dict[str, dict[str, Any]]:
    row = st.fixed_dictionaries(
        {"v": st.sampled_from(NUMBERS), "w": st.sampled_from(NUMBERS), "s": st.sampled_from(TEXTS)}
    )
    return {CURRENT: draw(row), "r": draw(row)}


def meets(wanted: list[tuple[Expr, bool]], events: dict[str, dict[str, Any]]) -> bool:
    return all(passes(test, events) is holds for test, holds in wanted)


@given(st.lists(conditions((CURRENT, "r"), arithmetic=True), min_size=1, max_size=5), assignments())
@settings(max_examples=60)
def test_the_literals_of_an_event_are_satisfiable(several: list[Expr], events: dict[str, dict[str, Any]]) -> None:
    assert is_satisfiable((test, passes(test, events)) for test in several)


@given(st.lists(conditions((CURRENT, "r")), min_size=1, max_size=5), assignments())
@settings(max_examples=60)
def test_a_model_is_found_and_meets_what_it_is_for(several: list[Expr], events: dict[str, dict[str, Any]]) -> None:
    wanted = [(test, passes(test, events)) for test in several]
    found = find_model(wanted)
    if not any(isinstance(value, float) and math.isnan(value) for row in events.values() for value in row.values()):
        assert found is not None
    if found is not None:
        assert meets(wanted, {CURRENT: {}, "r": {}, **found})


@given(st.lists(conditions((CURRENT, "r")), min_size=1, max_size=4, unique=True), assignments())
@settings(max_examples=30)
def test_exactly_one_minterm_holds(several: list[Expr], events: dict[str, dict[str, Any]]) -> None:
    found = satisfiable_minterms(several)
    holding = [holds for holds in found if passes(minterm_test(several, holds), events)]
    assert holding == [tuple(passes(test, events) for test in several)]


# Automata -------------------------------------------------------------------------------------------------------------


@st.composite
def automata(draw: Draw, windowed: bool = True) -> Automaton:
    """A way from the start to a final state, with loops and short cuts: most strings have several runs.

    Registers are read although they may be empty.
    """
    states = draw(st.integers(2, 4))
    state = st.integers(0, states - 1)
    writes = st.sampled_from([("r",), (), ("q",), (), ("q", "r")])
    easy = st.one_of(st.just(TRUE), conditions((CURRENT,), depth=0))
    test = st.one_of(st.just(TRUE), conditions((CURRENT, "r"), depth=1), conditions((CURRENT, "r", "q"), depth=1))
    rules = [SraRule(0, 1, draw(easy), draw(writes))]
    rules += [SraRule(source, source + 1, draw(test), draw(writes)) for source in range(1, states - 1)]
    rules += draw(st.lists(st.builds(SraRule, state, state, test, writes), max_size=4))
    epsilons = draw(st.sampled_from([(), (), (), ((states - 1, 1),), ((0, 1),)]))
    final = frozenset({states - 1, draw(st.integers(1, states - 1))})
    return Automaton(states, 0, final, tuple(rules), epsilons, draw(st.integers(1, 4)) if windowed else None)


strings = st.lists(
    st.fixed_dictionaries(
        {
            "v": st.sampled_from([0, 1, 2, None]),
            "w": st.sampled_from([0, 1, None]),
            "s": st.sampled_from(["a", "b", None]),
        }
    ),
    max_size=5,
)
samples = st.lists(strings, min_size=5, max_size=10)


@given(automata(), samples)
@settings(max_examples=40)
def test_unrolled(automaton: Automaton, sample: list[Any]) -> None:
    result = unroll(automaton)
    for string in sample:
        assert result.accepts(string) == automaton.accepts(string)
    assert all(len(rule.writes) <= 1 for rule in result.rules)
    for register in result.registers:
        assert not _writes_twice(result, register)


def _writes_twice(automaton: Automaton, register: str) -> bool:
    """By brute force over the walks; the automaton has no loops."""
    todo = [(automaton.start, 0)]
    while todo:
        state, count = todo.pop()
        if count > 1:
            return True
        todo += [(rule.target, count + (register in rule.writes)) for rule in automaton.rules_from(state)]
    return False


@pytest.mark.slow
@given(automata(), samples)
@settings(max_examples=40)
def test_determinised(automaton: Automaton, sample: list[Any]) -> None:
    result = determinise(automaton)
    assert is_deterministic(result)
    for string in sample:
        assert result.accepts(string) == automaton.accepts(string)


@given(st.one_of(automata(), automata(windowed=False)), st.integers(1, 4), samples)
@settings(max_examples=40)
def test_a_window_is_given(automaton: Automaton, window: int, sample: list[Any]) -> None:
    result, walks = automaton.determinise(window), unroll(automaton, window)
    for string in sample:
        expected = automaton.accepts(string) and len(string) <= window
        assert result.accepts(string) == walks.accepts(string) == expected


@given(expressions(), st.integers(1, 4), st.lists(streams(max_size=5), min_size=5, max_size=10))
@settings(max_examples=30)
def test_random_expressions(expression: Expression, window: int, sample: list[Any]) -> None:
    automaton = build_sra(expression, window)
    walks, result, opposite = unroll(automaton), determinise(automaton), ~automaton
    assert is_deterministic(result)
    for string in sample:
        accepted = automaton.accepts(string)
        assert walks.accepts(string) == result.accepts(string) == accepted
        assert opposite.accepts(string) == (len(string) <= window and not accepted)


@given(automata(), samples)
@settings(max_examples=40)
def test_every_string_has_exactly_one_run_in_the_power_set(automaton: Automaton, sample: list[Any]) -> None:
    result = powerset(automaton)
    for string in sample:
        assert len(result._after(string[: automaton.window])) == 1


@given(automata(), samples)
@settings(max_examples=30)
def test_complement(automaton: Automaton, sample: list[Any]) -> None:
    result = ~automaton
    again = ~result
    for string in sample:
        within = len(string) <= (automaton.window or 0)
        assert result.accepts(string) == (within and not automaton.accepts(string))
        assert again.accepts(string) == automaton.accepts(string)


@given(automata(windowed=False), automata(windowed=False), st.integers(1, 3), samples)
@settings(max_examples=40)
def test_de_morgan(left: Automaton, right: Automaton, window: int, sample: list[Any]) -> None:
    left, right = replace(left, window=window), replace(right, window=window)
    neither, not_both = ~(left | right), ~(left & right)
    both_fail, one_fails = ~left & ~right, ~left | ~right
    for string in sample:
        assert neither.accepts(string) == both_fail.accepts(string)
        assert not_both.accepts(string) == one_fails.accepts(string)


@given(automata(), samples)
@settings(max_examples=30)
def test_a_witness_is_accepted_and_without_one_nothing_is(automaton: Automaton, sample: list[Any]) -> None:
    try:
        found = witness(automaton)
    except LimitError:
        return
    if found is None:
        assert not any(automaton.accepts(string) for string in sample)
    else:
        assert automaton.accepts(found)
    assert (reason_empty(automaton) is None) == (found is not None)


@given(expressions(), st.integers(1, 4), st.lists(streams(max_size=5), min_size=5, max_size=10))
@settings(max_examples=30)
def test_where_no_segment_can_be_found_none_is(expression: Expression, window: int, sample: list[Any]) -> None:
    automaton = build_sra(expression, window)
    reason = reason_empty(automaton, nonempty=True)
    if reason is not None:
        assert not any(automaton.accepts(string) for string in sample if string)
    if not automaton.accepts([]):
        assert reason == reason_empty(automaton)


@given(automata())
@settings(max_examples=30)
def test_nothing_is_both_in_an_automaton_and_in_its_complement(automaton: Automaton) -> None:
    try:
        assert (automaton & ~automaton).witness() is None
    except LimitError:
        return
