from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from ostinato.core.expressions import CURRENT, TRUE, Attribute, Call, Expr, Literal, to_text
from ostinato.errors import LimitError, OstinatoError
from ostinato.patterns.sra import determinise as module
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.determinise import determinise, powerset
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.syntax.srem.parse import parse
from ostinato.patterns.theory.minterms import satisfiable_minterms
from support.sra import is_deterministic

T_THEN_H = "[type = 'T'] -> r1 . true* . [type = 'H' and id = r1.id]"
STREAMING = f"true* . {T_THEN_H}"  # expression (5)
A_THEN_B = "true* . [type = 'a'] -> r1 . true* . [type = 'b' and id = r1.id] . true*"  # Figure 9
CARDS = (
    "[true] -> a . true* . [card = a.card and city != a.city] -> b . true* . [card = b.card and amount > 2 * b.amount]"
)


def automaton(text: str, window: int | None = None) -> Automaton:
    return build_sra(parse(text).expression, window)


def row(kind: str, key: int) -> dict[str, Any]:
    return {"type": kind, "id": key}


def flag(name: str) -> Expr:
    return Call("=", (Attribute(CURRENT, name), Literal(1)))


def size(result: Automaton) -> tuple[int, int, int]:
    return result.states, len(result.rules), len(result.registers)


def test_figure_4c() -> None:
    """Example 5.16: from the start φ1 and ¬φ1; then, after T T, either of the two stored events may be the one."""
    result = determinise(automaton(STREAMING), 3)
    assert is_deterministic(result)
    assert [str(rule) for rule in result.rules] == [
        "0 --[type = 'T'] ↓ e1--> 1",
        "0 --[NOT is_true(type = 'T')]--> 0",
        "1 --[type = 'T'] ↓ e2--> 2",
        "1 --[type = 'H' AND id = e1.id]--> 3",
        "1 --[NOT is_true(type = 'T') AND NOT is_true(type = 'H' AND id = e1.id)]--> 4",
        "2 --[type = 'H' AND id = e1.id OR type = 'H' AND id = e2.id]--> 5",
        "3 --[type = 'H' AND id = e1.id]--> 5",
        "4 --[type = 'H' AND id = e1.id]--> 5",
    ]
    assert result.final == {3, 5}
    assert result.accepts([row("T", 1), row("T", 2), row("H", 1)])
    assert result.accepts([row("T", 1), row("T", 2), row("H", 2)])
    assert not result.accepts([row("T", 1), row("T", 2), row("H", 3)])
    assert not result.accepts([row("T", 1), row("H", 2), row("T", 1)])


def test_figure_10() -> None:
    """From {q2, q4}, of the conditions φ1 (q2 to q2), φ2 (q2 to q3) and φ3 (q4 to q5), each minterm to its subset."""
    rules = (
        *(SraRule(0, 2), SraRule(0, 4)),
        *(SraRule(2, 2, flag("phi1")), SraRule(2, 3, flag("phi2")), SraRule(4, 5, flag("phi3"))),
        # so that the three targets differ, and each of them matters
        *(SraRule(2, 1, flag("end2")), SraRule(3, 1, flag("end3")), SraRule(5, 1, flag("end5"))),
    )
    result = powerset(Automaton(6, 0, frozenset({1}), rules), 9)
    (first,) = result.rules_from(result.start)
    moves = result.rules_from(first.target)
    assert len(moves) == 16 and is_deterministic(result)
    for holding in range(8):
        event = {"phi1": holding & 1, "phi2": holding >> 1 & 1, "phi3": holding >> 2}
        for end in (2, 3, 5):
            reached = {2: "phi1", 3: "phi2", 5: "phi3"}[end]
            assert result.accepts([{}, event, {f"end{end}": 1}]) == (event[reached] == 1)


@pytest.mark.parametrize("window", [2.5, "3", 0, -1, True])
def test_a_window_is_a_whole_number(window: Any) -> None:
    for pattern in (automaton("[a = 1]"), automaton("[a = 1]", window=2)):
        with pytest.raises(OstinatoError, match=r"a whole number of events from 1, not "):
            pattern.determinise(window=window)


def test_figure_9_needs_a_window() -> None:
    """Theorem 5.11: without one, it would have to store each a; with a window of k + 1 events, k registers will do."""
    with pytest.raises(OstinatoError, match=r"without a window cannot be made deterministic(.|\n)*5\.11(.|\n)*WITHIN"):
        determinise(automaton(A_THEN_B))
    result = determinise(automaton(A_THEN_B), 7)
    assert is_deterministic(result)
    assert len(result.registers) == 6
    stored = [row("a", key) for key in range(6)]
    assert result.accepts([*stored, row("b", 0)]) and result.accepts([*stored, row("b", 5)])
    assert not result.accepts([*stored, row("b", 6)])
    assert not result.accepts([*stored, row("a", 6), row("b", 0)])  # longer than the window


