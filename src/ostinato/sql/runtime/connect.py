"""A DuckDB that sees the tables it is given and nothing else."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from ostinato.errors import DataError


def _settings() -> dict[str, str | bool | int | float | list[str]]:
    """Variables of Python are no tables, and a query does not reach for files.

    What does not fit in memory goes to a folder of this process alone: queries may read what is in it.
    """
    folder = os.path.join(tempfile.gettempdir(), f"ostinato-{os.getpid()}")
    return {"python_enable_replacements": False, "enable_external_access": False, "temp_directory": folder}


@contextmanager
def connect(tables: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config=_settings()) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            if not table.num_columns:
                raise DataError(f"the table `{name}` has no columns", fix="give a table that names its columns")
            connection.register(name, table)
        yield connection


def fetch(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a copy, which costs less than what `sql` does instead
        return connection.execute(query).to_arrow_table()
