"""XSeq queries over documents in the rows of a DataFrame, or in files; batch or streaming, one document at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Unpack

from ostinato.documents.formats import Format
from ostinato.files.reader import OnError
from ostinato.spark.shipping import ship
from ostinato.spark.xseq.files import DOCUMENTS, read_documents
from ostinato.spark.xseq.plan import plan_xseq
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.options import DocumentOptions
from ostinato.xseq.query import XSeqQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["detect_xseq", "read_documents", "run_folder"]


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
    """The answers of every document, lazily. A row without a document has no answer.

    Parameters
    ----------
    query
        A query in XSeq.
    frame
        Rows with documents, or with the paths of documents.
    column
        Which column that is (default: the only one that may hold documents, or the one named document, value or
        content; with `files`, path).
    files
        Whether the column holds paths, which tasks open.
    keep
        The columns beside the answer (default: all others).
    on_error
        What a document that cannot be read gives: with "collect" one row with the text of its `error`, with "skip"
        none; with "raise" it fails the job. The last two leave out the column `error`.
    format, doctype, encoding, namespaces, root, record, limits
        How documents are read, as for `XSeqQuery.detect`.

    Returns
    -------
    DataFrame
        The kept columns, those of the query, and `error`.
    """
    plan = plan_xseq(
        query, frame, column=column, files=files, keep=keep, on_error=on_error, format=format, doctype=doctype,
        encoding=encoding, namespaces=namespaces, root=root, record=record, limits=limits,
    )  # fmt: skip
    ship(frame.sparkSession, plan.kernels)
    return frame.select(*plan.columns.read).mapInArrow(plan.task, plan.columns.output)


def run_folder(
    query: XSeqQuery,
    spark: SparkSession,
    path: str | os.PathLike[str],
    *,
    glob: str | Sequence[str] = DOCUMENTS,
    keep: str | Sequence[str] = ("path",),
    **options: Unpack[DocumentOptions],
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
    options
        How documents are read: `on_error`, `format`, `doctype`, `encoding`, `namespaces`, `root`, `record` and
        `limits`, as for `detect_xseq`.

    Returns
    -------
    DataFrame
        The answers, each with the path of its document.
    """
    frame = read_documents(spark, path, glob=glob)
    read_by_spark = "content" in frame.columns
    column = "content" if read_by_spark else "path"
    return detect_xseq(query, frame, column=column, files=not read_by_spark, keep=keep, **options)
