"""What an engine for many queries refuses, and what it says then."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost

DIP = """
SELECT * FROM ticks MATCH_RECOGNIZE (
    ORDER BY ts MEASURES LAST(b.v) AS low PATTERN (a b) DEFINE b AS b.v < PREV(b.v)
)
"""


def test_queries_with_engines_of_their_own_are_not_for_this_one() -> None:
    queries: Any = {"v": ost.sql(DIP)}
    with pytest.raises(ost.OstinatoError, match="'v' is a SqlQuery, which has an engine of its own") as caught:
        ost.engine(queries)
    assert "`engine()`" in str(caught.value)


def test_names_are_not_empty() -> None:
    with pytest.raises(ost.OstinatoError, match="name"):
        ost.engine({"": ost.cel("A")})
