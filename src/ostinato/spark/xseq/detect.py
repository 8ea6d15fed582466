"""XSeq queries over documents in the rows of a DataFrame, or in files; batch or streaming, one document at a time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from ostinato.documents.formats import Format
from ostinato.files.reader import OnError
from ostinato.spark.shipping import ship
from ostinato.spark.xseq.files import DOCUMENTS, read_documents
from ostinato.spark.xseq.plan import plan_xseq
from ostinato.xseq.limits import XSeqLimits
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
    """The answers of every document, lazily: the kept columns, those of the query, and `error`.

    `column` names the documents (default: the only column that may hold some, or the one named document, value or
    content); with `files` it holds paths (default: path), which tasks open. `keep` are the columns beside the answer:
    all others unless it says which. A document that cannot be read gives one row with the text of its `error`; with
    `on_error="skip"` none, and with "raise" it fails the job; both leave out the column. A row without a document has
    no answer. The others are options of `XSeqQuery.detect`; `format` is told from each document where it is not given.
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
