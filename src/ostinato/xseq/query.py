"""What `ostinato.xseq(text)` returns: a compiled query over documents, and its verbs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

from ostinato.core.backends import is_spark_frame, spark_backend
from ostinato.core.options import bad_option
from ostinato.core.threads import check_threads
from ostinato.errors import DataError, QueryError
from ostinato.xseq.compile import CompiledXSeq, Matches, compile_xseq
from ostinato.xseq.limits import XSeqLimits

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.core.frames import Frame, SparkFrame
    from ostinato.documents.formats import Format
    from ostinato.documents.schema.model import Schema
    from ostinato.files.reader import OnError
    from ostinato.xseq.document_answers import QueryRun
    from ostinato.xseq.options import DocumentSource, FrameOptions, ReadOptions
    from ostinato.xseq.paper.diagram import VPADiagram

_READING = frozenset(("doctype", "encoding", "namespaces", "root", "record", "chunk_size"))
_OTHERS = frozenset(("column", "format", "limits", "name", "on_error", "threads"))


class XSeqQuery:
    """An XSeq query, checked and compiled; it can be run over any number of documents."""

    def __init__(self, text: str, *, matches: Matches = "all", schema: Any = None) -> None:
        if not isinstance(text, str):
            raise QueryError(f"a query is text, not {type(text).__name__}")
        self.text = text
        self._compiled: CompiledXSeq = compile_xseq(text, matches=matches, schema=_schema(schema))

    @property
    def compiled(self) -> CompiledXSeq:
        """The query after every stage."""
        return self._compiled

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the answer."""
        return [column.name for column in self._compiled.program.columns]

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant."""
        from ostinato.xseq.syntax.warnings import find_warnings

        never = (note.text for note in self._compiled.notes if note.never)
        return [*never, *find_warnings(self.text, self._compiled.written)]

    @overload
    def detect(self, source: Frame, /, **options: Unpack[FrameOptions]) -> Frame: ...
    @overload
    def detect(self, source: DocumentSource, /, **options: Unpack[ReadOptions]) -> pa.Table: ...
    def detect(self, source: Any, /, **options: Any) -> Any:
        """The answer: one row per match.

        Parameters
        ----------
        source
            A document: a path, bytes, an open binary file, or text that begins like one. Or many: a folder, a pattern
            or a list of files (the answer begins with a column `document`); an Arrow, pandas or polars column, or a
            table or files of tables with one (column `row`). Or a Spark DataFrame. Documents are XML or JSON, also
            compressed; in columns also structs, lists and maps.
        column
            Which column of a table holds the documents.
        format
            "xml", "json" or "jsonl"; guessed from each document unless given.
        on_error
            What to do with a document that cannot be read: "raise", "skip", or for many documents "collect".
        doctype
            "refuse" documents with a DOCTYPE, or "skip" the DOCTYPE. It is never expanded.
        encoding, namespaces
            The encoding of documents that do not say; the prefixes that the query uses.
        root, record
            What the elements are called that stand for a JSON text and for the items of a list.
        limits
            Bounds on depth, matches and memory.
        threads
            On how many cores to read different documents at most (default: all). The answer does not depend on it.
        files, keep
            For Spark DataFrames only: see `ostinato.spark.xseq.detect_xseq`.

        Returns
        -------
        pyarrow.Table, or a Spark DataFrame for a Spark DataFrame
        """
        if is_spark_frame(source):
            return spark_backend().detect_xseq(self, source, **options)
        return self._run(source, whole=True, ahead=True, **options).table()

    def batches(self, source: DocumentSource, /, **options: Unpack[ReadOptions]) -> Iterator[pa.Table]:
        """The answer in pieces, each as soon as its matches are certain: for documents larger than memory.

        Parameters
        ----------
        source, options
            As for `detect`, except Spark DataFrames.

        Returns
        -------
        Iterator of pyarrow.Table
            The rows in the order in which they become certain.
        """
        return self._run(source, **options).tables()

    def count(self, source: DocumentSource, /, **options: Unpack[ReadOptions]) -> int:
        """How many matches `detect` would return.

        Parameters
        ----------
        source, options
            As for `detect`, except Spark DataFrames.
        """
        return self._run(source, texts=False, ahead=True, **options).count()

    def recognises(self, source: DocumentSource, /, **options: Unpack[ReadOptions]) -> bool:
        """Whether a document, or one of many, has a match at all; reading stops at the first one.

        Navigation with axes that lead back is decided by the automaton of the paper's section 6, in one pass and with
        a stack as deep as the document.

        Parameters
        ----------
        source, options
            As for `detect`, except Spark DataFrames.
        """
        return self._run(source, texts=False, **options).recognises()

    def explain(self, frame: SparkFrame | None = None, /, **options: Unpack[FrameOptions]) -> str:
        """Every stage as text: the query, the walk that runs, how documents are evaluated and what is kept of them.

        Parameters
        ----------
        frame
            A Spark DataFrame, to see also what Spark does around that.
        options
            Those that `detect` would get for the DataFrame.
        """
        from ostinato.xseq.explain import explain_xseq_query

        if frame is None:
            return explain_xseq_query(self._compiled)
        return f"{explain_xseq_query(self._compiled)}\n\n{spark_backend().explain_xseq(self, frame, **options)}"

    def diagram(self) -> VPADiagram:
        """The visibly pushdown automaton of the paper as a picture; shows itself in a notebook.

        It accepts the same documents as the query. What runs is the walk, which `explain` shows.
        """
        from ostinato.xseq.explain import diagram

        return diagram(self._compiled)

    def __repr__(self) -> str:
        return f"ostinato.xseq({self.text!r})"

    def _run(
        self,
        source: Any,
        *,
        whole: bool = False,
        texts: bool = True,
        column: str | None = None,
        format: Format | None = None,
        on_error: OnError = "raise",
        limits: XSeqLimits | None = None,
        name: str | None = None,
        threads: int | None = None,
        ahead: bool = False,
        **options: Any,
    ) -> QueryRun:
        """`whole`: the answer will be one table, in order; without `texts` it is only counted; `ahead`: all documents
        will be read, so that several may be at a time."""
        from ostinato.xseq.document_answers import DocumentAnswers, QueryRun
        from ostinato.xseq.inputs import resolve_documents

        for option in options.keys() - _READING:
            raise bad_option("an option", option, f"one of {', '.join(sorted(_READING | _OTHERS))}")
        if format not in (None, "xml", "json", "jsonl"):
            raise bad_option("format", format, '"xml", "json" or "jsonl"')
        if on_error not in ("raise", "skip", "collect"):
            raise bad_option("on_error", on_error, '"raise", "skip" or "collect"')
        documents = resolve_documents(source, column=column, format=format, name=name, on_error=on_error)
        if documents.labels is None:
            # a document alone is read or not; only of JSON lines a part can be left out
            options["on_error"], on_error = on_error, "raise"
        answers = DocumentAnswers(
            self._compiled, on_error=on_error, sort=whole and self._out_of_order, whole=whole, texts=texts,
            format=format, limits=_limits(limits), options=options,
            threads=1 if documents.labels is None or not ahead else check_threads(threads),
        )  # fmt: skip
        return QueryRun(answers, documents)

    @property
    def _out_of_order(self) -> bool:
        """Whether matches may become certain in another order than they are shown in."""
        stream = self._compiled.stream
        return stream is None or stream.settled_late or stream.longest or stream.answers_nodes


def _limits(limits: XSeqLimits | None) -> XSeqLimits:
    if limits is not None and not isinstance(limits, XSeqLimits):
        raise bad_option("limits", limits, "an ostinato.XSeqLimits")
    return limits or XSeqLimits()


def _schema(given: Any) -> Schema | None:
    """A schema from a .dtd or .xsd file, or from a sample document."""
    from ostinato.documents.schema.model import Schema

    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, str | os.PathLike):
        from ostinato.documents.schema.load import load_schema

        return load_schema(given)
    if isinstance(given, Mapping):
        raise bad_option("schema", given, "the path of a .dtd, .xsd or sample .xml file")
    raise DataError(f"a schema is a path, not {type(given).__name__}", fix="give a .dtd, .xsd or sample .xml file")
