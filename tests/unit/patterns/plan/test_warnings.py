"""What is legal but probably not meant is said; what is usual is not."""

from __future__ import annotations

import pytest

from ostinato.patterns.plan.check import check_query
from ostinato.patterns.plan.warnings import find_warnings
from ostinato.patterns.syntax.cel.parse import parse


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T AS x ; H AS y", []),
        ("T+ WITHIN 10 s", []),
        ("SELECT MAX * WHERE T+", []),
        ("T+", ["without WITHIN"]),
        ("T AS x ; H ; T AS x", ["can never match: `x` would have to be two events"]),
        ("T AS x FILTER FALSE", ["can never match: FILTER FALSE is never true"]),
        ("(A AS x ; (B AS x OR C AS x)) OR (A FILTER NULL)", ["can never match: `x` would have to be two events"]),
        ("(T ; H ; (K OR L ; L)) WITHIN 2 EVENTS", ["at least 3 events"]),
        ("(T ; H ; (K OR L ; L)) WITHIN 3 EVENTS", []),
        ("T AS x FILTER x.id = NULL OR x.id > 3", ["`x.id = NULL` is unknown"]),
        ("SELECT * FROM T, H WHERE T", ["FROM names H"]),
        ("SELECT * FROM T, H WHERE ANY", []),
    ],
)
def test_warnings(text: str, expected: list[str]) -> None:
    query = parse(text)
    check_query(query)
    found = find_warnings(query)
    assert len(found) == len(expected)
    assert all(part in warning for part, warning in zip(expected, found, strict=True))
