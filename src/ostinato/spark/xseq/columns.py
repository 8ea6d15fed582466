"""Which columns of a DataFrame an XSeq query reads, keeps and gives: all checked before any job starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.core.options import check_column_name, check_column_names
from ostinato.documents.columns import column_documents
from ostinato.errors import DataError, Message, Option, did_you_mean
from ostinato.spark.columns import arrow_schema, column, spark_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

_USUAL = ("document", "value", "content")
ERROR = "error"


@dataclass(frozen=True)
class XSeqColumns:
    """The document's column, the kept ones, and the columns of the result."""

    document: str
    kind: DataType
    written: bool  # whether Spark writes the documents as JSON text, before they go to Python
    kept: tuple[str, ...]
    output: StructType

    @property
    def is_nested(self) -> bool:
        return not _is_text(self.kind)

    @property
    def read(self) -> list[Column]:
        """What tasks are given: the document first."""
        from pyspark.sql import functions as f

        first = f.to_json(column(self.document)) if self.written else column(self.document)
        return [each.alias(f"c{place}") for place, each in enumerate([first, *map(column, self.kept)])]


def choose_columns(
    frame: DataFrame, answer: pa.Schema, *, given: Any, keep: Any, files: bool, errors: bool
) -> XSeqColumns:
    """`answer` are the query's own columns; `errors`: there is one more, for what is wrong with a document."""
    document = _document(frame, check_column_name("column", given) or ("path" if files else None), files=files)
    kind = frame.schema[document].dataType
    written = _has_variant(kind)
    if not written:
        _check_type(frame, document)
    kept = _check_keep(frame, keep, document, files=files)
    arrow_schema(frame.schema, set(kept))  # those that Arrow does not know are refused
    return XSeqColumns(document, kind, written, kept, _output(frame, kept, answer, errors=errors))


def _document(frame: DataFrame, given: str | None, *, files: bool) -> str:
    of = {field.name: field.dataType for field in frame.schema.fields}
    if given is not None:
        if given not in of:
            fix = did_you_mean(given, of) or Message("name the column of the documents: ", Option("column"))
            absent = Message(Option("column", None), f" is `{given}`, but there is no such column")
            raise DataError(absent, fix=fix, option="column")
        if not (_is_string(of[given]) if files else _may_hold_documents(of[given])):
            wanted = "paths are text" if files else "documents are text, bytes, structs, arrays, maps or variants"
            raise DataError(f"`{given}` is of type {of[given].simpleString()}, but {wanted}", fix=_list_columns(of))
        return given
    possible = [column for column, kind in of.items() if _may_hold_documents(kind)]
    usual = [column for column in possible if column.lower() in _USUAL]
    for found in (possible, usual):
        if len(found) == 1:
            return found[0]
    reason = "several columns may hold the documents" if possible else "no column can hold documents"
    raise DataError(reason, fix=Message("name it with ", Option("column"), f"; {_list_columns(of)}"))


def _list_columns(of: dict[str, DataType]) -> str:
    return "the columns are " + ", ".join(f"`{column}` {kind.simpleString()}" for column, kind in of.items())


def _check_type(frame: DataFrame, document: str) -> None:
    """A type of column that cannot be written as JSON without loss is refused."""
    kind = arrow_schema(frame.schema, {document}).field(0).type
    try:
        list(column_documents(pa.array([], kind)))
    except DataError as error:
        raise DataError(f"`{document}`: {error.reason}", fix=error.fix) from None


def _check_keep(frame: DataFrame, keep: Any, document: str, *, files: bool) -> tuple[str, ...]:
    others = tuple(each for each in frame.columns if files or each != document)
    if keep is None or keep == "*":
        return others
    found = check_column_names("keep", keep)
    for each in found:
        if each not in frame.columns:
            raise DataError(
                f"keep has `{each}`, but there is no such column",
                fix=did_you_mean(each, frame.columns),
                option="keep",
            )
    return tuple(dict.fromkeys(found))


def _output(frame: DataFrame, kept: Sequence[str], answer: pa.Schema, *, errors: bool) -> StructType:
    from pyspark.sql.types import StringType, StructField, StructType

    fields = [frame.schema[each] for each in kept] + spark_type(answer).fields
    if errors:
        fields.append(StructField(ERROR, StringType()))
    exact = frame.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    seen: set[str] = set()
    for place, each in enumerate(fields):
        known = each.name if exact else each.name.lower()
        if known in seen:
            fix = Message(
                "name a column of the answer otherwise (return … as other), or leave kept ones out with ",
                Option("keep"),
            )
            if errors and place == len(fields) - 1:
                fix = Message(fix, ", or do without this one: ", Option("on_error", "skip"))
            raise DataError(f"the result would have two columns `{each.name}`", fix=fix)
        seen.add(known)
    return StructType(fields)


def _is_string(kind: DataType) -> bool:
    from pyspark.sql.types import StringType

    return isinstance(kind, StringType)


def _is_text(kind: DataType) -> bool:
    from pyspark.sql.types import BinaryType

    return _is_string(kind) or isinstance(kind, BinaryType)


def _may_hold_documents(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    return _is_text(kind) or isinstance(kind, StructType | ArrayType | MapType | VariantType)


def _has_variant(kind: DataType) -> bool:
    """Arrow has no JSON text for those, Spark has."""
    from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

    if isinstance(kind, StructType):
        return any(_has_variant(field.dataType) for field in kind.fields)
    if isinstance(kind, MapType):
        return _has_variant(kind.keyType) or _has_variant(kind.valueType)
    if isinstance(kind, ArrayType):
        return _has_variant(kind.elementType)
    return isinstance(kind, VariantType)
