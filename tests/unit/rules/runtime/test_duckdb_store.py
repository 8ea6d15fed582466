"""DuckDB as a store of relations."""

from __future__ import annotations

import pyarrow as pa
import pytest
from sqlglot import exp

from ostinato.errors import DataError
from ostinato.rules.relational.kinds import TERM
from ostinato.rules.relational.sql_names import ColumnNames
from ostinato.rules.runtime.duckdb_store import DuckDBStore, column_type, connect, quote_identifier


@pytest.fixture
def store() -> DuckDBStore:
    return DuckDBStore(connect(threads=1), ColumnNames())


def test_tables_keep_what_views_read_again(store: DuckDBStore) -> None:
    store.provide("given", pa.table({"v": [1, 2]}))
    query = exp.select("v").from_("given")
    store.define("table", query, kept=True)
    store.define("view", query, kept=False)
    store.provide("given", pa.table({"v": [3]}))
    assert (store.count("table"), store.count("view")) == (2, 1)


def test_rows_go_in_and_out(store: DuckDBStore) -> None:
    store.run('CREATE TABLE "a b" (v BIGINT)')
    store.insert("a b", pa.table({"v": [1]}))
    store.insert_rows("a b", [(2,), (3,)])
    assert store.arrow('SELECT sum(v) AS s FROM "a b"')["s"].to_pylist() == [6]
    store.clear("a b")
    assert store.count("a b") == 0


def test_bad_values_are_errors_of_the_data(store: DuckDBStore) -> None:
    with pytest.raises(DataError, match="a value of the events cannot be used"):
        store.run("SELECT CAST('x' AS BIGINT)")


def test_types_of_columns() -> None:
    assert column_type(TERM) == "TEXT"
    assert column_type(pa.null()) == '"NULL"'
    assert column_type(pa.list_(pa.struct({'a "b"': pa.int64()}))) == 'STRUCT("a ""b""" BIGINT)[]'
    assert (column_type(pa.uint64()), column_type(pa.uint64(), unread=True)) == ("BIGINT", "UBIGINT")
    assert quote_identifier('a"b') == '"a""b"'
    with pytest.raises(DataError, match="an object without fields"):
        column_type(pa.struct([]))
