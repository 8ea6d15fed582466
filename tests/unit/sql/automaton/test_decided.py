"""Which patterns have matches that are known with their last row."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.sql.automaton.decided import check_decided
from ostinato.sql.syntax.parse import parse

V = "DOWN AS v < PREV(v), UP AS v > PREV(v)"


def check(pattern: str, define: str, more: str = "") -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE (ORDER BY ts {more} PATTERN ({pattern}) DEFINE {define})"
    check_decided(parse(text).clauses[0].match)


@pytest.mark.parametrize(
    ("pattern", "define"),
    [
        ("A B", "B AS x > A.x"),
        ("A{3}", "A AS x > FIRST(A.x)"),
        ("S DOWN+ UP", V),
        ("S DOWN+ UP+?", V),
        ("S DOWN+ UP{2}", V),
        ("S DOWN+ UP+ TURN", V + ", TURN AS v <= PREV(v)"),
        ("A B*? C", "B AS k = 1"),
        ("A B* C", "B AS x < 5, C AS 5 <= x"),
        ("A B* C", "B AS x < 5 AND y > 0, C AS (y < 0)"),
        ("A B | A C", "B AS x = 1, C AS x = 2"),
        ("A B C | A D", "B AS x = 2, D AS x = 1"),
        ("A (B C)? D", "A AS k = 'a', B AS k = 'b', C AS k = 'c', D AS k = 'd'"),
        ("PERMUTE(A, B)", "A AS k = 'aa', B AS k = 'bb'"),
        ("^ A B?? C", "A AS k = 'a'"),
        ("A?", "A AS x = 1"),
    ],
)
def test_known_with_the_last_row(pattern: str, define: str) -> None:
    check(pattern, define)


@pytest.mark.parametrize(
    ("pattern", "define", "reason"),
    [
        ("A+", "A AS x = 1", "of `A`: a row of `A` may follow, which is preferred"),
        ("S DOWN+ UP+", V, "of `UP`: a row of `UP` may follow"),
        ("A B* C", "B AS x < 5, C AS x > 4", "of `C`: a row of `B` may follow"),
        ("A B* C", "B AS k < '9', C AS k > '10'", "of `C`: a row of `B` may follow"),
        ("A B* C", "B AS k = 't', C AS k = 'true'", "of `C`: a row of `B` may follow"),
        ("A+ B", "B AS x > A.x", "of `B`: a row of `A` may follow"),
        ("A B C | A D", "D AS x = 1", "of `D`: a row of `C` may follow"),
        ("A B{2,4} C", "B AS v > A.v, C AS v <= A.v", "of `C`: a row of `B` may follow"),
        ("A B*? C", "C AS x > A.x", "of `C`: a match that began before it may still take a row of"),
        ("A B C C | D E", "A AS x = 1, D AS x = 2, E AS y = 1", "a match that began before it may still take"),
        ("A B$", "B AS x = 1", "`$` waits for the end of the partition"),
        ("A", "A AS NEXT(x) > 1", "`A` reads a row after the one at hand"),
    ],
)
def test_known_later(pattern: str, define: str, reason: str) -> None:
    with pytest.raises(QueryError) as caught:
        check(pattern, define)
    assert reason in caught.value.reason
    assert caught.value.span is not None


def test_measures_of_later_rows() -> None:
    with pytest.raises(QueryError, match="`after` reads a row after the one at hand"):
        check("A", "A AS x = 1", "MEASURES NEXT(x) AS after")
