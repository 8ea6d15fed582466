"""From formulas to transducers: the shapes the constructions must have."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ostinato.core.conditions import Condition
from ostinato.core.expressions import Expr, rename_to_current
from ostinato.errors import LimitError
from ostinato.patterns.automata.from_formula import build_transducer
from ostinato.patterns.automata.optimise import optimise
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition
from ostinato.patterns.compile import compile_text
from ostinato.patterns.plan.absences import split_branches
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.nodes import Absent, Event, Filter, Sequence


def transducer(text: str) -> Transducer:
    return compile_text(text).transducer


def marks(found: Transducer) -> set[tuple[int, str | None, int]]:
    return {(t.source, t.mark, t.target) for t in found.transitions}


def test_a_sequence_waits_in_the_state_its_event_led_to() -> None:
    found = transducer("A AS x ; B AS y")
    assert found.states == 3 and found.final == {2}
    assert marks(found) == {(0, None, 0), (0, "x", 1), (1, None, 1), (1, "y", 2)}


def test_contiguous_parts_do_not_wait() -> None:
    assert marks(transducer("A AS x : B AS y")) == {(0, None, 0), (0, "x", 1), (1, "y", 2)}


def test_repetition_shares_the_gap_with_what_follows() -> None:
    found = transducer("(A AS x)+ ; B AS y")
    assert marks(found) == {(0, None, 0), (0, "x", 1), (1, "x", 1), (1, None, 1), (1, "y", 2)}


def test_contiguous_repetition_keeps_its_own_state_beside_the_gap() -> None:
    found = transducer("(A AS x):+ ; B AS y")
    assert found.states == 4  # start, inside the run of A, after it, done


def test_absence_restricts_what_the_gap_skips() -> None:
    (skip,) = [t for t in transducer("A AS x ; NOT C AS n ; B AS y").transitions if t.mark is None and t.source]
    assert skip.unless == (Condition("C"),)


def test_strict_keeps_only_the_loop_before_the_first_event() -> None:
    skips = [t for t in transducer("SELECT STRICT * WHERE A AS x ; (B AS y)+ ; C AS z").transitions if t.mark is None]
    assert skips == [START_LOOP]


def test_a_formula_that_never_matches_has_no_final_state() -> None:
    found = transducer("A AS x ; A AS x")
    assert found.final == frozenset() and marks(found) == {(0, None, 0)}


def test_alternatives_with_the_same_rest_share_it() -> None:
    found = transducer("(A AS x OR B AS y OR C AS z) ; D AS w")
    assert found.states == 3


def test_equal_conditions_of_different_variables_are_one() -> None:
    assert len(transducer("(A AS x FILTER x.v > 1) ; (A AS y FILTER y.v > 1)").conditions()) == 1


def test_the_trailing_absences_are_split_off_in_order() -> None:
    absent = [Absent(Event(name, name.lower())) for name in "BC"]
    assert split_branches(Sequence((Event("A", "x"), *absent))) == [(Event("A", "x"), tuple(absent))]


def test_trimming_drops_what_leads_nowhere() -> None:
    built = build_transducer([Sequence((Event("A", "x"), Event("B", "y")))])
    astray = Transition(built.states, built.states + 1, Condition("Z"), mark="z")
    longer = replace(built, states=built.states + 2, transitions=(*built.transitions, astray))
    assert optimise(longer, contiguous=False).states == 3


@pytest.mark.parametrize(
    ("transitions", "final"),
    [((Transition(0, 5),), {1}), ((Transition(1, 0, mark="x"),), {1}), ((), {0}), ((), {7})],
    ids=["unknown target", "back to the start", "final start", "unknown final"],
)
def test_a_transducer_checks_itself(transitions: tuple[Transition, ...], final: set[int]) -> None:
    with pytest.raises(ValueError, match=r"states|start"):
        Transducer(2, transitions, frozenset(final))


def test_what_a_transition_asks_is_bracketed_where_it_must_be() -> None:
    text = "(B AS x FILTER x.v > 3 OR x.w < 2) ; (NOT C AS n FILTER n.v > 1 OR n.s = '~.a') ; (ANY AS y FILTER y.v = 1)"
    shown = str(transducer(text))
    assert "0 --[type = B AND (v > 3 OR w < 2)]/• x--> 1" in shown
    assert "1 --[NOT (type = C AND (v > 1 OR s = '~.a'))]/∘--> 1" in shown
    assert "1 --[v = 1]/• y--> 2" in shown
    both = Transition(1, 1, Condition(None, parse_condition("v > 1 OR v < 0")), unless=(Condition("C"),))
    assert "[(v > 1 OR v < 0) AND NOT (type = C)]" in str(both)


def parse_condition(text: str) -> Expr:
    formula = parse(f"A AS x FILTER x[{text}]").formula
    assert isinstance(formula, Filter)
    return rename_to_current(formula.predicate)


def test_it_prints_itself() -> None:
    text = str(transducer("(A AS x FILTER x.v > 1) ; NOT C AS n ; B AS y"))
    assert "0 --[type = A AND v > 1]/• x--> 1" in text and "1 --[NOT (type = C)]/∘--> 1" in text


@pytest.mark.parametrize("text", ["A{1,100000}", "(A ; B){3000,} ; (C : D){3000}", "A{30} AND B{30} AND C{30}"])
def test_automata_are_bounded(text: str) -> None:
    with pytest.raises(LimitError, match=r"too large|too many ways"):
        compile_text(text)


def test_long_chains_are_merged_in_little_time() -> None:
    assert transducer("A{1,2000} ; B").states == 2002
