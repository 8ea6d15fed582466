"""Several queries over the same data."""

from __future__ import annotations

from datetime import UTC, datetime
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

import ostinato
from ostinato.errors import OstinatoError
from ostinato.patterns.joint_answers import fit_to_schema, joint_schema

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


def test_many_queries_run_together_and_give_what_each_gives() -> None:
    texts = ["A ; B", "A+ ; B WITHIN 3 EVENTS", "B AS x FILTER x.v > 1", "SELECT MAX * WHERE A+ ; B WITHIN 4 EVENTS"]
    texts += ["A ; NOT B FOR 1 second", "A AS x ; B AS y FILTER x.v = y.v PARTITION BY k", "NOT A FOR 1 second ; B"]
    queries = {text: ostinato.cel(text) for text in texts}
    random = Random(1)
    rows = [{"ts": random.randrange(30), "type": random.choice("ABC"), "v": n % 3, "k": n % 2} for n in range(40)]
    table = pa.Table.from_pylist(rows)
    found = ostinato.detect_many(queries, table, order_by=["v"], events=True)
    for text, query in queries.items():
        own = found.filter(pc.field("query") == text)
        alone = query.detect(table, order_by=["v"], events=True)
        assert own.select(alone.column_names).to_pylist() == alone.to_pylist()


def test_a_limit_of_many_queries_that_run_together() -> None:
    queries = {str(number): ostinato.cel("A+ ; B") for number in range(5)}
    table = pa.table({"ts": range(13), "type": ["A"] * 12 + ["B"]})
    with pytest.raises(ostinato.LimitError, match="more matches than may be returned"):
        ostinato.detect_many(queries, table, limits=ostinato.Limits(matches=100))


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
