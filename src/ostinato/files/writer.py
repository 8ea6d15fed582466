"""Writes tables to a file that appears complete or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from ostinato.errors import DataError
from ostinato.files.render import TEXT, json_lines, json_texts

EXTENSIONS = (".parquet", ".csv", ".jsonl", ".ndjson", ".json", ".arrow", ".feather", ".ipc")
_BLOCK_ROWS, _BLOCK_BYTES = 1 << 16, 1 << 25  # rows rendered as text at a time, and about how much they may hold


class Writer:
    """Write tables of one schema to a file.

    Everything goes to a temporary file beside it, which replaces it when the `with` block succeeds and is removed when
    it fails.

    Parameters
    ----------
    path
        The file; its extension sets the format.
    schema
        The columns. Without it the first table gives them; with it, a file without rows can be written.
    """

    def __init__(self, path: str | os.PathLike[str], schema: pa.Schema | None = None) -> None:
        self.path = Path(path)
        self.rows = 0
        if self.path.suffix.lower() not in EXTENSIONS:
            raise DataError(
                f"cannot write a `{self.path.suffix or self.path.name}` file",
                source=str(path),
                fix=f"use one of {', '.join(EXTENSIONS)}",
            )
        if not self.path.parent.is_dir():
            raise DataError("there is no such folder", source=str(self.path.parent), fix="create it first")
        if self.path.is_dir():
            raise DataError("this is a folder", source=str(path), fix="name a file in it")
        self._schema = schema
        self._part = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        self._sink: Any = None
        self._write: Callable[[pa.Table], None] | None = None
        self._close: Callable[[], None] = lambda: None

    def __enter__(self) -> Writer:
        return self

    def write(self, table: pa.Table) -> None:
        with self._name_the_file():
            if self._write is None:
                self._open(self._schema or table.schema)
            assert self._write is not None
            self._write(table)
        self.rows += table.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                with self._name_the_file():
                    self._finish()
        finally:
            with suppress(Exception):  # the error that brought us here is the one to report
                self._close()
            with suppress(Exception):
                self._sink.close()
            self._part.unlink(missing_ok=True)

    def _finish(self) -> None:
        if self._write is None and self._schema is not None:
            self._open(self._schema)
        if self._sink is not None:
            self._close()
            self._sink.close()
            os.replace(self._part, self.path)

    @contextmanager
    def _name_the_file(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DataError(
                f"cannot be written: {error.strerror or error}",
                source=str(self.path),
                fix="make room there, or write to another place; what was there before is unchanged",
            ) from error

    def _open(self, schema: pa.Schema) -> None:
        self._sink = self._part.open("wb")
        extension = self.path.suffix.lower()
        if extension == ".parquet":
            parquet = pq.ParquetWriter(self._sink, schema)
            self._write, self._close = parquet.write_table, parquet.close
        elif extension == ".csv":
            flat = pa.schema([(field.name, _csv_type(field.type)) for field in schema])
            rows = arrow_csv.CSVWriter(self._sink, flat)
            self._write, self._close = lambda table: _write_csv(rows, table, flat), rows.close
        elif extension in (".arrow", ".feather", ".ipc"):
            batches = ipc.new_file(self._sink, schema)
            self._write, self._close = batches.write_table, batches.close
        else:
            self._write = self._write_lines

    def _write_lines(self, table: pa.Table) -> None:
        for batch in _blocks(table):
            self._sink.write(json_lines(batch))


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
