"""SQL row patterns inside of rules: what they may be, and their faults with their places in the text of the rules."""

from __future__ import annotations

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import QueryError
from ostinato.rules.plan.embedded_sql import read_row_pattern

TIMES = 'FIRST("#begin") AS "#begin", LAST("#end") AS "#end"'


def clause(more: str = "", pattern: str = "A B") -> str:
    return f"MATCH_RECOGNIZE (PARTITION BY k {more} PATTERN ({pattern}) DEFINE B AS v > PREV(v))"


def rule(query: str, term: str = "{{ }}") -> str:
    return f"DETECT d {{ }} ON event p: sql '{query}' {term} END"


def test_the_text_that_engines_run() -> None:
    plain = read_row_pattern(f"SELECT * FROM t {clause()}")
    times = clause(f'ORDER BY "#end" MEASURES {TIMES}')
    assert " ".join(plain.text.split()) == f"SELECT * FROM t {times}"
    assert (plain.label, plain.columns, plain.reads) == ("t", ("k",), frozenset("kv"))


def test_a_query_around_the_clause_shows_times_too() -> None:
    found = read_row_pattern(f"SELECT k, a + 1 AS n FROM t {clause('ORDER BY end MEASURES A.v AS a')} AS m WHERE a > 1")
    times = clause(f'ORDER BY "#end" MEASURES {TIMES}, A.v AS a')
    assert " ".join(found.text.split()) == f'SELECT k, a + 1 AS n , "#begin", "#end" FROM t {times} AS m WHERE a > 1'
    assert found.columns == ("k", "n")


@pytest.mark.parametrize(
    ("query", "reason", "place"),
    [
        ("SELECT * FROM t", "has no MATCH_RECOGNIZE", "SELECT"),
        (f"SELECT count(*) FROM t {clause()}", "a stream has no end, and this query aggregates rows", None),
        (f"SELECT * FROM t JOIN u ON t.k = u.k {clause()}", "a stream has no end, and this query reads t and u", None),
        (f"SELECT * FROM (SELECT * FROM t) {clause()}", "reads the events of one label", "(SELECT * FROM t)"),
        (f"SELECT k FROM (SELECT * FROM t {clause()})", "an SQL pattern has no subqueries", None),
        (f"SELECT * FROM t {clause('ORDER BY v')}", "events are read in the order of time", "v"),
        (f"SELECT * FROM t {clause('ORDER BY end DESC')}", "orders by time descending", None),
        (f"SELECT * FROM t {clause('ALL ROWS PER MATCH')}", "an event of a rule is a match, not each of", None),
        (f"SELECT * FROM t {clause(pattern='A B+')}", "is not known with its last row, of `B`", "B"),
        (f"SELECT * FROM t {clause(pattern='A BB')}", "PATTERN has no variable `B`", None),
    ],
)
def test_faults(query: str, reason: str, place: str | None) -> None:
    text = rule(query)
    with pytest.raises(QueryError) as caught:
        ost.rules(text)
    assert "in the SQL query: " in caught.value.reason
    assert reason in caught.value.reason
    assert caught.value.span is not None
    if place is not None:
        assert text[caught.value.span.start : caught.value.span.end] == place


def test_columns_that_matches_do_not_have() -> None:
    with pytest.raises(QueryError, match="the SQL query gives no column `kk`"):
        ost.rules(rule(f"SELECT * FROM t {clause()}", "{{ kk {{ }} }}"))


def test_a_column_that_events_do_not_have() -> None:
    program = ost.rules(rule(f"SELECT * FROM t {clause()}"))
    with pytest.raises(QueryError, match=r"in the SQL query: .*`v`") as caught:
        program.detect(pa.table({"ts": [1], "type": ["t"], "k": ["x"]}))
    assert "#end" not in str(caught.value)
