"""What users hand to `ostinato.xseq(…)` as documents: one of them, files, folders, columns and tables."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from ostinato.core.events import to_arrow
from ostinato.core.options import check_column_name as checked_name
from ostinato.documents.columns import holds_json, may_hold_documents
from ostinato.documents.formats import Format
from ostinato.documents.sources import DocumentColumn, DocumentFiles, DocumentRows, Documents, SingleDocument
from ostinato.errors import DataError, Message, Option, did_you_mean
from ostinato.files.reader import OnError, expand_path

USUAL = ("document", "value", "content")  # columns of documents, where several might hold some
_AS_COLUMN = "give documents as an Arrow column: pa.array(documents)"


def resolve_documents(
    source: Any, *, column: str | None, format: Format | None, name: str | None, on_error: OnError
) -> Documents:
    """The documents of a source. `column` names those of a table; `name` is what errors call a document alone."""
    checked_name("column", column)
    if isinstance(source, list | tuple):
        paths = _paths(source)
        return DocumentFiles(paths, listed=True) if column is None else DocumentRows(paths, column, on_error)
    if isinstance(source, str | os.PathLike):
        if isinstance(source, str) and _is_text(source, format):
            return SingleDocument(source.encode(), format, name)
        return _of_path(source, format, name) if column is None else DocumentRows([source], column, on_error)
    table = _table(source)
    if table is not None:
        return _check_column(table[_documents(table.schema, column)], format)
    if column is not None:
        reason = Message(Option("column", None), f" is `{column}`, but {type(source).__name__} has no columns")
        raise DataError(reason, fix="leave it out", option="column")
    found = _column(source)
    return SingleDocument(source, format, name) if found is None else _check_column(found, format)


def _check_column(column: pa.Array | pa.ChunkedArray, format: Format | None) -> DocumentColumn:
    if holds_json(column.type) and format not in (None, "json"):
        raise DataError("structs, lists and maps are read as JSON", fix=Message("leave out ", Option("format", format)))
    return DocumentColumn(column)


def _is_text(source: str, format: Format | None) -> bool:
    """Whether it is a document and not the path of one: by how it begins, or as no path has several lines."""
    if not source.strip():
        raise DataError("the text is empty: neither a document nor a path", fix="give a path, or a document as bytes")
    begins = source.lstrip(" \t\r\n\ufeff")[:1] in ("<", "{", "[")
    return begins or (format is not None and "\n" in source)


def _of_path(path: str | os.PathLike[str], format: Format | None, name: str | None) -> Documents:
    text = os.fspath(path)
    if os.path.isdir(text) or (glob.has_magic(text) and not os.path.exists(text)):
        return DocumentFiles([text])
    if (format is not None or "\n" in text) and not os.path.exists(text):
        fix = "check the path; a document itself is given as bytes"
        raise DataError("there is no such file", source=text[:200], fix=fix)
    return SingleDocument(str(*expand_path(Path(text), (), "documents")), format, name)


def _paths(source: Sequence[Any]) -> list[str]:
    for each in source:
        if not isinstance(each, str | os.PathLike):
            raise DataError(f"a list of {type(each).__name__} is not a list of files", fix=_AS_COLUMN)
        if isinstance(each, str) and _is_text(each, None):
            raise DataError("a list of texts is not a list of files", fix=_AS_COLUMN)
    if not source:
        raise DataError("the list of files is empty", fix="name at least one file or folder")
    return [os.fspath(each) for each in source]


def _column(source: Any) -> pa.Array | pa.ChunkedArray | None:
    """A column as Arrow has it; pandas and polars are recognised by their names, and not imported."""
    if isinstance(source, pa.Array | pa.ChunkedArray):
        return source
    try:
        if type(source).__name__ == "Series" and type(source).__module__.startswith("pandas."):
            return pa.array(source, from_pandas=True)
        if hasattr(source, "__arrow_c_stream__"):
            return pa.chunked_array(source)
        return pa.array(source) if hasattr(source, "__arrow_c_array__") else None
    except (pa.ArrowException, TypeError, OverflowError, UnicodeError) as error:
        raise DataError(f"the column cannot be read: {error}", fix=_AS_COLUMN) from error


def _table(source: Any) -> pa.Table | None:
    """A table in any form that events may have, except lists; None if the source is not a table."""
    if isinstance(source, pa.Table):
        return source
    streams = hasattr(source, "__arrow_c_stream__") and type(source).__name__ not in ("Series", "ChunkedArray")
    named = type(source).__name__ in ("DataFrame", "LazyFrame")
    return to_arrow(source) if named or streams or isinstance(source, pa.RecordBatch) else None


def _documents(schema: pa.Schema, given: str | None) -> str:
    if given is not None:
        if given not in schema.names:
            fix = did_you_mean(given, schema.names) or Message("name the column of the documents: ", Option("column"))
            absent = Message(Option("column", None), f" is `{given}`, but there is no such column")
            raise DataError(absent, fix=fix, option="column")
        return given
    possible = [each.name for each in schema if may_hold_documents(each.type)]
    usual = [each for each in possible if each.lower() in USUAL]
    for found in (possible, usual):
        if len(found) == 1:
            return str(found[0])
    reason = "several columns may hold the documents" if possible else "no column can hold documents"
    shown = ", ".join(f"`{each.name}` {each.type}" for each in schema)
    raise DataError(reason, fix=Message("name it with ", Option("column"), f"; the columns are {shown}"))
