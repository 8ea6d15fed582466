"""Parquet and Arrow IPC files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from ostinato.errors import DataError
from ostinato.files.source import Piece

_BUFFER = 1 << 22  # read-ahead per column, so that a huge row group is not loaded whole


class ParquetSource:
    def __init__(self, path: Path) -> None:
        self.path = path

    def _open(self) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self.path, buffer_size=_BUFFER, pre_buffer=False)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable_error(self.path, "Parquet", error) from error

    def schema(self, columns: list[str] | None) -> pa.Schema:
        with self._open() as file:
            return _select_columns(file.schema_arrow, columns)

    def pieces(self, schema: pa.Schema, batch_rows: int) -> Iterator[Piece]:
        with self._open() as file:
            size, total, done = self.path.stat().st_size, max(file.metadata.num_rows, 1), 0
            names = [name for name in file.schema_arrow.names if name in schema.names]
            try:
                for batch in file.iter_batches(batch_size=batch_rows, columns=names):
                    batch.validate(full=True)  # Parquet text need not be UTF-8, but all later code trusts it to be
                    done += batch.num_rows
                    yield Piece(pa.Table.from_batches([batch]), [], size * done // total)
            except (pa.ArrowException, OSError, ValueError) as error:
                raise _unreadable_error(self.path, "Parquet", error, row=done) from error


class ArrowSource:
    """The file format (also Feather) or the stream format."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def schema(self, columns: list[str] | None) -> pa.Schema:
        with pa.OSFile(str(self.path)) as file:
            return _select_columns(self._reader(file).schema, columns)

    def _reader(self, file: pa.NativeFile) -> ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader:
        try:
            return ipc.open_file(file)
        except pa.ArrowInvalid:
            file.seek(0)
        try:
            return ipc.open_stream(file)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise _unreadable_error(self.path, "Arrow", error) from error

    def pieces(self, schema: pa.Schema, batch_rows: int) -> Iterator[Piece]:
        done = 0
        with pa.OSFile(str(self.path)) as file:
            reader = self._reader(file)
            try:
                for number, batch in enumerate(_batches(reader)):
                    table = pa.Table.from_batches([batch])
                    table = table.select([name for name in table.column_names if name in schema.names])
                    table.validate(full=True)  # kernels trust offsets; a damaged file must not reach them
                    known = getattr(reader, "num_record_batches", 0)
                    size = self.path.stat().st_size
                    for start in range(0, table.num_rows, batch_rows):
                        yield Piece(
                            table.slice(start, batch_rows),
                            [],
                            size * (number + 1) // known if known else min(file.tell(), size),
                        )
                    done += table.num_rows
            except (pa.ArrowException, OSError, ValueError) as error:
                raise _unreadable_error(self.path, "Arrow", error, row=done) from error


def _batches(reader: ipc.RecordBatchFileReader | ipc.RecordBatchStreamReader) -> Iterator[pa.RecordBatch]:
    if isinstance(reader, ipc.RecordBatchFileReader):
        return (reader.get_batch(number) for number in range(reader.num_record_batches))
    return iter(reader)


def _select_columns(schema: pa.Schema, columns: list[str] | None) -> pa.Schema:
    return pa.schema([field for field in schema if columns is None or field.name in columns])


def _unreadable_error(path: Path, kind: str, error: Exception, row: int | None = None) -> DataError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DataError(
        f"not a readable {kind} file: {reason}",
        source=str(path),
        row=row,
        fix="write or copy the file again; it may be cut short or of another format",
    )
