"""Tables as the bytes of a file, by its extension."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from ostinato.errors import DataError, Message, Option
from ostinato.files.render import TEXT, json_lines, json_texts

EXTENSIONS = (".parquet", ".csv", ".jsonl", ".ndjson", ".json", ".arrow", ".feather", ".ipc")
_BLOCK_ROWS, _BLOCK_BYTES = 1 << 16, 1 << 25  # rows rendered as text at a time, and about how much they may hold


def encode_tables(
    sink: Any, extension: str, schema: pa.Schema
) -> tuple[Callable[[pa.Table], None], Callable[[], None]]:
    """What writes tables of this schema to a sink, and what ends them. Lines of JSON may have other columns each."""
    if extension == ".parquet":
        parquet = pq.ParquetWriter(sink, schema)
        return _of_one_schema(schema, parquet.write_table), parquet.close
    if extension == ".csv":
        flat = pa.schema([(field.name, _csv_type(field.type)) for field in schema])
        rows = arrow_csv.CSVWriter(sink, flat)
        return _of_one_schema(schema, lambda table: _write_csv(rows, table, flat)), rows.close
    if extension in (".arrow", ".feather", ".ipc"):
        batches = ipc.new_file(sink, schema)
        return _of_one_schema(schema, batches.write_table), batches.close
    return lambda table: _write_lines(sink, table), lambda: None


def _of_one_schema(schema: pa.Schema, write: Callable[[pa.Table], None]) -> Callable[[pa.Table], None]:
    """Live events may come with further columns, or wider ones: so may what is found in them."""

    def write_checked(table: pa.Table) -> None:
        if not table.schema.equals(schema):
            changed = [field.name for field in table.schema if field not in list(schema)]
            raise DataError(
                f"further rows differ in the columns {', '.join(changed)}, or lack some, which such a file cannot have",
                fix=Message("write JSON lines, or say what the columns hold with ", Option("kind")),
            )
        write(table)

    return write_checked


def _write_lines(sink: Any, table: pa.Table) -> None:
    for batch in _blocks(table):
        sink.write(json_lines(batch))


def _write_csv(rows: arrow_csv.CSVWriter, table: pa.Table, flat: pa.Schema) -> None:
    for batch in _blocks(table):
        columns = [_csv_column(column, field.type) for field, column in zip(flat, batch.columns, strict=True)]
        rows.write_batch(pa.record_batch(columns, schema=flat))


def _blocks(table: pa.Table) -> Iterator[pa.RecordBatch]:
    row = table.nbytes // max(table.num_rows, 1) + 1
    yield from table.to_batches(max_chunksize=max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // row)))


def _csv_type(kind: pa.DataType) -> pa.DataType:
    """CSV has no lists, structs and the like: they are written as JSON text."""
    types = pa.types
    if types.is_binary_view(kind):
        return pa.binary()
    other = types.is_nested(kind) or types.is_interval(kind) or isinstance(kind, pa.BaseExtensionType)
    return TEXT if other or types.is_string_view(kind) else kind


def _csv_column(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if column.type == kind:
        return column
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):
        return column.cast(kind)
    texts = json_texts(column)
    if isinstance(column.type, pa.UuidType):
        texts = pc.utf8_trim(texts, '"')
    return pc.if_else(column.is_valid(), texts, pa.scalar(None, TEXT)) if column.null_count else texts
