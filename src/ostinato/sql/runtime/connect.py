"""A connection that sees the tables it is given and nothing else."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from ostinato.core import database
from ostinato.errors import DataError


@contextmanager
def connect(tables: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    with database.connect() as connection:
        for name, table in tables.items():
            if not table.num_columns:
                raise DataError(f"the table `{name}` has no columns", fix="give a table that names its columns")
            try:
                connection.register(name, table)
            except duckdb.NotImplementedException as error:
                reason = f"the table `{name}` has a column that DuckDB cannot read: {str(error).splitlines()[0]}"
                raise DataError(reason, fix="cast it to another type, or drop it") from None
        yield connection


def fetch(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a copy, which costs less than what `sql` does instead
        return connection.execute(query).to_arrow_table()
