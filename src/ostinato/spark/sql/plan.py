"""A query on Spark: its tables by name, its clauses from the inside out, each as a table in the query around it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa

from ostinato.errors import DataError, LimitError, Span
from ostinato.spark.columns import arrow_schema, column
from ostinato.spark.sql.columns import AnswerColumns
from ostinato.spark.sql.errors import spark_errors
from ostinato.spark.sql.late_rows import HIDDEN, beside_answer, let_through
from ostinato.spark.sql.task import ClauseInput
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.answer import Replacement
from ostinato.sql.runtime.bind import bind
from ostinato.sql.runtime.clause import texts_of_clause
from ostinato.sql.runtime.connect import connect
from ostinato.sql.runtime.errors import quote, translate_errors
from ostinato.sql.runtime.input import named_columns
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.places import table_aliases
from ostinato.sql.syntax.words import words

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

RowsOfClause = Callable[["BoundInput", "DataFrame"], "DataFrame"]
_INPUT = "#input"


@dataclass(frozen=True)
class BoundInput:
    """A clause that fits the columns that it reads, and what it gives."""

    clause: ClauseInput
    schema: pa.Schema  # of the columns that tasks get
    answer: AnswerColumns


@dataclass
class SparkQuery:
    """Runs the parts of a query that are Spark SQL, in which tables may stand for names."""

    spark: SparkSession
    query: n.Query
    tables: Mapping[str, DataFrame] = field(default_factory=dict)
    all_columns: bool = False  # of what clauses read, also those that make no difference
    views: dict[str, str] = field(default_factory=dict)  # the names of the query -> names that nobody else has
    made: list[str] = field(default_factory=list)

    def run(self, rows_of: RowsOfClause) -> DataFrame:
        """The rows of the query; `rows_of` gives those of a clause."""
        try:
            for name, frame in self.tables.items():
                self.views[name] = self._view(frame)
            rest = Replacement(self.query.text)
            for clause in self.query.clauses:
                bound, frame = self.read(clause, rest)
                rows = rows_of(bound, frame)
                view = self._view(rows)
                rest.put(clause.place, view)
            text = rest.text(Span(0, len(self.query.text))).strip().rstrip(";")
            if HIDDEN not in rows.columns:
                return self.sql(text)
            return beside_answer(self.sql(let_through(text, view)))
        finally:
            self._drop()

    def sql(self, text: str) -> DataFrame:
        """A part of the query; the names of tables that are given hide those of the session."""
        if self.views:
            found = words(text)
            given = ", ".join(f"{_name(name)} AS (SELECT * FROM {view})" for name, view in self.views.items())
            if found[0].keyword == "WITH":
                skipped = 2 if found[1].keyword == "RECURSIVE" else 1
                text = f"{text[: found[skipped - 1].end]} {given}, {text[found[skipped].start :]}"
            else:
                text = f"WITH {given} {text}"
        with spark_errors(self.query.text, self.tables):
            return self.spark.sql(text)

    def read(self, clause: n.Clause, rest: Replacement) -> tuple[BoundInput, DataFrame]:
        """What a clause reads."""
        text = rest.text(clause.input)
        names = table_aliases(text)
        joined = tuple(names) if len(names) > 1 else ()
        listed = "".join(f"struct({name}.*) AS {name}, " for name in joined)
        text = f"SELECT {listed}* FROM {text}"
        for scope in reversed(clause.scopes):
            text = f"WITH {'RECURSIVE ' if scope.recursive else ''}{rest.text(scope.definitions)} {text}"
        frame = self.sql(text)
        if (distinct := _distinct(frame.columns)) != frame.columns:
            frame = frame.toDF(*distinct)
        alias = names[0] if len(names) == 1 else _INPUT
        bound = bind_input(self.query.text, clause.match, alias, joined, arrow_schema(frame.schema))
        if not self.all_columns:
            bound = replace(bound, schema=columns_read(bound))
        return bound, frame.select(*map(column, bound.schema.names))

    def _view(self, frame: DataFrame) -> str:
        name = f"ostinato_{uuid4().hex}"
        frame.createOrReplaceTempView(name)
        self.made.append(name)
        return name

    def _drop(self) -> None:
        """A frame of classic Spark has read what its names mean; one of Connect will only do so later."""
        if not type(self.spark).__module__.startswith("pyspark.sql.connect"):
            for name in self.made:
                self.spark.catalog.dropTempView(name)


def bind_input(
    text: str, match: n.MatchRecognize, alias: str, joined: tuple[str, ...], schema: pa.Schema
) -> BoundInput:
    """Raises QueryError where the clause does not fit these columns."""
    clause = ClauseInput(text, match, alias, joined)
    with connect({_INPUT: schema.empty_table()}) as connection, translate_errors(text, [alias]):
        bind(match, Source(connection, quote(_INPUT), alias, joined), text)
    given = clause.rows(schema.empty_table(), SqlLimits()).schema
    with suppress(DataError, LimitError):  # of no real row; a QueryError is of the query, whatever the rows
        clause.rows(pa.Table.from_arrays([pa.nulls(1, field.type) for field in schema], schema=schema), SqlLimits())
    plain = pa.schema([field.with_name(name) for field, name in zip(given, _distinct(given.names), strict=True)])
    return BoundInput(clause, schema, AnswerColumns.of(plain, text))


def columns_read(bound: BoundInput) -> pa.Schema:
    """The columns that the answer of a clause depends on."""
    clause, schema = bound.clause, bound.schema
    if clause.match.rows != "ONE ROW":
        return schema
    named = {name for text in texts_of_clause(clause.match) for name in named_columns(text, schema.names, clause.alias)}
    # Rows without columns would have no number either.
    return pa.schema([each for each in schema if each.name in named] or [schema.field(0)])


def _distinct(names: list[str]) -> list[str]:
    """Later columns of a name have a number behind it, as DuckDB gives them."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        count = seen.get(name.lower(), 0)
        seen[name.lower()] = count + 1
        found.append(f"{name}_{count}" if count else name)
    return found


def _name(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
