"""XSeq queries over documents in the rows of a DataFrame, or in files; batch or streaming, one document at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from ostinato.core.backends import is_spark_frame
from ostinato.core.options import bad_option
from ostinato.documents.byte_source import open_source
from ostinato.documents.encoding import to_utf8
from ostinato.documents.formats import Format
from ostinato.errors import DataError
from ostinato.files.reader import OnError
from ostinato.spark.frames import check_names
from ostinato.spark.xseq.columns import XSeqColumns, choose_columns
from ostinato.spark.xseq.files import DOCUMENTS, read_documents
from ostinato.spark.xseq.task import OUTPUT_BYTES, OUTPUT_ROWS, XSeqTask
from ostinato.xseq.evaluate import open_tokens
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.query import XSeqQuery
from ostinato.xseq.runtime.rows import answer_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["detect_xseq", "explain_xseq", "read_documents", "run_folder"]


def detect_xseq(
    query: XSeqQuery,
    frame: DataFrame,
    /,
    *,
    column: str | None = None,
    files: bool = False,
    keep: str | Sequence[str] | None = None,
    on_error: OnError = "collect",
    format: Format | None = None,
    doctype: Literal["refuse", "skip"] = "refuse",
    encoding: str | None = None,
    namespaces: Mapping[str, str] | None = None,
    root: str = "json",
    record: str = "item",
    limits: XSeqLimits | None = None,
) -> DataFrame:
    """The answers of every document, lazily: the kept columns, those of the query, and `error`.

    `column` names the documents (default: the only column that may hold some, or the one named document, value or
    content); with `files` it holds paths (default: path), which tasks open. `keep` are the columns beside the answer:
    all others unless it says which. A document that cannot be read gives one row with the text of its `error`; with
    `on_error="skip"` none, and with "raise" it fails the job; both leave out the column. A row without a document has
    no answer. The others are options of `XSeqQuery.detect`; `format` is told from each document where it is not given.
    """
    plan = _plan(
        query, frame, column=column, files=files, keep=keep, on_error=on_error, format=format, doctype=doctype,
        encoding=encoding, namespaces=namespaces, root=root, record=record, limits=limits,
    )  # fmt: skip
    return frame.select(*plan.columns.read).mapInArrow(plan.task, plan.columns.output)


def run_folder(
    query: XSeqQuery,
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    glob: str | Sequence[str] = DOCUMENTS,
    keep: str | Sequence[str] = ("path",),
    on_error: OnError = "collect",
    format: Format | None = None,
    doctype: Literal["refuse", "skip"] = "refuse",
    encoding: str | None = None,
    namespaces: Mapping[str, str] | None = None,
    root: str = "json",
    record: str = "item",
    limits: XSeqLimits | None = None,
) -> DataFrame:
    """Find the answers of a query in every document of a folder.

    Parameters
    ----------
    query
        A query in XSeq.
    spark
        The session.
    path, glob
        The folder, or a file, and what the names of files must fit: see `read_documents`.
    keep
        Columns of `read_documents` beside the answer: `path`, `length`, `modified`.
    on_error, format, doctype, encoding, namespaces, root, record, limits
        How documents are read, as for `detect_xseq`.

    Returns
    -------
    DataFrame
        The answers, each with the path of its document.
    """
    frame = read_documents(spark, path, glob=glob)
    read_by_spark = "content" in frame.columns
    column = "content" if read_by_spark else "path"
    return detect_xseq(
        query, frame, column=column, files=not read_by_spark, keep=keep, on_error=on_error, format=format,
        doctype=doctype, encoding=encoding, namespaces=namespaces, root=root, record=record, limits=limits,
    )  # fmt: skip


def explain_xseq(query: XSeqQuery, frame: DataFrame, /, **options: Any) -> str:
    """What Spark does around the query, in words. `options` are those of `detect_xseq`."""
    plan = _plan(query, frame, **options)
    columns, task = plan.columns, plan.task
    bad = {
        "collect": "one row each, with what is wrong in `error`",
        "skip": "left out",
        "raise": "fail the job",
    }
    shown = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in columns.output.fields)
    return "\n".join(
        [
            f"Spark, {'streaming' if frame.isStreaming else 'batch'}: rows stay in their partitions, no state",
            f"  documents      {_documents(columns, task)}",
            "  in a task      one document after the other passes the query, which a worker compiles once",
            f"                 rows leave in batches of {OUTPUT_ROWS:,} or {OUTPUT_BYTES >> 20} MiB",
            f"  bad documents  {bad[task.on_error]}",
            f"  gives          {shown}",
        ]
    )


def _documents(columns: XSeqColumns, task: XSeqTask) -> str:
    if task.files:
        return f"files named in `{columns.document}`, opened in the tasks and read piece by piece"
    if columns.written:
        return f"`{columns.document}`, written as JSON by Spark's to_json"
    if columns.is_nested:
        return f"`{columns.document}`, handed over as Arrow and written as JSON in the tasks"
    what = {"xml": "XML", "json": "JSON", "jsonl": "JSON lines"}.get(task.format or "", "XML or JSON, as each begins")
    return f"`{columns.document}`: {what}"


@dataclass(frozen=True)
class _Plan:
    columns: XSeqColumns
    task: XSeqTask


def _plan(
    query: XSeqQuery,
    frame: DataFrame,
    *,
    column: Any = None,
    files: Any = False,
    keep: Any = None,
    on_error: Any = "collect",
    format: Any = None,
    limits: Any = None,
    **reading: Any,
) -> _Plan:
    """Everything that can be known to be wrong is said here, before any job starts."""
    if not is_spark_frame(frame):
        raise bad_option("frame", frame, "a DataFrame of Spark")
    check_names(frame)
    if not isinstance(files, bool):
        raise bad_option("files", files, "True or False")
    if on_error not in get_args(OnError):
        raise bad_option("on_error", on_error, '"collect", "skip" or "raise"')
    if limits is not None and not isinstance(limits, XSeqLimits):
        raise bad_option("limits", limits, "an ostinato.XSeqLimits")
    made = query.compiled
    schema = answer_schema(made.program)
    columns = choose_columns(frame, schema, given=column, keep=keep, files=files, errors=on_error == "collect")
    _check(query, format, columns.is_nested, limits or XSeqLimits(), **reading)
    if (spaces := reading.get("namespaces")) is not None:
        reading["namespaces"] = dict(spaces)
    options = {**reading, "limits": limits}
    found: Format | None = "json" if columns.is_nested else format
    return _Plan(columns, XSeqTask(query.text, made.matches, made.schema, schema, files, found, on_error, options))


def _check(query: XSeqQuery, format: Any, nested: bool, limits: XSeqLimits, **reading: Any) -> None:
    """Open an empty document with these options, and make all that is made of a query when it is first run."""
    if format is not None and format not in get_args(Format):
        raise bad_option("format", format, '"xml", "json" or "jsonl"')
    if nested and format not in (None, "json"):
        raise DataError("structs, arrays, maps and variants are read as JSON", fix=f"leave out format={format!r}")
    if reading.get("doctype", "refuse") not in ("refuse", "skip"):
        raise bad_option("doctype", reading["doctype"], '"refuse" or "skip"')
    for option in ("root", "record"):
        if option in reading and not (isinstance(reading[option], str) and reading[option]):
            raise bad_option(option, reading[option], "a name")
    if not isinstance(encoding := reading.get("encoding"), str | None):
        raise bad_option("encoding", encoding, 'the name of an encoding, such as "latin-1"')
    spaces = reading.get("namespaces")
    if spaces is not None and not (
        isinstance(spaces, Mapping) and all(isinstance(text, str) for pair in spaces.items() for text in pair)
    ):
        raise bad_option("namespaces", spaces, "a dict of prefixes and their namespaces")
    to_utf8(open_source(b"", None)[0], encoding, None)
    compiled = query.compiled
    compiled.evaluator(limits)
    opened = open_tokens(compiled, b"<a/>", format or ("json" if nested else "xml"), limits, **reading)
    opened.close()
