"""The compiled matcher on worked examples: what Xcerpt's brackets, `desc`, `optional` and variables mean."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import LimitError
from ostinato.rules.syntax.nodes import Bind, Element, EventQuery, Optional
from ostinato.rules.syntax.parse import parse
from ostinato.rules.terms.data import Child, DataTerm, from_json
from ostinato.rules.terms.match import compile_term

BOOK = {"title": "T", "author": ["A", "B"], "price": 40, "shop": {"town": {"name": "M"}, "name": "N"}}


def query(text: str) -> EventQuery:
    (rule,) = parse(f"DETECT d {{ }} ON event e: {text} END").rules
    assert isinstance(rule.body, EventQuery)
    return rule.body


def found(text: str, data: Any) -> list[dict[str, Child]]:
    event = query(text)
    return compile_term(event.term, event.bound)(from_json("book", data))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("book {{ title {{ var X }} }}", [{"X": "T"}]),
        ("book {{ author {{ var X }} }}", [{"X": "A"}, {"X": "B"}]),
        ("book {{ author {{ var X }}, author {{ var Y }} }}", [{"X": "A", "Y": "B"}, {"X": "B", "Y": "A"}]),
        ("book [[ author {{ var X }}, author {{ var Y }} ]]", [{"X": "A", "Y": "B"}]),
        ("book [[ price {{ var X }}, title {{ var Y }} ]]", []),
        ("book {{ author {{ var X }}, title {{ var X }} }}", []),
        ("book {{ price {{ 40.0 }} }}", [{}]),
        ("book {{ price {{ '40' }} }}", []),
        ("book {{ }}", [{}]),
        ("book { }", []),
        ("book { price {{ }}, title {{ }}, author {{ }}, author {{ }}, shop {{ }} }", [{}]),
        ("book [ price {{ }}, title {{ }}, author {{ }}, author {{ }}, shop {{ }} ]", []),
        (
            "book [ title {{ }}, author {{ }}, author {{ }}, price {{ }}, var X ]",
            [{"X": from_json("shop", BOOK["shop"])}],
        ),
        ("book {{ desc name {{ var X }} }}", [{"X": "M"}, {"X": "N"}]),
        ("book {{ shop {{ name {{ var X }} }} }}", [{"X": "N"}]),
        ("book {{ title {{ var X }}, optional author {{ 'C' }}, optional price {{ var P }} }}", [{"X": "T", "P": 40}]),
        ("book {{ title {{ var X }}, optional isbn {{ var I }} }}", [{"X": "T"}]),
        ("book {{ optional author {{ var X }} }}", [{"X": "A"}, {"X": "B"}]),
        ("var B -> book {{ title {{ }} }}", [{"B": from_json("book", BOOK)}]),
        ("var B -> book {{ title {{ var B }} }}", []),
        ("magazine {{ }}", []),
    ],
)
def test_book(text: str, expected: list[dict[str, Child]]) -> None:
    assert found(text, BOOK) == expected


def test_a_boolean_is_no_number() -> None:
    assert found("book {{ a {{ true }} }}", {"a": 1}) == []
    assert found("book {{ a {{ 1 }} }}", {"a": True}) == []
    assert found("book {{ a {{ var X }} }}", {"a": [1, True]}) == [{"X": 1}, {"X": True}]
    assert found("book {{ a {{ var X }} }}", {"a": [1, 1.0]}) == [{"X": 1}]


def test_only_the_largest_substitutions_are_kept() -> None:
    rows = {"r": [{"k": "x", "n": 1}, {"k": "y"}]}
    assert found("book {{ r {{ k {{ var K }}, optional n {{ var N }} }} }}", rows) == [{"K": "x", "N": 1}, {"K": "y"}]
    assert found("book {{ optional r {{ k {{ var K }}, n {{ 2 }} }} }}", rows) == [{}]


def test_many_equal_ways_are_one_answer() -> None:
    """30 children to put 30 queries on, in any order: counted by what is bound, this is one answer."""
    data = {"a": [0] * 30}
    assert found("book [[ " + ", ".join(["a {{ 0 }}"] * 15) + " ]]", data) == [{}]
    assert found("book {{ " + ", ".join(["desc a {{ 0 }}"] * 2) + " }}", data) == [{}]


@pytest.mark.slow
def test_too_many_ways_are_refused() -> None:
    match = compile_term(Element("book", tuple(Element("a", (Bind(name),)) for name in "WXYZ")))
    with pytest.raises(LimitError, match="one `book` matches a query term in too many ways"):
        match(from_json("book", {"a": list(range(40))}))


def test_optional_is_only_left_out_as_a_child() -> None:
    term = Element("a", (Bind("X", Optional(Element("b"))),))
    assert compile_term(term)(DataTerm("a", (DataTerm("b"),))) == [{"X": DataTerm("b")}]
    assert compile_term(term)(DataTerm("a", (DataTerm("c"),))) == []
