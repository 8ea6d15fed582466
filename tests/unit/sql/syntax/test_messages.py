"""What is said about texts that do not parse: the reason, the place and the fix."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.sql.syntax.parse import parse
from support.query_errors import assert_told


@pytest.mark.parametrize(
    ("clause", "reason", "place", "fix"),
    [
        ("PATTERN () DEFINE A AS true", "the pattern is empty", ")", "name at least one variable"),
        ("PATTERN (A, B)", "stand without commas", ",", "PATTERN (A B C)"),
        ("PATTERN (A++)", "two quantifiers, `+` and `+`", "+)", "(A+)+"),
        ("PATTERN ((A B){2}{3,4})", "two quantifiers, `{2}`", "{3,4}", "(…{2}){3,4}"),
        ("AFTER MATCH SKIP TO PREVIOUS ROW PATTERN (A)", "no place to go on at", "PREVIOUS", "TO NEXT ROW"),
        ("MEASURES FINAL CLASSIFIER() AS x PATTERN (A)", "FINAL stands before", "FINAL", "FINAL LAST(CLASSIFIER())"),
        ("PATTERN (* A)", "nothing stands before `*`", "* A", "A+"),
        ("PATTERN (A | )", "expected a pattern, found `)`", ")", "write () for"),
        ("PATTERN (| A)", "an alternative is empty", "| A", "(A | ())"),
        ("PATTERN (A; B)", "expected a pattern, found `;`", ";", "PATTERN (A B+ C)"),
        ("PATTERN (A{x})", "no quantifier", "{x", "{2,5}"),
        ("PATTERN (A{})", "says no number", "{}", "{3}"),
        ("PATTERN (A{3,2})", "at least 3 rounds and at most 2", "{3,2}", "{2,3}"),
        ("PATTERN (A{0})", "repeated no times", "{0}", "remove it"),
        ("PATTERN (A{9999999999})", "too large", "{9999999999}", "the largest is"),
        ("MEASURES x PATTERN (A)", "a measure needs a name", "PATTERN", "AS last_price"),
        ("MEASURES x AS y, PATTERN (A)", "expected an expression", "PATTERN", "remove the comma"),
        ("PATTERN (A) DEFINE A true", "expected AS", "true", "write A AS"),
        ("PATTERN (A) DEFINE A AS", "expected an expression", ")", "write an expression after AS"),
        ("PATTERN (DOWN) DEFINE DWN AS true", "PATTERN has no variable `DWN`", "DWN", "did you mean `DOWN`?"),
        ("ONE ROW MATCH PATTERN (A)", "expected PER", "MATCH PATTERN", "ONE ROW PER MATCH"),
        ("AFTER MATCH SKIP PAST ROW PATTERN (A)", "no place to go on at", "ROW PATTERN", "SKIP PAST LAST ROW"),
        ("PARTITION sym PATTERN (A)", "expected BY", "sym", "PARTITION BY sym"),
        ("MEASURES 1 AS x DEFINE A AS true", "needs a PATTERN", "MATCH_RECOGNIZE", "PATTERN (A B+)"),
        ("PATTERN (A) WHERE x > 3", "WHERE is no part", "WHERE", "in a subquery"),
        ("PATTERN (A) MEASURES 1 AS x MEASURES 2 AS y", "MEASURES is given twice", "MEASURES 2 AS y", "keep one"),
        ("MEASURES 1 AS x, 2 AS X PATTERN (A)", "two measures are named `X`", "2 AS X", "another name"),
        ("PATERN (A) DEFINE A AS true", "found `PATERN`", "PATERN", "did you mean `PATTERN`?"),
        ("ORDER BY ts PATERN (A) DEFINE A AS true", "needs a PATTERN", "PATERN", "did you mean `PATTERN`?"),
        ("PATTERN (A) DEFIN A AS true", "found `DEFIN`", "DEFIN", "did you mean `DEFINE`?"),
        ("ALL ROWS PER MATCH WITH UNMATCHD ROWS PATTERN (A)", "WITH stands before", "WITH", "WITH UNMATCHED ROWS"),
        ("nonsense PATTERN (A)", "found `nonsense`", "nonsense", "the parts are PARTITION BY"),
        ("PATTERN (A) DEFINE A AS 'abc", "the string that starts here is never closed", "'abc", "end it with '"),
        ("PATTERN (A) DEFINE A AS x > (3", "never closed", "(PATTERN", "add `)`"),
        ("PATTERN (A) DEFINE A AS x[3)", "`)` does not close the `[`", ")", "write `]`"),
        ("PATTERN (A) DEFINE A AS PREV(x, -2)", "the offset of PREV must be", "-2", "NEXT(…, 2)"),
        ("PATTERN (A) DEFINE A AS PREV(x, y)", "the offset of PREV must be", "y)", "PREV(A.price, 2)"),
        ("PATTERN (A) DEFINE A AS LAST(x, 1, 2)", "takes an expression and an offset", "LAST(x, 1, 2)", "LAST(A.price"),
        ("PATTERN (A) DEFINE A AS PREV(PREV(x))", "PREV cannot stand", "PREV(x)", "PREV(FIRST(A.price, 1), 2)"),
        ("PATTERN (A) DEFINE A AS PREV(FIRST(x) + 1)", "takes FIRST(…) alone", "+ 1", "FIRST(whole expression)"),
        ("PATTERN (A) DEFINE A AS sum(FIRST(x)) > 1", "FIRST cannot stand in it", "FIRST(x)", "aggregate a column"),
        ("PATTERN (A B) DEFINE A AS sum(A.x + B.x) > 1", "this names A and B", "B.x", "SUBSET of them"),
        ("PATTERN (A B) DEFINE A AS sum(A.x + y) > 1", "`y` is a column of any row", "y)", "write A.y"),
        ("PATTERN (A) DEFINE A AS RUNNING A.x > 1", "RUNNING stands before FIRST, LAST", "RUNNING", "RUNNING LAST("),
        ("MEASURES FINAL PREV(x) AS y PATTERN (A)", "FINAL cannot stand before PREV", "FINAL PREV", "PREV(FINAL LAST"),
        ("PATTERN (A) DEFINE A AS CLASSIFIER(Z) = 'A'", "no pattern variable `Z`", "Z", "known names: `A`"),
        (
            "PATTERN (A) DEFINE A AS CLASSIFIER(1) = 'A'",
            "at most the name of a variable",
            "CLASSIFIER(1)",
            "CLASSIFIER()",
        ),
        ("PATTERN (A) DEFINE A AS MATCH_NUMBER(1) = 1", "takes no arguments", "MATCH_NUMBER(1)", "MATCH_NUMBER()"),
        ("MEASURES A.* AS x PATTERN (A)", "A.* is not a column", "A.*", "count(A.*)"),
        ("ORDER BY sum(x) PATTERN (A)", "the aggregate sum cannot stand", "sum(x)", "in a subquery"),
        ("ORDER BY PREV(x) PATTERN (A)", "PREV looks at a match", "PREV(x)", "columns of the input"),
        ("MEASURES lag(x) OVER () AS y PATTERN (A)", "a window function", "OVER", "in a subquery"),
        ("MEASURES (SELECT A.x) AS y PATTERN (A)", "a subquery cannot read", "A.x", "use the value outside"),
        (f"PATTERN ({'(' * 120}A{')' * 120})", "more than 100 levels", "(", "remove brackets"),
    ],
)
def test_clauses(clause: str, reason: str, place: str, fix: str) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({clause})"
    assert_told(lambda: parse(text), text, reason, place, fix)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "the query is empty"),
        ("SELECT 1", "this query has no MATCH_RECOGNIZE"),
        ("SELECT * FROM t MATCH_RECOGNIZE", "needs its clause in brackets"),
        ("SELECT /* FROM t", "the comment that starts here is never closed"),
        ("SELECT $x$ FROM t", "the string that starts here is never closed"),
        ("FROM t MATCH_RECOGNIZE (PATTERN (A /* B))", "the comment that starts here is never closed"),
        ("SELECT * FROM MATCH_RECOGNIZE (PATTERN (A))", "follows the table that it reads"),
        ("SELECT * FROM t) MATCH_RECOGNIZE (PATTERN (A))", "`)` closes nothing"),
    ],
)
def test_queries(text: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason.replace("(", r"\(").replace(")", r"\)")):
        parse(text)
