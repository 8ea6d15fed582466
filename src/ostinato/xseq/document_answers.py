"""The answers of an XSeq query over documents, one after the other: what is found in each, or what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa

from ostinato.core.threads import map_in_order
from ostinato.documents.formats import Format, guess_format
from ostinato.documents.sources import Document, Documents, PeekableFile
from ostinato.errors import DataError, LimitError, Message, Option, QueryError
from ostinato.files.reader import OnError
from ostinato.xseq.compile import CompiledXSeq
from ostinato.xseq.evaluate import evaluate_document, open_tokens
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.rows import answer_schema, answer_too_large, assemble_tables

if TYPE_CHECKING:
    from ostinato.core.stopwatch import Stopwatch
    from ostinato.documents.chunked_source import ChunkedSource

ERROR = "error"
_ROWS, _BYTES = 1 << 16, 1 << 24  # handed on at a time, of documents that give a few rows each,
_DOCUMENTS = 1 << 10  # or those of so many that have any
_GROUP_BYTES = 1 << 18  # of small documents that one thread reads at a time
_SMALL = 1 << 16  # bytes of a document: with fewer, Python works more on it than kernels do, on one core at a time
_LETTERS = 1 << 12  # between two looks at the clock
_SAYS = {
    "document": "which document a row is from",
    "row": "which row a document is in",
    ERROR: "what could not be read",
}


@dataclass(frozen=True)
class UnreadInput:
    """A document, or a line of JSON lines (`line`), that could not be read; or `more` lines that were only counted."""

    text: str  # with place and fix
    line: int | None = None
    more: int = 0


Found: TypeAlias = tuple[Document, "pa.Table | UnreadInput"]
T = TypeVar("T")


@dataclass(frozen=True)
class DocumentAnswers:
    """How documents are read, and what becomes of those that cannot be: `on_error`, for bad lines `options`."""

    compiled: CompiledXSeq
    on_error: OnError = "raise"
    sort: bool = False  # each document's rows in document order
    format: Format | None = None  # None: guessed for each document
    limits: XSeqLimits = field(default_factory=XSeqLimits)
    options: Mapping[str, Any] = field(default_factory=dict)  # of `open_tokens`
    whole: bool = False  # the caller holds the whole answer, so there is a limit on its bytes
    texts: bool = True  # False: texts are left empty, as rows are only counted
    threads: int = 1  # that read different documents at a time

    def __call__(self, documents: Iterable[Document], clock: Stopwatch) -> Iterator[Found]:
        """The rows of each as they come; of one that may be left out, when all of it was read."""
        if self.threads > 1:
            answer_all, groups = partial(self._answer_all, clock), _groups(documents)
            for found in map_in_order(answer_all, groups, self.threads, apart=lambda group: group.large):
                yield from found
        else:
            yield from self._answers(documents, clock)

    def _answer_all(self, clock: Stopwatch, group: _Group) -> list[Found]:
        return list(self._answers(group.documents, clock))

    def _answers(self, documents: Iterable[Document], clock: Stopwatch) -> Iterator[Found]:
        for document in documents:
            if self.on_error == "raise":
                yield from ((document, found) for found in self._found(document, clock))
                continue
            try:
                yield from [(document, found) for found in self._found(document, clock)]
            except (DataError, LimitError) as error:
                if isinstance(error, LimitError) and error.limit == "seconds":  # which is of the call
                    raise
                yield document, UnreadInput(str(error))

    def recognises(self, documents: Iterable[Document], clock: Stopwatch) -> bool:
        """Whether one of them has a match; the first one ends it."""
        if self.compiled.productions is None:
            return any(isinstance(found, pa.Table) and found.num_rows for _, found in self(documents, clock))
        from ostinato.documents.nested_words import letters_of_source
        from ostinato.xseq.paper.recognise import Recogniser

        recogniser = Recogniser(self.compiled.productions)
        for document in documents:
            try:
                with self._tokens(document, whole=True) as tokens:
                    if recogniser.run(_watched(letters_of_source(tokens), clock)):
                        return True
            except (DataError, LimitError) as error:
                if self.on_error == "raise" or (isinstance(error, LimitError) and error.limit == "seconds"):
                    raise
        return False

    def _found(self, document: Document, clock: Stopwatch) -> Iterator[pa.Table | UnreadInput]:
        with self._tokens(document) as tokens:
            rows = evaluate_document(self.compiled, tokens, self.limits, clock, texts=self.texts)
            whole = self.whole or self.on_error != "raise"
            for table in assemble_tables(self.compiled.program, rows, self.limits, sort=self.sort, whole=whole):
                if table.num_rows:
                    yield table
            if self.on_error != "raise":
                yield from _bad_lines(tokens, document.name)

    @contextmanager
    def _tokens(self, document: Document, *, whole: bool = False) -> Iterator[ChunkedSource[Any]]:
        """Its tokens; errors say which document they are about."""
        with _name_source(document.name), document.open() as source:
            format = document.format or self.format
            if format is None:
                format = guess_format(document.source, document.name)
                if isinstance(source, PeekableFile):
                    source.rewind()
            options = {"name": document.name, **self.options, "whole": whole}
            if self.on_error != "raise" and format == "jsonl":
                options["on_error"] = "skip"
            tokens = open_tokens(self.compiled, source, format, self.limits, **options)
            try:
                if format == "xml" and {"root", "record"} & set(options):
                    named = Message(Option("root", None), " and ", Option("record", None))
                    raise QueryError(Message(named, " name the elements of JSON; this is XML"), fix="leave them out")
                yield tokens
            finally:
                tokens.close()


def _watched(letters: Iterable[T], clock: Stopwatch) -> Iterator[T]:
    for number, letter in enumerate(letters):
        if number % _LETTERS == 0:
            clock.check()
        yield letter


@dataclass(frozen=True)
class _Group:
    """Documents that one thread reads."""

    documents: list[Document]
    size: int  # in bytes

    @property
    def large(self) -> bool:
        """Whether another thread gains by reading them."""
        return self.size >= _SMALL * len(self.documents)


def _groups(documents: Iterable[Document]) -> Iterator[_Group]:
    """The documents in their order: small ones go together until they are enough for a thread, since handing one over
    costs more than reading it."""
    group: list[Document] = []
    size = 0
    for document in documents:
        group.append(document)
        size += _size(document)
        if size >= _GROUP_BYTES or len(group) >= _DOCUMENTS:
            yield _Group(group, size)
            group, size = [], 0
    if group:
        yield _Group(group, size)


def _size(document: Document) -> int:
    """In bytes; large where it is not known."""
    if isinstance(document.source, str | os.PathLike):
        try:
            return os.path.getsize(document.source)
        except OSError:  # which reading it will tell
            return _GROUP_BYTES
    return _GROUP_BYTES if isinstance(document.source, PeekableFile) else len(document.source)


def _bad_lines(tokens: ChunkedSource[Any], name: str | None) -> Iterator[UnreadInput]:
    lines = getattr(tokens, "bad_lines", [])
    place = f"{name}: " if name else ""
    yield from (UnreadInput(f"{place}{bad.reason}", line=bad.line) for bad in lines)
    if more := getattr(tokens, "skipped", 0) - len(lines):
        yield UnreadInput(f"{place}{more:,} more lines could not be read", more=more)


@contextmanager
def _name_source(name: str | None) -> Iterator[None]:
    try:
        yield
    except DataError as error:
        if name is None or error.source is not None:
            raise
        raise error.replace(source=name) from error
    except LimitError as error:
        if name is None or error.reason.startswith(name):
            raise
        raise error.replace(reason=f"{name}: {error.reason}") from error


class AnswerBuffer:
    """Rows of documents that wait to be handed on together, with the label of their document and what is wrong."""

    def __init__(self, schema: pa.Schema, labels: str | None, *, errors: bool) -> None:
        self.answer = schema
        kind = pa.int64() if labels == "row" else pa.string()
        before = [] if labels is None else [pa.field(labels, kind)]
        after = [pa.field(ERROR, pa.string())] if errors else []
        for each in (*before, *after):
            if each.name in schema.names:
                reason = f"the column `{each.name}` says {_SAYS[each.name]}, and a returned column has its name"
                raise QueryError(reason, fix=f"name it otherwise: … as my_{each.name}")
        self.schema = pa.schema([*before, *schema, *after])
        self._labelled, self._errors = labels is not None, errors
        self._clear()

    def _clear(self) -> None:
        self._labels: list[str | int | None] = []
        self._tables: list[pa.Table] = []
        self._texts: list[str | None] = []
        self.rows = self._bytes = 0

    def add(self, document: Document, found: pa.Table | UnreadInput) -> None:
        """Rows, or, where there is a column for it, what is wrong."""
        text = None
        if isinstance(found, UnreadInput):
            if not self._errors:
                return
            text = found.text
            found = pa.table([pa.nulls(1, each.type) for each in self.answer], schema=self.answer)
        self._labels.append(document.label)
        self._texts.append(text)
        self._tables.append(found)
        self.rows += found.num_rows
        self._bytes += found.nbytes

    @property
    def is_full(self) -> bool:
        return self.rows >= _ROWS or self._bytes >= _BYTES

    def drain(self) -> pa.Table:
        """What was added since, as one table."""
        table = pa.concat_tables([self.answer.empty_table(), *self._tables]).combine_chunks()
        places = np.repeat(np.arange(len(self._tables)), [each.num_rows for each in self._tables])
        columns = table.columns
        if self._labelled:
            columns = [pa.array(self._labels, self.schema.field(0).type).take(pa.array(places)), *columns]
        if self._errors:
            columns = [*columns, pa.array(self._texts, pa.string()).take(pa.array(places))]
        self._clear()
        return pa.table(columns, schema=self.schema)


class QueryRun:
    """The answers over some documents, gathered where those are many."""

    def __init__(self, answers: DocumentAnswers, documents: Documents) -> None:
        self._answers, self._documents = answers, documents
        errors = documents.labels is not None and answers.on_error == "collect"
        self._clock = answers.limits.clock()
        self._gathered = AnswerBuffer(answer_schema(answers.compiled.program), documents.labels, errors=errors)

    @property
    def schema(self) -> pa.Schema:
        return self._gathered.schema

    def tables(self) -> Iterator[pa.Table]:
        """The answers of small documents together, of others as soon as they are there. Each has its own time."""
        for table in self._tables():
            yield table
            self._clock.restart()

    def _tables(self) -> Iterator[pa.Table]:
        held, many = self._gathered, self._documents.labels is not None
        seen = None
        waiting = 0
        for document, found in self._answers(self._documents(), self._clock):
            if not many:
                yield found
                continue
            waiting += document is not seen
            seen = document
            held.add(document, found)
            if held.rows and (not self._documents.small or held.is_full or waiting >= _DOCUMENTS):
                yield held.drain()
                waiting = 0
        for text in self._documents.bad_rows:
            held.add(Document(None, None, None), UnreadInput(text))
        if held.rows:
            yield held.drain()

    def table(self) -> pa.Table:
        """All answers at once; there is a limit on their bytes."""
        found, size, most = [self.schema.empty_table()], 0, self._answers.limits.answer_bytes
        for table in self._tables():
            size += table.nbytes
            if size > most:
                raise answer_too_large(most)
            found.append(table)
        return pa.concat_tables(found)

    def count(self) -> int:
        """How many matches there are; what could not be read has none."""
        found = (found for _, found in self._answers(self._documents(), self._clock))
        return sum(each.num_rows for each in found if isinstance(each, pa.Table))

    def recognises(self) -> bool:
        return self._answers.recognises(self._documents(), self._clock)
