"""How late rows go through the query around a clause: what is written into its text."""

from __future__ import annotations

import pytest

from ostinato.errors import QueryError
from ostinato.spark.sql.late_rows import let_through

LATE = "`#late`"
OR = f"{LATE} IS NOT NULL OR"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT * FROM v", "SELECT * FROM v"),
        ("SELECT a * b AS c FROM v", f"SELECT a * b AS c, {LATE} FROM v"),
        ("SELECT ALL *, 2 * (a) AS b FROM v AS m", "SELECT ALL *, 2 * (a) AS b FROM v AS m"),
        ("select m.* from v m where a > 1", f"select m.* from v m where {OR} ( a > 1)"),
        ("SELECT a FROM v AS m(a, b)", f"SELECT a, {LATE} FROM v AS m(a, b, {LATE})"),
        (
            "SELECT f(a, (b)) FROM (SELECT a, b FROM v WHERE a IN (1, 2)) AS t(x, y) WHERE (x) < 2 OR y",
            f"SELECT f(a, (b)), {LATE} FROM (SELECT a, b, {LATE} FROM v WHERE {OR} ( a IN (1, 2))) AS t(x, y, {LATE})"
            f" WHERE {OR} ( (x) < 2 OR y)",
        ),
        ("SELECT ' FROM ' AS x FROM (v) WHERE true", f"SELECT ' FROM ' AS x, {LATE} FROM (v) WHERE {OR} ( true)"),
        (
            "SELECT a IS DISTINCT FROM b AS x FROM v WHERE a IS NOT DISTINCT FROM 1",
            f"SELECT a IS DISTINCT FROM b AS x, {LATE} FROM v WHERE {OR} ( a IS NOT DISTINCT FROM 1)",
        ),
        ("FROM v SELECT a WHERE b", f"FROM v SELECT a, {LATE} WHERE {OR} ( b)"),
        ("SELECT * FROM (SELECT a FROM v) WHERE a", f"SELECT * FROM (SELECT a, {LATE} FROM v) WHERE {OR} ( a)"),
    ],
)
def test_text(text: str, expected: str) -> None:
    assert let_through(text, "v") == expected


def test_all_columns_inside_an_expression() -> None:
    for inside in ("struct(*)", "struct(m.*)", "f(a, struct(*))"):
        with pytest.raises(QueryError, match="takes all columns"):
            let_through(f"SELECT {inside} AS s FROM v AS m", "v")
