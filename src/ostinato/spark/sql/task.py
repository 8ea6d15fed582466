"""A Spark task: the rows of some partitions of a clause in, what it shows of their matches out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from ostinato.core import database
from ostinato.spark.sql.columns import AnswerColumns
from ostinato.sql.limits import SqlLimits
from ostinato.sql.runtime.clause import evaluate
from ostinato.sql.runtime.errors import quote, translate_errors
from ostinato.sql.runtime.input import select
from ostinato.sql.runtime.source import Source
from ostinato.sql.syntax import nodes as n

INPUT = "#input"
_OUTPUT = 100_000  # rows handed to Spark at once


@dataclass(frozen=True)
class ClauseInput:
    """A clause and what it reads: the columns, and the name that expressions may qualify them with."""

    text: str  # of the query
    match: n.MatchRecognize
    alias: str
    joined: tuple[str, ...]

    def rows(self, table: pa.Table, limits: SqlLimits) -> pa.Table:
        with database.connect(threads=1) as connection, translate_errors(self.text, [self.alias]):
            connection.register(INPUT, table)
            return evaluate(self.match, Source(connection, quote(INPUT), self.alias, self.joined), limits)


@dataclass(frozen=True)
class ClauseTask:
    """What runs over a partition of a DataFrame: partitions of the clause come whole, in any order."""

    clause: ClauseInput
    schema: pa.Schema
    answer: AnswerColumns
    limits: SqlLimits

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        table = pa.Table.from_batches([batch.cast(self.schema) for batch in batches], self.schema)
        if len(table):
            found = self.answer.fit(self.clause.rows(table.combine_chunks(), self.limits))
            yield from found.to_batches(max_chunksize=_OUTPUT)


@dataclass(frozen=True)
class ComputeTask:
    """Adds computed columns to rows: by their names, what they are in the SQL of the clause."""

    clause: ClauseInput
    schema: pa.Schema
    columns: Mapping[str, str]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from self.add(pa.Table.from_batches([batch])).combine_chunks().to_batches()

    def add(self, table: pa.Table) -> pa.Table:
        items = [f"{text} AS {quote(name)}" for name, text in self.columns.items()]
        with database.connect(threads=1) as connection, translate_errors(self.clause.text, [self.clause.alias]):
            found = select(connection, items, table.cast(self.schema), self.clause.alias)
        for name in self.columns:
            table = table.append_column(name, found[name])
        return table
