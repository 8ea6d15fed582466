from __future__ import annotations

import time
from datetime import datetime

import pytest

from ostinato.core.expressions import CURRENT, Attribute, Call
from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.sra.witness import MAX_STEPS_TO_WARN, reason_empty, witness
from ostinato.patterns.syntax.srem.parse import parse
from ostinato.patterns.theory.budget import Effort


def automaton(text: str) -> Automaton:
    pattern = parse(text)
    return build_sra(pattern.expression, None if pattern.window is None else int(pattern.window.amount))


def test_a_string_is_found() -> None:
    pattern = automaton("[type = 'T'] -> r1 . true* . [type = 'H' and id = r1.id and value > 40]")
    assert witness(pattern) == [{"type": "T", "id": 0}, {"type": "H", "id": 0, "value": 41}]
    assert not pattern.is_empty()


@pytest.mark.parametrize(
    "text",
    [
        "()",
        "[x = 1]*",
        "[x > 1] -> r . [x < r.x] -> r . [x < r.x and x > 1]",
        "[true] -> r . ([v > r.v] -> r)+ . [v < r.v]",
        "[true] -> a . true* . [card = a.card and city != a.city] -> b . [card = b.card and amount > 2 * b.amount]",
        "[name like 'ab%'] -> r . [name > r.name] . [lower(name) = 'q']",
        "[NOT is_true(x > 5)] . [x is null or x > 3]",
        "true . true . true . [x = 1] WITHIN 4 EVENTS",
        "[x = 1] -> r . true* . [x = r.x + 1] -> r . true* . [x = r.x * 2] -> r . [x - r.x = 10]",
    ],
)
def test_a_witness_is_accepted(text: str) -> None:
    found = witness(automaton(text))
    assert found is not None and automaton(text).accepts(found)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[type = 'A' and type = 'B']", "[type = 'A' AND type = 'B'] cannot hold"),
        ("true* . [x > 5 and not (x > 3)] . true*", "[x > 5 AND NOT x > 3] cannot hold"),
        ("[x < 1 and x > 1] | [y < 1 and y > 1]", "[x < 1 AND x > 1] and [y < 1 AND y > 1] cannot hold"),
        (
            "[type = 'A'] -> r . true* . [type = 'B' and type = r.type]",
            "[type = 'B' AND type = r.type] cannot hold after [type = 'A'] -> r",
        ),
        (
            "[v > 3] -> r . [x = 1] . [v > r.v] -> s . [v < 2 and v > s.v]",
            "[v < 2 AND v > s.v] cannot hold after [v > 3] -> r and [v > r.v] -> s",
        ),
        ("true . true . true WITHIN 2 EVENTS", "it takes at least 3 events, more than the 2 of its window"),
        (
            "([x = 1] | [x = 2] -> r) . [x = 1 and x = r.x]",
            "[x = 1 AND x = r.x] cannot hold after [x = 2] -> r",
        ),
        (
            "true -> r, q . [b - r.a > b - q.a]",
            "[b - r.a > b - q.a] cannot hold while q and r hold the same event",
        ),
    ],
)
def test_why_nothing_is_accepted(text: str, reason: str) -> None:
    assert witness(automaton(text)) is None
    assert automaton(text).is_empty()
    assert reason_empty(automaton(text)) == f"this pattern can never match, because {reason}"


def test_an_empty_register() -> None:
    reads = Call(">", (Attribute(CURRENT, "x"), Attribute("r", "x")))
    pattern = Automaton(3, 0, frozenset({2}), (SraRule(0, 1), SraRule(1, 2, reads)))
    reason = "[x > r.x] reads the register r, which holds nothing then"
    assert reason_empty(pattern) == f"this pattern can never match, because {reason}"


def test_no_way_to_an_end() -> None:
    reason = "this pattern can never match, because nothing leads from its start to an end"
    assert reason_empty(Automaton(2, 0, frozenset({1}), (SraRule(0, 0),))) == reason
    assert reason_empty(Automaton(1, 0, frozenset(), ())) == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("()", "it describes only the empty segment, which never occurs in a stream"),
        ("[FALSE]", "[FALSE] cannot hold"),
        ("[FALSE]*", "[FALSE] cannot hold"),
        ("([v = 1 AND v = 2] | [w > 3] . [FALSE])?", "[v = 1 AND v = 2] and [FALSE] cannot hold"),
        ("([v = 1] -> r . [v = 2 AND v = r.v])*", "[v = 2 AND v = r.v] cannot hold after [v = 1] -> r"),
        ("(true . true)* WITHIN 1 EVENTS", "it takes at least 2 events, more than the 1 of its window"),
    ],
)
def test_why_no_segment_is_found(text: str, reason: str) -> None:
    """The empty segment is in the language of most of these, and nowhere in a stream."""
    assert reason_empty(automaton(text), nonempty=True) == f"this pattern can never match, because {reason}"


