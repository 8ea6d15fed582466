"""Several queries over the same data."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.errors import OstinatoError
from ostinato.patterns.detect_many import fit_to_schema, joint_schema

TABLE = pa.table({"ts": [1, 2], "type": ["A", "B"]})


def test_answers_stand_below_each_other_in_the_order_of_the_queries() -> None:
    queries = {"late": ostinato.cel("SELECT y.ts AS at WHERE B AS y"), "both": ostinato.cel("A AS x ; B AS y")}
    found = ostinato.detect_many(queries, TABLE)
    assert found.column_names == ["query", "at", "start", "end", "positions"]
    assert found.select(["query", "at", "positions"]).to_pylist() == [
        {"query": "late", "at": 2, "positions": None},
        {"query": "both", "at": None, "positions": [0, 1]},
    ]


@pytest.mark.parametrize("queries", [{}, [], None, {"a": "A AS x"}, {1: ostinato.cel("A AS x")}])
def test_only_queries_by_name_are_taken(queries: Any) -> None:
    with pytest.raises(OstinatoError, match="queries cannot be"):
        ostinato.detect_many(queries, TABLE)


def test_a_column_has_one_type_in_all_answers() -> None:
    one, other = pa.schema([("v", pa.int64())]), pa.schema([("v", pa.string())])
    assert joint_schema({"a": one, "b": one}) == pa.schema([("query", pa.string()), ("v", pa.int64())])
    with pytest.raises(OstinatoError, match="`v` is string in the answer of 'b' and int64 in another"):
        joint_schema({"a": one, "b": other})
    with pytest.raises(OstinatoError, match="has a column `query` already"):
        joint_schema({"a": pa.schema([("query", pa.string())])})


def test_columns_of_nothing_but_null_in_the_answers_of_many() -> None:
    queries = {"a": ostinato.cel("A AS x ; B AS y"), "b": ostinato.cel("B AS x")}
    found = ostinato.detect_many(queries, TABLE.append_column("n", pa.nulls(2)), events=True)
    found.validate(full=True)
    assert [[event["n"] for event in row["events"]] for row in found.to_pylist()] == [[None, None], [None]]


@pytest.mark.parametrize("start", [0, 1, 2])
def test_answers_in_another_zone_with_null_at_every_depth(start: int) -> None:
    def kind(zone: str) -> pa.DataType:
        inner = pa.struct([("at", pa.timestamp("us", zone)), ("n", pa.null())])
        return pa.list_(pa.struct([("x", inner), ("all", pa.list_(inner)), ("n", pa.null())]))

    inner: dict[str, Any] = {"at": datetime(2026, 1, 1, tzinfo=UTC), "n": None}
    rows: list[Any] = [
        [{"x": inner, "all": [inner, None], "n": None}, {"x": None, "all": None, "n": None}],
        None,
        [],
        [None, {"x": inner, "all": [], "n": None}],
    ]
    matches = pa.table({"events": pa.array(rows, kind("Asia/Tokyo"))}).slice(start)
    found = fit_to_schema("a", matches, pa.schema([("query", pa.string()), ("events", kind("UTC")), ("v", pa.int64())]))
    found.validate(full=True)
    assert found.to_pylist() == [{"query": "a", "events": row, "v": None} for row in rows[start:]]
