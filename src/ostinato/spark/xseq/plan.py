"""What a query does with a DataFrame of documents: columns and task, checked before any job starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

from ostinato.core.backends import is_spark_frame
from ostinato.core.options import bad_option
from ostinato.documents.byte_source import open_source
from ostinato.documents.encoding import to_utf8
from ostinato.documents.formats import Format
from ostinato.errors import DataError, Message, Option
from ostinato.files.reader import OnError
from ostinato.spark.frames import check_names
from ostinato.spark.shipping import NeededKernels
from ostinato.spark.xseq.columns import XSeqColumns, choose_columns
from ostinato.spark.xseq.task import XSeqTask
from ostinato.xseq.evaluate import open_tokens
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.query import XSeqQuery
from ostinato.xseq.runtime.rows import answer_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class XSeqPlan:
    columns: XSeqColumns
    task: XSeqTask
    kernels: NeededKernels


def plan_xseq(
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
) -> XSeqPlan:
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
    task = XSeqTask(query.text, made.matches, made.schema, schema, files, found, on_error, options)
    return XSeqPlan(columns, task, _needed_kernels(found, one_pass=made.stream is not None))


def _needed_kernels(format: Format | None, *, one_pass: bool) -> NeededKernels:
    """Those of one evaluator, and of the formats that documents may have."""
    formats = {"xml": ("xml",), None: ("xml", "json")}.get(format, ("json",))
    evaluator = "one_pass" if one_pass else "buffered"
    return NeededKernels(
        (
            "core", "documents.kernels", *(f"documents.{each}" for each in formats),
            "xseq.kernels.values", "xseq.kernels.conform", f"xseq.kernels.{evaluator}",
        )
    )  # fmt: skip


def _check(query: XSeqQuery, format: Any, nested: bool, limits: XSeqLimits, **reading: Any) -> None:
    """Open an empty document with these options, and make all that is made of a query when it is first run."""
    if format is not None and format not in get_args(Format):
        raise bad_option("format", format, '"xml", "json" or "jsonl"')
    if nested and format not in (None, "json"):
        raise DataError(
            "structs, arrays, maps and variants are read as JSON", fix=Message("leave out ", Option("format", format))
        )
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
