"""Texts: patterns there and back, and texts that are nearly queries."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.sql.semantics.matches import Match, find_matches
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.format import pattern_text
from ostinato.sql.syntax.parse import parse
from ostinato.sql.syntax.words import words
from support.generators.sql import clauses, patterns

_OTHER_WORDS = (
    "(",
    ")",
    "{-",
    "-}",
    ",",
    "AS",
    "PATTERN",
    "MATCH_RECOGNIZE",
    "A.",
    "FINAL",
    "PREV(",
    "'",
    "|",
    "{2",
    "*",
)


def parsed(text: str) -> n.Pattern:
    return parse(f"FROM t MATCH_RECOGNIZE (ALL ROWS PER MATCH PATTERN ({text}))").clauses[0].match.pattern


@settings(max_examples=200)
@given(patterns(depth=4), st.text("abc", max_size=5))
def test_patterns_there_and_back(text: str, letters: str) -> None:
    """With fewer brackets, and the same matches."""
    written = pattern_text(parsed(text))
    assert pattern_text(parsed(written)) == written
    assert matches(parsed(written), letters) == matches(parsed(text), letters)


def matches(pattern: n.Pattern, letters: str) -> list[Match]:
    def holds(found: Match) -> bool:
        return letters[found.end - 1] == found.mapped[-1].variable.lower()

    return find_matches(n.MatchRecognize(pattern), len(letters), holds)


@settings(max_examples=300)
@given(clauses(), st.data())
def test_what_is_no_query_is_told_so(text: str, data: st.DataObject) -> None:
    """Words left out, doubled, exchanged or put in give a query or a QueryError with a place, and nothing else."""
    found = [word.text for word in words(text)]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(found) - 1))
        change = data.draw(st.sampled_from(("leave out", "double", "exchange", *_OTHER_WORDS)))
        if change == "leave out":
            del found[place]
        elif change == "double":
            found.insert(place, found[place])
        elif change == "exchange":
            other = data.draw(st.integers(0, len(found) - 1))
            found[place], found[other] = found[other], found[place]
        else:
            found.insert(place, change)
    changed = " ".join(found)
    try:
        ost.sql(changed).explain()
    except ost.QueryError as error:
        assert error.reason and error.text == changed and error.span is not None
        assert 0 <= error.span.start <= len(changed)
