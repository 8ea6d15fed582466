"""What a stream may change when it goes on from a checkpoint."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.spark.checkpoint_header import check_header, schema_text

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


def read_from(schema: pa.Schema, answer: str = "k: int64\nstart: int64", **query: Any) -> dict[str, Any]:
    one = ONE | {"answer": answer, "columns": schema.names} | query
    return told(queries={"one": one}, schema=schema_text(schema))


BEFORE = pa.schema({"k": pa.int32(), "o": pa.struct({"v": pa.float32()})})


def test_columns_that_come_and_widen() -> None:
    later = pa.schema({"new": pa.string(), "k": pa.int64(), "o": pa.struct({"v": pa.float64(), "w": pa.int32()})})
    now = read_from(later, "k: int64\nstart: int64\n  child 0, new: string")
    kept = check_header(check_header(None, read_from(BEFORE, "k: int32\nstart: int64")), now)
    assert check_header(kept, now) == kept


@pytest.mark.parametrize(
    ("now", "reason", "fix"),
    [
        (read_from(BEFORE.set(0, pa.field("k", pa.string()))), "`k` was int32 .* now it is string", "cast it to int32"),
        (read_from(BEFORE.set(0, pa.field("k", pa.int16()))), "`k` was int32 .* now it is int16", "cast it to int32"),
        (read_from(BEFORE.set(1, pa.field("o", pa.struct([])))), "`o` was struct<v: float>", "structs gain"),
        (read_from(BEFORE.remove(0)), "the column `k` is gone, which 'one' reads or shows", "withColumn"),
        (read_from(BEFORE, "start: int64"), "had other columns", "events="),
    ],
)
def test_columns_that_do_not_go_on(now: dict[str, Any], reason: str, fix: str) -> None:
    with pytest.raises(DataError, match=reason) as caught:
        check_header(check_header(None, read_from(BEFORE)), now)
    assert fix in str(caught.value.fix)


def test_a_header_that_does_not_know_the_columns() -> None:
    before = check_header(None, told())
    assert check_header(before, read_from(BEFORE))
    with pytest.raises(DataError, match="had other columns"):
        check_header(before, read_from(BEFORE, "k: int32\nstart: int64"))
