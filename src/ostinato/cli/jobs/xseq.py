"""One run of an XSeq query over documents for the command line: read, find, write or print, and say how it went."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.filesize import decimal

from ostinato.cli.report import Results, progress
from ostinato.core.text.counts import format_count
from ostinato.documents.sources import Document, DocumentFiles, DocumentRows
from ostinato.files.reader import OnError
from ostinato.viz.table import escape_control
from ostinato.xseq.document_answers import AnswerBuffer, DocumentAnswers, UnreadInput
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.query import XSeqQuery
from ostinato.xseq.runtime.rows import answer_schema

LIMITS = tuple(each.name for each in fields(XSeqLimits))
_TELLING = 1_000_000  # bytes from which on a speed says more than how long it takes to start
_BAD_SHOWN = 100  # bad documents and lines that are listed


NOUN = "row"


@dataclass(frozen=True)
class XSeqJob:
    """A query, the documents it runs over and how to read them.

    `inputs` are files, folders and patterns of documents, or "-"; with `column`, of tables that hold documents in it.
    `options` are those of `ostinato.xseq(…).detect`. `limit` ends the run after so many rows; `sort` puts the rows of
    each document in document order.
    """

    query: XSeqQuery
    inputs: Sequence[str]
    column: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    on_error: OnError = "raise"
    limits: XSeqLimits = field(default_factory=XSeqLimits)
    limit: int | None = None
    sort: bool = False

    def run(self, output: Path | None) -> None:
        began = time.perf_counter()
        source = DocumentRows(self.inputs, self.column, self.on_error) if self.column else DocumentFiles(self.inputs)
        ran = _RunSummary()
        with Results(output, noun=NOUN) as results, progress("reading", source.size) as advance:

            def advance_bytes(size: int) -> None:
                ran.bytes += size
                advance(size)

            self._find(ran.count_documents(source(advance_bytes)), source.labels, results, ran)
        ran.bad_lines += source.bad_rows
        ran.report(results.total, time.perf_counter() - began, list_bad=self.on_error == "collect")
        results.show()

    def _find(self, documents: Iterator[Document], labels: str | None, results: Results, ran: _RunSummary) -> None:
        compiled, options = self.query.compiled, dict(self.options)
        answers = DocumentAnswers(
            compiled, on_error=self.on_error, sort=self.sort, format=options.pop("format", None), limits=self.limits,
            options=options,
        )  # fmt: skip
        held = AnswerBuffer(answer_schema(compiled.program), labels, errors=False)
        results.add(held.schema.empty_table())
        for document, found in answers(documents, self.limits.clock()):
            if isinstance(found, UnreadInput):
                ran.add_unread(found)
                continue
            held.add(document, found)
            if self.limit is not None and results.total + held.rows >= self.limit:
                results.add(held.drain().slice(0, self.limit - results.total))
                return
            if held.is_full:
                results.add(held.drain())
        results.add(held.drain())


@dataclass
class _RunSummary:
    """What is reported at the end of a run."""

    documents: int = 0
    bytes: int = 0
    bad_documents: list[str] = field(default_factory=list)
    bad_lines: list[str] = field(default_factory=list)
    more_lines: int = 0  # counted, but not kept

    def count_documents(self, documents: Iterator[Document]) -> Iterator[Document]:
        for document in documents:
            self.documents += 1
            yield document

    def add_unread(self, bad: UnreadInput) -> None:
        self.more_lines += bad.more
        if not bad.more:
            (self.bad_documents if bad.line is None else self.bad_lines).append(bad.text.splitlines()[0])

    def report(self, rows: int, seconds: float, *, list_bad: bool) -> None:
        """On stderr, so that it never mixes with results."""
        console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        parts = [
            format_count(self.documents, "document"),
            decimal(self.bytes),
            format_count(rows, NOUN),
            f"{seconds:.2f} s",
        ]
        if self.bytes >= _TELLING:
            parts.append(f"{decimal(int(self.bytes / max(seconds, 1e-9)))}/s")
        console.print(", ".join(parts), style="bright_black")
        lines = len(self.bad_lines) + self.more_lines
        for count, what in ((len(self.bad_documents), "document"), (lines, "line")):
            if count:
                was = "was" if count == 1 else "were"
                console.print(f"{format_count(count, what)} could not be read and {was} left out", style="yellow")
        shown = [*self.bad_documents, *self.bad_lines][:_BAD_SHOWN] if list_bad else []
        for bad in shown:
            console.print(f"  {escape_control(bad)}")
        if list_bad and (more := len(self.bad_documents) + lines - len(shown)):
            console.print(f"  … and {more:,} more")
