"""Which way to match is preferred, and where the search goes on."""

from __future__ import annotations

import pytest

from ostinato.errors import DataError
from ostinato.sql.semantics.matches import Match, find_matches
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.parse import parse


def matches(clause: str, letters: str) -> list[str]:
    """The matches as their places and variables. A variable takes the letter of its name, and `x` is any of them."""
    match = parse(f"SELECT * FROM t MATCH_RECOGNIZE (ALL ROWS PER MATCH {clause})").clauses[0].match

    def holds(found: Match) -> bool:
        return letters[found.end - 1] in (found.mapped[-1].variable.lower(), "x")

    return [
        f"{found.start}:{''.join(each.variable.lower() if each.excluded else each.variable for each in found.mapped)}"
        for found in find_matches(match, len(letters), holds)
    ]


@pytest.mark.parametrize(
    ("pattern", "letters", "expected"),
    [
        ("A B", "abab", ["0:AB", "2:AB"]),
        ("A | A B", "ab", ["0:A"]),
        ("A B | A", "ab", ["0:AB"]),
        ("A+ A", "aaa", ["0:AAA"]),
        ("A+? A", "aaa", ["0:AA"]),
        ("A*", "ab", ["0:A", "1:"]),
        ("A*?", "ab", ["0:", "1:"]),
        ("(A | B)+ B", "xxx", ["0:AAB"]),
        ("A{2,3}", "aaaaa", ["0:AAA", "3:AA"]),
        ("A{2,3}?", "aaaaa", ["0:AA", "2:AA"]),
        ("PERMUTE(A, B, C)", "xxx", ["0:ABC"]),
        ("PERMUTE(A, B, C)", "cab", ["0:CAB"]),
        ("{- A -} B {- A {- B -} -}", "abab", ["0:aBab"]),
        ("^ A+ $", "aaa", ["0:AAA"]),
        ("A $", "aab", []),
        ("(A??)* B", "ab", ["0:AB"]),
        ("(() | A | B){2} $", "ab", ["0:AB"]),
        ("(A*){30} B", "aab", ["0:AAB"]),
    ],
)
def test_the_preferred_way(pattern: str, letters: str, expected: list[str]) -> None:
    assert matches(f"PATTERN ({pattern})", letters) == expected


@pytest.mark.parametrize(
    ("skip", "expected"),
    [
        ("PAST LAST ROW", ["0:AAB"]),
        ("TO NEXT ROW", ["0:AAB", "1:AAB"]),
        ("TO LAST A", ["0:AAB", "1:AAB"]),
        ("TO A", ["0:AAB", "1:AAB"]),
        ("TO FIRST B", ["0:AAB"]),
    ],
)
def test_where_the_search_goes_on(skip: str, expected: list[str]) -> None:
    assert matches(f"AFTER MATCH SKIP {skip} PATTERN (A A B)", "xxxx") == expected


def test_a_row_of_a_union_to_go_on_at() -> None:
    clause = "AFTER MATCH SKIP TO FIRST U PATTERN (A B C) SUBSET U = (B, C)"
    assert matches(clause, "axxc") == ["0:ABC", "1:ABC"]


@pytest.mark.parametrize(
    ("skip", "reason"),
    [("FIRST A", "leads to the first row of a match"), ("LAST C", "a match has no row of C")],
)
def test_places_that_a_search_cannot_go_on_at(skip: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        matches(f"AFTER MATCH SKIP TO {skip} PATTERN (A B C?)", "ab")


def test_empty_matches_are_followed_by_the_next_row() -> None:
    assert matches("AFTER MATCH SKIP TO LAST B PATTERN (A B | C*)", "baba") == ["0:", "1:AB", "2:", "3:"]


def test_walks_over_patterns() -> None:
    pattern = parse("FROM t MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A (B | {- C -})* PERMUTE(A, D)))").clauses[0]
    assert n.symbols(pattern.match.pattern) == ("A", "B", "C", "D")
