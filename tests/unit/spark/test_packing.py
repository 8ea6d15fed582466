"""Rows to bytes and back."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from ostinato.spark.buckets import Buckets
from ostinato.spark.packing import BUCKET, ROWS, SPLIT, Pack, Unpack, hash_column, pack, unpack

TABLE = pa.table(
    {
        "i": pa.array([1, None, 3], pa.int64()),
        "s": pa.array(["a", None, "ü"]),
        "t": pa.array([datetime(2026, 1, 1, tzinfo=UTC), None, None], pa.timestamp("us", tz="UTC")),
        "d": pa.array([Decimal("1.20"), None, Decimal("-3.40")], pa.decimal128(9, 2)),
        "l": pa.array([["x"], None, []], pa.list_(pa.string())),
        "r": pa.array([{"a": 1}, None, {"a": None}], pa.struct({"a": pa.int32()})),
        "m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int64())),
        "z": pa.nulls(3),
        "b": pa.array([b"\x00", None, b""]),
    }
)


@pytest.mark.parametrize("table", [TABLE, TABLE.slice(1, 1), TABLE.slice(0, 0), pa.concat_tables([TABLE, TABLE])])
def test_any_column(table: pa.Table) -> None:
    assert pa.Table.from_batches([unpack(pack(table), table.schema)]).to_pylist() == table.to_pylist()


def test_a_slice_is_packed_alone() -> None:
    long = pa.table({"v": list(range(100_000))})
    assert len(pack(long.slice(500, 2))) < 1000


def test_each_bucket_of_each_group_is_a_row() -> None:
    rows = pa.table({"ts": [4, 1, 3, 2], "v": ["a", "b", "c", "d"]})
    told = rows.append_column(hash_column(0), pa.array([1, 0, 1, None], pa.int64()))
    told = told.append_column(hash_column(1), pa.array([None, None, None, 5], pa.int64()))
    first, batch = Pack(("one", "two"), rows.schema, Buckets(100_000), "also")(told.to_batches())
    assert first.to_pylist() == [{SPLIT: "also", BUCKET: 0, ROWS: b""}]
    found = {(row[SPLIT], row[BUCKET]): unpack(row[ROWS], rows.schema).to_pydict()["v"] for row in batch.to_pylist()}
    assert found == {("one", 0): ["b"], ("one", 1): ["a", "c"], ("two", 5): ["d"]}


def test_rows_of_a_bucket_keep_their_order_in_however_many_buckets() -> None:
    numbers = [70_000, 4_464, 255, 70_000, 256, 0, 255, 4_464]  # 70,000 is 4,464 in two bytes
    rows = pa.table({"v": list(range(len(numbers)))})
    told = rows.append_column(hash_column(0), pa.array(numbers, pa.int64()))
    _, batch = Pack(("one",), rows.schema, Buckets(100_000), "also")(told.to_batches())
    found = {row[BUCKET]: unpack(row[ROWS], rows.schema).to_pydict()["v"] for row in batch.to_pylist()}
    assert found == {0: [5], 255: [2, 6], 256: [4], 4_464: [1, 7], 70_000: [0, 3]}


def test_rows_that_no_group_wants() -> None:
    rows = pa.table({"ts": [1, 2], hash_column(0): pa.nulls(2, pa.int64())})
    assert len(list(Pack(("one",), pa.schema({"ts": pa.int64()}), Buckets(4), "also")(rows.to_batches()))) == 1


def test_unpacking_leaves_out_what_has_no_rows() -> None:
    answer = pa.table({"v": [1, 2]})
    given = pa.RecordBatch.from_pydict({ROWS: pa.array([pack(answer), None, pack(answer.slice(0, 1))], pa.binary())})
    assert [batch.to_pydict() for batch in Unpack(answer.schema)([given])] == [{"v": [1, 2]}, {"v": [1]}]
