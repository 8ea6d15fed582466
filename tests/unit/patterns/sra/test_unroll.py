from __future__ import annotations

from typing import Any

import pytest

from ostinato.core.expressions import CURRENT, Attribute, Call, Literal
from ostinato.errors import OstinatoError
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.sra.unroll import unroll
from ostinato.patterns.syntax.srem.parse import parse

T_THEN_H = "[type = 'T'] -> r1 . true* . [type = 'H' and id = r1.id]"
STREAMING = f"true* . {T_THEN_H}"  # expression (5)


def automaton(text: str, window: int | None = None) -> Automaton:
    return build_sra(parse(text).expression, window)


def row(kind: str, key: int) -> dict[str, Any]:
    return {"type": kind, "id": key}


def longest(result: Automaton, state: int) -> int:
    return max((1 + longest(result, rule.target) for rule in result.rules_from(state)), default=0)


def test_figure_4b() -> None:
    """Expression (5): two registers for w = 3, three states in a row for w = 2."""
    three = unroll(automaton(STREAMING), 3)
    assert len(three.registers) == 2
    assert longest(three, three.start) == 3
    two = unroll(automaton(STREAMING), 2)
    assert (two.states, len(two.rules), len(two.registers)) == (3, 2, 1)
    assert [str(rule) for rule in two.rules] == [
        "0 --[type = 'T'] ↓ e1--> 1",
        "1 --[type = 'H' AND id = e1.id]--> 2",
    ]


@pytest.mark.parametrize("window", [1, 2, 3, 4, 7])
def test_same_strings_up_to_the_window(window: int) -> None:
    result = unroll(automaton(STREAMING), window)
    string = [row("T", 1), row("T", 1), row("T", 2), row("H", 1), row("H", 3), row("T", 2)]
    for start in range(len(string)):
        for end in range(start, len(string) + 1):
            piece = string[start:end]
            assert result.accepts(piece) == (automaton(STREAMING).accepts(piece) and len(piece) <= window)


def test_walks_that_hold_the_same_events_meet_again() -> None:
    """The tree of the paper would have 2ⁿ leaves; here the number of states grows with the square of the window."""
    assert [unroll(automaton(STREAMING), window).states for window in (5, 10, 20)] == [15, 55, 210]


def test_a_register_that_is_overwritten_is_named_after_the_position() -> None:
    result = unroll(automaton("[true] -> r . ([value > r.value] -> r)+"), 4)
    assert [str(rule) for rule in result.rules] == [
        "0 --[TRUE] ↓ e1--> 1",
        "1 --[value > e1.value] ↓ e2--> 2",
        "2 --[value > e2.value] ↓ e3--> 3",
        "3 --[value > e3.value]--> 4",
    ]
    assert result.final == {2, 3, 4}


def test_two_registers_with_the_same_event_are_one() -> None:
    result = unroll(automaton("[true] -> r, s . [x = r.x and y = s.y]"), 2)
    assert [str(rule) for rule in result.rules] == [
        "0 --[TRUE] ↓ e1--> 1",
        "1 --[x = e1.x AND y = e1.y]--> 2",
    ]


def test_rules_that_read_an_empty_register_or_cannot_hold_go() -> None:
    x = Attribute(CURRENT, "x")
    reads_nothing = SraRule(1, 2, Call(">", (x, Attribute("r", "x"))))
    cannot_hold = SraRule(0, 2, Call("and", (Call(">", (x, Literal(1))), Call("<", (x, Literal(1))))))
    assert unroll(Automaton(3, 0, frozenset({2}), (SraRule(0, 1), reads_nothing, cannot_hold)), 5).rules == ()


def test_the_narrower_window_holds() -> None:
    assert unroll(automaton("[true]*", window=9), 2).window == 2
    assert unroll(automaton("[true]*", window=2), 9).window == 2
    assert unroll(automaton("[true]*", window=9)).window == 9


@pytest.mark.parametrize(("window", "message"), [(None, "without a window"), (0, "from 1, not 0")])
def test_no_window(window: int | None, message: str) -> None:
    with pytest.raises(OstinatoError, match=message):
        unroll(automaton("[true]*"), window)
