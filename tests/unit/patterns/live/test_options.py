"""What an engine for many queries refuses, and what it says then."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.live.engine import LiveEngine

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


def begun(query: str = "O ; P", *events: dict[str, Any]) -> LiveEngine:
    live = ost.engine({"a": ost.cel(query)})
    live.push(list(events) or [{"ts": 1, "type": "O"}])
    return live


def test_an_attribute_that_only_an_added_query_reads() -> None:
    live, later = begun(), ost.cel("O AS o FILTER o.k > 3")
    with pytest.raises(ost.OstinatoError, match="k: unknown attribute `k`") as caught:
        live.add("k", later)
    assert "schema=…" in str(caught.value) and "The first events set the columns" in str(caught.value)
    schema = pa.schema({"ts": pa.int64(), "type": pa.string(), "k": pa.int64()}.items())
    live = ost.engine({"a": ost.cel("O ; P")}, schema=schema)
    live.push({"ts": 1, "type": "O"})
    live.add("k", later)
    assert live.push({"ts": 2, "type": "O", "k": 4}).counts() == {"k": 1}


def test_the_fix_for_limits_names_what_this_engine_can_do() -> None:
    live = ost.engine({"all": ost.cel("A+ ; B")}, limits=ost.Limits(matches=100))
    (reason,) = live.push([{"type": kind} for kind in "A" * 12 + "B"]).stopped.values()
    assert "push fewer events at a time" in reason and "Limits(matches=…)" in reason
    assert "push_each" not in reason and "count()" not in reason


@pytest.mark.parametrize(
    ("event", "message", "fix"),
    [
        ({"ts": 2, "type": "O", "v": 5.5}, "`v` is int64 in this stream", "schema=…"),
        ({"ts": 2, "type": "O", "v": 2**70}, "cannot read the events: `v`: ", "fit 64 bits"),
        (None, "events are NoneType", "an event as a dict or a tuple, a list of those"),
    ],
)
def test_what_does_not_fit_says_what_would(event: Any, message: str, fix: str) -> None:
    live = begun("O AS o FILTER o.v > 3", {"ts": 1, "type": "O", "v": 5})
    with pytest.raises(ost.DataError) as caught:
        live.push(event)
    assert message in str(caught.value) and fix in str(caught.value)


def test_to_resume_the_columns_must_be_known() -> None:
    with pytest.raises(ost.DataError, match="the columns of the stream are not known yet") as caught:
        ost.engine({"a": ost.cel("O ; P")}).resume(begun().snapshot())
    assert "schema=…" in str(caught.value)
