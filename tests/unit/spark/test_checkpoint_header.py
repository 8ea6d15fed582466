"""What a stream may change when it goes on from a checkpoint."""

from __future__ import annotations

from typing import Any

import pytest

from ostinato.errors import DataError
from ostinato.spark.checkpoint_header import check_header

ONE = {"text": "A AS x PARTITION BY k", "language": "cel", "answer": "k: int64\nstart: int64"}
TWO = {"text": "B AS y", "language": "cel", "answer": "start: int64"}


def told(**changes: Any) -> dict[str, Any]:
    return {"buckets": 4, "late": False, "queries": {"one": ONE}} | changes


def test_the_same_again_and_queries_that_come_and_go() -> None:
    first = check_header(None, told())
    assert check_header(first, told()) == first
    both = check_header(first, told(queries={"one": ONE, "two": TWO}))
    alone = check_header(both, told(queries={"two": TWO}))
    assert check_header(alone, told()) == first
    with pytest.raises(DataError, match="another query 'one'"):
        check_header(both, told(queries={"one": TWO}))
    assert check_header(alone, told(queries={"one": TWO}))  # what had that name is gone


@pytest.mark.parametrize(
    ("changes", "reason", "fix"),
    [
        ({"buckets": 3}, "begun with buckets=4, now it is 3", "buckets=4"),
        ({"queries": {"one": ONE | {"text": "A AS x PARTITION BY v"}}}, "another query 'one'", "another name"),
        ({"queries": {"one": ONE | {"language": "srem"}}}, "another query 'one'", "another name"),
        ({"queries": {"one": ONE | {"answer": "start: int64"}}}, "had other columns", "events="),
        ({"late": True}, 'begun without on_late="collect"', "on_late"),
    ],
)
def test_what_must_stay(changes: dict[str, Any], reason: str, fix: str) -> None:
    with pytest.raises(DataError) as caught:
        check_header(check_header(None, told()), told(**changes))
    assert reason in str(caught.value) and fix in str(caught.value.fix)
