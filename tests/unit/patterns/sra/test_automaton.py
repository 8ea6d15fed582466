"""Register automata themselves: Figures 1, 2, 8 and 9 of the SRA paper, what they accept, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ostinato.core.expressions import CURRENT, TRUE, Attribute, Call, Expr, Literal, Variable
from ostinato.errors import DataError, QueryError
from ostinato.patterns.sra.automaton import Automaton, SraRule

Row = dict[str, Any]

SENSORS = [
    {"type": kind, "id": sensor, "value": value}
    for kind, sensor, value in [("T", 1, 22), ("T", 1, 24), ("T", 2, 32), ("H", 1, 70), ("H", 1, 68), ("T", 2, 33)]
]


def same(attribute: str, register: str) -> Expr:
    return Call("=", (Attribute(CURRENT, attribute), Attribute(register, attribute)))


def kind(letter: str) -> Expr:
    return Call("=", (Attribute(CURRENT, "type"), Literal(letter)))


def letters(text: str) -> list[Row]:
    return [{"type": letter} for letter in text]


FIGURE_1 = Automaton(
    3,
    0,
    frozenset({2}),
    (SraRule(0, 1, kind("T"), ("r1",)), SraRule(1, 1), SraRule(1, 2, Call("and", (kind("H"), same("id", "r1"))))),
)
FIGURE_8 = Automaton(
    3,
    0,
    frozenset({2}),
    (SraRule(0, 0), SraRule(0, 1, TRUE, ("r1",)), SraRule(1, 1), SraRule(1, 2, same("type", "r1")), SraRule(2, 2)),
)
FIGURE_9 = Automaton(
    3,
    0,
    frozenset({2}),
    (
        SraRule(0, 0),
        SraRule(0, 1, kind("a"), ("r1",)),
        SraRule(1, 1),
        SraRule(1, 2, Call("and", (kind("b"), same("id", "r1")))),
        SraRule(2, 2),
    ),
)


def test_figure_2_a_run_over_the_first_four_events() -> None:
    assert FIGURE_1.accepts(SENSORS[:4])
    assert FIGURE_1.accepts(SENSORS[:5])
    assert not FIGURE_1.accepts(SENSORS[:3])
    assert not FIGURE_1.accepts(SENSORS)
    assert not FIGURE_1.accepts([])


def test_figure_8() -> None:
    assert FIGURE_8.accepts(letters("abca"))
    assert FIGURE_8.accepts(letters("abbc"))
    assert not FIGURE_8.accepts(letters("abcd"))


def test_figure_9() -> None:
    rows = [{"type": letter, "id": number} for letter, number in [("a", 1), ("b", 2), ("a", 2), ("b", 1)]]
    assert FIGURE_9.accepts(rows)
    assert not FIGURE_9.accepts(rows[:3])


def test_epsilons_move_without_reading() -> None:
    automaton = Automaton(4, 0, frozenset({3}), (SraRule(1, 2, kind("a")),), ((0, 1), (2, 3), (3, 0), (0, 3)))
    assert automaton.enclose(0) == {0, 1, 3}
    assert [automaton.accepts(letters("a" * count)) for count in range(3)] == [True, True, True]
    assert not automaton.accepts(letters("b"))


def test_a_window_bounds_the_length() -> None:
    loop = Automaton(1, 0, frozenset({0}), (SraRule(0, 0),), window=2)
    assert [loop.accepts(letters("a" * count)) for count in range(4)] == [True, True, True, False]


@pytest.mark.parametrize(
    "test", [same("v", "r"), Call("is_null", (Attribute("r", "v"),)), Call("not", (same("v", "r"),))]
)
def test_a_rule_on_an_unwritten_register_does_not_fire(test: Expr) -> None:
    unwritten = Automaton(2, 0, frozenset({1}), (SraRule(0, 1, test),))
    assert not unwritten.accepts([{"v": 1}])


def test_a_rule_reads_before_it_writes() -> None:
    equal = same("v", "r")
    assert isinstance(equal, Call)
    rules = (SraRule(0, 1, TRUE, ("r",)), SraRule(1, 1, Call("!=", equal.args), ("r",)))
    changes = Automaton(2, 0, frozenset({1}), rules)
    assert changes.accepts([{"v": value} for value in (1, 2, 1)])
    assert not changes.accepts([{"v": value} for value in (1, 2, 2)])


def test_rows_may_come_from_any_iterable() -> None:
    assert FIGURE_1.accepts(iter(SENSORS[:4]))


@pytest.mark.parametrize("rows", [SENSORS[0], 5, "abca", [1], [SENSORS[0], None], None])
def test_rows_that_are_no_events(rows: Any) -> None:
    with pytest.raises(DataError, match="rows is a list of events") as caught:
        FIGURE_1.accepts(rows)
    assert "give a list of dicts" in str(caught.value)


@pytest.mark.parametrize("other", [3, "x", None, [], {1}])
def test_only_automata_are_combined(other: Any) -> None:
    for combine in (
        lambda: FIGURE_1 | other,
        lambda: FIGURE_1 & other,
        lambda: FIGURE_1 + other,
        lambda: other | FIGURE_1,
    ):
        with pytest.raises(TypeError, match="unsupported operand"):
            combine()


def test_values_that_do_not_compare() -> None:
    greater = Automaton(2, 0, frozenset({1}), (SraRule(0, 1, Call(">", (Attribute(CURRENT, "v"), Literal(1)))),))
    with pytest.raises(DataError, match="does not fit the event"):
        greater.accepts([{"v": "text"}])


def test_it_is_printed() -> None:
    assert str(FIGURE_1) == (
        "states 0 … 2, start 0, final [2], registers r1\n"
        "  0 --[type = 'T'] ↓ r1--> 1\n"
        "  1 --[TRUE]--> 1\n"
        "  1 --[type = 'H' AND id = r1.id]--> 2"
    )
    assert str(Automaton(2, 0, frozenset(), (), ((0, 1),), window=3)) == (
        "states 0 … 1, start 0, final [], within 3 events\n  0 --ε--> 1"
    )


def test_it_is_a_value() -> None:
    assert replace(FIGURE_1) == FIGURE_1
    assert len({replace(FIGURE_1), FIGURE_1}) == 1
    assert FIGURE_1.registers == {"r1"}


def test_its_representation_is_short() -> None:
    assert repr(replace(FIGURE_1, window=4)) == "<Automaton of 3 states and 3 rules, within 4 events>"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"states": 0}, "needs a state"),
        ({"start": 3}, "state 3 is not among the states 0 … 2"),
        ({"final": frozenset({-1})}, "state -1 is not among"),
        ({"rules": (SraRule(0, 7),)}, "state 7 is not among"),
        ({"epsilons": ((5, 0),)}, "state 5 is not among"),
        ({"window": 0}, "a window is a whole number of events from 1, not 0"),
        ({"rules": (SraRule(0, 1, TRUE, ("s", "r")),)}, "out of order or twice"),
        ({"rules": (SraRule(0, 1, TRUE, ("r", "r")),)}, "out of order or twice"),
        ({"rules": (SraRule(0, 1, TRUE, (CURRENT,)),)}, "not a register"),
        ({"rules": (SraRule(0, 1, TRUE, ("",)),)}, "not a register"),
        ({"rules": (SraRule(0, 1, Variable("r")),)}, "the whole event r as a value"),
        ({"rules": (SraRule(0, 1, Call("sum", (Attribute("r", "v"),))),)}, r"sum\(\), which needs several events"),
        ({"rules": (SraRule(0, 1, Literal(1)),)}, "not a condition"),
    ],
)
def test_what_is_no_automaton_is_refused(fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        replace(FIGURE_1, **fields)
