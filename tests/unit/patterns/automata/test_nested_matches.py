"""Where MAX chooses nothing: no complex event inside another with the same last event, in any stream."""

from __future__ import annotations

from itertools import product

import pytest

from ostinato.patterns.automata.nested_matches import never_nested
from ostinato.patterns.compile import compile_text
from ostinato.patterns.semantics.cel import evaluate
from ostinato.patterns.syntax.cel.parse import parse

WORDS = ["".join(word) for length in range(1, 5) for word in product("ABC", repeat=length)]
PATTERNS = [
    "A ; B ; C",
    "A ; A",
    "ANY ; ANY",
    "A : B : A",
    "(A OR B) ; C",
    "A OR A ; B",
    "A OR B ; A",
    "A+",
    "A+ ; B",
    "A:+ ; B",
    "(A ; B)+",
    "A ; (B OR C ; B)",
    "A ; NOT C ; (B OR C ; B)",
    "A ; NOT ANY ; (B OR C ; B)",
    "(A : B) OR (A : C : B)",
    "A ; B OR A ; C ; B",
    "A ; B OR B ; A",
    "(A OR C : A) ; B",
]


def nested_somewhere(text: str) -> bool:
    """Whether some short word shows it."""
    query = parse(text)
    for word in WORDS:
        found = [set(match) for match in evaluate(query, [{"type": letter} for letter in word]).positions()]
        if any(one < other and max(one) == max(other) for one in found for other in found):
            return True
    return False


@pytest.mark.parametrize("pattern", PATTERNS)
def test_it_is_decided_as_all_short_words_say(pattern: str) -> None:
    assert never_nested(compile_text(pattern).transducer) == (not nested_somewhere(pattern))


def test_conditions_are_taken_to_hold_together() -> None:
    text = "(A AS x FILTER x.v > 1) ; B OR (A AS x FILTER x.v < 0) ; C ; B"
    assert not never_nested(compile_text(text).transducer)


def test_strict_matches_with_the_same_end_are_nested_all_the_same() -> None:
    assert not never_nested(compile_text("SELECT STRICT * WHERE A+ ; B").transducer)
    assert never_nested(compile_text("SELECT STRICT * WHERE A ; B").transducer)


def test_it_gives_up_on_what_is_too_large() -> None:
    branches = " OR ".join(f"A{number}" for number in range(300))
    assert not never_nested(compile_text(f"({branches}) ; B").transducer)
    assert never_nested(compile_text(" ; ".join(["A"] * 100)).transducer)


def test_max_is_then_matched_as_all() -> None:
    plain, choosing = (compile_text(f"SELECT MAX * WHERE {p} WITHIN 9 EVENTS") for p in ("A ; B", "A ; B+ ; C"))
    assert (plain.strategy, plain.replayed) == ("ALL", False)
    assert (choosing.strategy, choosing.replayed) == ("MAX", True)


def test_other_strategies_and_a_not_at_the_end_stay_as_they_are() -> None:
    assert compile_text("SELECT NXT * WHERE A ; B").strategy == "NXT"
    assert compile_text("SELECT MAX * WHERE A ; NOT B WITHIN 1 s").selects_late
