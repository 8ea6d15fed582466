"""What is legal text and makes no sense."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.sql.plan.tables import table_names
from ostinato.sql.syntax.parse import parse
from support.query_errors import assert_told


@pytest.mark.parametrize(
    ("clause", "reason", "place", "fix"),
    [
        (
            "MEASURES 1 AS x PATTERN (A B) SUBSET A = (B)",
            "has the name of a pattern variable",
            "A = (B)",
            "another name",
        ),
        ("MEASURES 1 AS x PATTERN (A B) SUBSET U = (A), U = (B)", "SUBSET U is given twice", "U = (B)", "remove one"),
        (
            "MEASURES 1 AS x PATTERN (A B) SUBSET U = (A), V = (U)",
            "which is a SUBSET itself",
            "V = (U)",
            "variables of U",
        ),
        ("MEASURES 1 AS x PATTERN (A) DEFINE A AS true, a AS false", "A is defined twice", "a AS false", "join"),
        ("MEASURES 1 AS x PATTERN (A) SUBSET U = (A) DEFINE U AS true", "U is a SUBSET", "U AS true", "its members"),
        (
            "MEASURES 1 AS x PATTERN (A) DEFINE A AS FINAL LAST(x) > 1",
            "cannot be FINAL",
            "FINAL LAST",
            "leave FINAL out",
        ),
        ("ORDER BY x PATTERN (A)", "there is neither", "MATCH_RECOGNIZE", "add MEASURES"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN ({- A -})", "leaves rows out", "{- A", "remove one"),
        ("MEASURES 1 AS x PATTERN (A) WITHIN 3", "needs an order in time", "3", "add ORDER BY"),
        ("ORDER BY y DESC MEASURES 1 AS x PATTERN (A) WITHIN 3", "has the latest first", "y DESC", "leave DESC out"),
        ("MEASURES 1 AS x PATTERN ((A{2000}){2000})", "more than 20,000 variables", "(A{2000})", "bounds: (A{2000})+"),
        ("MEASURES 1 AS x PATTERN (B X{20001})", "more than 20,000 variables", "X{20001}", "without bounds: X+"),
        ("MEASURES 1 AS x PATTERN ((A B){1,1000000})", "more than 20,000", "(A B){1,1000000}", "bounds: (A B)+"),
        ("MEASURES 1 AS x PATTERN (PERMUTE(A,B,C,D,E,F,G,H,I,J))", "3,628,800 orders", "PERMUTE", "the most is"),
        ("ORDER BY x MEASURES 1 AS x PATTERN (A) WITHIN -2", "WITHIN -2 leaves no time", "-2", "how long"),
        ("ORDER BY x MEASURES 1 AS x PATTERN (A) WITHIN INTERVAL '-1' DAY", "leaves no time", "INTERVAL", "how long"),
    ],
)
def test_clauses(clause: str, reason: str, place: str, fix: str) -> None:
    text = f"SELECT * FROM t MATCH_RECOGNIZE ({clause})"
    assert_told(lambda: ost.sql(text), text, reason, place, fix)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("DELETE FROM t MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A))", "DELETE is no query"),
        ("FROM t MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A)); SELECT 1", "these are several statements"),
        (3, "a query is text, not int"),
    ],
)
def test_statements(text: str, reason: str) -> None:
    with pytest.raises(ost.QueryError, match=reason):
        ost.sql(text)


def test_a_semicolon_may_end_a_query() -> None:
    query = ost.sql("FROM t MATCH_RECOGNIZE (MEASURES count(*) AS n PATTERN (A)) ;")
    assert query.detect([{"x": 1}]).to_pylist() == [{"n": 1}]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("FROM t {}", ["t"]),
        ("SELECT * FROM s.t AS x {}, u JOIN v USING (a), LATERAL (SELECT * FROM w)", ["t", "u", "v", "w"]),
        ("WITH a(x) AS (SELECT * FROM t), b AS NOT MATERIALIZED (SELECT 1) SELECT * FROM a {} JOIN b ON true", ["t"]),
        ("SELECT extract(year FROM ts), x IS DISTINCT FROM y FROM (VALUES (1)) t(x) {}, range(3)", []),
        ("SELECT * FROM t {} WHERE x IN (SELECT y FROM u) ORDER BY a, b", ["t", "u"]),
    ],
)
def test_the_tables_that_a_query_reads(text: str, names: list[str]) -> None:
    query = parse(text.format("MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A))"))
    assert table_names(query) == names