def test_sizes_of_real_patterns() -> None:
    """States, rules and registers. The window costs only where events must be kept."""
    assert size(determinise(automaton(T_THEN_H), 10)) == (3, 5, 1)
    assert size(determinise(automaton(T_THEN_H), 1000)) == (3, 5, 1)
    assert size(determinise(automaton(STREAMING), 10)) == (22, 52, 9)
    assert size(determinise(automaton(CARDS), 8)) == (17, 47, 6)
    assert size(determinise(automaton("[true] -> r . ([value > r.value] -> r)+"), 100)) == (3, 3, 1)
    assert size(determinise(automaton("true* . [a = 1] . true . true . [b = 1]"), 50))[2] == 0


@pytest.mark.parametrize(
    ("text", "window", "subsets"),
    [
        (T_THEN_H, 10, 4),
        (T_THEN_H, 1000, 4),
        (STREAMING, 10, 21),
        (CARDS, 8, 16),
        ("[true] -> r . ([value > r.value] -> r)+", 100, 4),
        ("true* . [a = 1] . true . true . [b = 1]", 50, 16),
    ],
)
def test_every_subset_is_expanded_once(monkeypatch: pytest.MonkeyPatch, text: str, window: int, subsets: int) -> None:
    """The work does not grow with the window, nor beyond the subsets that can be reached."""
    expanded: list[int] = []

    def counting(tests: Sequence[Expr]) -> list[tuple[bool, ...]]:
        expanded.append(len(tests))
        return satisfiable_minterms(tests)

    monkeypatch.setattr(module, "satisfiable_minterms", counting)
    determinise(automaton(text), window)
    assert len(expanded) == subsets


def test_a_register_is_free_again_when_nothing_reads_it() -> None:
    result = determinise(automaton("([type = 'T'] -> r . [type = 'H' and id = r.id])*"), 100)
    assert len(result.registers) == 1
    assert result.accepts([row("T", 1), row("H", 1), row("T", 2), row("H", 2)])
    assert not result.accepts([row("T", 1), row("H", 1), row("T", 2), row("H", 1)])


def test_null_does_not_pass() -> None:
    result = determinise(automaton("true* . [x > 5] . true*"), 3)
    assert not result.accepts([{"x": None}, {"x": 5}, {}])
    assert result.accepts([{"x": None}, {"x": 6}, {}])


def test_the_empty_string() -> None:
    assert determinise(automaton("[x = 1]*"), 2).accepts([])
    assert not determinise(automaton("[x = 1]+"), 2).accepts([])


@pytest.mark.parametrize(("own", "given", "width"), [(3, None, 3), (3, 5, 3), (5, 3, 3), (None, 3, 3)])
def test_the_narrower_window_holds(own: int | None, given: int | None, width: int) -> None:
    result = automaton("[true]*", window=own).determinise(given)
    assert result.window == width
    assert [result.accepts([{}] * length) for length in range(7)] == [length <= width for length in range(7)]


def test_what_is_not_deterministic() -> None:
    one, two = SraRule(0, 1, flag("x")), SraRule(0, 0, flag("y"))
    assert not is_deterministic(Automaton(2, 0, frozenset({1}), (one, two)))
    assert is_deterministic(Automaton(2, 0, frozenset({1}), (one,)))
    assert not is_deterministic(Automaton(2, 0, frozenset({1}), (one,), ((0, 1),)))
    # the same target, but other registers: still two runs
    assert not is_deterministic(Automaton(2, 0, frozenset({1}), (one, SraRule(0, 1, TRUE, ("r",)))))
    apart = SraRule(0, 0, Call("!=", (Attribute(CURRENT, "x"), Literal(1))))
    assert is_deterministic(Automaton(2, 0, frozenset({1}), (one, apart)))


def test_states_that_differ_only_in_how_they_were_reached_are_one() -> None:
    result = determinise(automaton("([a = 1] . [c = 1]) | ([b = 1] . [c = 1])"), 2)
    assert result.states == 3
    assert to_text(result.rules[-1].test) == "c = 1"


def test_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_STATES", 10)
    with pytest.raises(LimitError, match=r"states=10\)\nfix: narrow the window"):
        determinise(automaton(STREAMING), 10)
