"""Conditions over Arrow arrays hold where DuckDB says so."""

from __future__ import annotations

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.sql.live.arrow_conditions import plain_column, plain_condition

COLUMNS = {
    "i": st.integers(-3, 3),
    "j": st.sampled_from([-(2**63), -1, 0, 2, 2**63 - 1]),
    "x": st.sampled_from([-1.5, -0.0, 0.0, 0.1, 2.0, float("inf")]),
    "y": st.sampled_from([0.1, -0.0, 2.0]),
    "s": st.sampled_from(["", "a", "B", "é", "a\N{GRINNING FACE}"]),
    "u": st.sampled_from(["a", "\uffff"]),
}
TYPES = {name: pa.int64() if name in "ij" else pa.float64() if name in "xy" else pa.string() for name in COLUMNS}
COMPARED = ("i {} j", "i {} -2", "2 {} T.j", "x {} y", "x {} 0.1", "x {} -2", "s {} u", "s {} 'a'", '"y" {} x')


@st.composite
def conditions(draw: st.DrawFn, depth: int = 2) -> str:
    if depth and draw(st.booleans()):
        left, right = draw(conditions(depth - 1)), draw(conditions(depth - 1))
        return draw(st.sampled_from([f"({left} AND {right})", f"({left} OR {right})", f"(NOT {left})"]))
    if draw(st.integers(0, 5)) == 0:
        return f"({draw(st.sampled_from(list(COLUMNS)))} IS {draw(st.sampled_from(['', 'NOT ']))}NULL)"
    sign = draw(st.sampled_from(["<", "<=", "=", "<>", "!=", ">", ">="]))
    return f"({draw(st.sampled_from(COMPARED)).format(sign)})"


@given(conditions(), st.data())
def test_they_hold_where_duckdb_says_so(text: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 4))
    rows = {
        name: pa.array(data.draw(st.lists(st.none() | values, min_size=size, max_size=size)), TYPES[name])
        for name, values in COLUMNS.items()
    }
    plain = plain_condition(text, TYPES, "t")
    assert plain is not None
    with duckdb.connect() as connection:
        connection.register("rows", pa.table(rows))
        expected = connection.sql(f"SELECT {text} AS c FROM rows AS t").to_arrow_table()["c"].to_pylist()
    found = plain(rows)
    assert found is not None and found.to_pylist() == expected


@pytest.mark.parametrize(
    "text",
    ["i + 1 > 2", "i = x", "i = 1.5", "i = '1'", "x = 0.1234567890123456", "i = 1e30", "abs(i) > 1", "o.i = 1", "b",
     "b = true", "i IN (1, 2)", "i IS TRUE", "nothing = 1", "i = NULL", "(SELECT true)", "i = i AND"],
)  # fmt: skip
def test_all_others_are_for_duckdb(text: str) -> None:
    assert plain_condition(text, TYPES | {"b": pa.bool_()}, "t") is None


def test_nan_is_for_duckdb() -> None:
    plain = plain_condition("x > y", TYPES, "t")
    assert plain is not None
    one, nan = pa.array([1.0]), pa.array([float("nan")])
    assert plain({"x": one, "y": nan}) is None and plain({"x": one, "y": one}) is not None


def test_columns() -> None:
    assert plain_column('("I")', TYPES, "t") == "i" and plain_column("t.x", TYPES, "t") == "x"
    assert plain_column("i + 1", TYPES, "t") is None and plain_column("o.i", TYPES, "t") is None
