"""The twin's matches are those of Python's regular expressions, which prefer as Perl's do, where rows are letters."""

from __future__ import annotations

import re

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.sql.semantics.matches import Match, find_matches
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.parse import parse
from support.generators.sql import VARIABLES, patterns

# The letters that each variable takes: some only one of them, some several.
LETTERS = {"A": "ac", "B": "bc", "C": "cd"}
letters = st.text("abcd", max_size=7)


def matches(pattern: n.Pattern, word: str) -> list[Match]:
    def holds(found: Match) -> bool:
        return word[found.end - 1] in LETTERS[found.mapped[-1].variable]

    return find_matches(n.MatchRecognize(pattern), len(word), holds)


def parsed(text: str) -> n.Pattern:
    query = parse(f"SELECT * FROM t MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN ({text}))")
    return query.clauses[0].match.pattern


def regex(pattern: n.Pattern) -> str:
    if isinstance(pattern, n.Symbol):
        return f"[{LETTERS[pattern.name]}]"
    if isinstance(pattern, n.Sequence):
        return "".join(map(regex, pattern.parts)) or "(?:)"
    if isinstance(pattern, n.Alternation):
        return f"(?:{'|'.join(map(regex, pattern.parts))})"
    if isinstance(pattern, n.Permute):
        first, second = map(regex, pattern.parts)
        return f"(?:{first}{second}|{second}{first})"
    if isinstance(pattern, n.Repeat):
        most = "" if pattern.most is None else str(pattern.most)
        return f"(?:{regex(pattern.body)}){{{pattern.least},{most}}}{'' if pattern.greedy else '?'}"
    if isinstance(pattern, n.Exclude):
        return f"(?:{regex(pattern.body)})"
    return r"\A" if pattern.at == "^" else r"\Z"


def spans(expression: str, word: str) -> list[tuple[int, int]]:
    """Those of SKIP PAST LAST ROW: the search goes on after each match, after an empty one at the next letter."""
    compiled = re.compile(expression)
    found = []
    at = 0
    while at < len(word):
        match = compiled.match(word, at)
        if match is not None:
            found.append(match.span())
        at = match.end() if match is not None and match.end() > at else at + 1
    return found


@settings(max_examples=400)
@given(patterns(), letters)
def test_spans_are_those_of_regular_expressions(text: str, word: str) -> None:
    pattern = parsed(text)
    assert [(found.start, found.end) for found in matches(pattern, word)] == spans(regex(pattern), word)


@settings(max_examples=200)
@given(patterns(), letters)
def test_each_row_of_a_match_has_a_variable_that_takes_it(text: str, word: str) -> None:
    for found in matches(parsed(text), word):
        for letter, mapped in zip(word[found.start :], found.mapped, strict=False):
            assert letter in LETTERS[mapped.variable] and mapped.variable in VARIABLES
