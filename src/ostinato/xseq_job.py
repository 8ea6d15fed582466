"""One run of an XSeq query over documents for the command line: read, find, write or print, and say how it went."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console
from rich.filesize import decimal

from ostinato.errors import DataError, LimitError, QueryError
from ostinato.files.documents import Document, Files, Rows
from ostinato.files.reader import OnError
from ostinato.report import Results, progress
from ostinato.runtime.xseq.limits import XSeqLimits
from ostinato.runtime.xseq.rows import assemble, schema_of
from ostinato.runtime.xseq.run import rows_of, source_of
from ostinato.tree.columns import guess_format
from ostinato.treequery import TreeQuery
from ostinato.viz.table import printable

LIMITS = tuple(each.name for each in fields(XSeqLimits))
_AT_ONCE = 1 << 16  # rows written at a time: documents may give a few each, and a file of many tiny pieces reads slowly
_BYTES_AT_ONCE = 1 << 24
_TELLING = 1_000_000  # bytes from which on a speed says more than how long it takes to start
_BAD_SHOWN = 100  # bad documents and lines that are listed
_OPTION = re.compile(r'\b(doctype|encoding|format)="([^"]*)"')
_LIMIT = re.compile(r"\bwith \w+Limits\((\w+)=\.\.\.\)")


def told(rows: int) -> str:
    return f"{rows:,} row" if rows == 1 else f"{rows:,} rows"


@dataclass(frozen=True)
class XSeqJob:
    """A query, the documents it runs over and how to read them.

    `inputs` are files, folders and patterns of documents, or "-"; with `column`, of tables that hold documents in it.
    `options` are those of `ostinato.xseq(…).detect`. `limit` ends the run after so many rows; `sort` puts the rows of
    each document in document order.
    """

    query: TreeQuery
    inputs: Sequence[str]
    column: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    on_error: OnError = "raise"
    limits: XSeqLimits = field(default_factory=XSeqLimits)
    limit: int | None = None
    sort: bool = False

    def run(self, output: Path | None) -> None:
        began = time.perf_counter()
        source = Rows(self.inputs, self.column, self.on_error) if self.column else Files(self.inputs)
        ran = _Ran()
        with Results(output, told=told) as results, progress("reading", source.size) as advance:

            def heard(size: int) -> None:
                ran.bytes += size
                advance(size)

            schema = schema_of(self.query.compiled.program)
            gathered = _Gathered(results, schema if source.single else _labelled(schema, source))
            for document in source(heard):
                ran.documents += 1
                for table in self._answer(document, ran):
                    gathered.add(table if source.single else _with_label(table, document))
                    if self.limit is not None and gathered.total >= self.limit:
                        break
                if self.limit is not None and gathered.total >= self.limit:
                    break
            gathered.cut(self.limit)
        if isinstance(source, Rows):
            ran.bad += [(f"{bad.file}, line {bad.line}", bad.reason) for bad in source.reader.bad_rows]
        ran.report(results.total, time.perf_counter() - began, list_bad=self.on_error == "collect")
        results.show()

    def _answer(self, document: Document, ran: _Ran) -> Iterator[pa.Table]:
        """The rows of a document, as they come; of one that may be left out, when all of it was read."""
        if self.on_error == "raise":
            yield from self._tables(document, ran)
            return
        try:
            yield from list(self._tables(document, ran))
        except (DataError, LimitError) as error:
            ran.bad.append((document.name, _reason(error, document.name)))

    def _tables(self, document: Document, ran: _Ran) -> Iterator[pa.Table]:
        with _in_options(document.name):
            format = self.options.get("format") or guess_format(document.start)
        if format == "xml" and {"root", "record"} & set(self.options):
            raise QueryError("--root and --record name the elements of JSON; this is XML", fix="leave them out")
        options = {**self.options, "format": format, "name": document.name}
        if format == "jsonl":
            options["on_error"] = "raise" if self.on_error == "raise" else "skip"
        compiled = self.query.compiled
        with _in_options(document.name), document.open() as data:
            tokens = source_of(compiled, data, limits=self.limits, **options)
            yield from assemble(compiled.program, rows_of(compiled, tokens, self.limits), sort=self.sort)
        if format == "jsonl":
            ran.bad += [(f"{document.name}, line {bad.line}", bad.reason) for bad in tokens.bad_lines]
            ran.more_bad += tokens.skipped - len(tokens.bad_lines)


def _labelled(schema: pa.Schema, source: Files | Rows) -> pa.Schema:
    """The columns of an answer over many documents: first which of them a row is from."""
    if source.labels in schema.names:
        raise QueryError(
            f"the column `{source.labels}` says which document a row is from, and a returned column has its name",
            fix=f"name it otherwise: … as my_{source.labels}",
        )
    return schema.insert(0, pa.field(source.labels, pa.int64() if isinstance(source, Rows) else pa.string()))


def _with_label(table: pa.Table, document: Document) -> pa.Table:
    kind, name = (pa.int64(), "row") if isinstance(document.label, int) else (pa.string(), "document")
    return table.add_column(0, name, pa.repeat(pa.scalar(document.label, kind), table.num_rows))


class _Gathered:
    """Rows on their way to the results, a good number of them at a time."""

    def __init__(self, results: Results, schema: pa.Schema) -> None:
        self.results, self.total = results, 0
        self.held: list[pa.Table] = []
        self.rows = self.bytes = 0
        results.add(schema.empty_table())

    def add(self, table: pa.Table) -> None:
        self.held.append(table)
        self.rows += table.num_rows
        self.total += table.num_rows
        self.bytes += table.nbytes
        if self.rows >= _AT_ONCE or self.bytes >= _BYTES_AT_ONCE:
            self.cut(None)

    def cut(self, limit: int | None) -> None:
        """Hand on what is held, of all rows no more than `limit`."""
        if self.held:
            rows = pa.concat_tables(self.held).combine_chunks()
            over = 0 if limit is None else max(0, self.total - limit)
            self.results.add(rows.slice(0, rows.num_rows - over))
        self.held, self.rows, self.bytes = [], 0, 0


@dataclass
class _Ran:
    """What is to be told of a run."""

    documents: int = 0
    bytes: int = 0
    bad: list[tuple[str, str]] = field(default_factory=list)
    more_bad: int = 0  # counted, but not kept

    def report(self, rows: int, seconds: float, *, list_bad: bool) -> None:
        """On stderr, so that it never mixes with results."""
        console = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)
        number = f"{self.documents:,} document" + ("" if self.documents == 1 else "s")
        parts = [number, decimal(self.bytes), told(rows), f"{seconds:.2f} s"]
        if self.bytes >= _TELLING:
            parts.append(f"{decimal(int(self.bytes / max(seconds, 1e-9)))}/s")
        console.print(", ".join(parts), style="bright_black")
        count = len(self.bad) + self.more_bad
        if count:
            was = "was" if count == 1 else "were"
            console.print(f"{count:,} could not be read and {was} left out", style="yellow")
        for place, reason in self.bad[:_BAD_SHOWN] if list_bad else ():
            console.print(f"  {printable(place)}: {printable(reason)}")
        if list_bad and count > _BAD_SHOWN:
            console.print(f"  … and {count - min(len(self.bad), _BAD_SHOWN):,} more")


def _reason(error: DataError | LimitError, name: str) -> str:
    """What is wrong, without the name of the document and the fix."""
    return str(error).splitlines()[0].removeprefix(f"{name}: ").removeprefix(f"{name}, ")


@contextmanager
def _in_options(name: str) -> Iterator[None]:
    """Errors say which document is meant, and name the option of the command line instead of an argument of Python."""
    try:
        yield
    except DataError as error:
        fix = _OPTION.sub(r"--\1 \2", error.fix or "", count=1).replace("schema=", "--schema") or None
        raise DataError(error.reason, source=error.source or name, row=error.row, fix=fix) from error
    except LimitError as error:
        limit = error.limit.removeprefix("most_")
        fix = _LIMIT.sub(r"with --max \1=N", error.fix) if limit in LIMITS else error.fix
        if limit in LIMITS and "--max" not in fix:
            fix += f": --max {limit}=N"
        reason = error.reason if error.reason.startswith(name) else f"{name}: {error.reason}"
        raise LimitError(limit, error.bound, reason=reason, fix=fix) from error
