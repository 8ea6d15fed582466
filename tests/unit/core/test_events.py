"""User data into Arrow, bound to columns, with a clock and an order."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.events import StreamColumns, column_kinds, time_order, to_arrow
from ostinato.errors import DataError

ROWS = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
TABLE = pa.table({"ts": [1, 2], "type": ["A", "B"]})


@pytest.mark.parametrize(
    "data",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        TABLE.to_pandas(),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).lazy(),
        ROWS,
        TABLE.replace_schema_metadata({"pandas": "{}"}),
    ],
    ids=["table", "batch", "reader", "pandas", "polars", "lazy", "dicts", "metadata"],
)
def test_to_arrow(data: Any) -> None:
    table = to_arrow(data)
    assert table.to_pylist() == ROWS
    assert table.schema.metadata is None


def test_to_arrow_takes_anything_that_exports_arrow() -> None:
    class Exporter:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return TABLE.__arrow_c_stream__(requested_schema)

    assert to_arrow(Exporter()).to_pylist() == ROWS


def test_string_views_become_strings() -> None:
    table = to_arrow(pa.table({"a": pa.array(["x", None], pa.string_view()), "b": [1, 2]}))
    assert table.schema.field("a").type == pa.large_string()
    assert table.to_pydict() == {"a": ["x", None], "b": [1, 2]}


def test_dicts_with_different_keys() -> None:
    assert to_arrow([{"a": 1}, {"b": "x"}, {}]).to_pydict() == {"a": [1, None, None], "b": [None, "x", None]}
    assert to_arrow([]).num_columns == 0


def test_pandas_named_index_is_a_column() -> None:
    frame = pd.DataFrame({"v": [1, 2]}, index=pd.Index([10, 20], name="ts"))
    assert to_arrow(frame).to_pydict() == {"v": [1, 2], "ts": [10, 20]}
    assert to_arrow(frame.reset_index(drop=True)).column_names == ["v"]


@pytest.mark.parametrize("data", [42, "events.csv", [1, 2], {"a": [1]}, None])
def test_to_arrow_says_what_is_accepted(data: Any) -> None:
    with pytest.raises(DataError, match="pandas or polars DataFrame, or a list of dicts"):
        to_arrow(data)


def test_duplicate_and_mixed_columns() -> None:
    with pytest.raises(DataError, match="two columns are named `a`"):
        to_arrow(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(DataError, match="two columns are named `a`"):
        to_arrow(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="values of one type"):
        to_arrow([{"a": 1}, {"a": "x"}])


@pytest.mark.slow
def test_other_libraries_are_not_imported() -> None:
    code = """
import sys, pyarrow as pa
from ostinato.core.events import to_arrow
to_arrow(pa.table({"a": [1]}))
to_arrow([{"a": 1}])
print([name for name in ("polars", "numba") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# -- binding

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us")), ("type", pa.string()), ("value", pa.float64()), ("tags", pa.list_(pa.string()))]
)


def test_defaults() -> None:
    assert StreamColumns.resolve(SCHEMA, needs_time=True) == StreamColumns("ts", "type", ())
    assert StreamColumns.resolve(pa.schema([("value", pa.int64())])) == StreamColumns(None, None, ())
    assert StreamColumns.resolve(pa.schema([("value", pa.int64())]), relations=["S"]) == StreamColumns(
        None, None, (), "S"
    )
    assert StreamColumns.resolve(SCHEMA, relations=["S"]).relation is None


def test_named_columns() -> None:
    assert StreamColumns.resolve(SCHEMA, time="value", type="ts", order_by=["value"]) == StreamColumns(
        "value", "ts", ("value",)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"time": "tz"}, "time is `tz`, but there is no such column.*\n.*did you mean `ts`"),
        ({"type": "Type"}, "did you mean `type`"),
        ({"order_by": ["valu"]}, "order_by is `valu`.*\n.*`value`"),
        ({"time": "type"}, "cannot order events by `type`: its type is string"),
        ({"type": "tags"}, "`tags` cannot be the event type"),
    ],
)
def test_wrong_columns(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        StreamColumns.resolve(SCHEMA, **arguments)


def test_needed_time() -> None:
    with pytest.raises(DataError, match='time="when"'):
        StreamColumns.resolve(pa.schema([("value", pa.int64()), ("when", pa.date32())]), needs_time=True)


def test_several_relations_need_a_type_column() -> None:
    with pytest.raises(DataError, match="uses the event types H, T"):
        StreamColumns.resolve(pa.schema([("kind", pa.string())]), relations=["T", "H"])


def test_kinds() -> None:
    types = {
        "number": [pa.int8(), pa.uint64(), pa.float16(), pa.decimal128(5, 2), pa.dictionary(pa.int8(), pa.int64())],
        "string": [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
        "boolean": [pa.bool_()],
        "timestamp": [pa.timestamp("s"), pa.timestamp("ns", "UTC")],
        "date": [pa.date32(), pa.date64()],
        "duration": [pa.duration("s"), pa.time32("s")],
        "binary": [pa.binary(), pa.binary(4), pa.large_binary()],
        "nested": [pa.list_(pa.int64()), pa.struct([("a", pa.int64())]), pa.map_(pa.string(), pa.int64())],
        "null": [pa.null()],
    }
    for expected, members in types.items():
        assert column_kinds(pa.schema([(str(place), kind) for place, kind in enumerate(members)])) == {
            str(place): expected for place in range(len(members))
        }


# -- order


def order(table: pa.Table, *order_by: str, time: str | None = "ts") -> list[int] | None:
    found = time_order(table, StreamColumns(time, None, order_by))
    return None if found is None else found.tolist()


def test_sorted_data_is_left_alone() -> None:
    assert order(pa.table({"ts": [1, 1, 2]})) is None
    assert order(pa.table({"ts": pa.array([], pa.int64())})) is None
    assert order(pa.table({"v": [3, 1]}), time=None) is None


def test_ties_stay_as_they_came() -> None:
    assert order(pa.table({"ts": [2, 1, 2, 1]})) == [1, 3, 0, 2]
    assert order(pa.table({"ts": pa.chunked_array([[2.5], [1.5, 2.5]])})) == [1, 0, 2]


def test_order_by_breaks_ties() -> None:
    table = pa.table({"ts": [1, 1, 1, 2, 0], "a": [2, None, 1, 9, 9], "b": ["x", "y", "z", None, None]})
    assert order(table, "a") == [4, 2, 0, 1, 3]
    assert order(table.slice(0, 4), "b") is None
    assert order(table.slice(0, 4), "a") == [2, 0, 1, 3]
    assert order(table.slice(2, 2), "a") is None
    assert order(table, "a", "b", time=None) == [2, 0, 3, 4, 1]


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int8(), pa.string()), pa.large_string()])
def test_order_by_any_string(kind: pa.DataType) -> None:
    assert order(pa.table({"ts": [1, 1], "a": pa.array(["b", "a"]).cast(kind)}), "a") == [1, 0]


def test_order_by_nested_is_refused() -> None:
    with pytest.raises(DataError, match="cannot order by a"):
        order(pa.table({"ts": [1, 1], "a": [[1], [0]]}), "a")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([None, 0, 1])), max_size=8))
def test_order_is_pythons(rows: list[tuple[int, int | None]]) -> None:
    table = pa.table(
        {"ts": pa.array([row[0] for row in rows], pa.int64()), "a": pa.array([row[1] for row in rows], pa.int64())}
    )
    expected = sorted(range(len(rows)), key=lambda place: (rows[place][0], rows[place][1] is None, rows[place][1] or 0))
    assert (order(table, "a") or list(range(len(rows)))) == expected
