"""The columns that a query reads."""

from __future__ import annotations

import pytest

from ostinato.patterns.plan.required_columns import required_attributes, required_columns
from ostinato.patterns.syntax.cel.parse import parse


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("A ; B", set()),
        ("(A AS x ; B AS y) FILTER x.v > y.w", {"v", "w"}),
        ("A AS x ; (NOT C AS c FILTER c.u = 1) ; B AS y", {"u"}),
        ("SELECT x.v, sum(y.w) AS s WHERE A AS x ; (B AS y)+", {"v", "w"}),
        ("A ; B PARTITION BY k WITHIN 5 ON mile", {"k", "mile"}),
    ],
)
def test_columns_of_conditions_items_and_clauses(text: str, columns: set[str]) -> None:
    assert required_columns(parse(text)) == columns
    assert required_attributes(parse(text)) == columns


def test_whole_rows_need_all_columns() -> None:
    query = parse("SELECT x, y.w WHERE A AS x ; B AS y FILTER y.v > 1 PARTITION BY k")
    assert required_columns(query) is None
    assert required_attributes(query) == {"v", "k"}
