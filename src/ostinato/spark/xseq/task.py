"""What a Spark task does with documents: each passes the same query as everywhere, alone.

A task gets rows whose first column is the document, or the path of its file, and whose others are kept. It gives the
kept columns, those of the query, and what is wrong with a document.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import numpy as np
import pyarrow as pa

from ostinato.documents.columns import DocumentBytes, column_documents, holds_json
from ostinato.documents.formats import Format, guess_format
from ostinato.documents.schema.model import Schema
from ostinato.errors import DataError, LimitError, Message, Option
from ostinato.files.reader import OnError
from ostinato.xseq.compile import Matches
from ostinato.xseq.query import XSeqQuery

OUTPUT_ROWS, OUTPUT_BYTES = 10_000, 16 << 20  # handed to Spark at once: it holds them outside its heap
HELD_BYTES = 64 << 20  # of the answer of one file, until it is known whether the file is sound
SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")  # of two letters or more: one is a drive


@lru_cache(maxsize=64)
def _compile_once(text: str, matches: Matches, schema: Schema | None) -> XSeqQuery:
    """A query is compiled once per worker, which runs many tasks."""
    return XSeqQuery(text, matches=matches, schema=schema)


@dataclass(frozen=True)
class XSeqTask:
    """`format` None: guessed for each document by itself, so that it does not matter which ones share a task."""

    text: str  # of the query
    matches: Matches
    schema: Schema | None
    columns: pa.Schema  # of the query
    files: bool
    format: Format | None
    on_error: OnError
    options: dict[str, Any]  # of reading a document

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        query = _compile_once(self.text, self.matches, self.schema)
        for batch in batches:
            kept = batch.select(list(range(1, batch.num_columns)))
            answer = _OutputBuffer(kept, self.columns, errors=self.on_error == "collect")
            for row, found in self._answers(query, batch.column(0)):
                for piece in [found] if isinstance(found, str) else answer.pieces(row, found):
                    answer.add(row, piece)
                    if answer.is_full:
                        yield from answer.drain()
            yield from answer.drain()

    def _answers(self, query: XSeqQuery, column: pa.Array) -> Iterator[tuple[int, pa.Table | str]]:
        """The rows of each document, or what is wrong with it."""
        for row, document in self._documents(column):
            try:
                if isinstance(document, DataError):
                    raise document
                for table in self._tables(query, document, nested=holds_json(column.type)):
                    if table.num_rows:
                        yield row, table
            except (DataError, LimitError) as error:
                if self.on_error == "raise":
                    raise
                if self.on_error == "collect":
                    yield row, str(error)

    def _documents(self, column: pa.Array) -> Iterator[tuple[int, DocumentBytes | str | DataError]]:
        if self.files:
            yield from ((row, path) for row, path in enumerate(column.to_pylist()) if path is not None)
            return
        try:
            found = list(column_documents(column))
        except DataError:  # a value that cannot be written as JSON must not spoil the rows around it
            for row in range(len(column)):
                try:
                    yield from ((row, document) for _, document in column_documents(column.slice(row, 1)))
                except DataError as error:
                    yield row, error
        else:
            yield from found

    def _tables(self, query: XSeqQuery, document: DocumentBytes | str, *, nested: bool) -> Iterator[pa.Table]:
        source = _file(local_path(document)) if isinstance(document, str) else document
        format = self.format or ("json" if nested else guess_format(source))
        # names for JSON are meant for those documents that are JSON
        names = () if format != "xml" else ("root", "record")
        options = {name: value for name, value in self.options.items() if name not in names}
        if not isinstance(source, str):
            return iter([query.detect(source, format=format, **options)])
        # lines of JSON lines are skipped one by one
        skip: dict[str, Any] = {"on_error": "skip"} if self.on_error == "skip" else {}
        return _hold_back(query.batches(source, format=format, **skip, **options))


def _file(path: str) -> str:
    """The path, which must be that of one file: a folder or a pattern would be many documents."""
    if not os.path.isfile(path):
        reason = os.strerror(errno.EISDIR if os.path.isdir(path) else errno.ENOENT)
        raise DataError(f"cannot be read: {reason}", source=path)
    return path


def local_path(path: str) -> str:
    """The path of a file that can be opened, of one that Spark names (`file:/a/b`, `file:///a/b`)."""
    scheme = SCHEME.match(path)
    if scheme is None:
        return path
    if scheme[1].lower() != "file":
        raise DataError(
            f"`{scheme[1]}:` is not a file system that tasks can open files of by themselves",
            source=path,
            fix=Message(
                "let Spark read the files: read_documents(spark, folder), and detect with ", Option("column", "content")
            ),
        )
    plain = re.sub(r"^/+", "/", path[scheme.end() :])
    return plain if os.path.exists(plain) else unquote(plain)


def _hold_back(tables: Iterable[pa.Table]) -> Iterator[pa.Table]:
    """The tables of a file once it has been read to its end, or once they are more than is kept."""
    held: list[pa.Table] = []
    size = 0
    for table in tables:
        size += table.nbytes
        held.append(table)
        if size > HELD_BYTES:
            yield from held
            held = []
    yield from held


@dataclass
class _OutputBuffer:
    """Rows that wait to be handed on together."""

    kept: pa.RecordBatch
    columns: pa.Schema
    errors: bool
    _found: list[tuple[int, pa.Table]] = field(default_factory=list)
    _bad: list[tuple[int, str]] = field(default_factory=list)
    _rows: int = 0
    _bytes: int = 0

    def pieces(self, row: int, table: pa.Table) -> Iterator[pa.Table]:
        """The table in parts that are, with what is kept, small enough to be handed on."""
        total = table.nbytes + table.num_rows * self._beside(row)
        most = min(OUTPUT_ROWS, max(1, table.num_rows * OUTPUT_BYTES // max(1, total)))
        for start in range(0, table.num_rows, most):
            yield table.slice(start, most)

    def add(self, row: int, found: pa.Table | str) -> None:
        if isinstance(found, str):
            self._bad.append((row, found))
            self._rows += 1
            self._bytes += len(found) + self._beside(row)
        else:
            self._found.append((row, found))
            self._rows += found.num_rows
            self._bytes += found.nbytes + found.num_rows * self._beside(row)

    @property
    def is_full(self) -> bool:
        return self._rows >= OUTPUT_ROWS or self._bytes >= OUTPUT_BYTES

    def drain(self) -> Iterator[pa.RecordBatch]:
        """What has been added since, as batches of the result."""
        if not self._rows:
            return
        tables = [table for _, table in self._found]
        sizes = [table.num_rows for table in tables]
        rows = np.repeat(np.array([row for row, _ in self._found], np.int64), sizes)
        rows = np.concatenate([rows, np.array([row for row, _ in self._bad], np.int64)])
        if self._bad:
            tables.append(pa.table([pa.nulls(len(self._bad), kind.type) for kind in self.columns], schema=self.columns))
        columns = pa.concat_tables(tables).combine_chunks().columns
        if self.errors:
            texts = [None] * sum(sizes) + [text for _, text in self._bad]
            columns.append(pa.chunked_array([pa.array(texts, pa.string())]))
        kept = pa.Table.from_batches([self.kept.take(pa.array(rows))]).columns if self.kept.num_columns else []
        self._found, self._bad, self._rows, self._bytes = [], [], 0, 0
        every = [*kept, *columns]
        yield from pa.table(every, [f"c{place}" for place in range(len(every))]).to_batches()

    def _beside(self, row: int) -> int:
        """Bytes that are kept with each row of the answer."""
        return int(self.kept.slice(row, 1).nbytes) if self.kept.num_columns else 0
