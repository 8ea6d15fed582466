"""DuckDB as a store of relations."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from sqlglot import exp

from ostinato.errors import DataError
from ostinato.rules.relational.sql_names import ColumnNames
from ostinato.rules.runtime.duckdb_store import DuckDBStore, connect, quote_identifier


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
    store.run('INSERT INTO "a b" VALUES (1), (2), (3)')
    assert store.arrow('SELECT sum(v) AS s FROM "a b"')["s"].to_pylist() == [6]


def test_bad_values_are_errors_of_the_data(store: DuckDBStore) -> None:
    with pytest.raises(DataError, match="a value of the events cannot be used"):
        store.run("SELECT CAST('x' AS BIGINT)")


def test_queries_reach_for_no_files_and_no_variables(store: DuckDBStore, tmp_path: Path) -> None:
    file = tmp_path / "some.csv"
    file.write_text("v\n1\n", encoding="utf-8")
    with pytest.raises(duckdb.PermissionException):
        store.arrow(f"SELECT * FROM read_csv('{file}')")
    secret = pa.table({"v": [1]})
    with pytest.raises(duckdb.CatalogException):
        store.arrow("SELECT * FROM secret")
    assert len(secret) == 1


def test_names_are_quoted() -> None:
    assert quote_identifier('a"b') == '"a""b"'
