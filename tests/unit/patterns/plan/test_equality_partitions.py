"""Equality filters that become partitions."""

from __future__ import annotations

import pytest

from ostinato.patterns.plan.equality_partitions import partition_by_equalities
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.format import to_text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("(A AS x ; B AS y) FILTER x.id = y.id", "A AS x ; B AS y"),
        ("(A AS x ; B AS y) FILTER x.id = y.id AND x.v > 3", "A AS x ; B AS y FILTER x.v > 3"),
        ("(A AS x ; B AS y ; C AS z) FILTER x.id = y.id AND y.id = z.id", "A AS x ; B AS y ; C AS z"),
        ("(A AS x ; (B AS y FILTER y.id = x.id)+)", "A AS x ; (B AS y)+"),
    ],
)
def test_filters_that_tie_all_variables_by_one_attribute(before: str, after: str) -> None:
    found = partition_by_equalities(parse(before))
    assert (to_text(found.formula), found.tied_by) == (after, "id")


@pytest.mark.parametrize(
    "text",
    [
        "(A AS x ; B AS y) FILTER x.id = y.other",
        "(A AS x ; B AS y) FILTER x.id <= y.id",
        "(A AS x ; B AS y ; C AS z) FILTER x.id = y.id",  # z is free
        "(A AS x ; B AS y ; C AS z) FILTER x.id = y.id AND y.v = z.v",
        "(A AS x ; B AS y) FILTER x.id = y.id OR x.v = 1",
        "(A AS x ; B AS y) FILTER x.id = y.id PARTITION BY k",
        "(A AS x ; NOT C AS c ; B AS y) FILTER x.id = y.id",
        "((A AS x ; B AS y) FILTER x.id = y.id) OR C AS z",  # a match of one event compares nothing
        "((A AS x ; B AS y) FILTER x.id = y.id)+",  # each round has values of its own
    ],
)
def test_queries_that_stay_as_they_are(text: str) -> None:
    query = parse(text)
    assert partition_by_equalities(query) is query
