"""A Spark task: the rows of some partitions of a clause in, what it shows of their matches out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
class KeyTask:
    """Computes the keys of PARTITION BY that are no columns, beside the rows, as texts to shuffle by."""

    clause: ClauseInput
    schema: pa.Schema
    keys: tuple[str, ...]
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        items = [f"CAST(({key}) AS VARCHAR) AS {quote(name)}" for key, name in zip(self.keys, self.names, strict=True)]
        with database.connect(threads=1) as connection, translate_errors(self.clause.text, [self.clause.alias]):
            for batch in batches:
                table = pa.Table.from_batches([batch]).cast(self.schema)
                found = select(connection, items, table, self.clause.alias)
                for name in self.names:
                    table = table.append_column(name, found[name].cast(pa.string()))
                yield from table.combine_chunks().to_batches()
