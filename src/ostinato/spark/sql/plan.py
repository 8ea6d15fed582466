"""A query on Spark: its tables by name, its clauses from the inside out, each as a table in the query around it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa

from ostinato.errors import QueryError, Span
from ostinato.spark.columns import arrow_schema
from ostinato.spark.sql.columns import AnswerColumns
from ostinato.spark.sql.task import ClauseInput
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.answer import Replacement
from ostinato.sql.runtime.bind import bind
from ostinato.sql.runtime.connect import connect
from ostinato.sql.runtime.errors import quote, translate_errors
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
    schema: pa.Schema
    answer: AnswerColumns
    names: list[str]  # of the columns that it gives, which may be the same


@dataclass
class SparkQuery:
    """Runs the parts of a query that are Spark SQL, in which tables may stand for names."""

    spark: SparkSession
    query: n.Query
    tables: Mapping[str, DataFrame] = field(default_factory=dict)
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
                rest.put(clause.place, self._view(rows_of(bound, frame)))
            return self.sql(rest.text(Span(0, len(self.query.text))).strip().rstrip(";"))
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
        with spark_errors(self.query.text):
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
        if joined:
            frame = frame.toDF(*_distinct(frame.columns))
        alias = names[0] if len(names) == 1 else _INPUT
        return bind_input(self.query.text, clause.match, alias, joined, frame), frame

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


def bind_input(text: str, match: n.MatchRecognize, alias: str, joined: tuple[str, ...], frame: DataFrame) -> BoundInput:
    """Raises QueryError where the clause does not fit the columns of the frame."""
    schema = arrow_schema(frame.schema)
    clause = ClauseInput(text, match, alias, joined)
    with connect({_INPUT: schema.empty_table()}) as connection, translate_errors(text, [alias]):
        bind(match, Source(connection, quote(_INPUT), alias, joined), text)
    given = clause.rows(schema.empty_table(), SqlLimits()).schema
    plain = pa.schema([field.with_name(name) for field, name in zip(given, _distinct(given.names), strict=True)])
    return BoundInput(clause, schema, AnswerColumns.of(plain, text), given.names)


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


@contextmanager
def spark_errors(text: str) -> Iterator[None]:
    """What Spark says about the query around the clauses, as errors with the query."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise QueryError(_first_line(error), text=text, fix="the query around the clause is Spark SQL") from None


def _first_line(error: Any) -> str:
    line = str(error).strip().split("\n")[0]
    return line.partition("] ")[2].split(" SQLSTATE")[0] if line.startswith("[") else line