@pytest.mark.parametrize("text", ["true*", "[v = 1]?", "() . true | ()", "([v = 1] -> r . [v = r.v])*"])
def test_no_reason_where_a_segment_may_be_found(text: str) -> None:
    assert reason_empty(automaton(text), nonempty=True) is None


def test_the_empty_string_is_a_string() -> None:
    assert reason_empty(automaton("()")) is None


def test_no_reason_where_something_is_accepted() -> None:
    assert reason_empty(automaton("[x = 1] . [x = 2]")) is None


def test_a_loop_that_adds_nothing_ends_the_search() -> None:
    """No window, and no match: only because paths that can go on alike are followed once."""
    assert (
        witness(automaton("[type = 'A'] -> r . true* . ([x = 1] . [x = 2])* . [type != 'A' and type = r.type]")) is None
    )


def test_undecided() -> None:
    """Each round adds a condition on a stored event, so that no two paths are alike."""
    endless = automaton("[v > 0] -> r . ([v > r.v] -> r)* . [v < r.v and v < 0 and v > r.v - 1 and r.v > 2 + v]")
    with pytest.raises(LimitError, match=r"neither a string that is accepted nor(.|\n)*steps=5,000"):
        witness(endless, 5_000)
    assert reason_empty(endless) is None


@pytest.mark.parametrize(
    "test",
    ["length(s) = 3", "sqrt(price) = 3", "price * price = 2", "price = 3 * qty + 0.5 AND qty > 100"],
)
def test_loops_around_a_test_without_an_easy_value_end(monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    """Each string is longer than the last and takes every value in vain: what is tried in all has a bound."""
    loop = "([price > a.price]+ | [price < a.price]+)"
    pattern = automaton(f"true -> a . {loop} . [{test}] . {loop}")
    spent: list[int] = []
    spend = Effort.spend

    def counting(effort: Effort, steps: int = 1) -> bool:
        spent.append(steps)
        return spend(effort, steps)

    monkeypatch.setattr(Effort, "spend", counting)
    assert reason_empty(pattern, nonempty=True) is None
    # The steps of looking for values count twice: for the path and for the search. The last path may go over.
    assert sum(spent) < 2.5 * MAX_STEPS_TO_WARN
    with pytest.raises(LimitError, match="steps=20,000"):
        witness(pattern, 20_000)


def test_a_long_chain_of_tests_is_no_long_search() -> None:
    """Tests that have no event in common are not looked at together."""
    found = witness(automaton(" . ".join(f"[x = {number}]" for number in range(300))))
    assert found == [{"x": number} for number in range(300)]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("true -> r . [q >= r.q] . [q = 'b']", {"q": str}),
        ("true -> r . [q >= r.q] . [lower(q) = 'b']", {"q": str}),
        ("true -> r . [q >= r.p] . [q = 'b'] -> s . [p != s.p]", {"q": str, "p": str}),
        ("true -> r . [q = r.q] . [q = TRUE]", {"q": bool}),
        ("true -> r . [q = r.q] . [NOT q]", {"q": bool}),
        ("true -> r . [q >= r.q] . [q > TIMESTAMP '2024-01-01 00:00:00']", {"q": datetime}),
        ("true -> r . [q = r.q] . ([q = 'b'] | true)", {"q": str}),
        ("true -> r . [q = r.q] . [q > 1.5]", {"q": (int, float)}),
    ],
)
def test_an_attribute_has_values_of_one_kind(text: str, kinds: dict[str, type]) -> None:
    found = witness(automaton(text))
    assert found is not None and automaton(text).accepts(found)
    assert all(isinstance(value, kinds[name]) for row in found for name, value in row.items())


@pytest.mark.parametrize("text", ["[a = 1] . [a = 'x']", "[type = 'A'] . [type != type]"])
def test_no_column_has_values_of_two_kinds(text: str) -> None:
    with pytest.raises(LimitError, match="no values were found"):
        witness(automaton(text))


def test_no_values_found() -> None:
    with pytest.raises(LimitError, match=r"no values were found(.|\n)*steps=200,000"):
        witness(automaton("[x * x = 2 and y = x * x * x and x > 0]"))


def test_emptiness_of_an_intersection_is_containment() -> None:
    """A ⊆ B within a window: nothing is in A and not in B."""
    narrow = automaton("[x > 5] -> r . [x > r.x] WITHIN 2 EVENTS")
    wide = automaton("[x > 3] . [x > 3] WITHIN 2 EVENTS")
    assert (narrow & ~wide).is_empty()
    found = (wide & ~narrow).witness()
    assert found is not None and wide.accepts(found) and not narrow.accepts(found)


@pytest.mark.slow
@pytest.mark.parametrize("test", ["x IN", "x NOT IN"])
def test_a_long_list_is_no_long_search(test: str) -> None:
    began = time.monotonic()
    numbers = ", ".join(map(str, range(20_000)))
    assert reason_empty(automaton(f"[{test} ({numbers})] -> r . [x = r.x]"), nonempty=True) is None
    assert time.monotonic() - began < 20
