"""DuckDB in this process: relations by name, in memory, spilled to disk where they do not fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from inspect import Parameter, Signature
from typing import Any

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling, PythonUDFType
from sqlglot import exp

from ostinato.core import database
from ostinato.core.user_functions import UserFunction
from ostinato.errors import DataError
from ostinato.rules.algebra.nodes import Source
from ostinato.rules.relational.dialects import write_sql
from ostinato.rules.relational.expressions import SQL_TYPES, user_function_name
from ostinato.rules.relational.head_types import RESULT_TYPES
from ostinato.rules.relational.kinds import Attributes
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.sql_names import ColumnNames
from ostinato.rules.runtime.ingest import TermMatcher


def quote_identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def connect(threads: int | None = None, *, alone: bool = False) -> duckdb.DuckDBPyConnection:
    settings: dict[str, str | int | bool] = {
        "preserve_insertion_order": False,
        # Small steps would pay for it, and large ones gain nothing: tuples are narrow.
        "disabled_optimizers": "compressed_materialization",
    }
    return database.connect(alone=alone, **settings, **({} if threads is None else {"threads": threads}))


class DuckDBStore:
    """The RelationStore of DuckDB."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        names: ColumnNames,
        sources: Callable[[Source, pa.Table | None], pa.Table] | None = None,
    ) -> None:
        self.connection, self.names, self._sources = connection, names, sources
        self._held: dict[str, pa.Table] = {}
        self._defined: dict[str, tuple[exp.Query, str]] = {}  # rounds of a recursion define the same again
        self._failures: list[DataError] = []  # of functions of the user

    def provide(self, name: str, table: pa.Table) -> None:
        self.connection.register(name, table)
        self._held[name] = table

    def define(self, name: str, query: exp.Query, *, kept: bool) -> None:
        before, text = self._defined.get(name, (None, ""))
        if before is not query:
            what = f"TEMP {'TABLE' if kept else 'VIEW'} {quote_identifier(name)}"
            text = f"CREATE OR REPLACE {what} AS {write_sql(query, 'duckdb')}"
            self._defined[name] = query, text
        elif not kept:
            return  # a view reads what its tables hold by then
        self.run(text)

    def match(self, name: str, stream: str, found: MatchPlan, attributes: Attributes) -> None:
        events = self.arrow(f"SELECT * FROM {quote_identifier(stream)}")
        self.provide(name, TermMatcher(found, attributes, self.names)(events))

    def source(self, name: str, stream: Source, events: exp.Query | None) -> None:
        assert self._sources is not None
        own = None if events is None else self.arrow(write_sql(events, "duckdb"))
        self.provide(name, self._sources(stream, own))

    def count(self, name: str) -> int:
        return int(self.run(f"SELECT count(*) FROM {quote_identifier(name)}")[0][0])

    def arrow(self, text: str, parameters: Mapping[str, Any] | None = None) -> pa.Table:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a copy, which costs less than what `sql` does instead
            return self._translated(lambda: self.connection.execute(text, parameters or None).to_arrow_table())

    def run(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[Any]:
        """All rows of a statement: DuckDB takes no other while some are left."""
        rows: list[Any] = self._translated(lambda: self.connection.execute(text, parameters or None).fetchall())
        return rows

    def provide_functions(self, functions: Mapping[str, UserFunction]) -> None:
        """Let queries call functions of the user. The connection has a database of its own."""
        for name, function in functions.items():
            fewest, most = function.arity
            for arity in range(fewest, most + 1):
                takes: list[Any] = [SQL_TYPES[kind].sql("duckdb") for kind in function.takes[:arity]]
                self.connection.create_function(
                    user_function_name(name, arity),
                    _over_columns(name, function, arity, self._failures),
                    takes,
                    SQL_TYPES[function.gives].sql("duckdb"),
                    type=PythonUDFType.ARROW,
                    null_handling=FunctionNullHandling.SPECIAL,
                )

    def _translated(self, run: Callable[[], Any]) -> Any:
        try:
            return translate_errors(run)
        except DataError:
            if self._failures:
                raise self._failures[0] from None
            raise


def _over_columns(name: str, function: UserFunction, arity: int, failures: list[DataError]) -> Callable[..., pa.Array]:
    """The function over columns. What it raises is added to `failures`: DuckDB would keep no more than its text."""
    kind = RESULT_TYPES[function.gives]

    def evaluate(*columns: pa.ChunkedArray) -> pa.Array:
        try:
            rows = zip(*(column.to_pylist() for column in columns), strict=True)
            return pa.array([function.evaluate(name, row) for row in rows], kind)
        except DataError as error:
            failures.append(error)
            raise

    # DuckDB counts the parameters.
    parameters = [Parameter(f"a{place}", Parameter.POSITIONAL_ONLY) for place in range(arity)]
    evaluate.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return evaluate


def translate_errors(run: Callable[[], Any]) -> Any:
    """Run, and raise DataError for what DuckDB says about the data."""
    try:
        return run()
    except (duckdb.OutOfRangeException, duckdb.ConversionException, duckdb.InvalidInputException) as error:
        reason = str(error).split("\n")[0]
        raise DataError(
            f"a value of the events cannot be used: {reason}", fix="check the conditions and heads of the rules"
        ) from error
