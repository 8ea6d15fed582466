"""Tables to a file that appears whole or not at all."""

from __future__ import annotations

import base64
import json
import math
import os
from collections.abc import Callable
from contextlib import suppress
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from ostinato.errors import DataError

_EXTENSIONS = (".parquet", ".csv", ".jsonl", ".ndjson", ".json", ".arrow", ".feather", ".ipc")


class Writer:
    """Write tables of one schema to `path`, by its extension.

    All goes to a file beside it, which takes its place when the `with` block ends well and is removed when it does
    not. Without `schema` the first table gives it; with it, a file without rows can be written.
    """

    def __init__(self, path: str | os.PathLike[str], schema: pa.Schema | None = None) -> None:
        self.path = Path(path)
        self.rows = 0
        if self.path.suffix.lower() not in _EXTENSIONS:
            raise DataError(
                f"cannot write a `{self.path.suffix or self.path.name}` file",
                source=str(path),
                fix=f"use one of {', '.join(_EXTENSIONS)}",
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
        if self._write is None:
            self._open(self._schema or table.schema)
        assert self._write is not None
        self._write(table)
        self.rows += table.num_rows

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None and self._write is None and self._schema is not None:
                self._open(self._schema)
            if self._sink is None:
                return
            if kind is None:
                self._close()
                self._sink.close()
                os.replace(self._part, self.path)
            else:
                with suppress(Exception):  # the error that brought us here is the one to tell
                    self._close()
        finally:
            if self._sink is not None:
                self._sink.close()
                self._part.unlink(missing_ok=True)

    def _open(self, schema: pa.Schema) -> None:
        try:
            self._sink = self._part.open("wb")
        except OSError as error:
            raise DataError(f"cannot write here: {error.strerror}", source=str(self.path)) from error
        extension = self.path.suffix.lower()
        if extension == ".parquet":
            parquet = pq.ParquetWriter(self._sink, schema)
            self._write, self._close = parquet.write_table, parquet.close
        elif extension == ".csv":
            flat = pa.schema(
                [pa.field(field.name, pa.string() if _as_text(field.type) else field.type) for field in schema]
            )
            rows = arrow_csv.CSVWriter(self._sink, flat)
            self._write, self._close = lambda table: rows.write_table(_flattened(table, flat)), rows.close
        elif extension in (".arrow", ".feather", ".ipc"):
            batches = ipc.new_file(self._sink, schema)
            self._write, self._close = batches.write_table, batches.close
        else:
            self._write = self._write_lines

    def _write_lines(self, table: pa.Table) -> None:
        for batch in table.to_batches(max_chunksize=1 << 14):
            self._sink.write("".join(f"{_json(row)}\n" for row in batch.to_pylist()).encode())


def _as_text(kind: pa.DataType) -> bool:
    """CSV has no lists and structs: they are written as JSON text."""
    return bool(pa.types.is_nested(kind) or pa.types.is_string_view(kind))


def _flattened(table: pa.Table, flat: pa.Schema) -> pa.Table:
    columns = []
    for field, column in zip(flat, table.columns, strict=True):
        if pa.types.is_string_view(column.type):
            column = column.cast(field.type)
        elif field.type != column.type:
            column = pa.array([None if value is None else _json(value) for value in column.to_pylist()], pa.string())
        columns.append(column)
    return pa.table(columns, schema=flat)


def _json(value: Any) -> str:
    return json.dumps(_plain(value), ensure_ascii=False, separators=(", ", ": "))


def _plain(value: Any) -> Any:
    """As JSON knows it: times as ISO text, durations in seconds, bytes in base64, NaN and infinities as null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value
