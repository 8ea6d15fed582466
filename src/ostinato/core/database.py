"""DuckDB in this process: one database for each set of settings, and a connection for each query."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb


@cache
def _start(process: int, settings: tuple[tuple[str, str | int | bool], ...]) -> duckdb.DuckDBPyConnection:
    """Starting a database takes 10 ms, a connection 0.1. One that came with a fork has no threads: it is left alone."""
    return _open(process, settings)


def _open(process: int, settings: tuple[tuple[str, str | int | bool], ...]) -> duckdb.DuckDBPyConnection:
    """A database.

    Variables of Python are no tables, and a query does not reach for files. What does not fit in memory goes to a
    folder of this process alone: queries may read what is in it.
    """
    import duckdb  # it takes a while to load, and not everything needs it

    folder = os.path.join(tempfile.gettempdir(), f"ostinato-{process}")
    own: dict[str, str | int | bool] = {
        "python_enable_replacements": False,
        "enable_external_access": False,
        "temp_directory": folder,
    }
    return duckdb.connect(":memory:", config={**own, **dict(settings)})


def connect(*, alone: bool = False, **settings: str | int | bool) -> duckdb.DuckDBPyConnection:
    """A connection that sees what is registered with it and nothing else, in UTC. Settings are of the database.

    `alone`: to a database of its own, for functions: connections share those.
    """
    known = tuple(sorted(settings.items()))
    connection = _open(os.getpid(), known) if alone else _start(os.getpid(), known).cursor()
    connection.execute("SET TimeZone = 'UTC'")
    return connection
