"""What a clause reads: rows that DuckDB makes."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pyarrow as pa


@dataclass(frozen=True)
class Source:
    """The input of a clause.

    Attributes
    ----------
    connection : DuckDBPyConnection
        Holds the tables that the query names, and those that its expressions may read.
    text : str
        What stands after FROM: `ticks`, `(SELECT …) AS t`, with the common table expressions that it can name.
    alias : str
        The name that expressions may qualify its columns with.
    joined : tuple of str
        Of a join, its tables: columns that hold their rows, so that expressions may qualify columns with them. They
        are not shown.
    table : pyarrow.Table, optional
        The rows, where they are those of a table as it was given.
    """

    connection: duckdb.DuckDBPyConnection
    text: str
    alias: str
    joined: tuple[str, ...] = ()
    table: pa.Table | None = None
