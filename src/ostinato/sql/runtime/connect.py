"""A DuckDB that sees the tables it is given and nothing else."""

from __future__ import annotations

import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from ostinato.errors import DataError, QueryError, Span, did_you_mean
from ostinato.sql.syntax import nodes as n

# Variables of Python are no tables, and a query does not reach for files.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "python_enable_replacements": False,
    "enable_external_access": False,
    "temp_directory": tempfile.gettempdir(),
}


@contextmanager
def connect(tables: Mapping[str, pa.Table]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(":memory:", config=_SETTINGS) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        yield connection


def fetch(connection: duckdb.DuckDBPyConnection, query: str) -> pa.Table:
    """The rows of a query."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a copy, which costs less than what `sql` does instead
        return connection.execute(query).to_arrow_table()


@contextmanager
def translate_errors(query: n.Query) -> Iterator[None]:
    """What DuckDB says about the query or the data, as our own errors."""
    try:
        yield
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise _query_error(query.text, str(error)) from None
    except duckdb.NotImplementedException as error:
        raise QueryError(_first_line(str(error)), text=query.text) from None
    except (duckdb.DataError, duckdb.InvalidInputException, duckdb.InternalException) as error:
        raise DataError(f"a value cannot be used: {_first_line(str(error))}") from error


def _query_error(text: str, message: str) -> QueryError:
    """With the place of the name that DuckDB complains about, where the query has it."""
    reason = _first_line(message)
    named = re.search(r'"([^"]+)"|[Nn]ame (\w+)', reason)
    name = next((group for group in named.groups() if group), "") if named else ""
    place = re.search(rf'(?<![\w"]){re.escape(name)}(?![\w"])', text, re.IGNORECASE) if name else None
    span = Span(*place.span()) if place else None
    candidates = re.search(r'(?:Candidate bindings|Did you mean)[^"]*"([^"]+)"', message)
    fix = did_you_mean(name, [candidates[1]]) if candidates and name else None
    return QueryError(reason, text=text, span=span, fix=fix)


def _first_line(message: str) -> str:
    """Without the kind of the error in front."""
    line = message.split("\n")[0]
    return re.sub(r"^\w+(?: \w+)? Error: ", "", line)
