"""What `ostinato.xseq(text)` returns: a compiled query over documents, and its verbs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ostinato.errors import DataError, OstinatoError, QueryError
from ostinato.options import bad_option
from ostinato.query import is_spark_frame
from ostinato.runtime.xseq.limits import XSeqLimits
from ostinato.xseq_compile import Compiled, Matches, compile_xseq

if TYPE_CHECKING:
    import pyarrow as pa

    from ostinato.tree.columns import Format
    from ostinato.tree.schema import Schema
    from ostinato.viz.vpa_diagram import VPADiagram

OnError = Literal["raise", "skip", "collect"]
_OPTIONS = frozenset(("doctype", "encoding", "namespaces", "root", "record", "on_error", "name", "chunk_size", "whole"))


class TreeQuery:
    """An XSeq query, checked and compiled; it can be run over any number of documents."""

    def __init__(self, text: str, *, matches: Matches = "all", schema: Any = None) -> None:
        if not isinstance(text, str):
            raise QueryError(f"a query is text, not {type(text).__name__}")
        self.text = text
        self._compiled: Compiled = compile_xseq(text, matches=matches, schema=_schema(schema))

    @property
    def compiled(self) -> Compiled:
        """The query after every stage."""
        return self._compiled

    @property
    def columns(self) -> list[str]:
        """The names of the columns of the answer."""
        return [column.name for column in self._compiled.program.columns]

    @property
    def warnings(self) -> list[str]:
        """What is legal but probably not meant."""
        return [note.text for note in self._compiled.notes if note.never]

    def detect(self, source: Any, /, **options: Any) -> Any:
        """The answer as a table: of a document, one row per match; of a column of documents, with their row numbers.

        `source` is a path, bytes, an open binary file, text that begins like a document, an Arrow array or column of
        documents (XML or JSON as text or bytes; structs, lists and maps), or a Spark DataFrame (`column=` names the
        documents). Options: `format` ("xml", "json", "jsonl"; else guessed), `doctype` ("refuse" or "skip"),
        `encoding`, `namespaces`, `root` and `record` (names for JSON), `on_error` ("raise", "skip"; "collect" for
        columns), `limits`.
        """
        import pyarrow as pa

        if is_spark_frame(source):
            from ostinato.spark.xseq import detect_xseq

            return detect_xseq(self, source, **options)
        if _is_column(source):
            return self._detect_column(source, **options)
        tables = list(self._tables(source, sort=True, **options))
        return pa.concat_tables(tables) if tables else self._schema().empty_table()

    def batches(self, source: Any, /, **options: Any) -> Iterator[pa.Table]:
        """The answer in pieces, each as soon as its matches are certain: for documents larger than memory.

        Rows come in the order in which they become certain. Options as for `detect`.
        """
        return (
            iter([self.detect(source, **options)])
            if _is_column(source)
            else self._tables(source, sort=False, **options)
        )

    def count(self, source: Any, /, **options: Any) -> int:
        """How many rows `detect` would return."""
        return sum(table.num_rows for table in self.batches(source, **options))

    def recognises(self, source: Any, /, **options: Any) -> bool:
        """Whether a document has a match at all; reading stops at the first one.

        Navigation with axes that lead back is decided by the automaton of the paper's section 6, in one pass and with
        a stack as deep as the document.
        """
        from ostinato.automata.cxseq_vpa import Recogniser, to_basic_or_none
        from ostinato.tree.words import from_source

        basic = to_basic_or_none(self._compiled.query.path) if self._compiled.is_navigation else None
        if self._compiled.obstacle is None or basic is None or _is_column(source):
            return any(table.num_rows for table in self.batches(source, **options))
        return Recogniser(basic).run(from_source(self._tokens(source, whole=True, **options)))

    def explain(self, frame: Any = None, /, **options: Any) -> str:
        """Every stage as text, down to how documents are evaluated and what is kept of them.

        Of a Spark DataFrame, with the options of `detect`, also what Spark does around that.
        """
        from ostinato.xseq_explain import explain

        if frame is None:
            return explain(self._compiled)
        from ostinato.spark.xseq import explain_xseq

        return f"{explain(self._compiled)}\n\n{explain_xseq(self, frame, **options)}"

    def diagram(self) -> VPADiagram:
        """The visibly pushdown automaton as a picture; shows itself in a notebook."""
        from ostinato.xseq_explain import diagram

        return diagram(self._compiled)

    def __repr__(self) -> str:
        return f"ostinato.xseq({self.text!r})"

    # --- documents

    def _schema(self) -> pa.Schema:
        from ostinato.runtime.xseq.rows import schema_of

        return schema_of(self._compiled.program)

    def _tables(
        self, source: Any, *, sort: bool, limits: XSeqLimits | None = None, **options: Any
    ) -> Iterator[pa.Table]:
        from ostinato.runtime.xseq.rows import assemble
        from ostinato.runtime.xseq.run import rows_of

        bounds = _limits(limits)
        tokens = self._tokens(source, limits=bounds, **options)
        sort = sort and self._out_of_order
        return iter(assemble(self._compiled.program, rows_of(self._compiled, tokens, bounds), sort=sort))

    def _tokens(
        self, source: Any, *, format: Format | None = None, limits: XSeqLimits | None = None, **options: Any
    ) -> Any:
        """A source of tokens; what kind of document it is, is guessed where it is not said."""
        from ostinato.runtime.xseq.run import source_of
        from ostinato.tree.columns import guess_format

        if isinstance(source, str) and source.lstrip()[:1] in ("<", "{", "["):
            source = source.encode()
        for option in options.keys() - _OPTIONS:
            raise bad_option("an option", option, f"one of {', '.join(sorted(_OPTIONS))}")
        if format is None:
            format = guess_format(source) if isinstance(source, str | bytes | os.PathLike) else "xml"
        if format not in ("xml", "json", "jsonl"):
            raise bad_option("format", format, '"xml", "json" or "jsonl"')
        return source_of(self._compiled, source, format, _limits(limits), **options)

    @property
    def _out_of_order(self) -> bool:
        """Whether matches may become certain in another order than they are shown in."""
        stream = self._compiled.stream
        return stream is None or stream.settled_late or stream.longest or stream.answers_nodes

    def _detect_column(self, column: Any, *, on_error: OnError = "raise", **options: Any) -> pa.Table:
        """The answers of every document of a column, with the number of its row first."""
        import numpy as np
        import pyarrow as pa

        from ostinato.tree.columns import documents, guess_format, holds_json

        if on_error not in ("raise", "skip", "collect"):
            raise bad_option("on_error", on_error, 'on_error="raise", "skip" or "collect"')
        schema = self._schema()
        for name in ("row", "error") if on_error == "collect" else ("row",):
            if name in schema.names:
                raise QueryError(f"the answer for a column has a column `{name}` of its own", fix=f"`… as my_{name}`")
        found: list[pa.Table] = []
        rows: list[int] = []
        bad: list[tuple[int, str]] = []
        given = options.pop("format", "json" if holds_json(column.type) else None)
        for row, document in documents(column):
            try:
                kind = given or guess_format(bytes(document))
                # all of it first: a document that turns out to be bad gives no rows
                tables = list(self._tables(document, sort=True, format=kind, name=f"row {row}", **options))
                found += tables
                rows += [row] * len(tables)
            except OstinatoError as error:
                if on_error == "raise":
                    raise
                bad.append((row, str(error)))
        sizes = [table.num_rows for table in found]
        numbers = pa.array(np.repeat(np.array(rows, np.int64), sizes))
        whole = pa.concat_tables([*found, schema.empty_table()]).add_column(0, "row", numbers)
        if on_error != "collect":
            return whole
        none = pa.nulls(len(bad))
        errors = pa.table(
            [pa.array([row for row, _ in bad], pa.int64()), *(none.cast(field.type) for field in schema)],
            schema=whole.schema,
        )
        texts = pa.array([None] * whole.num_rows + [text for _, text in bad], pa.string())
        return pa.concat_tables([whole, errors]).append_column("error", texts).sort_by("row")


def _is_column(source: Any) -> bool:
    """Whether it is an Arrow column of documents."""
    import pyarrow as pa

    return isinstance(source, pa.Array | pa.ChunkedArray)


def _limits(limits: XSeqLimits | None) -> XSeqLimits:
    if limits is not None and not isinstance(limits, XSeqLimits):
        raise bad_option("limits", limits, "an ostinato.XSeqLimits")
    return limits or XSeqLimits()


def _schema(given: Any) -> Schema | None:
    """A schema from a .dtd or .xsd file, or from a sample document."""
    from ostinato.tree.schema import Schema

    if given is None or isinstance(given, Schema):
        return given
    if isinstance(given, str | os.PathLike):
        from ostinato.tree.schema_file import schema_file

        return schema_file(given)
    if isinstance(given, Mapping):
        raise bad_option("schema", given, "the path of a .dtd, .xsd or sample .xml file")
    raise DataError(f"a schema is a path, not {type(given).__name__}", fix="give a .dtd, .xsd or sample .xml file")
