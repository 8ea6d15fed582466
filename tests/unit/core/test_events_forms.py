"""Forms of events that Arrow itself cannot work with, or that say nothing of their columns."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.core.events import StreamColumns, time_order, to_arrow, with_columns
from ostinato.errors import DataError

TABLE = pa.table({"ts": [1, 2], "type": ["A", "B"]})


def test_byte_views_become_bytes() -> None:
    table = to_arrow(pa.table({"a": pa.array([b"x", None], pa.binary_view())}))
    assert (table.schema.field("a").type, table["a"].to_pylist()) == (pa.large_binary(), [b"x", None])


def test_runs_are_written_out() -> None:
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), pa.array(["A", None, "B"]))
    for column in (runs, runs[1:], pa.chunked_array([runs, runs[4:]]), pa.chunked_array([], runs.type)):
        table = to_arrow(pa.table({"type": column, "v": list(range(len(column)))}))
        assert table.schema.field("type").type == pa.string()
        assert table["type"].to_pylist() == column.to_pylist()
    query = ostinato.cel("A ; B PARTITION BY k")
    events = pa.table({"type": runs, "k": runs, "ts": list(range(5))})
    assert len(query.detect(events)) == len(query.detect(to_arrow(events)))


def test_no_events_have_the_columns_that_are_asked_for() -> None:
    table = with_columns(to_arrow([]), ["type", "v"], time="at")
    assert table.schema == pa.schema([("at", pa.timestamp("us")), ("type", pa.null()), ("v", pa.null())])
    assert (with_columns(TABLE, ["nowhere"]).schema, with_columns(TABLE, []).num_rows) == (TABLE.schema, len(TABLE))


@pytest.mark.parametrize("query", ["A ; B WITHIN 1 minute", "A AS x FILTER x.v > 3 AND x.w = 'a' PARTITION BY k"])
def test_columns_without_a_value_do_where_there_are_no_events(query: str) -> None:
    nothing = pa.table({name: pa.nulls(0) for name in ("ts", "type", "v", "w", "k")})
    assert len(ostinato.cel(query).detect(with_columns(nothing, []))) == 0
    missing = pa.table({name: pa.nulls(2) for name in ("ts", "type", "v", "w", "k")})
    with pytest.raises(DataError, match="`ts` is NULL"):
        ostinato.cel(query).detect(with_columns(missing, []))


def test_a_pandas_frame_on_spark_is_told_from_a_spark_frame() -> None:
    frame = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})()
    with pytest.raises(DataError, match=r"fix: give frame\.to_spark\(\)"):
        ostinato.cel("A AS x").detect(frame)


def test_dictionaries_of_many_batches_are_told_apart() -> None:
    engine = ostinato.cel("A AS x ; B AS y PARTITION BY k WITHIN 3 EVENTS").engine()
    for number in range(100):
        keys = pa.array([f"{number}-{place}" for place in range(100)])
        small = pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), keys)
        engine.push(pa.table({"type": ["A"] * 100, "k": small}))
    assert engine.stats().keys == 10_000


def test_the_type_column_is_never_taken_for_the_time() -> None:
    with pytest.raises(ostinato.DataError, match='time="at"'):
        ostinato.cel("A AS x ; B AS y WITHIN 1 second").detect([{"type": "A", "at": 1}])
    with pytest.raises(ostinato.DataError, match="time=…"):
        ostinato.cel("A AS x ; B AS y WITHIN 1 second").detect([{"type": "A"}])


@pytest.mark.parametrize("row", [{"type": "A", 1: 1}, {"type": "A", "v": 2**70}, {"type": "A", "s": "\ud800"}])
def test_what_is_no_event_is_a_data_error(row: dict[Any, Any]) -> None:
    with pytest.raises(DataError):
        ostinato.cel("A AS x").detect([row])


@pytest.mark.parametrize("pieces", [2, 3, 7])
def test_columns_are_converted_in_pieces(pieces: int) -> None:
    texts = pa.chunked_array([["a", None, "bc"], [], ["a", "a"]], pa.string())
    table = pa.table(
        {
            "view": texts.cast(pa.string_view()),
            "runs": pa.chunked_array([pa.RunEndEncodedArray.from_arrays([2, 5], [1, 2])]),
            "narrow": texts.dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string())),
        }
    )
    found = to_arrow(table, pieces=pieces)
    assert found.schema == to_arrow(table).schema
    assert found.to_pylist() == to_arrow(table).to_pylist()


@pytest.mark.parametrize("values", [[1, 2, 2, 3, 9], [1, 2, 1, 3, 9], [2, 1, 3, 4, 5], [1, 2, 3, 5, 4], [1], []])
@pytest.mark.parametrize("pieces", [1, 2, 3, 7])
def test_the_order_is_seen_in_pieces(values: list[int], pieces: int) -> None:
    table = pa.table({"ts": pa.array(values, pa.int64())})
    order = time_order(table, StreamColumns("ts", None), pieces=pieces)
    assert (values if order is None else [values[at] for at in order]) == sorted(values)
    assert (order is None) == (values == sorted(values))
